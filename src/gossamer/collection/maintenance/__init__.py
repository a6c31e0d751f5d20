"""Backup, compact, forget, rebuild, import and verify: archive and views together."""
