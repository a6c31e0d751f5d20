"""The machine, as dependencies that are passed in: clock, randomness, files, processes, network.

The lowest room.
"""
