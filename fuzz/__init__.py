"""Fuzzing of the extractors: coverage-guided inputs, and the properties that must hold for each."""
