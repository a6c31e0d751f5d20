"""Get it: the guarded client."""
