"""The currency of the house: frozen values without IO. Import each from its own module."""
