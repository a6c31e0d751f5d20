"""One collection, opened to read, to steer and to maintain."""
