"""The names the graph uses: one graph a page, one for where they came from."""

import re
from urllib.parse import quote

from gossamer.extract.vocabularies.relations import canonical
from gossamer.values.url import Url

OURS = "urn:gossamer:"
"""What the names of our own begin with."""
PROVENANCE = "urn:gossamer:provenance"
"""The graph that says of each page when and by which capture its facts came."""
FETCHED_AT = "http://www.w3.org/ns/prov#generatedAtTime"
CAPTURE = "urn:gossamer:capture"
SYNTAX = "urn:gossamer:syntax"
"""A function in queries: the syntaxes that state a fact, `urn:gossamer:syntax(?graph, ?s, ?p, ?o)`."""
PATH = "urn:gossamer:path"
"""A function in queries: the element that states a fact."""
SPELLING = "urn:gossamer:spelling"
"""A function in queries: the fact as the page spells it, as N-Triples; unbound where that is how it is held."""
DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"

_NO_IRI = re.compile(r"%(?![0-9A-Fa-f]{2})|[^!#$%&'()*+,\-./0-9:;=?@A-Z_a-z~]")


def graph_name(url: Url) -> str:
    """The page's address as an IRI, in its canonical spelling: the name under which facts speak of the page.

    Browsers leave characters alone in paths and queries that an IRI may not hold (RFC 3987, 2.2: brackets, braces,
    bars, lone percent signs); these are percent-encoded. Two addresses that differ only so share a graph.
    """
    origin = url.origin
    return canonical(origin + _NO_IRI.sub(lambda odd: quote(odd[0], safe=""), url.text[len(origin) :]))
