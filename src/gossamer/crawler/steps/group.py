"""Groups of captures on their way into the archive: when one is complete, and who writes it.

A group is written first and settled then, so a crash in between only repeats work.
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from gossamer.archive.volumes import Volumes
from gossamer.base.errors import DiskFull
from gossamer.crawler.pace import Pace
from gossamer.crawler.settlement import Followed
from gossamer.spool.frames import SpoolWriter
from gossamer.values.capture import Place

Captured = tuple[bytes, bytes]
"""The compressed WARC record of a capture, and its reading."""


class GroupWriter(Protocol):
    """Real ones: `VolumeWriter` here, and `archive.segments.writer.SegmentWriter`."""

    async def write(self, group: Sequence[Captured | None]) -> list[Place | None]:
        """Store a group so that it survives a power failure: all of it, or when it raises, none of it.

        Returns where each record is in the archive; None: nothing is to be kept of it."""


class VolumeWriter:
    """To the volumes of the archive and the spool of readings, on disks of this machine."""

    def __init__(self, volumes: Volumes, spool: SpoolWriter) -> None:
        self._volumes, self._spool = volumes, spool

    async def write(self, group: Sequence[Captured | None]) -> list[Place | None]:
        return await asyncio.to_thread(self._write, group)

    def _write(self, group: Sequence[Captured | None]) -> list[Place | None]:
        volumes, spool = self._volumes, self._spool
        mark = volumes.position()
        try:
            kept = iter(volumes.append_all([one[0] for one in group if one is not None]))
            places = [next(kept) if one is not None else None for one in group]
            for one, place in zip(group, places, strict=True):
                if one is not None and place is not None:
                    spool.append(place, one[1])
            volumes.sync()
            spool.sync()
        except DiskFull:
            volumes.back_to(mark)
            spool.forget()
            raise
        return places


def captured(followed: Followed) -> Captured | None:
    """What is written of it."""
    return (followed.read.record, followed.read.reading) if followed.read is not None else None


def size_of(followed: Followed) -> int:
    return len(followed.read.record) + len(followed.read.reading) if followed.read is not None else 0


def first_group(waiting: Sequence[Followed], pace: Pace) -> list[Followed]:
    """The pages that are written next: as many as a group may have, and at least one."""
    size, group = 0, list[Followed]()
    for followed in waiting[: pace.group]:
        size += size_of(followed)
        if group and pace.group_bytes is not None and size > pace.group_bytes:
            break
        group.append(followed)
    return group
