"""A spool file's bytes: frames, one a record of its volume, each with two checks.

    magic 4 | number 4 | offset 8 | length 8 | payload length 4 | payload xxh3-64 8 | crc32 of these 4 | payload

Little-endian. Number, offset and length are the record's place in its volume. Number 0 (a volume's warcinfo, which
is never spooled) marks the end: no frame will follow. Formats are for one version; a spool that cannot be read is
made again from the archive.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import msgspec
import xxhash

from gossamer.base.files import Files

MAGIC = b"GsF1"
HEAD = struct.Struct("<4sIQQIQ")
CHECK = struct.Struct("<I")
HEAD_BYTES = HEAD.size + CHECK.size
END_NUMBER = 0
PIECE_BYTES = 1 << 20


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
    """A frame whose head is good. `payload` is None when it is damaged."""

    at: int
    head: FrameHead
    payload: bytes | None


def frame(number: int, offset: int, length: int, payload: bytes) -> bytes:
    head = HEAD.pack(MAGIC, number, offset, length, len(payload), xxhash.xxh3_64_intdigest(payload))
    return head + CHECK.pack(crc32(head)) + payload


END = frame(END_NUMBER, 0, 0, b"")


def frames(given: bytes, at: int = 0) -> Iterator[FoundFrame]:
    """The frames that lie wholly in `given`, from `at` on. Damaged bytes are passed over to the next good head."""
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
    """The whole frames of a file from `offset` on, `at` counted from its beginning; a piece in memory at a time."""
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
    """Where the whole frames in a row from the beginning end."""
    end = 0
    for found in frames_from(files, path, 0):
        if found.at != end or found.payload is None:
            break
        end += found.head.frame_bytes
    return end
