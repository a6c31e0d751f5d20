"""What reader processes run: a capture in, a reading out."""
