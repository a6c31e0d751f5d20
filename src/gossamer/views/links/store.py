"""The links' only writer, in the indexer process; and what it stores, which the reader reads.

Inserting each link at its target would rewrite the whole table over and over: targets are hashes, so every link is on
a different page of the file. Instead a commit writes the changes of its pages as one sorted run. When enough changes
wait, they are merged into the targets in order, a slice with every commit, so that no commit takes long.

A run is two byte strings: columns in order of target, and the texts concatenated. A target is found by a search over
the first column, without unpacking.
"""

import json
import sqlite3
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby, pairwise
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from gossamer.base.clock import Instant
from gossamer.base.errors import DirectoryUnusable, DiskFull, GossamerError, ViewDamaged, damage_named
from gossamer.base.files import Files
from gossamer.base.tell import Tell
from gossamer.spool.codec import Broken, deflated, inflated
from gossamer.store.statements import load
from gossamer.values.link import Link
from gossamer.values.page import Page, Reading
from gossamer.values.url import Url, ids_of

SQL = load("gossamer.views.links")
LOWEST, BEYOND = -(1 << 63), 1 << 63
"""Ids are signed 64-bit integers; BEYOND is greater than all."""
MOST_ANCHORS = 100
LONGEST_TEXT = 120
WINDOW = 256
"""Rows that are cheaper to read at once than to search one by one."""

REMOVED, EXTERNAL, INTERNAL = 0, 1, 2
"""Kinds of changes: a link that is gone, and links from another host and from the same one."""

Change = tuple[int, int, int, str]
"""Target, source, kind, text: one page starts or stops linking to another. Its removal comes before its addition."""

Read = Callable[[int, int], bytes]
"""`read(offset, length)` returns a piece of one of a run's byte strings."""

by_target = itemgetter(0)
_ENCODER = msgspec.msgpack.Encoder()
_LINKS = msgspec.msgpack.Decoder(tuple[Link, ...])


class KeptLink(msgspec.Struct, frozen=True, array_like=True):
    """An incoming link, stored with its target."""

    source: int
    is_internal: bool
    text: str


_ANCHORS = msgspec.msgpack.Decoder(tuple[KeptLink, ...])


class Target(msgspec.Struct, frozen=True):
    count: int = 0
    anchors: tuple[KeptLink, ...] = ()
    """At most MOST_ANCHORS: other hosts first, then by the sources' ids, which is as good as random."""


class MergeState(msgspec.Struct, frozen=True):
    """The changes in runs up to `last` are merged for all targets below `low`."""

    last: int = 0
    low: int = LOWEST
    merges: int = 0
    """Merges completed so far."""


class Columns(NamedTuple):
    """The changes of one page, by column: a page has about 40 rows."""

    targets: "array[int]"
    kinds: bytes
    texts: list[str]


def link_columns(source: Url, links: Sequence[Link]) -> Columns:
    """The targets a page endorses, each once, with kind and text. Links to itself and nofollow links do not count."""
    host, own = source.host.name, source.text
    ours = f"http://{host}/", f"https://{host}/"
    found: dict[str, str] = {}
    for link in links:
        target = link.url.text
        if link.may_follow and target != own and not found.get(target):
            found[target] = link.text
    kinds = bytes([INTERNAL if target.startswith(ours) else EXTERNAL for target in found])
    return Columns(ids_of(found), kinds, [text[:LONGEST_TEXT] for text in found.values()])


def changes_between(old: Columns, new: Columns) -> Columns:
    """The changes from `old` to `new`, removals first."""
    was = dict(zip(old.targets, zip(old.kinds, old.texts, strict=True), strict=True))
    now = dict(zip(new.targets, zip(new.kinds, new.texts, strict=True), strict=True))
    rows = [(target, REMOVED, "") for target, link in was.items() if now.get(target) != link]
    rows += [(target, *link) for target, link in now.items() if was.get(target) != link]
    return Columns(array("q", [row[0] for row in rows]), bytes([row[1] for row in rows]), [row[2] for row in rows])


