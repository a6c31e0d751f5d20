"""Crawls on paper: plan, simulation, plots."""
