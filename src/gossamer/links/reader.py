"""Who points here, and with which words: the read side, for any process."""

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from gossamer.errors import DirectoryUnusable
from gossamer.links.changes import Change, Standing, Target, applied, rows_between, unpack
from gossamer.spool.deflate import inflated
from gossamer.store.statements import load
from gossamer.values.link import Link
from gossamer.values.url import Url

SQL = load("gossamer.links")
LOWEST, BEYOND = -(1 << 63), 1 << 63
"""Ids are signed 64-bit integers; BEYOND is past the last."""

_LINKS = msgspec.msgpack.Decoder(tuple[Link, ...])
_STANDING = msgspec.msgpack.Decoder(tuple[Standing, ...])


class Anchor(msgspec.Struct, frozen=True):
    """Words that pages of one site use for a link to this page, and how many of them do."""

    text: str
    site: str
    count: int
    is_own_site: bool = False


class Incoming(msgspec.Struct, frozen=True):
    count: int
    """Pages that link here; exact."""
    sources: tuple[Url, ...]
    """At most 100 of them, from other hosts first."""


class MergeState(msgspec.Struct, frozen=True):
    """Changes of targets below `low` in runs up to `last` are in the targets already."""

    last: int = 0
    low: int = LOWEST


class LinksReader:
    """REQUIRES: `open` before anything is asked, and one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None

    def open(self) -> None:
        try:
            address = f"{self._path.absolute().as_uri()}?mode=ro"
            self._connection = sqlite3.connect(
                address, uri=True, isolation_level=None, timeout=5.0, check_same_thread=False
            )
            self._connection.execute(SQL["notes"]).fetchall()
        except sqlite3.DatabaseError as trouble:
            self.close()
            raise DirectoryUnusable(f"there are no links in {self._path} yet: {trouble}") from trouble

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def about(self, url: Url) -> tuple[Incoming, list[Anchor]]:
        """`incoming` and `anchors` at once, for the price of one."""
        connection = self._opened()
        target = target_state(connection, url.id)
        addresses = _addresses(connection, [anchor.source for anchor in target.anchors])
        known = [anchor for anchor in target.anchors if anchor.source in addresses]
        tally = Counter(
            (anchor.is_inner, addresses[anchor.source].host.name, words)
            for anchor in known
            if (words := " ".join(anchor.text.split()))
        )
        ranked = sorted(tally.items(), key=lambda one: (one[0][0], -one[1], one[0]))
        sources = tuple(addresses[anchor.source] for anchor in known)
        return (
            Incoming(target.count, sources),
            [Anchor(text, site, count, is_own) for (is_own, site, text), count in ranked],
        )

    def incoming(self, url: Url) -> Incoming:
        return self.about(url)[0]

    def anchors(self, url: Url) -> list[Anchor]:
        """By linking site, other sites first, most used first; links without words are left out."""
        return self.about(url)[1]

    def outgoing(self, url: Url) -> list[Link]:
        """As the page has them, in its order; empty for a page that is not known."""
        row = self._opened().execute(SQL["outgoing_of"], (json.dumps([url.id]),)).fetchone()
        return list(links_in(row[1])) if row else []

    def digest(self) -> str:
        """The same for the same links, however and in whatever order they came."""
        connection, seen = self._opened(), sha256()
        for url_id, fetched_at, url, outgoing in connection.execute(SQL["all_sources"]):
            seen.update(repr((url_id, fetched_at, url, links_in(outgoing))).encode("utf-8", "replace"))
        ids = {link.url.id for row in connection.execute(SQL["all_sources"]) for link in links_in(row[3])}
        for url_id in sorted(ids):
            seen.update(repr(target_state(connection, url_id)).encode("utf-8", "replace"))
        return seen.hexdigest()

    def _opened(self) -> sqlite3.Connection:
        assert self._connection is not None, "the links are not open"
        return self._connection


def links_in(packed: bytes) -> tuple[Link, ...]:
    return _LINKS.decode(inflated(packed))


def merge_state(connection: sqlite3.Connection) -> MergeState:
    notes = dict(connection.execute(SQL["notes"]).fetchall())
    return MergeState(notes.get("merge_last", 0), notes.get("merge_low", LOWEST))


def targets_state(connection: sqlite3.Connection, ids: Sequence[int]) -> dict[int, Target]:
    """The merged part of these targets."""
    rows = connection.execute(SQL["targets_of"], (json.dumps(ids),))
    return {target: Target(count, _STANDING.decode(anchors)) for target, count, anchors in rows}


def target_state(connection: sqlite3.Connection, target: int) -> Target:
    """Merged and waiting changes together, of one moment."""
    connection.execute("BEGIN")
    try:
        merge = merge_state(connection)
        state = targets_state(connection, [target]).get(target, Target())
        for run, changes in connection.execute(SQL["all_runs"]).fetchall():
            if run > merge.last or target >= merge.low:
                state = applied(state, changes_in(connection, run, changes, target, target + 1))
        return state
    finally:
        connection.execute("COMMIT")


def changes_in(connection: sqlite3.Connection, run: int, changes: int, low: int, below: int) -> list[Change]:
    """The changes of targets from `low` to before `below`, read piecewise: runs are large and mostly not wanted."""
    with (
        connection.blobopen("runs", "columns", run, readonly=True) as columns,
        connection.blobopen("runs", "texts", run, readonly=True) as texts,
    ):

        def read(offset: int, length: int) -> bytes:
            return _piece(columns, offset, length)

        def read_text(offset: int, length: int) -> bytes:
            return _piece(texts, offset, length)

        start, end = rows_between(changes, read, low, None if below >= BEYOND else below)
        return unpack(changes, start, end, read, read_text)


def _piece(blob: sqlite3.Blob, offset: int, length: int) -> bytes:
    blob.seek(offset)
    return blob.read(length) if length else b""


def _addresses(connection: sqlite3.Connection, ids: list[int]) -> dict[int, Url]:
    rows = connection.execute(SQL["addresses_of"], (json.dumps(ids),))
    return {source: Url(text) for source, text in rows}
