"""Reads our own volumes, also past damage: their gzip members and the captures in them.

Each record is a gzip member of its own.

Finding the next record after damage takes time in proportion to the bytes skipped, no matter what they are: a volume
may be all zeros, and a page may contain thousands of bytes that look like the start of a member.
"""

import hashlib
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec

from gossamer.archive.record import DISTRUST, TOOK, Field, original_fields
from gossamer.base.clock import Instant, from_words
from gossamer.base.errors import ArchiveDamaged
from gossamer.base.files import Files
from gossamer.spool.codec import Broken, gzip_inflater
from gossamer.values.capture import Capture, Place, Truncated
from gossamer.values.url import Url

PIECE_BYTES = 128 * 1024
MOST_PLAIN_BYTES = 256 * 1024 * 1024
"""More than any limit allows for one record: larger ones are not ours."""
GZIP_MAGIC = b"\x1f\x8b\x08\0"
"""With the flags of a member without name, comment and extra field, as ours are."""
RECORD_MAGIC = b"WARC/"
HEADER_BYTES, TRAILER_BYTES = 10, 8
"""Around the deflate stream of such a member."""
SIZE_SLACK = 1024
"""How much the plain size of a damaged member may differ from the one in its trailer."""
UNREADABLE: tuple[type[Exception], ...] = (*Broken, OSError)
GLANCE_BYTES = 1024
PROBE_BYTES = 64 * 1024 * 1024
PROBES_PER_BYTE = 16
"""How much may be inflated to find the next record: PROBE_BYTES, and so much more for each byte skipped."""


class Member(msgspec.Struct, frozen=True):
    """A whole member with a WARC record, judged by its first bytes."""

    offset: int
    length: int
    plain: bytes


class DamagedBytes(msgspec.Struct, frozen=True):
    """Bytes that are not a whole record, up to the next whole one or the end of the file."""

    offset: int
    length: int
    why: str


class Torn(msgspec.Struct, frozen=True):
    """The file ends inside a member: an append that was interrupted, or is in progress."""

    offset: int
    length: int


def members(
    files: Files, path: Path, offset: int = 0, until: int | None = None
) -> Iterator[Member | DamagedBytes | Torn]:
    """The members from `offset` on that begin before `until`, and the damage between them. A torn one is the last."""
    ahead = b""
    while until is None or offset < until:
        found, ahead = _next(files, path, offset, ahead)
        if isinstance(found, Torn) or (isinstance(found, DamagedBytes) and not found.length):
            found, ahead = _bounded(files, path, found), b""
        if found is None or not found.length:  # length 0: at the end of an unreadable file
            return
        yield found
        if isinstance(found, Torn):
            return
        offset += found.length


def member_at(files: Files, path: Path, offset: int, length: int) -> bytes:
    """The plain bytes of the member at exactly this place. Raises ArchiveDamaged."""
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
        raise damaged(path.name, offset, "the record is not at its catalogued place, or not whole")
    return b"".join(plain)


def damaged(volume: str, offset: int, why: str) -> ArchiveDamaged:
    return ArchiveDamaged(f"{volume} is damaged at byte {offset}: {why}")


def _next(
    files: Files, path: Path, start: int, ahead: bytes = b""
) -> tuple[Member | DamagedBytes | Torn | None, bytes]:
    """The member at `start`, whose first bytes may already be in `ahead`, and what was read beyond it. Damage with an
    unknown end has length 0."""
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
                return DamagedBytes(start, 0, "a record larger than any of ours"), b""
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        return DamagedBytes(start, 0, _because(error)), b""
    rest, whole = inflater.unused_data, b"".join(plain)
    if not whole.startswith(RECORD_MAGIC):
        return DamagedBytes(start, fed - len(rest), "a gzip member without a WARC record"), rest
    return Member(start, fed - len(rest), whole), rest


def _bounded(files: Files, path: Path, bad: DamagedBytes | Torn) -> Member | DamagedBytes | Torn:
    """Damage up to the next whole record; a torn end only if no whole record follows."""
    size = files.size(path) or 0
    end = _own_end(files, path, bad.offset) or _next_record(files, path, bad.offset + 1)
    if isinstance(bad, Torn):
        if end is None or end >= size:
            return Torn(bad.offset, max(bad.length, size - bad.offset))
        again, _ = _next(files, path, bad.offset)  # a writer may have completed it in the meantime
        if isinstance(again, Member):
            return again
        return DamagedBytes(bad.offset, end - bad.offset, "the record is not whole")
    return DamagedBytes(bad.offset, (size if end is None else end) - bad.offset, bad.why)


