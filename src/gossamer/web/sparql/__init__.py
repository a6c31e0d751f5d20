"""The SPARQL endpoint and its console."""
