"""A cluster by its address: made, changed, given work."""
