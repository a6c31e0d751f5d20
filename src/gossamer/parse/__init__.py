"""What a document says: type, encoding, tree, links, main text, language, fingerprints.

Also sitemaps and feeds.
"""
