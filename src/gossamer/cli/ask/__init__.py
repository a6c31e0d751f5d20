"""Commands that read a collection and change nothing."""
