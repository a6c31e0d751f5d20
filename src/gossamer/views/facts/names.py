"""IRIs of our own in the graph: one graph a page, one for provenance, and functions in queries."""

import re
from urllib.parse import quote

from gossamer.extract.vocabularies import canonical
from gossamer.values.url import Url

OURS = "urn:gossamer:"
"""The prefix of our own IRIs."""
PROVENANCE = "urn:gossamer:provenance"
"""The graph with the time and capture of each page's facts."""
FETCHED_AT = "http://www.w3.org/ns/prov#generatedAtTime"
CAPTURE = "urn:gossamer:capture"
SYNTAX = "urn:gossamer:syntax"
"""A function in queries: the syntaxes that state a fact, `urn:gossamer:syntax(?graph, ?s, ?p, ?o)`."""
PATH = "urn:gossamer:path"
"""A function in queries: the element that states a fact."""
SPELLING = "urn:gossamer:spelling"
"""A function in queries: the fact as the page spells it, as N-Triples; unbound if it is stored that way."""
DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"

_NO_IRI = re.compile(r"%(?![0-9A-Fa-f]{2})|[^!#$%&'()*+,\-./0-9:;=?@A-Z_a-z~]")


def graph_name(url: Url) -> str:
    """The page's URL as an IRI, in its canonical spelling: the name of the page in facts.

    Browsers accept characters in paths and queries that an IRI may not contain (RFC 3987, 2.2: brackets, braces, bars,
    lone percent signs); these are percent-encoded. Two URLs that differ only in this share a graph.
    """
    origin = url.origin
    return canonical(origin + _NO_IRI.sub(lambda odd: quote(odd[0], safe=""), url.text[len(origin) :]))
