"""Facts in meta elements: Open Graph, Twitter cards, Dublin Core."""
