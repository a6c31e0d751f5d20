"""What a capture says (`Page`) and what it means (`Triple`), together a `Reading`."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from gossamer.base.clock import Instant
from gossamer.values.capture import Capture
from gossamer.values.link import Link
from gossamer.values.url import Url

MOST_LINKS = 5_000
MOST_TRIPLES = 50_000
MOST_ENTITIES = 50
MOST_PROPERTIES = 200


class Triple(NamedTuple):
    """Subject, predicate and object, each as N-Triples text (`<iri>`, `_:label`, `"words"@en`).

    Without the graph: facts belong to the page that states them, so its URL is the graph of them all.
    """

    subject: str
    predicate: str
    object: str


new_tuple = tuple.__new__
"""`new_tuple(Triple, (s, p, o))` costs half of `Triple(s, p, o)`; for code that runs for every fact of every page."""


class Directives(msgspec.Struct, frozen=True, array_like=True):
    """What the page asks of robots (meta robots, X-Robots-Tag)."""

    may_index: bool = True
    may_follow: bool = True
    may_cache: bool = True
    """False: search results show only its URL, title and facts."""
    most_snippet: int = -1
    """Characters that a result may quote; -1: as many as usual."""


class NamedEntity(msgspec.Struct, frozen=True, array_like=True):
    """A named entity that the page states facts about."""

    id: str
    """Its IRI, or `_:label` (unique to the capture) if it has none."""
    name: str
    types: tuple[str, ...] = ()
    """IRIs of its classes, as stated."""


class Page(msgspec.Struct, frozen=True):
    """What the capture says to a person."""

    url: Url
    media_type: str
    charset: str
    title: str = ""
    description: str = ""
    headings: tuple[str, ...] = ()
    content: str = ""
    """The main text."""
    rest: str = ""
    """The remaining text: navigation, footers, side bars."""
    language: str = ""
    """BCP 47 primary tag, lower case; empty if unknown."""
    links: tuple[Link, ...] = ()
    canonical: Url | None = None
    directives: Directives = Directives()
    exact: bytes = b""
    """SHA-256 of the text, white space folded: equal for copies, even with different markup."""
    near: tuple[int, ...] = ()
    """MinHash of the text; similar pages have many of these numbers in common."""
    bold: tuple[str, ...] = ()
    """Words set in bold in the main text; distinct, in document order."""
    charset_from: str = ""
    """Where the encoding was taken from: a key of `values.capture.CHARSET_FROM`."""


class Reading(msgspec.Struct, frozen=True):
    """A page and its facts, on their way from the reader to the views."""

    capture_id: int
    fetched_at: Instant
    page: Page
    facts: bytes = b""
    """N-Triples lines, one per fact, in document order; the graph is `page.url`."""
    fact_count: int = 0
    types: tuple[str, ...] = ()
    """IRIs of the classes of entities on this page; distinct, in document order."""
    syntaxes: tuple[str, ...] = ()
    """The syntaxes that state them: "rdfa", "json-ld", ..."""
    flags: tuple[str, ...] = ()
    """What was odd: "truncated", "too-deep", "charset-conflict", "jsonld-broken", ..."""
    sources: bytes = b""
    """The syntaxes that state each fact and the place in the page (`extract.places`); empty if there are no facts."""
    properties: tuple[str, ...] = ()
    """IRIs of the properties stated, without rdf:type; distinct, in document order, at most MOST_PROPERTIES."""
    things: tuple[NamedEntity, ...] = ()
    """Named entities of the page, in document order, at most MOST_ENTITIES."""
    version: int | None = None
    """On a cluster, that of its capture in the catalogue; the clocks of two crawlers cannot be compared."""

    @property
    def order(self) -> int:
        """Of two readings of a page, the one with the greater order is the newer."""
        return self.fetched_at if self.version is None else self.version


def ntriples(triples: Sequence[Triple]) -> bytes:
    """One line a triple, as N-Triples."""
    return "".join([f"{s} {p} {o} .\n" for s, p, o in triples]).encode()


# What custom readers return: see docs/extending.md.


class Text(msgspec.Struct, frozen=True):
    """The text of a document. Long texts and many links are cut as for any page."""

    content: str
    title: str = ""
    headings: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    """URLs, perhaps relative to the document's own."""
    language: str = ""
    """BCP 47; empty: guessed from the content."""


OwnReader = Callable[[bytes, str, str], Text | None]
"""From body (content coding removed), URL and media type to the text; None: it could not be read."""


def empty_reading(capture: Capture) -> Reading:
    """Replaces a page that is gone in the views: it has no content, and is newer than earlier captures."""
    return empty_page_reading(capture.url, capture.id, capture.fetched_at)


def empty_page_reading(url: Url, capture_id: int, fetched_at: Instant) -> Reading:
    return Reading(capture_id, fetched_at, Page(url, "", "", directives=Directives(may_index=False, may_follow=False)))


class Quad(NamedTuple):
    """One fact, each part as N-Triples text: `<iri>`, `_:label`, `"words"@en`."""

    subject: str
    predicate: str
    object: str
    graph: str
    """The page's address; `PROCESSOR_GRAPH` for what is said about the page's markup."""