def pack(pages: Iterable[tuple[int, Columns]]) -> tuple[int, bytes, bytes]:
    """A run of these pages' changes: their number, the columns, and the texts. REQUIRES: pages in order of their ids,
    so that a stable sort by target is enough.

    Columns: targets and sources (8 bytes each), ends of the texts (4), kinds (1), in the machine's byte order.
    """
    targets, sources, kinds, texts = array("q"), array("q"), bytearray(), list[str]()
    for source, change in pages:
        targets += change.targets
        sources += array("q", (source,)) * len(change.targets)
        kinds += change.kinds
        texts += change.texts
    if not texts:
        return 0, b"", b""
    order = sorted(range(len(texts)), key=targets.__getitem__)
    sorted_of = itemgetter(*order) if len(order) > 1 else tuple  # for a single row itemgetter returns no tuple
    ordered: tuple[str, ...] = sorted_of(texts)
    joined = "".join(ordered)
    encoded = ordered if joined.isascii() else [text.encode("utf-8", "replace") for text in ordered]
    ends = array("I", accumulate(map(len, encoded)))
    columns = array("q", sorted_of(targets)), array("q", sorted_of(sources)), ends, bytes(sorted_of(kinds))
    return len(ordered), b"".join(columns), joined.encode("utf-8", "replace")


def rows_between(count: int, read: Read, low: int, below: int) -> tuple[int, int]:
    """Which of `count` rows have targets from `low` to before `below`."""
    start = _first_row(count, read, low)
    if below >= BEYOND:
        return start, count
    if start == count or array("q", read(8 * start, 8))[0] >= below:
        return start, start  # most targets are not in most runs
    return start, _first_row(count, read, below)


