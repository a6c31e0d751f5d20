"""The segments of a cluster's archive and the objects that hold them, as rows of its database.

A segment is one group of captures: a volume of the catalogue that is never changed. An object of the archive storage
holds one segment, or many that were joined. All times here are by the clock of the database.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from gossamer.base.clock import SECOND
from gossamer.base.errors import GossamerError
from gossamer.store.statements import State, load

VIEWS = ("words", "facts", "links")
"""What indexers make of each segment."""
_SQL = load("gossamer.store", "segments.sql")


class StoredSegment(msgspec.Struct, frozen=True):
    """A segment, and where it is."""

    name: str
    object: str
    base: int
    """Where it begins in its object."""
    size: int
    records: int
    """Its first, a warcinfo, included."""
    digest: bytes
    """SHA-256."""


class SegmentLost(GossamerError):
    """A segment was given up before its captures were acknowledged, because its node seemed dead: write it again."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the segment {name} was removed before its captures were acknowledged")


def next_number(state: State) -> int:
    return int(state.execute(_SQL["next_number"]).fetchone()[0])


def add_segment(state: State, segment: StoredSegment) -> None:
    """Its object is stored. Inside the caller's transaction, which may be repeated. Raises SegmentLost."""
    state.execute(_SQL["object_added"], (segment.object, segment.size))
    state.execute(_SQL["segment_added"], (segment.name, segment.size, segment.records, segment.digest))
    found = find_segment(state, segment.name)
    is_given_up = state.execute(_SQL["is_retired"], (segment.object,)).fetchone() is not None
    if found is None or found.digest != segment.digest or is_given_up:
        raise SegmentLost(segment.name)


def settle_segments(state: State, names: Iterable[str]) -> None:
    """The captures of these segments are acknowledged, and the views have to take them. Inside the transaction that
    adds the captures. Raises SegmentLost."""
    for name in names:
        if state.execute(_SQL["settled"], (name,)).rowcount != 1:
            raise SegmentLost(name)
        state.executemany(_SQL["work_added"], [{"1": name, "2": view} for view in VIEWS])


def find_segment(state: State, name: str) -> StoredSegment | None:
    row = state.execute(_SQL["segment"], (name,)).fetchone()
    return _segment(row) if row is not None else None


def segments_in(state: State, name: str) -> list[StoredSegment]:
    """Those in an object, in order."""
    return [_segment(row) for row in state.execute(_SQL["segments_in"], (name,)).fetchall()]


def segment_names(state: State) -> list[str]:
    """Of segments whose captures are acknowledged."""
    return [name for (name,) in state.execute(_SQL["segments"]).fetchall()]


def is_awaited(state: State, name: str) -> bool:
    """Whether a view still waits for this segment."""
    return state.execute(_SQL["is_indexed"], (name,)).fetchone() is not None


# Upkeep, by one node at a time.


@contextmanager
def alone(state: State, job: str) -> Iterator[bool]:
    """Whether this is now the one node that does the job, during the block. REQUIRES: a reader's connection."""
    is_ours = bool(state.execute(_SQL["try_lock"], (job,)).fetchone()[0])
    try:
        yield is_ours
    finally:
        if is_ours:
            state.execute(_SQL["unlock"], (job,)).fetchone()


@contextmanager
def in_turn(state: State, job: str) -> Iterator[None]:
    """The same; waits for the other node. REQUIRES: a reader's connection."""
    state.execute(_SQL["lock"], (job,)).fetchone()
    try:
        yield
    finally:
        state.execute(_SQL["unlock"], (job,)).fetchone()


def small_objects(state: State, below: int, after: str, older_s: float, most: int) -> list[tuple[str, int]]:
    """Names and sizes of objects that may be joined, after this name."""
    given = (below, after, int(older_s * SECOND), most)
    return [(name, size) for name, size in state.execute(_SQL["to_join"], given).fetchall()]


def join_segments(state: State, name: str, size: int, moved: Sequence[StoredSegment], bases: Sequence[int]) -> bool:
    """Segments are in this new object from now on, and nothing is left in their old ones. False, and nothing changed:
    one of them was moved meanwhile. REQUIRES: a reader's connection."""
    with _transaction(state) as commit:
        is_done = state.execute(_SQL["object_added"], (name, size)).rowcount == 1
        for one, base in zip(moved, bases, strict=True):
            given = (name, base, one.name, one.object, one.base)
            is_done = is_done and state.execute(_SQL["moved"], given).rowcount == 1
        for old in sorted({one.object for one in moved}):
            state.execute(_SQL["retired"], (old,))
        if is_done:
            commit()
    return is_done


def outdated_objects(state: State, since_s: float, most: int) -> list[str]:
    return [name for (name,) in state.execute(_SQL["outdated"], (int(since_s * SECOND), most)).fetchall()]


def drop_object(state: State, name: str) -> None:
    """REQUIRES: it is deleted."""
    state.execute(_SQL["object_dropped"], (name,))
    state.execute(_SQL["object_removed"], (name,))


def drop_unsettled(state: State, since_s: float) -> list[str]:
    """Give up segments that were stored so long ago and never acknowledged; returns their objects."""
    with _transaction(state) as commit:
        names = [name for (name,) in state.execute(_SQL["unsettled_dropped"], (int(since_s * SECOND),))]
        for name in names:
            state.execute(_SQL["given_up"], (name,))
        commit()
    return names


def unknown_objects(state: State, names: Iterable[str]) -> list[str]:
    """Those that no row names."""
    given = list(names)
    known = {name for (name,) in state.execute(_SQL["known_objects"], (given,)).fetchall()}
    return [name for name in given if name not in known]


def give_up_name(state: State, name: str) -> None:
    """No object of this name may be added any more; what is stored under it is deleted after the usual time."""
    state.execute(_SQL["forgotten"], (name,))


def objects_to_check(state: State, every_s: float, most: int) -> list[str]:
    """Those that were not compared with the digests of their segments for so long, the oldest first."""
    return [name for (name,) in state.execute(_SQL["to_check"], (int(every_s * SECOND), most)).fetchall()]


def note_checked(state: State, name: str, damage: str) -> None:
    state.execute(_SQL["checked"], (name, damage or None))


@contextmanager
def _transaction(state: State) -> Iterator[Callable[[], None]]:
    """On a reader's connection. It is undone unless `commit` is called in the block."""
    is_done = False

    def commit() -> None:
        nonlocal is_done
        state.execute("COMMIT")
        is_done = True

    state.execute("BEGIN")
    try:
        yield commit
    finally:
        if not is_done:
            state.execute("ROLLBACK")


def _segment(row: Any) -> StoredSegment:
    name, held_by, base, size, records, digest = row
    return StoredSegment(name, held_by, base, size, records, bytes(digest))
