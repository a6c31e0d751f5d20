"""Microdata as triples."""
