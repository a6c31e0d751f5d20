"""Archives made by other programs."""
