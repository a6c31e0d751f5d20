"""A volume as a row of gzip members, one a WARC record: walked with offsets and past damage, one in memory at a time.

Resynchronising costs time in proportion to the bytes passed over, whatever they are: a volume may be all zeros, and a
page may hold thousands of bytes that look like the beginning of a member.
"""

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from gossamer.base.errors import ArchiveDamaged
from gossamer.base.files import Files
from gossamer.spool.deflate import Broken, gzip_inflater

PIECE_BYTES = 128 * 1024
MOST_PLAIN_BYTES = 256 * 1024 * 1024
"""More than any limit lets in as one record; beyond it the bytes are not ours."""
GZIP_MAGIC = b"\x1f\x8b\x08\0"
"""With the flags of a member that has no name, comment or extra field, such as ours are."""
RECORD_MAGIC = b"WARC/"
HEADER_BYTES, TRAILER_BYTES = 10, 8
"""Around the deflate stream of such a member."""
SIZE_SLACK = 1024
"""By how much the plain size of a damaged member may differ from the one in its trailer."""
UNREADABLE: tuple[type[Exception], ...] = (*Broken, OSError)
GLANCE_BYTES = 1024
PROBE_BYTES = 64 * 1024 * 1024
PROBES_PER_BYTE = 16
"""How much may be inflated in search of the next record: so much at once, and so much more for each byte passed."""


class Member(msgspec.Struct, frozen=True):
    """A whole member that holds a WARC record, as far as its first bytes tell."""

    offset: int
    length: int
    plain: bytes


class DamagedBytes(msgspec.Struct, frozen=True):
    """Bytes that are no whole record, up to the next whole one or the end of the file."""

    offset: int
    length: int
    why: str


class Torn(msgspec.Struct, frozen=True):
    """The file ends inside a member: an append that was cut off, or is still going on."""

    offset: int
    length: int


def members(files: Files, path: Path, offset: int = 0) -> Iterator[Member | DamagedBytes | Torn]:
    """Every member from `offset` on, and what lies between them. A torn last one ends the row."""
    ahead = b""
    while True:
        found, ahead = _next(files, path, offset, ahead)
        if isinstance(found, Torn) or (isinstance(found, DamagedBytes) and not found.length):
            found, ahead = _bounded(files, path, found), b""
        if found is None or not found.length:  # the latter at the end of a file that cannot be read
            return
        yield found
        if isinstance(found, Torn):
            return
        offset += found.length


def member_at(files: Files, path: Path, offset: int, length: int) -> bytes:
    """The plain bytes of the one member that begins and ends there. Raises ArchiveDamaged."""
    inflater, plain, fed, size = gzip_inflater(), list[bytes](), 0, 0
    try:
        while fed < length and not inflater.eof and size <= MOST_PLAIN_BYTES:
            piece = files.read(path, offset + fed, min(length - fed, 8 * PIECE_BYTES))
            if not piece:
                raise damaged(path.name, offset, "the file ends before the record does")
            fed += len(piece)
            plain.append(inflater.decompress(piece))
            size += len(plain[-1])
    except FileNotFoundError as error:
        raise damaged(path.name, offset, "there is no such volume") from error
    except UNREADABLE as error:
        raise damaged(path.name, offset, _because(error)) from error
    if fed != length or not inflater.eof or inflater.unused_data:
        raise damaged(path.name, offset, "the record is not where the catalogue says, or not whole")
    return b"".join(plain)


def damaged(volume: str, offset: int, why: str) -> ArchiveDamaged:
    return ArchiveDamaged(f"{volume} is damaged at byte {offset}: {why}")


def _next(
    files: Files, path: Path, start: int, ahead: bytes = b""
) -> tuple[Member | DamagedBytes | Torn | None, bytes]:
    """What begins at `start`, whose first bytes may already be in `ahead`, and what was read beyond it. Damage whose
    end is not known has length 0."""
    inflater, plain, fed, size = gzip_inflater(), list[bytes](), 0, 0
    try:
        while not inflater.eof:
            piece = ahead or files.read(path, start + fed, PIECE_BYTES)
            ahead = b""
            if not piece:
                return (Torn(start, fed) if fed else None), b""
            fed += len(piece)
            plain.append(inflater.decompress(piece))
            size += len(plain[-1])
            if size > MOST_PLAIN_BYTES:
                return DamagedBytes(start, 0, "a record larger than any we write"), b""
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        return DamagedBytes(start, 0, _because(error)), b""
    rest, whole = inflater.unused_data, b"".join(plain)
    if not whole.startswith(RECORD_MAGIC):
        return DamagedBytes(start, fed - len(rest), "a gzip member that holds no WARC record"), rest
    return Member(start, fed - len(rest), whole), rest


