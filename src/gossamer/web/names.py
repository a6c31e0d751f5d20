"""Short names for IRIs, for people."""

import re
from typing import NamedTuple

_LAST = re.compile(r"[^/#:]+(?=[/#]?$)")


class Named(NamedTuple):
    iri: str
    name: str


def named(iri: str) -> Named:
    """The last part of an IRI is what vocabularies name things by."""
    match = _LAST.search(iri)
    return Named(iri, match.group() if match else iri)
