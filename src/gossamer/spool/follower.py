"""The views' side of the spool: the frames after a position, in order, across volumes; the archive fills the gaps."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from gossamer.base.files import Files
from gossamer.base.tell import Tell, silent
from gossamer.spool.writer import END_NUMBER, SUFFIX, discard, frames_from, spooled_volumes
from gossamer.values.capture import Place


class SpoolPosition(msgspec.Struct, frozen=True, order=True, array_like=True):
    """The next number wanted of a volume."""

    volume: str = ""
    number: int = 0


class SpooledRecord(msgspec.Struct, frozen=True):
    """One record on its way to the views.

    `reading` is what `codec.encode` made; b"" when there is nothing for the views; None when it is missing or
    damaged and is to be made again from the capture at `place`.
    """

    place: Place
    reading: bytes | None

    @property
    def after(self) -> SpoolPosition:
        return SpoolPosition(self.place.volume, self.place.number + 1)


class Places(Protocol):
    """Where the records of the archive lie. The real one: `archive.catalogue.ArchivePlaces`."""

    def volumes(self) -> list[str]:
        """Those that are there."""
        ...

    def known_volumes(self) -> list[str]:
        """Those that are there or should be: the records of one that is missing have places all the same."""
        ...

    def of(self, volume: str, from_offset: int, from_number: int) -> Iterable[Place]:
        """From the record on that begins at the offset and has the number."""
        ...


@dataclass(slots=True)
class _Cursor:
    """How far the follower has come in one volume."""

    volume: str
    number: int
    spool_offset: int = 0
    known_number: int = 0
    known_offset: int = 0
    """Record `known_number` begins at `known_offset`: from there the archive can be walked."""
    is_ended: bool = False
    is_drained: bool = False

    @property
    def wanted(self) -> int:
        """The next number; 0 is a volume's warcinfo, which nobody wants."""
        return max(1, self.number)

    def passed(self, place: Place) -> None:
        self.number = max(self.number, place.number + 1)
        self.known_number, self.known_offset = place.number + 1, place.offset + place.length


class Follower:
    """One reader of the spool; each process or view that follows has its own. Polling it is cheap: two listings."""

    def __init__(self, files: Files, spool_folder: Path, places: Places, tell: Tell = silent) -> None:
        self._files = files
        self._spool_folder = spool_folder
        self._places = places
        self._tell = tell
        self._cursor = _Cursor("", 0)
        self._resumes_at = SpoolPosition()

    def follow(self, position: SpoolPosition, at_most: int) -> list[SpooledRecord]:
        """Up to `at_most` frames from `position` on; an empty list when there is nothing new.

        Going on from where the last call ended costs nothing; any other position is looked up by walking its volume.
        """
        if self._resumes_at != position:
            self._cursor = _Cursor(position.volume, position.number)
        found: list[SpooledRecord] = []
        while len(found) < at_most:
            is_finished = self._is_finished()  # before reading: a frame that comes after this look is for a later call
            found.extend(self._from_spool(at_most - len(found)))
            if len(found) < at_most and (is_finished or self._cursor.is_ended):
                found.extend(self._from_archive(at_most - len(found), until=None))
            if not (self._cursor.is_drained and self._next_volume()):
                break
        self._resumes_at = found[-1].after if found else position
        return found

    def discard_before(self, positions: Iterable[SpoolPosition]) -> list[str]:
        """Delete the spool files that every one of these positions has left behind; says of which volumes."""
        earliest = min(positions, default=SpoolPosition())
        passed = [name for name in spooled_volumes(self._files, self._spool_folder) if name < earliest.volume]
        for volume in passed:
            discard(self._files, self._spool_folder, volume, self._tell)
        return passed

    def _from_spool(self, at_most: int) -> list[SpooledRecord]:
        cursor, out = self._cursor, list[SpooledRecord]()
        if not cursor.volume:
            return out
        for found in frames_from(self._files, self._spool_folder / (cursor.volume + SUFFIX), cursor.spool_offset):
            head = found.head
            if head.number == END_NUMBER:
                cursor.is_ended = True
                cursor.spool_offset = found.at + head.frame_bytes
                continue
            place = Place(cursor.volume, head.number, head.offset, head.length)
            if head.number > cursor.wanted:
                out.extend(self._from_archive(at_most - len(out), until=place))
            if len(out) >= at_most:
                break
            if head.number >= cursor.wanted:
                out.append(SpooledRecord(place, found.payload))
            cursor.passed(place)
            cursor.spool_offset = found.at + head.frame_bytes
        return out

    def _from_archive(self, at_most: int, until: Place | None) -> list[SpooledRecord]:
        """Records that have no frame: those before `until`, or all that are left of a finished volume."""
        cursor, out = self._cursor, list[SpooledRecord]()
        for place in self._unspooled():
            if until is not None and (place.number >= until.number or place.offset >= until.offset):
                break
            if len(out) >= at_most:
                return out
            if place.number >= cursor.wanted:
                out.append(SpooledRecord(place, None))
            cursor.passed(place)
        if until is None:
            cursor.is_drained = True
        else:
            cursor.number = until.number
        return out

    def _unspooled(self) -> Iterable[Place]:
        cursor = self._cursor
        if cursor.is_drained or not cursor.volume:
            return ()
        return self._places.of(cursor.volume, cursor.known_offset, cursor.known_number)

    def _is_finished(self) -> bool:
        """A later spool file says that this one is complete; without any file of its own, a later volume does."""
        volume = self._cursor.volume
        spooled = spooled_volumes(self._files, self._spool_folder)
        if spooled and spooled[-1] > volume:
            return True
        return volume not in spooled and any(name > volume for name in self._places.volumes())

    def _next_volume(self) -> bool:
        known = {*spooled_volumes(self._files, self._spool_folder), *self._places.known_volumes()}
        later = min((name for name in known if name > self._cursor.volume), default=None)
        if later is None:
            return False
        self._cursor = _Cursor(later, 0)
        return True
