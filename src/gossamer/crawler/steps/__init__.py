"""Steps of a page on its way: read, written in a group."""
