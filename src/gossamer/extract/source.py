"""What every syntax reader is given, and what it gives back."""

from enum import Enum
from functools import cached_property
from typing import Literal, NamedTuple

import msgspec

from gossamer.extract.jsonld.contexts import HELD, Contexts
from gossamer.extract.terms import UNNAMED, Labels
from gossamer.values.page import MOST_TRIPLES, Triple
from gossamer.values.tree import Element, ElementParts, Survey

RdfaVersion = Literal["1.0", "1.1"]


class HostLanguage(Enum):
    """The language that markup is written into; RDFa has rules of its own for each."""

    HTML = "html"
    """text/html, read by the HTML parser."""
    XHTML1 = "xhtml1"
    XHTML5 = "xhtml5"
    SVG = "svg"
    XML = "xml"


class Source(msgspec.Struct, frozen=True, dict=True):
    """A page, as the readers of its facts see it. REQUIRES: `base` and `address` are valid IRIs without fragment."""

    survey: Survey
    base: str
    """What relative URLs are relative to, `<base>` obeyed."""
    address: str
    """The page's own."""
    labels: Labels
    body: bytes = b""
    """The page as UTF-8 bytes: a search in it tells cheaply that a syntax is not there."""
    host: HostLanguage = HostLanguage.HTML
    at_most: int = MOST_TRIPLES + 1
    reads_roles: bool = False
    """Whether @role states facts (Role Attribute 1.0). ARIA puts it on every other element of the web, and what it
    says is about the page's furniture: a crawl leaves it, a person who asks for it gets it."""
    is_thorough: bool = False
    """Whether a syntax is also looked for where the cheap signs of it are missing: for one page, not for a crawl."""
    takes_notes: bool = False
    """Whether someone will read the notices; collecting them costs time."""
    rdfa_version: RdfaVersion | None = None
    """By whose rules RDFa is read; None: by those that the page declares, else 1.1."""
    contexts: Contexts = msgspec.field(default_factory=lambda: HELD)
    """JSON-LD contexts of the user."""

    @cached_property
    def metas(self) -> list[ElementParts]:
        return [one for one in self.survey.elements if one[1] == "meta"]


MOST_NOTICES = 1000
"""Per page."""


class Notice(NamedTuple):
    """Something a markup author would want to know."""

    level: Literal["error", "warning", "info"]
    kind: str
    """In words-with-dashes: "unresolved-term", "jsonld-repaired", ..."""
    says: str
    """A sentence for a person."""
    element: Element | None = None


class FoundFacts(msgspec.Struct):
    """The facts one syntax states, in document order. `places` runs beside `triples`: the element that states each."""

    triples: list[Triple] = []
    places: list[Element] = []
    flags: list[str] = []
    notices: list[Notice] = []

    def state(self, place: Element, subject: str, predicate: str, thing: str) -> None:
        """REQUIRES: `predicate` is an IRI. A term that a limit has kept from being known leaves the fact out."""
        if is_unnamed(subject, thing):
            self.flag(NAME_TOO_LONG)
            return
        self.triples.append(Triple(subject, predicate, thing))
        self.places.append(place)

    def flag(self, flag: str) -> None:
        if flag not in self.flags:
            self.flags.append(flag)


NAME_TOO_LONG = "name-too-long"


def is_unnamed(subject: str, thing: str) -> bool:
    """Whether a term of a fact is not known, or its language: both end so, and nothing else does."""
    return thing[-1] == UNNAMED or subject == UNNAMED


# How much may still be written out for a page, where elements inside one another would repeat the same words.


class LengthAllowance:
    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, letters: int) -> bool:
        """Whether there was enough. To be asked before the work is done, as far as its length is known."""
        self.left -= letters
        return self.left > 0
