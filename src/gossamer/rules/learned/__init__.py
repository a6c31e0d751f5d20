"""What is learned of hosts from the pages they send: traps, mirrors, soft 404s, templates."""
