"""Settings: every key, where its value comes from, and the slice each room is given."""