def _own_end(files: Files, path: Path, start: int) -> int | None:
    """Where a damaged member ends, if it can still be inflated: nothing inside it must be taken for a record.

    Damaged deflate data may inflate on into the following members, up to the end of one of them. So the trailer must
    match what was inflated, and a whole record or the end of the file must follow; otherwise None."""
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
    """Whether the checksum or about the size in a member's trailer is that of these plain bytes; only about, because a
    flipped bit may have changed the length of a repetition."""
    if len(trailer) < TRAILER_BYTES:
        return False
    trailer_checksum, trailer_size = struct.unpack("<II", trailer)
    return bool(trailer_checksum == checksum or abs(trailer_size - size) <= SIZE_SLACK)


def _next_record(files: Files, path: Path, at: int) -> int | None:
    """Where the next whole record begins, at `at` or later. Candidates beyond the budget are skipped."""
    start, spent, size = at, 0, files.size(path) or 0
    while at < size:
        try:
            piece = files.read(path, at, PIECE_BYTES)
        except OSError:  # skip what the disk cannot read
            at += PIECE_BYTES
            continue
        found = piece.find(GZIP_MAGIC)
        while found >= 0:
            budget = PROBE_BYTES + PROBES_PER_BYTE * (at + found - start) - spent
            glance = piece[found : found + GLANCE_BYTES]
            is_record, cost = _is_record(files, path, at + found, budget, glance)
            if is_record:
                return at + found
            spent += cost
            found = piece.find(GZIP_MAGIC, found + 1)
        at += max(1, len(piece) - len(GZIP_MAGIC) + 1)
    return None


def _is_record(files: Files, path: Path, offset: int, budget: int, ahead: bytes = b"") -> tuple[bool, int]:
    """Whether a whole WARC record begins there, and how many bytes were read and inflated to find out. Its first bytes
    may already be in `ahead`, which costs nothing."""
    inflater, fed, cost, first = gzip_inflater(), 0, 0, b""
    try:
        while not inflater.eof:
            if cost > min(budget, MOST_PLAIN_BYTES):
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
    return f"its compressed data is damaged ({error})"


VOLUME_NAME = re.compile(r"gossamer-(\d{8})-\d{14}(?:-c(\d{4,}))?\.warc\.gz")
"""Serial number, time, and the generation of a rewritten volume."""
PART = ".part"
"""Ends the name of a volume that is being written to replace another."""
_STEM = len("gossamer-00000000-00000000000000")


class Trace(msgspec.Struct, frozen=True):
    """A metadata record: a page whose body was not stored."""

    url: Url
    fetched_at: Instant
    status: int
    reason: str
    headers: tuple[Field, ...]
    digest: bytes
    size: int
    address: str = ""
    links: tuple[str, ...] = ()


class RevisitRecord(msgspec.Struct, frozen=True):
    """A revisit record: an answer, and which capture has its body."""

    answer: Capture
    """Without its body."""
    refers_at: Instant
    digest: bytes


class Scanned(msgspec.Struct, frozen=True):
    """One whole record: with a `capture` for responses, a `trace` for metadata, `again` for revisits."""

    place: Place
    kind: str
    capture: Capture | None = None
    trace: Trace | None = None
    again: RevisitRecord | None = None

    @property
    def response(self) -> Capture | Trace | None:
        """Its response, for all kinds of records."""
        return self.capture or self.trace or (self.again.answer if self.again else None)

    def digest(self) -> bytes:
        """SHA-256 of the body, calculated if the record has it. REQUIRES: `response`."""
        found = self.again or self.trace
        return found.digest if found else hashlib.sha256(self.capture.body if self.capture else b"").digest()


class _Plain(msgspec.Struct, frozen=True):
    """A record without its frame."""

    kind: str
    fields: dict[str, str]
    block: bytes


def volumes_in(files: Files, folder: Path) -> list[str]:
    """The volumes of an archive, in order; of a volume being rewritten only the newest generation."""
    newest: dict[str, str] = {}
    for name in files.names(folder):
        if found := VOLUME_NAME.fullmatch(name):
            before = newest.get(name[:_STEM])
            if before is None or generation_of(before) < int(found[2] or 0):
                newest[name[:_STEM]] = name
    return sorted(newest.values())


def generation_of(name: str) -> int:
    """How often a volume was rewritten."""
    found = VOLUME_NAME.fullmatch(name)
    return int(found[2] or 0) if found else 0


def stem_of(name: str) -> str:
    """The part of a volume's name that all generations share."""
    return name[:_STEM]


def read_capture(files: Files, folder: Path, place: Place) -> Capture | None:
    """The capture at a place; None when its body is not stored there. Raises ArchiveDamaged."""
    return read_record(files, folder, place).capture


def read_record(files: Files, folder: Path, place: Place) -> Scanned:
    if not VOLUME_NAME.fullmatch(place.volume):
        raise damaged(place.volume, place.offset, "there is no such volume")
    return scanned(place, member_at(files, folder / place.volume, place.offset, place.length))


