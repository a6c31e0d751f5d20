"""For terminals: one file a command."""
