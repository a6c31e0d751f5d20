"""The text of a page in blocks, and how important each is."""
