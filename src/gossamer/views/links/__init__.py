"""The links between pages: targets, sources and anchor text."""
