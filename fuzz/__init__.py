"""Attacks on the extractors: coverage-guided inputs, and what must hold for every one of them."""
