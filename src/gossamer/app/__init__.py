"""The doors: command line, configuration, assembly."""
