"""What the reader of a syntax takes (`Source`) and returns (`FoundFacts`).

Also the merged result (`Extraction`).
"""

from collections.abc import Callable
from enum import Enum
from functools import cached_property
from typing import Generic, Literal, NamedTuple, TypeVar

import msgspec

from gossamer.extract.jsonld.contexts import USER_CONTEXTS, Contexts
from gossamer.extract.terms import UNKNOWN_TERM, Labels
from gossamer.values.page import MOST_TRIPLES, Triple
from gossamer.values.tree import Attributes, Element, ElementParts, Survey

SYNTAXES = ("rdfa", "json-ld", "microdata", "microformats", "opengraph", "twitter", "dublin-core")
"""Of markup, in order of precedence: a fact keeps the place where it was found first."""
DOCUMENT = "document"
"""The metadata of a document that is not markup."""
ORIGINS = (*SYNTAXES, DOCUMENT)
"""All that may state a fact."""
MOST_NOTICES = 1000
"""Per page."""
NAME_TOO_LONG = "name-too-long"
RdfaVersion = Literal["1.0", "1.1"]
Inner = TypeVar("Inner")


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
    collects_notices: bool = False
    """It takes time."""
    rdfa_version: RdfaVersion | None = None
    """The RDFa version to use; None: the one that the page declares, or 1.1."""
    contexts: Contexts = msgspec.field(default_factory=lambda: USER_CONTEXTS)
    """JSON-LD contexts of the user."""

    @cached_property
    def metas(self) -> list[ElementParts]:
        return [one for one in self.survey.elements if one[1] == "meta"]


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

    def state(self, place: Element, subject: str, predicate: str, value: str) -> None:
        """Add a fact, unless a limit left one of its terms unknown. REQUIRES: `predicate` is an IRI."""
        if is_unknown(subject, value):
            self.flag(NAME_TOO_LONG)
            return
        self.triples.append(Triple(subject, predicate, value))
        self.places.append(place)

    def flag(self, flag: str) -> None:
        if flag not in self.flags:
            self.flags.append(flag)

    def cut(self, at_most: int) -> None:
        """Drop the facts beyond the limit, and flag that."""
        self.flag("too-many-facts")
        del self.triples[at_most:], self.places[at_most:]


class Extraction(NamedTuple):
    """Facts in document order within each syntax, each once. The first three lists are parallel."""

    triples: list[Triple]
    places: list[Element]
    """The element that states each fact."""
    stated_in: list[int]
    """The syntaxes that state each fact: bit n is ORIGINS[n]."""
    syntaxes: tuple[str, ...]
    """Those that state something; RDFa only if it states more than Open Graph and Twitter cards."""
    flags: tuple[str, ...]
    notices: tuple[Notice, ...] = ()


def is_unknown(subject: str, value: str) -> bool:
    """Whether subject, value, or the value's language is unknown because of a limit: no other term ends like this."""
    return value[-1] == UNKNOWN_TERM or subject == UNKNOWN_TERM


class LengthAllowance:
    """How many characters may still be written for a page: nested elements would otherwise repeat the same text."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, length: int) -> bool:
        """Whether there was enough left. Called before the work, if its length is known."""
        self.left -= length
        return self.left > 0


class Inherited(Generic[Inner]):
    """What applies inside elements, inherited from those around them; each element is looked at once.

    `inside` makes it of what applies around an element and the element's attributes.
    """

    def __init__(self, outermost: Inner, inside: Callable[[Inner, Attributes], Inner]) -> None:
        self._outermost = outermost
        self._inside = inside
        self.known: dict[int, Inner] = {}
        """By `mem_id`."""

    def within(self, element: Element | None) -> Inner:
        """What applies inside `element`, found by climbing to the nearest known one."""
        chain: list[tuple[Element, int]] = []
        found = self._outermost
        while element is not None:
            element_id = element.mem_id
            if element_id in self.known:
                found = self.known[element_id]
                break
            chain.append((element, element_id))
            element = element.parent
        for one, one_id in reversed(chain):
            found = self.known[one_id] = self._inside(found, one.attributes)
        return found
