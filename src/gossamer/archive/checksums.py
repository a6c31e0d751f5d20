"""The checksums of a sealed volume: one of each block, kept in a small file next to every copy.

A copy is checked without parsing it, and a read is checked before anyone sees its bytes. Blocks, because a reader of
one record must not read the whole volume, and because two damaged copies often make one good volume.
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec
from xxhash import xxh3_64, xxh3_64_digest

from gossamer.base.clock import Instant
from gossamer.base.files import Files, sealed, unsealed

BLOCK_BYTES = 1 << 16
DIGEST_BYTES = 8
TAIL = ".sums"
"""Follows the volume's name."""
_HEAD = b"volume checksums 1\n"


class Checksums(msgspec.Struct, frozen=True):
    size: int
    made_at: Instant
    """Of two for one volume the later one counts: `verify --repair-from` writes a volume again under its name."""
    blocks: bytes
    """The xxh3-64 of each block of 64 KiB, the last one shorter."""

    def has(self, block: int, content: bytes) -> bool:
        """Whether this is the content of that block."""
        expected = self.blocks[block * DIGEST_BYTES : (block + 1) * DIGEST_BYTES]
        return len(content) == self.length_of(block) and xxh3_64_digest(content) == expected

    def length_of(self, block: int) -> int:
        return min(BLOCK_BYTES, self.size - block * BLOCK_BYTES)

    def is_of_same_bytes(self, other: "Checksums") -> bool:
        return (self.size, self.blocks) == (other.size, other.blocks)

    def wrong_blocks(self, pieces: Iterable[bytes], first: int = 0) -> list[int]:
        """Which of these consecutive blocks are not as they should be."""
        return [number for number, piece in enumerate(pieces, first) if not self.has(number, piece)]


class ChecksumBuilder:
    """Of a volume that is being written."""

    def __init__(self) -> None:
        self._blocks = bytearray()
        self._open = xxh3_64()
        self._filled = 0
        self.size = 0

    def add(self, content: bytes) -> None:
        view = memoryview(content)
        while view:
            piece = view[: BLOCK_BYTES - self._filled]
            self._open.update(piece)
            self._filled += len(piece)
            if self._filled == BLOCK_BYTES:
                self._end_block()
            view = view[len(piece) :]
        self.size += len(content)

    def done(self, now: Instant) -> Checksums:
        """REQUIRES: nothing is added afterwards."""
        if self._filled:
            self._end_block()
        return Checksums(self.size, now, bytes(self._blocks))

    def _end_block(self) -> None:
        self._blocks += self._open.digest()
        self._open, self._filled = xxh3_64(), 0


def blocks_in(content: bytes) -> list[bytes]:
    return [content[start : start + BLOCK_BYTES] for start in range(0, len(content), BLOCK_BYTES)]


def sums_path(volume: Path) -> Path:
    return volume.with_name(volume.name + TAIL)


def read_checksums(files: Files, volume: Path) -> Checksums | None:
    """Those next to a copy; None: missing or damaged, so the copy must be compared with others."""
    try:
        found = msgspec.msgpack.decode(unsealed(_HEAD, files.read(sums_path(volume))), type=Checksums)
    except (OSError, ValueError, msgspec.MsgspecError):
        return None
    blocks = -(-found.size // BLOCK_BYTES)
    return found if len(found.blocks) == blocks * DIGEST_BYTES else None


def write_checksums(files: Files, volume: Path, found: Checksums) -> None:
    files.write(sums_path(volume), sealed(_HEAD, msgspec.msgpack.encode(found)))
