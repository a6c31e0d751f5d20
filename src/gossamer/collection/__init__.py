"""All we know: one directory, opened to read, to steer and to maintain."""
