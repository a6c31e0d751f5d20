"""Readings on their way to the views, on disk."""
