"""The tables that a collection is exported as: their columns, and their lines."""

from collections.abc import Generator, Iterable, Iterator, Sequence

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
    """False: the site asks not to show a copy, so the text is left out."""


class Revisit(msgspec.Struct, frozen=True):
    """A page that comes again, as far as visits have taught."""

    url: str
    host: str
    due_at: Instant | None
    why: str
    """A stable code: why it is due then."""
    says: str
    visited_at: Instant
    changed_at: Instant | None
    """The last visit that found a change that counts."""
    visits: int
    """Those that could compare it with an earlier one."""
    changes: int
    """Of the last eight of them, those that found a change."""
    changes_a_day: float
    """Estimated."""
    every_days: float | None
    """From its last visit to the next one that is planned."""
    gone: int = 0
    """Visits in a row that found it gone."""


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


def drawn(pieces: Iterator[bytes]) -> Generator[bytes, None, None]:
    """As pieces of a size worth sending; closing it closes where they come from."""
    gathered: list[bytes] = []
    size = 0
    try:
        for piece in pieces:
            gathered.append(piece)
            size += len(piece)
            if size >= PIECE:
                yield b"".join(gathered)
                gathered, size = [], 0
        if gathered:
            yield b"".join(gathered)
    finally:
        if isinstance(pieces, Generator):
            pieces.close()


def pages_jsonl(pages: Iterator[ExportedPage]) -> Lines:
    return (json_bytes(page) + b"\n" for page in pages)


def pages_csv(pages: Iterator[ExportedPage]) -> Lines:
    return _table(
        PAGE_COLUMNS,
        (
            (page.url, page.site, page.title, page.description, page.language, in_words(page.fetched_at),
             page.fact_count, " ".join(page.types), " ".join(page.syntaxes))
            for page in pages
        ),
    )  # fmt: skip


def links_csv(links: Iterator[tuple[str, tuple[Link, ...]]]) -> Lines:
    return _table(LINK_COLUMNS, ((source, link.url.text, link.text) for source, found in links for link in found))


def visits_csv(visits: Iterator[LastVisit]) -> Lines:
    return _table(
        VISIT_COLUMNS,
        (
            (one.url, one.reason.value, one.detail, in_words(one.settled_at), _moment(one.due_at), one.how.value,
             one.depth, one.hops, one.failures)
            for one in visits
        ),
    )  # fmt: skip


def known_csv(known: Iterator[KnownUrl]) -> Lines:
    return _table(
        KNOWN_COLUMNS,
        ((one.url, one.reason.value if one.reason is not None else "", one.how.value, one.depth) for one in known),
    )


def captures_csv(captures: Iterator[Kept]) -> Lines:
    return _table(
        CAPTURE_COLUMNS,
        (
            (one.url.text, in_words(one.fetched_at), one.status, one.media_type, one.size,
             "yes" if one.is_page else "no", _moment(one.refers_at), one.place.volume, one.place.number)
            for one in captures
        ),
    )  # fmt: skip


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Lines:
    yield csv_line(columns)
    yield from map(csv_line, rows)


def _moment(at: Instant | None) -> str:
    return in_words(at) if at is not None else ""


def revisits_csv(revisits: Iterable[Revisit]) -> Lines:
    def cells(one: Revisit) -> Iterator[object]:
        for name in REVISIT_COLUMNS:
            value = getattr(one, name)
            yield _moment(value) if name.endswith("_at") else value

    return _table(REVISIT_COLUMNS, map(tuple, map(cells, revisits)))