def _first_row(count: int, read: Read, target: int) -> int:
    """Interpolation search: targets are hashes, spread evenly, so a few guesses do where bisection takes twenty steps.
    Every third step bisects, in case an attacker has skewed the distribution."""
    low, high, least, most, steps = 0, count, LOWEST, BEYOND - 1, 0
    while high - low > WINDOW:
        steps += 1
        middle = (low + high) // 2
        if steps % 3:
            middle = low + int((target - least) / max(1, most - least) * (high - low))
        start = min(max(middle - WINDOW // 2, low), high - WINDOW)
        seen = array("q", read(8 * start, 8 * WINDOW))
        if seen[0] >= target:
            high, most = start, seen[0]
        elif seen[-1] < target:
            low, least = start + WINDOW, seen[-1]
        else:
            return start + bisect_left(seen, target)
    return low + bisect_left(array("q", read(8 * low, 8 * (high - low))), target)


def unpack(count: int, start: int, end: int, read: Read, read_text: Read) -> list[Change]:
    """The changes in rows `start` to before `end` of a run of `count`."""
    if start >= end:
        return []
    some = end - start
    targets, sources, ends = array("q"), array("q"), array("I")
    targets.frombytes(read(8 * start, 8 * some))
    sources.frombytes(read(8 * count + 8 * start, 8 * some))
    before = min(start, 1)  # the row before has the start of the first text
    ends.frombytes(read(16 * count + 4 * (start - before), 4 * (some + before)))
    kinds = read(20 * count + start, some)
    first = ends.pop(0) if before else 0
    raw = read_text(first, ends[-1] - first)
    starts = [0, *(one - first for one in ends)]
    texts = [raw[a:b].decode("utf-8", "replace") for a, b in pairwise(starts)]
    return list(zip(targets, sources, kinds, texts, strict=True))


def ranges_in(
    connection: sqlite3.Connection, run: int, changes: int, ranges: Sequence[tuple[int, int]]
) -> list[list[Change]]:
    """The changes of targets in each of these half-open ranges. Runs are large, so only pieces of them are read."""
    if not ranges:
        return []
    with connection.blobopen("runs", "columns", run, readonly=True) as columns:
        read = _reading(columns)
        rows = [rows_between(changes, read, low, below) for low, below in ranges]
    return rows_in(connection, run, changes, rows)


def rows_in(
    connection: sqlite3.Connection, run: int, changes: int, rows: Sequence[tuple[int, int]]
) -> list[list[Change]]:
    """The changes in these rows of a run, each pair a half-open range."""
    with (
        connection.blobopen("runs", "columns", run, readonly=True) as columns,
        connection.blobopen("runs", "texts", run, readonly=True) as texts,
    ):
        read, read_text = _reading(columns), _reading(texts)
        return [unpack(changes, start, end, read, read_text) for start, end in rows]


def _reading(blob: sqlite3.Blob) -> Read:
    def read(offset: int, length: int) -> bytes:
        blob.seek(offset)
        return blob.read(length) if length else b""

    return read


def applied(target: Target, changes: Iterable[Change]) -> Target:
    """REQUIRES: the changes are of this target, oldest first."""
    count = target.count
    links = {anchor.source: anchor for anchor in target.anchors}
    for _, source, kind, text in changes:
        if kind == REMOVED:
            count -= 1
            links.pop(source, None)
        else:
            count += 1
            links[source] = KeptLink(source, kind == INTERNAL, text)
    ranked = sorted(links.values(), key=lambda anchor: (anchor.is_internal, anchor.source))
    return Target(count, tuple(ranked[:MOST_ANCHORS]))


def links_in(packed: bytes) -> tuple[Link, ...]:
    return _LINKS.decode(inflated(packed))


def notes_in(connection: sqlite3.Connection) -> dict[str, Any]:
    return dict(connection.execute(SQL["notes"]).fetchall())


def merge_state(connection: sqlite3.Connection) -> MergeState:
    notes = notes_in(connection)
    return MergeState(notes.get("merge_last", 0), notes.get("merge_low", LOWEST), notes.get("merges", 0))


def merged_targets(connection: sqlite3.Connection, ids: Sequence[int]) -> dict[int, Target]:
    """The merged part of these targets."""
    rows = connection.execute(SQL["targets_of"], (json.dumps(ids),))
    return {target: Target(count, _ANCHORS.decode(anchors)) for target, count, anchors in rows}


VERSION = 1
MERGE_AT = 2_000_000
"""Waiting changes that start a merge; or a quarter of all merged so far, if that is more."""
MOST_RUNS = 200
SLICE = 8_000
"""Changes merged with a commit, at least ..."""
PACE = 1.25
"""... or this many times what it adds, if that is more: a merge then ends before the next is due."""

_PRAGMAS = ("journal_mode = WAL", "synchronous = NORMAL", "cache_size = -65536", "wal_autocheckpoint = 8000")


class _Outgoing(NamedTuple):
    """A page's links until the next commit; the rest of its reading is not kept."""

    url: Url
    fetched_at: Instant
    links: bytes
    columns: Columns


class LinksWriter:
    """Replaces a page's outgoing links, never with those of an older capture."""

    is_patient = True
    is_full = is_busy = waits_apart = False
    refused: Mapping[str, str] = MappingProxyType({})
    trouble = ""

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
            self._start_empty()
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
                url, links = reading.page.url, links_of(reading.page)
                self._pending[source] = _Outgoing(url, reading.fetched_at, packed(links), link_columns(url, links))
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

    def _start_empty(self) -> None:
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


def _changes(pages: Sequence[tuple[int, _Outgoing]], old: dict[int, bytes]) -> Iterator[tuple[int, Columns]]:
    for source, page in pages:
        before = old.get(source)
        old_columns = link_columns(page.url, links_in(before)) if before is not None else None
        yield source, changes_between(old_columns, page.columns) if old_columns else page.columns


def _merge_slice(connection: sqlite3.Connection, runs: list[tuple[int, int]], low: int, below: int) -> int:
    """Apply the runs' changes to the targets from `low` to before `below`; returns their number."""
    changes = [change for run, count in runs for change in ranges_in(connection, run, count, [(low, below)])[0]]
    changes.sort(key=by_target)  # stable: an older run's changes of a target stay first
    grouped = [(target, list(group)) for target, group in groupby(changes, key=by_target)]
    before = merged_targets(connection, [target for target, _ in grouped])
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


def packed(links: tuple[Link, ...]) -> bytes:
    """The inverse of `links_in`."""
    try:
        return deflated(_ENCODER.encode(links))
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8
        plain = [(link.url, link.text.encode("utf-8", "replace").decode(), link.may_follow) for link in links]
        return deflated(_ENCODER.encode(plain))


def links_of(page: Page) -> tuple[Link, ...]:
    """The page's own nofollow applies to each of its links."""
    if page.directives.may_follow:
        return page.links
    return tuple(Link(link.url, link.text, False) for link in page.links)
