"""Incoming and outgoing links of pages with their anchor texts: the read side, for any process."""

import json
import sqlite3
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from itertools import takewhile
from pathlib import Path
from typing import Protocol

import msgspec

from gossamer.base.clock import Instant
from gossamer.base.errors import DirectoryUnusable, damage_named
from gossamer.spool.codec import Broken
from gossamer.store.service import ServiceLost
from gossamer.values.link import Link
from gossamer.values.url import Url
from gossamer.views.links import store

MOST_BYTES = 64_000_000
"""Of runs cached in memory."""
TARGET_BYTES = 16
"""Of a cached target, with its share of the marks."""
UNREADABLE = (DirectoryUnusable, sqlite3.Error, ServiceLost)
"""Raised where there is no view, or it is being replaced, or its service is away."""


class Anchor(msgspec.Struct, frozen=True, gc=False):
    """A text that pages of one site use for links to this page, and how many do."""

    text: str
    site: str
    count: int
    is_own_site: bool = False


class Incoming(msgspec.Struct, frozen=True):
    count: int
    """Pages that link here; exact."""
    sources: tuple[Url, ...]
    """At most 100 of them, from other hosts first."""


RunKey = tuple[int, int, int, int]
"""File, completed merges, number, changes. A run never changes, but its number may be reused after a merge of all."""


class KeptRun(msgspec.Struct, frozen=True):
    """A cached run: whole, or only its targets, which rule most runs out."""

    targets: "array[int]"
    marks: bytes
    """See `marks_of`."""
    columns: bytes = b""
    texts: bytes = b""

    @property
    def size(self) -> int:
        return TARGET_BYTES * len(self.targets) + len(self.columns) + len(self.texts)

    def changes_of(
        self, wanted: Iterable[int], number: int, connection: sqlite3.Connection
    ) -> list[list[store.Change]]:
        """The changes of each of these targets that has any; most are in no run."""
        targets, count = self.targets, len(self.targets)
        marks, mask = self.marks, len(self.marks) - 1
        starts = [(target, bisect_left(targets, target)) for target in wanted if marks[target & mask]]
        found = [
            (start, bisect_right(targets, target, start))
            for target, start in starts
            if start < count and targets[start] == target
        ]
        if not found or not self.columns:
            return store.rows_in(connection, number, count, found) if found else []
        columns, texts = _pieces(self.columns), _pieces(self.texts)
        return [store.unpack(count, *rows, columns, texts) for rows in found]


