"""Entities, classes, properties and vocabularies."""
