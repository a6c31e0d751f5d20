"""Facts on a SPARQL 1.1 server, with the same graphs as the embedded store.

One a page, and their provenance.
"""
