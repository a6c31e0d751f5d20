"""Estimates and simulations of crawls."""
