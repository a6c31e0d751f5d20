"""The state of all processes: heartbeats, figures, hints and commands."""
