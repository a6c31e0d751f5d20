"""New objects of a cluster's archive, made of records that are stored already.

An object has one or many segments, each with a warcinfo record of its own. Its content is streamed, and afterwards
read back and compared: what the records come from may be deleted next.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence

import msgspec

from gossamer.archive.compaction import runs
from gossamer.archive.record import warcinfo_record
from gossamer.archive.segments.joins import damage_of, verified_pieces
from gossamer.archive.segments.storage import ObjectStorage, segment_key
from gossamer.archive.volumes import ABOUT
from gossamer.base.clock import Instant
from gossamer.base.errors import GossamerError
from gossamer.store.captures import CataloguedRecord, MovedRecord
from gossamer.store.segments import StoredSegment

MOST_RECORDS = 1_000
MOST_BYTES = 16 << 20
"""Of a segment that is made of a volume: about as much as an indexer takes at once."""
ReadRecords = Callable[[str, int, int], Iterator[bytes]]
"""The bytes of a volume, from one offset to another."""


class PickedRecords(msgspec.Struct, frozen=True):
    """Records of a volume that become a segment of this name."""

    name: str
    volume: str
    records: Sequence[CataloguedRecord]


class LaidSegment(msgspec.Struct, frozen=True):
    """A segment in a new object."""

    segment: StoredSegment
    volume: str
    """Where its records were; its own name if it was copied as a whole."""
    moved: Sequence[MovedRecord] = ()
    """Where they are now; not for one that was copied as a whole."""


def parts_of(records: Sequence[CataloguedRecord]) -> Iterator[Sequence[CataloguedRecord]]:
    """The records of a volume, divided into segments."""
    start = size = 0
    for place, one in enumerate(records):
        if place > start and (place - start == MOST_RECORDS or size + one.length > MOST_BYTES):
            yield records[start:place]
            start, size = place, 0
        size += one.length
    if start < len(records):
        yield records[start:]


class Composition:
    """One new object. Use: `put`, then `laid`."""

    def __init__(self, storage: ObjectStorage, read: ReadRecords, now: Instant) -> None:
        self._storage, self._read, self._now = storage, read, now
        self.laid: list[LaidSegment] = []
        self.size = 0

    def put(self, name: str, parts: Sequence[StoredSegment | PickedRecords]) -> None:
        """Store the object. Raises ObjectExists if the name is used, and GossamerError if it is not what was written;
        then nothing is left of it."""
        self.laid, self.size = [], 0
        stored = self._storage.put_pieces(segment_key(name), self._content(name, parts))
        damage = "" if stored == self.size else f"{stored:,} of {self.size:,} bytes were stored"
        for one in self.laid:
            damage = damage or damage_of(self._storage, one.segment)
        if damage:
            self._storage.remove(segment_key(name))
            raise GossamerError(f"{self._storage.name} does not return what was written to it ({damage}); try again")

    def _content(self, name: str, parts: Sequence[StoredSegment | PickedRecords]) -> Iterator[bytes]:
        self.laid, self.size = [], 0
        for part in parts:
            if isinstance(part, StoredSegment):
                yield from verified_pieces(self._storage, part, lambda _: None)
                moved = msgspec.structs.replace(part, object=name, base=self.size)
                self.laid.append(LaidSegment(moved, part.name))
                self.size += part.size
            else:
                yield from self._picked(name, part)

    def _picked(self, name: str, part: PickedRecords) -> Iterator[bytes]:
        first = warcinfo_record(part.name, self._now, ABOUT)
        digest, end, moved = hashlib.sha256(first), len(first), list[MovedRecord]()
        yield first
        numbers = {one.offset: one.number for one in part.records}
        for run in runs([(one.offset, one.length) for one in sorted(part.records, key=lambda one: one.offset)]):
            start, stop = run[0][0], sum(run[-1])
            for offset, _ in run:
                moved.append(MovedRecord(numbers[offset], len(moved) + 1, end + offset - start))
            expected = end + stop - start
            for piece in self._read(part.volume, start, stop):
                digest.update(piece)
                end += len(piece)
                yield piece
            if end != expected:
                raise GossamerError(
                    f"{part.volume} ends {expected - end:,} bytes too early: `gossamer verify` says more"
                )
        segment = StoredSegment(part.name, name, self.size, end, len(moved) + 1, digest.digest())
        self.laid.append(LaidSegment(segment, part.volume, moved))
        self.size += end
