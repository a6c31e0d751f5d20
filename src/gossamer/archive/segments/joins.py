"""Small objects of a cluster's archive are joined to large ones, which are cheaper to list and read.

WARC members that follow one another are a WARC file again, so a segment is copied as it is, and compared with its
digest on the way. The catalogue switches in one transaction; who holds the old place finds nothing there one day and
looks again.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import msgspec

from gossamer.archive.reader import generation_of, stem_of
from gossamer.archive.segments.storage import ObjectExists, ObjectStorage, pieces_of, segment_key
from gossamer.base.errors import GossamerError
from gossamer.base.tell import Tell
from gossamer.store.segments import (
    StoredSegment,
    join_segments,
    note_checked,
    segments_in,
    small_objects,
    unknown_objects,
)
from gossamer.store.statements import State

SMALL = 0.5
"""An object that is smaller than so much of the largest may be joined with others."""
MOST_JOINED = 128
"""So many small objects are joined, even if they do not fill a large one."""
YOUNG_S = 60.0
"""An object that is younger is left alone: its segment may be about to be settled, and is being indexed."""
MOST_GENERATIONS = 10_000
Paced = Callable[[int], None]
"""Called with the bytes that were read; it may wait, or raise to stop."""


class SegmentDamaged(GossamerError):
    """A segment is not what its digest says."""

    def __init__(self, segment: StoredSegment, why: str) -> None:
        super().__init__(f"{segment.name} in {segment.object}: {why}")
        self.segment, self.why = segment, why


class JoinRules(msgspec.Struct, frozen=True):
    most_bytes: int
    """Of a joined object."""
    most_objects: int = MOST_JOINED
    young_s: float = YOUNG_S


class Join:
    """Joins objects, one group after another. REQUIRES: no other node does."""

    def __init__(self, state: State, storage: ObjectStorage, rules: JoinRules, paced: Paced, tell: Tell) -> None:
        self._state, self._storage, self._rules = state, storage, rules
        self._paced, self._tell = paced, tell

    def run(self) -> int:
        """Until nothing is left to join; returns how many objects were made."""
        after, made = "", 0
        while group := self._next_group(after):
            after = group[-1]
            made += self._joined(group)
        return made

    def _next_group(self, after: str) -> list[str]:
        """The next objects in order that are worth joining; empty: none."""
        rules = self._rules
        below = max(1, int(SMALL * rules.most_bytes))
        found = small_objects(self._state, below, after, rules.young_s, rules.most_objects)
        size, group = 0, list[str]()
        for name, length in found:
            if group and size + length > rules.most_bytes:
                return group if len(group) > 1 else []
            group.append(name)
            size += length
        is_worth_it = len(group) == rules.most_objects or size >= below
        return group if len(group) > 1 and is_worth_it else []

    def _joined(self, names: Sequence[str]) -> bool:
        moved = [one for name in names for one in segments_in(self._state, name)]
        try:
            new, size = self._stored(moved)
        except SegmentDamaged as damage:  # it is no longer joined; the rest is, the next time
            note_checked(self._state, damage.segment.object, str(damage))
            self._tell("segment.damaged", volume=damage.segment.name, object=damage.segment.object, why=damage.why)
            return False
        bases, end = list[int](), 0
        for one in moved:
            bases.append(end)
            end += one.size
        self._tell("join.stored", object=new, bytes=size)
        is_done = size == end and join_segments(self._state, new, size, moved, bases)
        if is_done:
            self._tell("join.switched", object=new, segments=len(moved), objects=len(names))
        else:
            self._storage.remove(segment_key(new))
        return is_done

    def _stored(self, moved: Sequence[StoredSegment]) -> tuple[str, int]:
        """Under a name that sorts with those of its segments."""
        first = moved[0].object
        generation = generation_of(first) + 1
        while generation < MOST_GENERATIONS:
            name = f"{stem_of(first)}-c{generation:04d}.warc.gz"
            if unknown_objects(self._state, [name]):
                with suppress(ObjectExists):  # of a join that was interrupted
                    return name, self._storage.put_pieces(segment_key(name), self._content(moved))
            generation += 1
        raise GossamerError(f"{stem_of(first)} was joined too often")

    def _content(self, moved: Sequence[StoredSegment]) -> Iterator[bytes]:
        for one in moved:
            yield from verified_pieces(self._storage, one, self._paced)


def verified_pieces(storage: ObjectStorage, segment: StoredSegment, paced: Paced) -> Iterator[bytes]:
    """The content of a segment. Raises SegmentDamaged after its last piece if it does not have the digest."""
    digest, size = hashlib.sha256(), 0
    try:
        for piece in pieces_of(storage, segment_key(segment.object), segment.base, segment.size):
            paced(len(piece))
            digest.update(piece)
            size += len(piece)
            yield piece
    except FileNotFoundError:
        raise SegmentDamaged(segment, "the object is missing") from None
    except OSError as error:
        raise SegmentDamaged(segment, f"it cannot be read ({error.strerror or error})") from error
    if size != segment.size:
        raise SegmentDamaged(segment, f"the object ends {segment.size - size:,} bytes too early")
    if digest.digest() != segment.digest:
        raise SegmentDamaged(segment, "its content does not have the digest with which it was stored")


def damage_of(storage: ObjectStorage, segment: StoredSegment, paced: Paced = lambda _: None) -> str:
    """Why a segment is not what it was; empty: it is."""
    try:
        for _ in verified_pieces(storage, segment, paced):
            pass
    except SegmentDamaged as damage:
        return damage.why
    return ""
