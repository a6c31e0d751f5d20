"""Commands that need no collection."""
