"""The writer of a cluster's archive: each group becomes a segment, stored before it is settled.

    segment.stored   the object of the segment, and the one of its readings, are in the storage
    segment.added    the database knows the segment: it may be settled

A crash after either loses nothing that was acknowledged, and leaves objects that upkeep removes.
"""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from gossamer.archive.record import warcinfo_record
from gossamer.archive.segments.storage import ObjectExists, ObjectStorage, readings_key, segment_key
from gossamer.archive.volumes import ABOUT, volume_name
from gossamer.base.clock import Clock, Instant, in_words
from gossamer.base.tell import Tell
from gossamer.spool.frames import END, frame
from gossamer.store.segments import SegmentLost, StoredSegment, add_segment, next_number
from gossamer.store.service import ServiceLost
from gossamer.store.statements import StateWriter
from gossamer.values.capture import Place

AGAIN_S = 1.0


class BuiltSegment(msgspec.Struct, frozen=True):
    """A segment before it is stored."""

    segment: StoredSegment
    content: bytes
    readings: bytes
    places: list[Place]


def build_segment(
    name: str, now: Instant, records: Sequence[tuple[bytes, bytes]], about: Mapping[str, str] = ABOUT
) -> BuiltSegment:
    """`records`: the WARC record and the reading of each capture, compressed."""
    first = warcinfo_record(name, now, about)
    parts, frames, places, offset = [first], list[bytes](), list[Place](), len(first)
    for number, (record, reading) in enumerate(records, 1):
        parts.append(record)
        frames.append(frame(number, offset, len(record), reading))
        places.append(Place(name, number, offset, len(record)))
        offset += len(record)
    content = b"".join(parts)
    segment = StoredSegment(name, name, 0, len(content), len(records) + 1, hashlib.sha256(content).digest())
    return BuiltSegment(segment, content, b"".join((*frames, END)), places)


class SegmentWriter:
    """A `crawler.groups.GroupWriter`."""

    def __init__(self, database: StateWriter, storage: ObjectStorage, clock: Clock, tell: Tell) -> None:
        self._database, self.storage, self._clock, self._tell = database, storage, clock, tell

    async def write(self, group: Sequence[tuple[bytes, bytes] | None]) -> list[Place | None]:
        """Raises ServiceLost, ServiceRefused and DiskFull: then nothing of the group may be settled."""
        records = [one for one in group if one is not None]
        if not records:
            return [None] * len(group)
        places = iter(await self._stored(records))
        return [next(places) if one is not None else None for one in group]

    async def _stored(self, records: Sequence[tuple[bytes, bytes]]) -> list[Place]:
        while True:
            now = self._clock.now()
            name = volume_name(await self._database.run(next_number), in_words(now))
            built = await asyncio.to_thread(build_segment, name, now, records)
            try:
                await self._put(built)
                await self._database.run(partial(add_segment, segment=built.segment))
            except (ObjectExists, SegmentLost) as trouble:  # the name is spoilt: the same under another
                self._tell("segment.spoilt", volume=name, why=str(trouble))
                continue
            self._tell("segment.added", volume=name, count=len(records))
            return built.places

    async def _put(self, built: BuiltSegment) -> None:
        """Both objects at the same time."""
        name, put = built.segment.name, self.storage.put
        both = (
            asyncio.to_thread(put, segment_key(name), built.content),
            asyncio.to_thread(put, readings_key(name), built.readings),
        )
        for done in await asyncio.gather(*both, return_exceptions=True):
            if done is not None:
                raise done
        self._tell("segment.stored", volume=name, bytes=len(built.content))


async def wait_for_storage(storage: ObjectStorage, stop: asyncio.Event, clock: Clock, tell: Tell) -> None:
    """Until the storage of the archive answers. Raises when it refuses us, or when it does not answer and the crawl is
    to stop."""
    is_away = False
    while True:
        try:
            await asyncio.to_thread(storage.check)
        except ServiceLost as lost:
            if stop.is_set():
                raise
            if not is_away:
                tell("storage.suspended", says=str(lost))
            is_away = True
            await clock.sleep(AGAIN_S)
        else:
            if is_away:
                tell("storage.back", says="")
            return
