"""The tables that a collection is exported as: their columns, and their lines."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from operator import attrgetter

import msgspec

from gossamer.base.clock import SECOND, Instant, in_words
from gossamer.frontier.reports import KnownUrl, LastVisit, Remembered
from gossamer.recrawl.rates import IGNORANT, likely_rate, posterior
from gossamer.values.capture import Kept
from gossamer.values.format import csv_line, json_bytes
from gossamer.values.history import IN_WORDS, Why
from gossamer.values.link import Link

PAGE_COLUMNS = ("url", "site", "title", "description", "language", "fetched_at", "fact_count", "types", "syntaxes")
LINK_COLUMNS = ("from", "to", "text")
VISIT_COLUMNS = ("url", "outcome", "detail", "ended_at", "due_at", "how", "depth", "redirects", "failures")
KNOWN_COLUMNS = ("url", "outcome", "how", "depth")
CAPTURE_COLUMNS = ("url", "fetched_at", "status", "media_type", "size", "is_page", "same_as", "volume", "number")
REVISIT_COLUMNS = (
    "url", "host", "due_at", "why", "says", "visited_at", "changed_at", "visits", "changes", "changes_a_day",
    "every_days", "gone",
)  # fmt: skip
Lines = Iterator[bytes]
PIECE = 1 << 16


class ExportedPage(msgspec.Struct, frozen=True):
    """One line of pages.jsonl."""

    url: str
    site: str
    title: str
    description: str
    language: str
    fetched_at: Instant
    fact_count: int
    types: tuple[str, ...]
    syntaxes: tuple[str, ...]
    text: str = ""
    may_cache: bool = True
    """False: the site asks not to show a copy, so the text is omitted."""


class Revisit(msgspec.Struct, frozen=True):
    """A page that is revisited, and what its fetches have shown."""

    url: str
    host: str
    due_at: Instant | None
    why: str
    """A stable code: why it is due then."""
    says: str
    visited_at: Instant
    changed_at: Instant | None
    """The last fetch that found a significant change."""
    visits: int
    """Fetches that could be compared with an earlier one."""
    changes: int
    """How many of the last eight of them found a change."""
    changes_a_day: float
    """Estimated."""
    every_days: float | None
    """From the last fetch to the next one planned."""
    gone: int = 0
    """Fetches in a row that found it gone."""


def revisit_of(one: Remembered) -> Revisit:
    past, history = one.past, one.past.known
    is_known = past.why in set(Why)
    return Revisit(
        url=one.url,
        host=one.host,
        due_at=one.due_at,
        why=past.why,
        says=IN_WORDS[Why(past.why)]
        if is_known
        else "it is checked again, less and less often"
        if past.gone
        else past.why,
        visited_at=past.visited_at,
        changed_at=past.changed_at or None,
        visits=history.visits,
        changes=(history.recent & 0xFF).bit_count(),
        changes_a_day=round(likely_rate(posterior(history, IGNORANT)), 4),
        every_days=None if one.due_at is None else round((one.due_at - past.visited_at) / SECOND / 86_400, 3),
        gone=past.gone,
    )


def in_pieces(lines: Iterator[bytes]) -> Generator[bytes, None, None]:
    """Lines joined to pieces of a size worth sending; closing the generator closes their source."""
    gathered: list[bytes] = []
    size = 0
    try:
        for line in lines:
            gathered.append(line)
            size += len(line)
            if size >= PIECE:
                yield b"".join(gathered)
                gathered, size = [], 0
        if gathered:
            yield b"".join(gathered)
    finally:
        if isinstance(lines, Generator):
            lines.close()


def pages_jsonl(pages: Iterator[ExportedPage]) -> Lines:
    return (json_bytes(page) + b"\n" for page in pages)


def pages_csv(pages: Iterator[ExportedPage]) -> Lines:
    return _table(PAGE_COLUMNS, pages)


def links_csv(links: Iterator[tuple[str, tuple[Link, ...]]]) -> Lines:
    yield csv_line(LINK_COLUMNS)
    for source, found in links:
        yield from (csv_line((source, link.url.text, link.text)) for link in found)


def visits_csv(visits: Iterator[LastVisit]) -> Lines:
    return _table(VISIT_COLUMNS, visits, outcome="reason", ended_at="settled_at", redirects="hops")


def known_csv(known: Iterator[KnownUrl]) -> Lines:
    return _table(KNOWN_COLUMNS, known, outcome="reason")


def captures_csv(captures: Iterator[Kept]) -> Lines:
    attributes = {"url": "url.text", "same_as": "refers_at", "volume": "place.volume", "number": "place.number"}
    return _table(CAPTURE_COLUMNS, captures, **attributes)


def revisits_csv(revisits: Iterable[Revisit]) -> Lines:
    return _table(REVISIT_COLUMNS, revisits)


def _table(columns: Sequence[str], rows: Iterable[object], **attributes: str) -> Lines:
    """`attributes`: where a column shows an attribute of another name."""
    names = [attributes.get(column, column) for column in columns]
    values_of = attrgetter(*names)
    yield csv_line(columns)
    for row in rows:
        yield csv_line(map(_cell, names, values_of(row)))


def _cell(name: str, value: object) -> object:
    match value:
        case int() if name.endswith("_at"):
            return in_words(value)
        case bool():
            return "yes" if value else "no"
        case tuple():
            return " ".join(value)
    return value
