"""What does it mean? Structured data in a page, as triples."""
