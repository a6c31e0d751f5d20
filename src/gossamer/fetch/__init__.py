"""The HTTP client, guarded against private IP addresses."""
