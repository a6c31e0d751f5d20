"""Gossamer: a polite web spider and semantic search engine."""

__version__ = "0.1.0"
