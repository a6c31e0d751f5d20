"""The demonstration web."""
