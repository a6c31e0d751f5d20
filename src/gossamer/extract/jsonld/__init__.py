"""JSON-LD 1.1 in script elements."""
