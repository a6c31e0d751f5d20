"""May we? Robots, page directives, scope."""
