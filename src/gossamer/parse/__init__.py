"""What does it say? Sniffing, charset, tree, links, content block, language, fingerprints."""