class Runs:
    """A cache of the runs that wait for a merge: SQLite walks a large value from its start for every piece of it.

    Targets are cached first, since they answer most lookups. Shared by all readers of a file, in several threads."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: dict[RunKey, KeptRun] = {}

    def kept(self, key: RunKey, present: Collection[RunKey], connection: sqlite3.Connection) -> KeptRun | None:
        """None when there is no room even for its targets; `present` are the runs that still exist."""
        run = self._kept.get(key)
        if run is None:
            kept = {one: run for one, run in list(self._kept.items()) if one in present}
            if self._room_with(kept) < TARGET_BYTES * key[3]:
                kept = {one: KeptRun(run.targets, run.marks) for one, run in kept.items()}
            if (room := self._room_with(kept)) < TARGET_BYTES * key[3]:
                return None
            others = TARGET_BYTES * sum(one[3] for one in present if one not in kept)
            run = self._read(key, room - others, connection)
            self._kept = {**kept, key: run}
        return run

    def _room_with(self, kept: Mapping[RunKey, KeptRun]) -> int:
        return self._most_bytes - sum(one.size for one in kept.values())

    def _read(self, key: RunKey, room: int, connection: sqlite3.Connection) -> KeptRun:
        """Whole if it fits into `room`, which excludes the targets of the others."""
        if connection.execute(store.SQL["run_bytes"], (key[2],)).fetchone()[0] <= room:
            columns, texts = connection.execute(store.SQL["run"], (key[2],)).fetchone()
            targets = array("q", columns[: 8 * key[3]])
            return KeptRun(targets, marks_of(targets), columns, texts)
        with connection.blobopen("runs", "columns", key[2], readonly=True) as columns:
            targets = array("q", columns.read(8 * key[3]))
            return KeptRun(targets, marks_of(targets))


def marks_of(targets: "array[int]") -> bytes:
    """A table of four to eight marks a target, indexed by a target's last bits: one lookup rules out most targets that
    are not there, where a search would take twenty steps."""
    marks = bytearray(1 << (4 * len(targets)).bit_length())
    mask = len(marks) - 1
    for target in targets:
        marks[target & mask] = 1
    return bytes(marks)


class Links(Protocol):
    """Incoming and outgoing links. Real ones: `LinksReader` on SQLite, and `views.links.opensearch.ServiceLinks`."""

    def another(self) -> "Links":
        """A reader of the same links for another thread; not open yet."""

    def open(self) -> None:
        """Raises DirectoryUnusable if there is no such view yet."""

    def close(self) -> None: ...

    def about(self, url: Url) -> tuple[Incoming, list[Anchor]]:
        """The anchors by linking site: other sites first, then the most used; links without text are left out."""

    def about_all(self, urls: Sequence[Url]) -> list[tuple[Incoming, list[Anchor]]]:
        """`about` for several pages, which is cheaper than one by one."""

    def counts_and_anchors(self, urls: Sequence[Url]) -> list[tuple[int, list[Anchor]]]:
        """How many pages link to each of these, and the anchors of other sites alone: what a result shows."""

    def outgoing(self, url: Url) -> list[Link]:
        """In the page's order; empty for an unknown page."""

    def position(self) -> bytes:
        """The writer's position in the spool; empty on a cluster."""

    def held(self, urls: Sequence[Url]) -> dict[int, Instant]:
        """By id, the fetch times of the known pages, with links or without."""


class LinksReader:
    """Of a database in the views' folder.

    REQUIRES: `open` before any query, and one thread at a time."""

    def __init__(self, path: Path, runs: Runs | None = None) -> None:
        self._path = path
        self._runs = runs or Runs()
        self._connection: sqlite3.Connection | None = None
        self._file = 0

    def another(self) -> "LinksReader":
        return LinksReader(self._path, self._runs)

    def open(self) -> None:
        if not self._path.exists():
            raise DirectoryUnusable(f"there are no links in {self._path} yet")
        with self._damage_named(), ExitStack() as undo:
            undo.callback(self.close)
            self._connection = _open_read_only(self._path)
            self._connection.execute(store.SQL["notes"]).fetchall()
            self._file = self._path.stat().st_ino
            undo.pop_all()

    def _damage_named(self) -> AbstractContextManager[None]:
        return damage_named(self._path, sqlite3.DatabaseError, OSError, ValueError, *Broken, LookupError)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def about(self, url: Url) -> tuple[Incoming, list[Anchor]]:
        """The anchors by linking site: other sites first, then the most used; links without text are left out."""
        return self.about_all([url])[0]

    def about_all(self, urls: Sequence[Url]) -> list[tuple[Incoming, list[Anchor]]]:
        """`about` for several pages, which is cheaper than one by one."""
        with self._damage_named():
            states = target_states(self._opened(), [url.id for url in urls], self._runs, self._file)
            linking = _urls(self._opened(), [one.source for state in states.values() for one in state.anchors])
        return [_described(states[url.id], linking) for url in urls]

    def counts_and_anchors(self, urls: Sequence[Url]) -> list[tuple[int, list[Anchor]]]:
        """How many pages link to each of these, and the anchors of other sites alone: what a result shows. Cheaper
        than `about_all`, since most links are internal."""
        ids = [url.id for url in urls]
        with self._damage_named():
            states = target_states(self._opened(), ids, self._runs, self._file)
            external = {  # other sites come first
                target: list(takewhile(lambda anchor: not anchor.is_internal, states[target].anchors)) for target in ids
            }
            sources = [anchor.source for anchors in external.values() for anchor in anchors]
            linking = _urls(self._opened(), sources) if sources else {}
        return [(states[target].count, _anchors(external[target], linking)) for target in ids]

    def outgoing(self, url: Url) -> list[Link]:
        """In the page's order; empty for an unknown page."""
        with self._damage_named():
            row = self._opened().execute(store.SQL["outgoing_of"], (json.dumps([url.id]),)).fetchone()
            return list(store.links_in(row[1])) if row else []

    def position(self) -> bytes:
        """The writer's position in the spool."""
        with self._damage_named():
            return bytes(store.notes_in(self._opened()).get("position", b""))

    def held(self, urls: Sequence[Url]) -> dict[int, Instant]:
        """By id, the fetch times of the known pages, with links or without."""
        with self._damage_named():
            return dict(self._opened().execute(store.SQL["held"], (json.dumps([url.id for url in urls]),)).fetchall())

    def _opened(self) -> sqlite3.Connection:
        assert self._connection is not None, "the links are not open"
        return self._connection


