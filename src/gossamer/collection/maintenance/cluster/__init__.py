"""Maintenance of a cluster: collections that move in and out, erasure, retention."""
