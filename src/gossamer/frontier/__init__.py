"""The frontier: URLs, hosts, leases and politeness."""
