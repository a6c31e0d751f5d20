"""How are we? Beats, counters and the control database."""
