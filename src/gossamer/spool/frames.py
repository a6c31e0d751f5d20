"""The spool: readings on their way to the views, one file for each volume.

Its single writer, and its followers.

A file is a sequence of frames, little-endian, with two checksums each:

    magic 4 | number 4 | offset 8 | length 8 | payload length 4 | payload xxh3-64 8 | crc32 of these 4 | payload

Number, offset and length are the record's place in its volume. Number 0 (a volume's warcinfo, which is never spooled)
marks the end: no frame follows. A spool of another version, or one that cannot be read, is made again from the archive,
which also fills the gaps.
"""

import contextlib
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from zlib import crc32

import msgspec
import xxhash

from gossamer.base.errors import GossamerError
from gossamer.base.files import Files, Tail
from gossamer.base.tell import Tell, silent
from gossamer.values.capture import Place

MAGIC = b"GsF1"
HEAD = struct.Struct("<4sIQQIQ")
CHECK = struct.Struct("<I")
HEAD_BYTES = HEAD.size + CHECK.size
END_NUMBER = 0
PIECE_BYTES = 1 << 20
SUFFIX = ".spool"


class FrameHead(msgspec.Struct, frozen=True):
    number: int
    offset: int
    length: int
    payload_bytes: int
    payload_check: int

    @property
    def frame_bytes(self) -> int:
        return HEAD_BYTES + self.payload_bytes


class FoundFrame(msgspec.Struct, frozen=True):
    """A frame with a valid head. `payload` is None when it is damaged."""

    at: int
    head: FrameHead
    payload: bytes | None


def frame(number: int, offset: int, length: int, payload: bytes) -> bytes:
    head = HEAD.pack(MAGIC, number, offset, length, len(payload), xxhash.xxh3_64_intdigest(payload))
    return head + CHECK.pack(crc32(head)) + payload


END = frame(END_NUMBER, 0, 0, b"")


def frames(given: bytes, at: int = 0) -> Iterator[FoundFrame]:
    """The whole frames in `given`, from `at` on. Damaged bytes are skipped, up to the next valid head."""
    while (found := _next_head(given, at)) is not None:
        at, head = found
        start, end = at + HEAD_BYTES, at + head.frame_bytes
        if end > len(given):
            return
        payload = given[start:end]
        yield FoundFrame(at, head, payload if xxhash.xxh3_64_intdigest(payload) == head.payload_check else None)
        at = end


def _next_head(given: bytes, at: int) -> tuple[int, FrameHead] | None:
    while (at := given.find(MAGIC, at)) >= 0 and at + HEAD_BYTES <= len(given):
        _, *fields = HEAD.unpack_from(given, at)
        (check,) = CHECK.unpack_from(given, at + HEAD.size)
        if crc32(memoryview(given)[at : at + HEAD.size]) == check:
            return at, FrameHead(*fields)
        at += 1
    return None


def frames_from(files: Files, path: Path, offset: int) -> Iterator[FoundFrame]:
    """The whole frames of a file from `offset` on; `at` counts from its start. One piece is in memory at a time."""
    wanted = PIECE_BYTES
    while (files.size(path) or 0) > offset and (piece := files.read(path, offset, wanted)):
        end = 0
        for found in frames(piece):
            yield FoundFrame(offset + found.at, found.head, found.payload)
            end = found.at + found.head.frame_bytes
        if len(piece) < wanted:
            return
        if end == 0 and _next_head(piece, 0) is not None:
            wanted *= 2  # a frame longer than the piece
            continue
        offset += end or len(piece) - HEAD_BYTES
        wanted = PIECE_BYTES


def sound_end(files: Files, path: Path) -> int:
    """Where the first run of whole frames ends."""
    end = 0
    for found in frames_from(files, path, 0):
        if found.at != end or found.payload is None:
            break
        end += found.head.frame_bytes
    return end


