"""Settings: all keys, where their values come from, and the slice each room is given."""
