"""What the Microdata registry says of vocabularies: where their names begin, and what a property implies.

Facts from http://www.w3.org/ns/md (W3C), the registry of "Microdata to RDF", second edition. Its first edition also
knew `propertyURI` and `multipleValues`; the second has one way to make names, and no lists.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from gossamer.extract.terms import RDF_TYPE

VERSION = "2021-03"

Implied = Mapping[str, tuple[str, ...]]
"""By the name of a property: the properties, as IRI terms, that hold wherever it does."""
Registry = Mapping[str, Implied]
"""By the beginning that all names of a vocabulary share."""

REGISTRY: Registry = {
    "http://schema.org/": {"additionalType": (RDF_TYPE,)},
    "https://schema.org/": {"additionalType": (RDF_TYPE,)},
    "http://microformats.org/profile/hcard": {},
}


is_absolute = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.").match
"""Whether a name or a type is an address already."""


class Vocabulary(NamedTuple):
    """What names of properties are completed with."""

    stem: str
    """Put before a name, it makes an IRI."""
    implied: Implied


def vocabulary_of(kind: str, registry: Registry) -> Vocabulary:
    """The vocabulary that a type belongs to. REQUIRES: `kind` is an absolute IRI.

    One that the registry does not know ends at the last "#" or "/" of its path ("Microdata to RDF", 3.1).
    """
    for prefix, implied in registry.items():
        if kind.startswith(prefix):
            return Vocabulary(_ended(prefix), implied)
    return Vocabulary(_ended(_without_last_segment(kind)), {})


def _without_last_segment(kind: str) -> str:
    if "#" in kind:
        return kind[: kind.rindex("#") + 1]
    path = kind.partition("?")[0]
    authority_at = path.find("//")
    slash_at = path.rfind("/")
    return path[: slash_at + 1] if slash_at > authority_at + 1 else path


def _ended(stem: str) -> str:
    return stem if stem.endswith(("/", "#")) else f"{stem}#"
