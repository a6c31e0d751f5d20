"""The readings of a segment for an indexer: from its object, or again from the archive.

What is returned has the versions of the catalogue. Records that are not in it were never acknowledged, and are left
out; so are URLs that were forgotten.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from gossamer.base.errors import ArchiveDamaged, WorkerLost
from gossamer.base.files import Files
from gossamer.indexer.updates import Reread, reading_in
from gossamer.spool.frames import SUFFIX, frames_from
from gossamer.store.forgotten import Forgotten
from gossamer.store.work import SegmentCapture
from gossamer.values.page import Reading

REREAD_AT_ONCE = 16


class SegmentReadings(NamedTuple):
    """By record number, what is for the views, and why something is not."""

    readings: dict[int, Reading]
    failures: dict[int, str]


class SegmentReader:
    """Reads the segments of one archive."""

    def __init__(self, files: Files, spool: Path, reread: Reread) -> None:
        self._files, self._spool, self._reread = files, spool, reread

    async def read(
        self, volume: str, captures: Sequence[SegmentCapture], is_rebuild: bool, forgotten: Forgotten
    ) -> SegmentReadings:
        """Of these captures. For a rebuild all is made again from the archive, but for pages that a later capture
        replaces anyway. Raises OSError and GossamerError while the archive cannot be read."""
        wanted = {one.place.number: one for one in captures if not (is_rebuild and one.is_replaced)}
        spooled = {} if is_rebuild else await asyncio.to_thread(self._spooled, volume)
        found = {number: reading for number, reading in spooled.items() if number in wanted}
        lost = [one for number, one in wanted.items() if number not in found]
        failures: dict[int, str] = {}
        for start in range(0, len(lost), REREAD_AT_ONCE):
            some = lost[start : start + REREAD_AT_ONCE]
            for one, again in zip(some, await asyncio.gather(*map(self._again, some)), strict=True):
                if isinstance(again, str):
                    failures[one.place.number] = again
                else:
                    found[one.place.number] = again
        readings = {
            number: msgspec.structs.replace(reading, version=wanted[number].version)
            for number, reading in sorted(found.items())
            if reading is not None and not forgotten.has(reading.page.url)
        }
        return SegmentReadings(readings, failures)

    def discard(self, volume: str) -> None:
        """REQUIRES: no view waits for it."""
        self._files.remove(self._spool / (volume + SUFFIX))

    def _spooled(self, volume: str) -> dict[int, Reading | None]:
        """By record number; None where there is nothing for the views. Without what is missing or damaged."""
        found: dict[int, Reading | None] = {}
        for one in frames_from(self._files, self._spool / (volume + SUFFIX), 0):
            if one.payload == b"":
                found[one.head.number] = None
            elif (reading := reading_in(one.payload)) is not None:
                found[one.head.number] = reading
        return found

    async def _again(self, one: SegmentCapture) -> Reading | str | None:
        """The reading, or why it cannot be made."""
        try:
            return await self._reread(one.place)
        except WorkerLost as trouble:
            return None if one.is_unread else str(trouble)
        except ArchiveDamaged as trouble:
            return str(trouble)
