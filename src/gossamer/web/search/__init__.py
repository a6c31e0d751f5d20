"""The search page and its answers as data."""
