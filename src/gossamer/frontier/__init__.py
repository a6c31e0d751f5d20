"""Where next? Addresses, hosts, leases, politeness."""
