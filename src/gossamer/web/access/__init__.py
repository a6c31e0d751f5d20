"""Who may come in: tokens, sessions, origins, slow connections."""
