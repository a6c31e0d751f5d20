"""Microformats, the second and the first, and their facts."""
