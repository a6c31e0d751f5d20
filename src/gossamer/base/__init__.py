"""The machine, passed in: errors, clock, chance, files, processes, network. Nothing below it."""