class SpoolWriter:
    """The single writer. Use: `open`, then per group `append`..., `sync` (after the archive's), `close`."""

    def __init__(self, files: Files, folder: Path, tell: Tell) -> None:
        self._files, self._folder, self._tell = files, folder, tell
        self._volume = ""
        self._tail: Tail | None = None
        self._waiting: list[tuple[str, list[bytes]]] = []

    def open(self, last_volume: str | None) -> None:
        """Cut a torn end, and mark the archive's last volume as finished: no record will be added to it. Without the
        mark the views would wait for a reading that was lost with its process."""
        self._files.make_folder(self._folder)
        for volume in spooled_volumes(self._files, self._folder)[-1:]:
            path = self._path(volume)
            end = sound_end(self._files, path)
            if end < (self._files.size(path) or 0):
                self._cut(volume, end)
        if last_volume is not None:
            self._mark_end(last_volume)

    def append(self, place: Place, reading: bytes) -> None:
        """The reading of the record at `place`; b"" when there is nothing for the views. Kept until `sync`."""
        if not self._waiting or self._waiting[-1][0] != place.volume:
            self._waiting.append((place.volume, []))
        self._waiting[-1][1].append(frame(place.number, place.offset, place.length, reading))

    def sync(self) -> None:
        """Write and sync what waits. On return it survives a power failure; when it raises, nothing of it is left."""
        waiting, self._waiting = self._waiting, []
        written: list[tuple[str, int]] = []
        for volume, parts in waiting:
            try:
                tail = self._tail_of(volume)
                written.append((volume, tail.end))
                tail.append(b"".join(parts))
                self._tell("spool.appended", volume=volume, count=len(parts))
                tail.sync()
            except GossamerError:
                self._undo(written)
                raise
            self._tell("spool.synced", volume=volume, count=len(parts))

    def forget(self) -> None:
        """Drop what waits: its group failed."""
        self._waiting = []

    def close(self) -> None:
        """Write what waits and mark the volume as finished."""
        try:
            self.sync()
        finally:
            volume, self._volume = self._volume, ""
            self._close_tail()
            if volume:
                self._mark_end(volume)

    def _path(self, volume: str) -> Path:
        return self._folder / (volume + SUFFIX)

    def _tail_of(self, volume: str) -> Tail:
        if self._tail is None or self._volume != volume:
            self._close_tail()
            tail = Tail(self._files, self._path(volume))
            tail.open()
            self._tail, self._volume = tail, volume
            self._tell("spool.opened", volume=volume)
        return self._tail

    def _close_tail(self) -> None:
        if self._tail is not None:
            self._tail.close()
            self._tail = None

    def _undo(self, written: list[tuple[str, int]]) -> None:
        """Cut files back to these ends. Best effort: with a frame too many the views only get a reading twice."""
        self._close_tail()
        for volume, end in written:
            with contextlib.suppress(GossamerError):
                self._cut(volume, end)

    def _cut(self, volume: str, end: int) -> None:
        tail = Tail(self._files, self._path(volume))
        tail.open()
        tail.back_to(end)
        tail.close()
        self._tell("spool.cut", volume=volume, offset=end)

    def _mark_end(self, volume: str) -> None:
        path = self._path(volume)
        size = self._files.size(path) or 0
        if size and self._files.read(path, max(0, size - len(END))) == END:
            return
        tail = Tail(self._files, path)
        with contextlib.suppress(GossamerError):  # the next volume's spool file says the same, but later
            tail.open()
            tail.append(END)
            tail.sync()
        tail.close()


def spooled_volumes(files: Files, folder: Path) -> list[str]:
    """The volumes that have a spool file, in order."""
    return [name.removesuffix(SUFFIX) for name in files.names(folder) if name.endswith(SUFFIX)]


def discard(files: Files, folder: Path, volume: str, tell: Tell) -> None:
    """Delete a finished volume's spool file. REQUIRES: every view has read it."""
    files.remove(folder / (volume + SUFFIX))
    tell("spool.discarded", volume=volume)


