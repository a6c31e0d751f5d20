"""What pages were, when, and how they changed."""