def _bounded(files: Files, path: Path, bad: DamagedBytes | Torn) -> Member | DamagedBytes | Torn:
    """Damage up to the next whole record; a torn end only where no whole record follows."""
    size = files.size(path) or 0
    end = _own_end(files, path, bad.offset) or _next_record(files, path, bad.offset + 1)
    if isinstance(bad, Torn):
        if end is None or end >= size:
            return Torn(bad.offset, max(bad.length, size - bad.offset))
        again, _ = _next(files, path, bad.offset)  # a writer may have ended it meanwhile
        if isinstance(again, Member):
            return again
        return DamagedBytes(bad.offset, end - bad.offset, "the record is not whole")
    return DamagedBytes(bad.offset, (size if end is None else end) - bad.offset, bad.why)


def _own_end(files: Files, path: Path, start: int) -> int | None:
    """Where a damaged member ends, if it can still be inflated: nothing within it is then taken for a record.

    Damaged deflate data can also be inflated on into the members that follow, up to the end of one of those. So its
    trailer must fit what was inflated, and a whole record, or the end of the file, must follow; otherwise None."""
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    fed, size, checksum = HEADER_BYTES, 0, 0
    try:
        if files.read(path, start, len(GZIP_MAGIC)) != GZIP_MAGIC:
            return None
        while not inflater.eof and size <= MOST_PLAIN_BYTES:
            piece = files.read(path, start + fed, PIECE_BYTES)
            if not piece:
                return None
            fed += len(piece)
            plain = inflater.decompress(piece)
            size, checksum = size + len(plain), zlib.crc32(plain, checksum)
        end = start + fed - len(inflater.unused_data) + TRAILER_BYTES
        if not _fits(files.read(path, end - TRAILER_BYTES, TRAILER_BYTES), size, checksum):
            return None
    except UNREADABLE:
        return None
    if end == files.size(path) or _is_record(files, path, end, MOST_PLAIN_BYTES)[0]:
        return end
    return None


def _fits(trailer: bytes, size: int, checksum: int) -> bool:
    """Whether one of a member's two last fields is that of these plain bytes; their number about, for a flipped bit may
    have changed the length of what is repeated."""
    if len(trailer) < TRAILER_BYTES:
        return False
    said_checksum, said_size = struct.unpack("<II", trailer)
    return bool(said_checksum == checksum or abs(said_size - size) <= SIZE_SLACK)


def _next_record(files: Files, path: Path, at: int) -> int | None:
    """Where the next whole record begins, at `at` or later. Candidates that cannot be afforded are passed over."""
    begun, spent, size = at, 0, files.size(path) or 0
    while at < size:
        try:
            piece = files.read(path, at, PIECE_BYTES)
        except OSError:  # what the disk cannot read holds nothing that could be found
            at += PIECE_BYTES
            continue
        found = piece.find(GZIP_MAGIC)
        while found >= 0:
            afforded = PROBE_BYTES + PROBES_PER_BYTE * (at + found - begun) - spent
            glance = piece[found : found + GLANCE_BYTES]
            is_record, cost = _is_record(files, path, at + found, afforded, glance)
            if is_record:
                return at + found
            spent += cost
            found = piece.find(GZIP_MAGIC, found + 1)
        at += max(1, len(piece) - len(GZIP_MAGIC) + 1)
    return None


def _is_record(files: Files, path: Path, offset: int, afforded: int, ahead: bytes = b"") -> tuple[bool, int]:
    """Whether a whole WARC record begins there, and how many bytes were read and inflated to know. Its first bytes may
    already be in `ahead`: looking at those costs nothing."""
    inflater, fed, cost, first = gzip_inflater(), 0, 0, b""
    try:
        while not inflater.eof:
            if cost > min(afforded, MOST_PLAIN_BYTES):
                return False, cost
            piece = ahead or files.read(path, offset + fed, PIECE_BYTES)
            if not piece:
                return False, cost
            fed, cost, ahead = fed + len(piece), cost + (0 if ahead else len(piece)), b""
            plain = inflater.decompress(piece)
            cost += len(plain)
            first = (first + plain[: len(RECORD_MAGIC)])[: len(RECORD_MAGIC)]
            if not RECORD_MAGIC.startswith(first):
                return False, cost
    except UNREADABLE:
        return False, cost
    return first == RECORD_MAGIC, cost


def _because(error: BaseException) -> str:
    if isinstance(error, OSError):
        return f"the disk cannot read it ({error.strerror})"
    return f"its compressed bytes are damaged ({error})"