class SpoolPosition(msgspec.Struct, frozen=True, order=True, array_like=True):
    """The next record to read, by volume and number."""

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
    """Where the records of the archive are. The real one: `archive.catalogue.ArchivePlaces`."""

    def volumes(self) -> list[str]:
        """The existing ones."""

    def known_volumes(self) -> list[str]:
        """The existing and the missing ones: the records of a missing volume have places too."""

    def of(self, volume: str, from_offset: int, from_number: int) -> Iterable[Place]:
        """From the record with this offset and number on."""


@dataclass(slots=True)
class _Cursor:
    """The follower's position in one volume."""

    volume: str
    number: int
    spool_offset: int = 0
    known_number: int = 0
    known_offset: int = 0
    """Record `known_number` begins at `known_offset`: from there the archive can be read."""
    is_ended: bool = False
    is_drained: bool = False

    @property
    def wanted(self) -> int:
        """The next number; 0 is a volume's warcinfo, which is not for the views."""
        return max(1, self.number)

    def passed(self, place: Place) -> None:
        self.number = max(self.number, place.number + 1)
        self.known_number, self.known_offset = place.number + 1, place.offset + place.length


class Follower:
    """One reader of the spool; each process or view has its own. Polling it is cheap: two listings of folders."""

    def __init__(self, files: Files, folder: Path, places: Places, tell: Tell = silent) -> None:
        self._files, self._folder, self._places, self._tell = files, folder, places, tell
        self._cursor = _Cursor("", 0)
        self._resumes_at = SpoolPosition()

    def follow(self, position: SpoolPosition, at_most: int) -> list[SpooledRecord]:
        """Up to `at_most` records from `position` on; an empty list when there is nothing new. Any position but the end
        of the last call is found by reading its volume from the start."""
        if self._resumes_at != position:
            self._cursor = _Cursor(position.volume, position.number)
        found: list[SpooledRecord] = []
        while len(found) < at_most:
            is_finished = self._is_finished()  # before reading: a frame that is written after this is for a later call
            found.extend(self._from_spool(at_most - len(found)))
            if len(found) < at_most and (is_finished or self._cursor.is_ended):
                found.extend(self._from_archive(at_most - len(found), until=None))
            if not (self._cursor.is_drained and self._next_volume()):
                break
        self._resumes_at = found[-1].after if found else position
        return found

    def discard_before(self, positions: Iterable[SpoolPosition]) -> None:
        """Delete the spool files before all of these positions."""
        earliest = min(positions, default=SpoolPosition())
        for volume in spooled_volumes(self._files, self._folder):
            if volume < earliest.volume:
                discard(self._files, self._folder, volume, self._tell)

    def _from_spool(self, at_most: int) -> list[SpooledRecord]:
        cursor, out = self._cursor, list[SpooledRecord]()
        if not cursor.volume:
            return out
        for found in frames_from(self._files, self._folder / (cursor.volume + SUFFIX), cursor.spool_offset):
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
        """Records without a frame: those before `until`, or all the rest of a finished volume."""
        cursor, out = self._cursor, list[SpooledRecord]()
        if cursor.is_drained or not cursor.volume:
            places: Iterable[Place] = ()
        else:
            places = self._places.of(cursor.volume, cursor.known_offset, cursor.known_number)
        for place in places:
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

    def _is_finished(self) -> bool:
        """Whether there is a later spool file; for a volume without one, whether there is a later volume."""
        volume = self._cursor.volume
        spooled = spooled_volumes(self._files, self._folder)
        if spooled and spooled[-1] > volume:
            return True
        return volume not in spooled and any(name > volume for name in self._places.volumes())

    def _next_volume(self) -> bool:
        known = {*spooled_volumes(self._files, self._folder), *self._places.known_volumes()}
        later = min((name for name in known if name > self._cursor.volume), default=None)
        if later is None:
            return False
        self._cursor = _Cursor(later, 0)
        return True
