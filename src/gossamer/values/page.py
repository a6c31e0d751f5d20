"""What a capture says (`Page`) and what it means (`Triple`), together a `Reading`."""

from collections.abc import Callable
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

    The graph is not in it: facts belong to the page that states them, so the page's address is the graph of all.
    """

    subject: str
    predicate: str
    object: str


new_tuple = tuple.__new__
"""`new_tuple(Triple, (s, p, o))` is half the cost of `Triple(s, p, o)`; for where every fact of every page comes by."""


class Directives(msgspec.Struct, frozen=True, array_like=True):
    """What the page itself asks of robots (meta robots, X-Robots-Tag)."""

    may_index: bool = True
    may_follow: bool = True
    may_cache: bool = True
    """False: nothing of the page is shown to searchers but its address, title and facts."""
    most_snippet: int = -1
    """Characters of it that a result may quote; -1: as many as usual."""


class NamedEntity(msgspec.Struct, frozen=True, array_like=True):
    """Something with a name that a page states facts about."""

    id: str
    """Its IRI, or `_:label` when it has none: the label is then the capture's own."""
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
    """The content block: the text a person came for."""
    rest: str = ""
    """The other text of the page: navigation, footers, side bars."""
    language: str = ""
    """BCP 47 primary tag, lower case; empty when it cannot be told."""
    links: tuple[Link, ...] = ()
    canonical: Url | None = None
    directives: Directives = Directives()
    exact: bytes = b""
    """SHA-256 of the text, white space folded: equal for copies whatever their markup."""
    near: tuple[int, ...] = ()
    """MinHash of the text; similar pages share many of its numbers."""
    bold: tuple[str, ...] = ()
    """Words set in bold inside the content block; distinct, in document order."""
    charset_from: str = ""
    """What told the encoding: a key of `values.capture.CHARSET_FROM`."""


class Reading(msgspec.Struct, frozen=True):
    """A page and its facts, on their way from the reader to the views."""

    capture_id: int
    fetched_at: Instant
    page: Page
    facts: bytes = b""
    """N-Triples lines, one a fact, in document order; the graph is `page.url`."""
    fact_count: int = 0
    types: tuple[str, ...] = ()
    """IRIs of the classes that things on this page are said to belong to; distinct, in document order."""
    syntaxes: tuple[str, ...] = ()
    """Which syntaxes stated them: "rdfa", "json-ld", ..."""
    flags: tuple[str, ...] = ()
    """What was odd: "truncated", "too-deep", "charset-conflict", "jsonld-broken", ..."""
    sources: bytes = b""
    """Which syntaxes state each fact, and where in the page (`extract.places`); empty when there are no facts."""
    properties: tuple[str, ...] = ()
    """IRIs of the properties stated, rdf:type apart; distinct, in document order, at most MOST_PROPERTIES."""
    things: tuple[NamedEntity, ...] = ()
    """What the page speaks of that has a name; in document order, at most MOST_ENTITIES."""


def ntriples(triples: list[Triple]) -> bytes:
    """One line a triple, as N-Triples."""
    return "".join([f"{s} {p} {o} .\n" for s, p, o in triples]).encode()


# What a reader of one's own makes of a body: see docs/extending.md.


class Text(msgspec.Struct, frozen=True):
    """What it says to a person. Long texts and many links are cut as those of any page."""

    content: str
    title: str = ""
    headings: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    """Where it leads; relative ones are relative to its address."""
    language: str = ""
    """BCP 47; empty: guessed from the content."""


OwnReader = Callable[[bytes, str, str], Text | None]
"""From a body (content coding removed), its address and its media type to its text; None: it could not be read."""


def empty_reading(capture: Capture) -> Reading:
    """What takes the place of a page that is gone: it says nothing, and stands against older captures."""
    return empty_page_reading(capture.url, capture.id, capture.fetched_at)


def empty_page_reading(url: Url, capture_id: int, fetched_at: Instant) -> Reading:
    return Reading(capture_id, fetched_at, Page(url, "", "", directives=Directives(may_index=False, may_follow=False)))
