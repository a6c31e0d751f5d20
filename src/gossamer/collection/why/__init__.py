"""The whole trail of decisions about a URL or a host."""
