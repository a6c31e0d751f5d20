"""The input (`Source`) and output (`FoundFacts`) of every syntax's reader."""

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
    """The host language of the markup; RDFa has its own rules for each."""

    HTML = "html"
    """text/html, read by the HTML parser."""
    XHTML1 = "xhtml1"
    XHTML5 = "xhtml5"
    SVG = "svg"
    XML = "xml"


class Source(msgspec.Struct, frozen=True, dict=True):
    """A page as input of the readers. REQUIRES: `base` and `address` are valid IRIs without fragment."""

    survey: Survey
    base: str
    """The base of relative URLs, `<base>` included."""
    address: str
    """The URL of the page."""
    labels: Labels
    body: bytes = b""
    """The page as UTF-8, in which a search excludes a syntax cheaply."""
    host: HostLanguage = HostLanguage.HTML
    at_most: int = MOST_TRIPLES + 1
    reads_roles: bool = False
    """Whether @role states facts (Role Attribute 1.0): not in a crawl, because ARIA has it on every other element."""
    is_thorough: bool = False
    """Whether a syntax is also searched for without cheap signs of it: for single pages, not in a crawl."""
    takes_notes: bool = False
    """Whether to collect notices, which takes time."""
    rdfa_version: RdfaVersion | None = None
    """The RDFa version to use; None: the one that the page declares, or 1.1."""
    contexts: Contexts = msgspec.field(default_factory=lambda: HELD)
    """JSON-LD contexts of the user."""

    @cached_property
    def metas(self) -> list[ElementParts]:
        return [one for one in self.survey.elements if one[1] == "meta"]


MOST_NOTICES = 1000
"""Per page."""


class Notice(NamedTuple):
    """A message for the author of the markup."""

    level: Literal["error", "warning", "info"]
    kind: str
    """In words-with-dashes: "unresolved-term", "jsonld-repaired", ..."""
    says: str
    """A sentence."""
    element: Element | None = None


class FoundFacts(msgspec.Struct):
    """The facts of one syntax, in document order. `places` has the element that states each."""

    triples: list[Triple] = []
    places: list[Element] = []
    flags: list[str] = []
    notices: list[Notice] = []

    def state(self, place: Element, subject: str, predicate: str, thing: str) -> None:
        """Add a fact, unless a limit left one of its terms unknown. REQUIRES: `predicate` is an IRI."""
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
    """Whether a term of the fact, or its language, is unknown: no other term ends like this."""
    return thing[-1] == UNNAMED or subject == UNNAMED


class LengthAllowance:
    """How many characters may still be written for a page: nested elements would otherwise repeat the same text."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, letters: int) -> bool:
        """Whether there was enough left. Called before the work, if its length is known."""
        self.left -= letters
        return self.left > 0
