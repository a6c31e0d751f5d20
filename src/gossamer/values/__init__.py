"""Frozen values without IO, shared by all rooms. Import each from its own module."""
