"""What a document says: type, encoding, tree, links, main text, language, fingerprints; sitemaps and feeds."""
