"""The rules people write: their language, its patterns, and what a rulebook decides."""
