"""One page: facts, copy, text, links, versions, and why it is as it is."""
