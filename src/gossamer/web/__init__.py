"""For people and programs: pages and endpoints."""
