"""Rules written by the user: their language, its patterns, and what a rule book decides."""
