"""HTML: the tree, its text and links, and where elements stand."""
