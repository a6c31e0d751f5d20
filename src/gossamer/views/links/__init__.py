"""Who points here? Targets, sources and anchor text."""
