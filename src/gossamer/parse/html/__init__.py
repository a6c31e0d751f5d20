"""HTML: the tree, its text and links, and the positions of elements in the source."""