def _described(target: store.Target, linking: dict[int, Url]) -> tuple[Incoming, list[Anchor]]:
    sources = tuple(linking[anchor.source] for anchor in target.anchors if anchor.source in linking)
    return Incoming(target.count, sources), _anchors(target.anchors, linking)


def _anchors(links: Sequence[store.KeptLink], linking: dict[int, Url]) -> list[Anchor]:
    tally = Counter(
        [
            (link.is_internal, linking[link.source].host.name, words)
            for link in links
            if link.source in linking and (words := " ".join(link.text.split()))
        ]
    )
    ranked = sorted(tally.items(), key=lambda one: (one[0][0], -one[1], one[0]))
    return [Anchor(text, site, count, is_own) for (is_own, site, text), count in ranked]


def target_states(
    connection: sqlite3.Connection, targets: Sequence[int], cache: Runs, file: int
) -> dict[int, store.Target]:
    """Merged and waiting changes together, in one snapshot. `file` distinguishes its runs from another file's."""
    connection.execute("BEGIN")
    try:
        merge = store.merge_state(connection)
        states = dict.fromkeys(targets, store.Target()) | store.merged_targets(connection, targets)
        runs = [(file, merge.merges, *row) for row in connection.execute(store.SQL["all_runs"]).fetchall()]
        late = [target for target in states if target >= merge.low]
        for key in runs:
            wanted = states if key[2] > merge.last else late
            if (run := cache.kept(key, runs, connection)) is not None:
                changes = run.changes_of(wanted, key[2], connection)
            else:
                changes = store.ranges_in(connection, key[2], key[3], [(target, target + 1) for target in wanted])
            for found in changes:
                if found:
                    target = found[0][0]
                    states[target] = store.applied(states[target], found)
        return states
    finally:
        connection.execute("COMMIT")


def _pieces(text: bytes) -> store.Read:
    return lambda offset, length: text[offset : offset + length]


def _urls(connection: sqlite3.Connection, ids: list[int]) -> dict[int, Url]:
    rows = connection.execute(store.SQL["urls_of"], (json.dumps(ids),))
    return {source: Url(text) for source, text in rows}


# Every link, for exports: read in batches, so that a slow client keeps no transaction open.

AT_ONCE = 100


def every_link(path: Path) -> Iterator[tuple[str, tuple[Link, ...]]]:
    """Each linking page with its links in page order. Nothing while there is no such file."""
    last, is_more = store.LOWEST, path.is_file()
    while is_more:
        with damage_named(path, sqlite3.DatabaseError, ValueError, *Broken):
            with closing(_open_read_only(path)) as connection:
                packed = connection.execute(store.SQL["next_sources"], (last, AT_ONCE)).fetchall()
            rows = [(number, url, store.links_in(outgoing)) for number, url, outgoing in packed]
        for last, url, links in rows:  # noqa: B007
            yield url, links
        is_more = len(rows) == AT_ONCE


def _open_read_only(path: Path) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=ro"
    return sqlite3.connect(uri, timeout=5.0, isolation_level=None, check_same_thread=False, uri=True)
