"""A volume as a row of gzip members, one a WARC record: walked with offsets, one member in memory at a time."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from gossamer.errors import ArchiveDamaged
from gossamer.files import Files
from gossamer.spool.deflate import Broken, gzip_inflater

PIECE_BYTES = 128 * 1024
MOST_PLAIN_BYTES = 256 * 1024 * 1024
"""More than any limit lets in as one record; beyond it the bytes are not ours."""
GZIP_MAGIC = b"\x1f\x8b\x08"


class Member(msgspec.Struct, frozen=True):
    offset: int
    length: int
    plain: bytes


class Torn(msgspec.Struct, frozen=True):
    """The file ends inside a member: an append that was cut off, or is still going on."""

    offset: int
    length: int


def members(files: Files, path: Path, offset: int = 0) -> Iterator[Member | Torn]:
    """Every member from `offset` on; a torn last one ends the row. ArchiveDamaged is raised at bytes that are none."""
    ahead = b""
    while True:
        member, ahead = _next(files, path, offset, ahead)
        if member is None:
            return
        yield member
        if isinstance(member, Torn):
            return
        offset += member.length


def _next(files: Files, path: Path, start: int, ahead: bytes) -> tuple[Member | Torn | None, bytes]:
    """The member at `start`, whose first bytes may already be in `ahead`, and what was read beyond it."""
    inflater, plain, fed, size = gzip_inflater(), [], 0, 0
    while not inflater.eof:
        piece = ahead or files.read(path, start + fed, PIECE_BYTES)
        ahead = b""
        if not piece:
            return (Torn(start, fed) if fed else None), b""
        fed += len(piece)
        try:
            plain.append(inflater.decompress(piece))
        except Broken as error:
            raise damaged(path.name, start, str(error)) from error
        size += len(plain[-1])
        if size > MOST_PLAIN_BYTES:
            raise damaged(path.name, start, "a record larger than any we write")
    rest = inflater.unused_data
    return Member(start, fed - len(rest), plain[0] if len(plain) == 1 else b"".join(plain)), rest


def member_of(packed: bytes, volume: str, offset: int) -> bytes:
    """The plain bytes of exactly one member, neither less nor more."""
    inflater = gzip_inflater()
    try:
        plain = inflater.decompress(packed)
    except Broken as error:
        raise damaged(volume, offset, str(error)) from error
    if not inflater.eof or inflater.unused_data:
        raise damaged(volume, offset, "the record is not where the catalogue says, or not whole")
    return plain


def has_member_after(files: Files, path: Path, offset: int) -> bool:
    """Whether any whole WARC record begins past `offset`: then what lies there is damage, not a torn end."""
    size = files.size(path) or 0
    at = offset + 1
    while at < size:
        piece = files.read(path, at, PIECE_BYTES)
        found = piece.find(GZIP_MAGIC)
        if found < 0:
            at += max(1, len(piece) - len(GZIP_MAGIC) + 1)
            continue
        if _is_record(files, path, at + found):
            return True
        at += found + 1
    return False


def _is_record(files: Files, path: Path, offset: int) -> bool:
    try:
        member, _ = _next(files, path, offset, b"")
    except ArchiveDamaged:
        return False
    return isinstance(member, Member) and member.plain.startswith(b"WARC/")


def damaged(volume: str, offset: int, why: str) -> ArchiveDamaged:
    return ArchiveDamaged(f"{volume} is damaged at byte {offset}: {why}")
