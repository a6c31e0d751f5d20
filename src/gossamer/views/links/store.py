"""The only writer of the links, in the indexer process.

Inserting each link at its target would rewrite the whole table over and over: targets are hashes, so every link is on
a different page of the file. Instead a commit writes its changes as one sorted run. When enough changes wait, they are
merged into the targets in order, a slice with every commit, so that no commit takes long.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import msgspec

from gossamer.base.clock import Instant
from gossamer.base.errors import DirectoryUnusable, DiskFull, GossamerError, ViewDamaged, damage_named
from gossamer.base.files import Files
from gossamer.base.tell import Tell
from gossamer.spool.codec import Broken, deflated
from gossamer.values.link import Link
from gossamer.values.page import Page, Reading
from gossamer.values.url import Url
from gossamer.views.links.changes import Columns, Target, applied, by_target, changes_between, pack, pointing
from gossamer.views.links.reader import (
    BEYOND,
    LOWEST,
    SQL,
    MergeState,
    changes_in,
    links_in,
    merge_state,
    notes_in,
    targets_state,
)

VERSION = 1
MERGE_AT = 2_000_000
"""Waiting changes that start a merge; or a quarter of all merged so far, if that is more."""
MOST_RUNS = 200
SLICE = 8_000
"""Changes merged with a commit, at least ..."""
PACE = 1.25
"""... or this many times what it adds, if that is more: a merge then ends before the next is due."""

_ENCODER = msgspec.msgpack.Encoder()
_PRAGMAS = ("journal_mode = WAL", "synchronous = NORMAL", "cache_size = -65536", "wal_autocheckpoint = 8000")


class _Outgoing(NamedTuple):
    """A page's links until the next commit; the rest of its reading is not kept."""

    url: Url
    fetched_at: Instant
    links: bytes
    pointing: Columns


