"""Sitemaps and feeds: bytes in, lists of URLs out."""
