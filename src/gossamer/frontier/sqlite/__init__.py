"""The frontier in one SQLite database: the embedded default."""