class LinksWriter:
    """Replaces a page's outgoing links, never with those of an older capture."""

    is_patient = True
    is_full = is_busy = False

    def __init__(self, path: Path, files: Files, tell: Tell, merge_at: int = MERGE_AT) -> None:
        self._path, self._files, self._tell, self._merge_at = path, files, tell, merge_at
        self._connection: sqlite3.Connection | None = None
        self._pending: dict[int, _Outgoing] = {}
        self._position = b""

    def open(self) -> None:
        """A database that is missing, damaged or of an older format becomes an empty one without a position."""
        self._files.make_folder(self._path.parent)
        try:
            self._connect()
        except sqlite3.DatabaseError as trouble:
            self._tell("links.unreadable", because=str(trouble))
            self._start_anew()
        self._position = notes_in(self._opened()).get("position", b"")

    def close(self) -> None:
        """Drop what was not committed; the spool's follower replays it."""
        self._pending.clear()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @property
    def position(self) -> bytes:
        """That of the last `commit`; empty at first."""
        return self._position

    @property
    def waiting(self) -> int:
        return len(self._pending)

    def replace(self, readings: Sequence[Reading]) -> int:
        """Take the pages' links, except where the same or a newer capture is stored; returns how many were taken."""
        with damage_named(self._path, sqlite3.DatabaseError):
            held = self._held([reading.page.url.id for reading in readings])
        taken = 0
        for reading in readings:
            source = reading.page.url.id
            if reading.fetched_at > held.get(source, -1):
                self._pending[source] = _outgoing(reading)
                held[source] = reading.fetched_at
                taken += 1
        return taken

    def commit(self, position: bytes = b"") -> None:
        """In one transaction: the links taken since the last commit, a slice of the merge, and `position`."""
        if not self._pending and position == self._position:
            return
        connection = self._opened()
        try:
            connection.execute("BEGIN IMMEDIATE")
            added = self._write_pending(connection)
            self._merge_some(connection, max(SLICE, round(PACE * added)))
            connection.execute(SQL["note"], ("position", position))
            connection.execute("COMMIT")
        except sqlite3.Error as trouble:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if "full" in str(trouble):
                raise DiskFull(f"the disk is full: the links in {self._path} cannot be written") from trouble
            if not isinstance(trouble, sqlite3.OperationalError):  # corrupt, or not a database
                raise ViewDamaged(self._path, trouble) from trouble
            raise GossamerError(f"the links in {self._path} cannot be written: {trouble}") from trouble
        except (ValueError, *Broken) as trouble:  # type: ignore[misc]
            connection.execute("ROLLBACK")
            raise ViewDamaged(self._path, trouble) from trouble
        self._tell("links.committed", pages=len(self._pending), changes=added)
        self._pending.clear()
        self._position = position

    def settle(self) -> None:
        """Nothing to wait for: `commit` is durable when it returns."""

    def _connect(self) -> None:
        connection = sqlite3.connect(self._path, isolation_level=None, timeout=5.0, check_same_thread=False)
        self._connection = connection
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise DirectoryUnusable(f"{self._path} was made by a newer Gossamer; upgrade, or delete it to rebuild it")
        for table in ("sources", "runs", "targets", "notes"):
            connection.execute(SQL[f"create_{table}"])
        connection.execute(f"PRAGMA user_version = {VERSION}")

    def _start_anew(self) -> None:
        self.close()
        for suffix in ("", "-wal", "-shm"):
            self._files.remove(self._path.with_name(self._path.name + suffix))
        self._connect()

    def _opened(self) -> sqlite3.Connection:
        assert self._connection is not None, "the links are not open"
        return self._connection

    def _held(self, sources: list[int]) -> dict[int, Instant]:
        held: dict[int, Instant] = dict(self._opened().execute(SQL["held"], (json.dumps(sources),)).fetchall())
        held.update((one, self._pending[one].fetched_at) for one in sources if one in self._pending)
        return held

    def _write_pending(self, connection: sqlite3.Connection) -> int:
        """Write the sources, and their changes as one run; returns the number of changes."""
        if not self._pending:
            return 0
        old = dict(connection.execute(SQL["outgoing_of"], (json.dumps(list(self._pending)),)).fetchall())
        pages = sorted(self._pending.items())
        rows = [(source, page.fetched_at, page.url.text, page.links) for source, page in pages]
        connection.executemany(SQL["put_source"], rows)
        count, columns, texts = pack(_changes(pages, old))
        if count:
            connection.execute(SQL["add_run"], (count, columns, texts))
        return count

    def _merge_some(self, connection: sqlite3.Connection, at_least: int) -> None:
        state = merge_state(connection)
        runs = connection.execute(SQL["all_runs"]).fetchall()
        if not state.last:
            merged = notes_in(connection).get("merged", 0)
            if sum(changes for _, changes in runs) < max(self._merge_at, merged // 4) and len(runs) < MOST_RUNS:
                return
            state = MergeState(last=runs[-1][0])
        ours = [run for run in runs if run[0] <= state.last]
        slices = -(-sum(changes for _, changes in ours) // at_least)
        below = min(BEYOND, state.low + (1 << 64) // slices + 1)
        merged_now = _merge_slice(connection, ours, state.low, below)
        _write_merge_state(connection, state.last, below, merged_now)


def _outgoing(reading: Reading) -> _Outgoing:
    url, links = reading.page.url, _links_of(reading.page)
    return _Outgoing(url, reading.fetched_at, _packed(links), pointing(url, links))


def _changes(pages: Sequence[tuple[int, _Outgoing]], old: dict[int, bytes]) -> Iterator[tuple[int, Columns]]:
    for source, page in pages:
        before = old.get(source)
        if before is None:
            yield source, page.pointing
        else:
            yield source, changes_between(pointing(page.url, links_in(before)), page.pointing)


def _merge_slice(connection: sqlite3.Connection, runs: list[tuple[int, int]], low: int, below: int) -> int:
    """Apply the runs' changes to the targets from `low` to before `below`; returns their number."""
    changes = [change for run, count in runs for change in changes_in(connection, run, count, low, below)]
    changes.sort(key=by_target)  # stable: an older run's changes of a target stay first
    grouped = [(target, list(group)) for target, group in groupby(changes, key=by_target)]
    before = targets_state(connection, [target for target, _ in grouped])
    puts, drops = [], []
    for target, group in grouped:
        now = applied(before.get(target, Target()), group)
        if now.count:
            puts.append((target, now.count, _ENCODER.encode(now.anchors)))
        elif target in before:
            drops.append((target,))
    connection.executemany(SQL["put_target"], puts)
    connection.executemany(SQL["drop_target"], drops)
    return len(changes)


def _write_merge_state(connection: sqlite3.Connection, last: int, below: int, merged: int) -> None:
    notes = notes_in(connection)
    if below >= BEYOND:
        connection.execute(SQL["drop_runs"], (last,))
        connection.execute(SQL["note"], ("merges", notes.get("merges", 0) + 1))
        last, below = 0, LOWEST
    for name, value in (("merge_last", last), ("merge_low", below), ("merged", notes.get("merged", 0) + merged)):
        connection.execute(SQL["note"], (name, value))


def _packed(links: tuple[Link, ...]) -> bytes:
    try:
        return deflated(_ENCODER.encode(links))
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8
        plain = [(link.url, link.text.encode("utf-8", "replace").decode(), link.may_follow) for link in links]
        return deflated(_ENCODER.encode(plain))


def _links_of(page: Page) -> tuple[Link, ...]:
    """The page's own nofollow applies to each of its links."""
    if page.directives.may_follow:
        return page.links
    return tuple(Link(link.url, link.text, False) for link in page.links)
