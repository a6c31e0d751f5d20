"""The web site: pages for people, endpoints for programs."""
