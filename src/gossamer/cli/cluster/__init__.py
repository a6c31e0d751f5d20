"""Commands of a cluster of many machines."""
