"""Commands that maintain a collection's archive and views."""
