"""Structured data in a page, as triples."""
