"""What the exports are given."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec

from gossamer.base.clock import Instant
from gossamer.frontier.reports import KnownUrl, LastVisit
from gossamer.values.capture import Kept
from gossamer.values.link import Link
from gossamer.values.query import Query


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


@dataclass(frozen=True, slots=True)
class Exports:
    """Each call begins anew; what it opened is closed when the iterator is."""

    pages: Callable[[Query, bool], Iterator[ExportedPage]]
    """Those that a query finds, or all for an empty one; with their texts or without."""
    facts: Callable[[Query], Iterator[bytes]]
    """Those of the same pages, as N-Quads."""
    links: Callable[[], Iterator[tuple[str, tuple[Link, ...]]]]
    visits: Callable[[], Iterator[LastVisit]]
    known: Callable[[], Iterator[KnownUrl]]
    captures: Callable[[], Iterator[Kept]]
    revisits: Callable[[], Iterator[bytes]]
    """The pages that come again, as lines of a table."""
