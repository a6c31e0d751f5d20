"""What pages were at other times: which captures were in force at a moment, and what is told of a page's versions."""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import groupby

import msgspec

from gossamer.archive.text_differences import TextLine
from gossamer.base.clock import SECOND, Instant, from_words
from gossamer.store.sqlite.captures import kept_of
from gossamer.store.statements import load
from gossamer.values.capture import VANISHED, Kept
from gossamer.values.history import Change
from gossamer.values.url import Host, Url

_SQL = load("gossamer.archive", "versions.sql")
_HOUR = re.compile(r"\d[T ]\d")
KINDS = {Change.BYTES: "bytes", Change.TEXT: "text", Change.FACTS: "facts"}


class Version(msgspec.Struct, frozen=True):
    """One capture of a page, and how it differs from the one before it that could be read."""

    number: int
    """Counted from 1, the oldest."""
    fetched_at: str
    status: int
    media_type: str
    size: int
    is_page: bool
    """Whether it could be searched."""
    changes: tuple[str, ...] | None = None
    """Of "bytes", "text" and "facts"; None for the first, and where there is nothing to compare."""
    title: str = ""
    fact_count: int | None = None
    note: str = ""
    """Why it was not compared."""
    is_gone: bool = False
    """It says that the page, which had been there, is no more."""
    is_back: bool = False
    """The page was gone, and is there again."""
    seen_again: int = 0
    """Visits after it that found the same, until the next version."""
    charset: str = ""
    charset_from: str = ""
    """The encoding its text was read in, and what told it (`values.capture.CHARSET_FROM`)."""


class Timeline(msgspec.Struct, frozen=True):
    url: str
    versions: list[Version]
    """Oldest first."""
    earlier: int = 0
    """Older versions that were left out."""
    seen_again: list[str] = []
    """When visits found it unchanged; the newest of them, oldest first."""


class FactChanges(msgspec.Struct, frozen=True):
    """N-Triples lines. A thing without a name has one label in both lists, wherever it is the same thing."""

    added: list[str] = []
    removed: list[str] = []
    kept: int = 0
    """Facts that both versions state."""


class Difference(msgspec.Struct, frozen=True):
    """What happened to a page between two of its versions."""

    url: str
    from_at: str
    to_at: str
    changes: tuple[str, ...]
    text: list[TextLine]
    facts: FactChanges
    is_cut: bool = False
    """Whether there was more than is told here."""


def kinds_of(change: Change) -> tuple[str, ...]:
    return tuple([name for kind, name in KINDS.items() if change & kind])


def vanished(versions: Sequence[Kept]) -> Kept | None:
    """The answer by which a page was gone, when the newest of these say so: the first of them after the page was last
    there. REQUIRES: newest first."""
    gone: Kept | None = None
    for kept in versions:
        if kept.is_page or (gone is None and 200 <= kept.status < 300):
            return gone
        gone = kept if kept.status in VANISHED else gone
    return None


def in_force(versions: Sequence[Kept]) -> list[Kept]:
    """Those that may have been what the views held: the newest page, and before it what was answered since. Nothing,
    when there was no page or it was gone. REQUIRES: newest first."""
    for number, kept in enumerate(versions):
        if kept.is_page:
            return list(versions[: number + 1])
        if kept.status in VANISHED:
            return []
    return []


def seen_again(connection: sqlite3.Connection, url: Url) -> list[Instant]:
    """When visits found it unchanged; oldest first."""
    return [at for (at,) in connection.execute(_SQL["seen_again"], (url.host.id, url.id, url.text))]


def until(connection: sqlite3.Connection, at: Instant, host: Host | None = None) -> Iterator[list[Kept]]:
    """For each address its answers of that moment and before, the newest first; `in_force` says which of them counts.

    The first that is a page, that asks not to be indexed, or that says there is no such page any more, was in force
    then: it is what the views held. What came in between (a failure, a capture cut short) had changed nothing in them.
    """
    if host is None:
        rows = connection.execute(_SQL["until"], (at,))
    else:
        rows = connection.execute(_SQL["until_of"], (host.id, at))
    for _, same_id in groupby(map(kept_of, rows), key=lambda kept: (kept.url.host.name, kept.url.id)):
        by_text: dict[str, list[Kept]] = {}  # two texts only where ids collide
        for kept in same_id:
            if host is None or kept.url.host == host:
                by_text.setdefault(kept.url.text, []).append(kept)
        yield from by_text.values()


def moment_of(text: str) -> Instant:
    """RFC 3339, or a part of it from the left; a date alone is the end of that day (UTC), so that all of it counts.

    Raises ValueError on anything else.
    """
    text = text.strip().upper()  # a small t and z are allowed (RFC 3339, 5.6)
    try:
        start = from_words(text)
    except (OverflowError, OSError) as trouble:
        raise ValueError(text) from trouble
    return start if _HOUR.search(text) else start + int(timedelta(days=1).total_seconds()) * SECOND - 1
