"""Access to the web site: tokens, sessions, origins, slow connections."""
