"""Which URLs may be fetched, and what may be kept.

By robots.txt, scope, the user's rules, traps, retention.
"""
