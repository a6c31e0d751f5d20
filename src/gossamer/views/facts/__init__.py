"""The facts of pages: a graph for each page, in Oxigraph or on a SPARQL server."""