def scan(
    files: Files, folder: Path, volume: str, from_offset: int = 0, from_number: int = 0
) -> Iterator[Scanned | DamagedBytes | Torn]:
    """Every record from an offset on, where record `from_number` must begin; one in memory at a time.

    Damage takes one number; a torn end comes last.
    """
    for number, member in enumerate(members(files, folder / volume, from_offset), from_number):
        if isinstance(member, DamagedBytes | Torn):
            yield member
            continue
        try:
            yield scanned(Place(volume, number, member.offset, member.length), member.plain)
        except ArchiveDamaged as damage:
            yield DamagedBytes(member.offset, member.length, str(damage))


def scanned(place: Place, plain: bytes) -> Scanned:
    """Parse a record. Raises ArchiveDamaged if it is not one of ours."""
    try:
        record = _unframed(plain)
        match record.kind:
            case "response":
                return Scanned(place, record.kind, capture=_capture_of(record))
            case "metadata":
                return Scanned(place, record.kind, trace=_trace_of(record))
            case "revisit":
                return Scanned(place, record.kind, again=_again_of(record))
            case _:
                return Scanned(place, record.kind)
    except (ValueError, LookupError) as error:
        raise damaged(place.volume, place.offset, f"not one of our records ({error})") from error


def target_in(plain: bytes) -> tuple[str, str]:
    """A record's kind and URL; both empty if it is not a record."""
    try:
        record = _unframed(plain)
        return record.kind, record.fields.get("warc-target-uri", "")
    except (ValueError, LookupError):
        return "", ""


def _unframed(plain: bytes) -> _Plain:
    head, separator, rest = plain.partition(b"\r\n\r\n")
    version, *lines = head.decode("utf-8", "replace").split("\r\n")
    if not separator or not version.startswith("WARC/1."):
        raise ValueError("it has no WARC header")
    fields = {name.lower(): value for name, value in map(_field, lines)}
    length = int(fields["content-length"])
    block = rest[: max(length, 0)]
    if len(block) != length:
        raise ValueError(f"{len(block)} of {length} bytes")
    return _Plain(fields["warc-type"], fields, block)


def _capture_of(record: _Plain) -> Capture:
    head, separator, body = record.block.partition(b"\r\n\r\n")
    if not separator:
        raise ValueError("the HTTP header does not end")
    status_line, *lines = head.decode("latin-1").split("\r\n")
    _, status, reason = status_line.split(" ", 2)
    fields, cut = record.fields, record.fields.get("warc-truncated")
    return Capture(
        url=Url(fields["warc-target-uri"]),
        fetched_at=from_words(fields["warc-date"]),
        status=int(status),
        reason=reason,
        headers=original_fields([_field(line) for line in lines]),
        body=body,
        address=fields.get("warc-ip-address", ""),
        truncated=Truncated(cut) if cut else None,
        took_s=float(fields.get(TOOK.lower(), 0.0)),
        distrust=fields.get(DISTRUST.lower(), ""),
    )


def _again_of(record: _Plain) -> RevisitRecord:
    fields = record.fields
    digest = bytes.fromhex(fields["warc-payload-digest"].partition(":")[2])
    return RevisitRecord(_capture_of(record), from_words(fields["warc-refers-to-date"]), digest)


def _trace_of(record: _Plain) -> Trace:
    lines: dict[str, list[str]] = {}
    for line in record.block.decode("utf-8").split("\r\n")[:-1]:
        name, value = _field(line)
        lines.setdefault(name, []).append(value)
    status, _, reason = lines["status"][0].partition(" ")
    return Trace(
        url=Url(record.fields["warc-target-uri"]),
        fetched_at=from_words(record.fields["warc-date"]),
        status=int(status),
        reason=reason,
        headers=tuple(_field(text) for text in lines.get("header", [])),
        digest=bytes.fromhex(lines["digest"][0].partition(":")[2]),
        size=int(lines["size"][0]),
        address=record.fields.get("warc-ip-address", ""),
        links=tuple(lines.get("outlink", [])),
    )


def _field(line: str) -> Field:
    """The exact name and value: one space after the colon is ours, any other is the server's."""
    name, colon, value = line.partition(":")
    if not colon:
        raise ValueError("a header without a colon")
    return name, value.removeprefix(" ")


# Raw records, for copies: concatenated members are a WARC file again.


def volumes_of(
    files: Files, folder: Path, damaged: Callable[[str, DamagedBytes], None]
) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Each volume's name and its whole records, one at a time, also while a crawl writes. Damage goes to `damaged`."""
    for name in volumes_in(files, folder):
        yield name, _whole(files, folder / name, partial(damaged, name))


def _whole(files: Files, path: Path, damaged: Callable[[DamagedBytes], None]) -> Iterator[bytes]:
    for member in members(files, path):
        if isinstance(member, DamagedBytes):
            damaged(member)
        elif isinstance(member, Member):
            yield files.read(path, member.offset, member.length)
