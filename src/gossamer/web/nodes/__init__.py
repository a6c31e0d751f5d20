"""The system manager: machines, processes, metrics."""
