"""Our own volumes read back: one capture at a known place, or a whole volume from some offset on."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec

from gossamer.archive.members import DamagedBytes, Member, Torn, damaged, member_at, members
from gossamer.archive.record import DISTRUST, TOOK, Field, original_fields
from gossamer.base.clock import Instant, from_words
from gossamer.base.errors import ArchiveDamaged
from gossamer.base.files import Files
from gossamer.values.capture import Capture, Place, Truncated
from gossamer.values.url import Url

VOLUME_NAME = re.compile(r"gossamer-(\d{8})-\d{14}(?:-c(\d{4,}))?\.warc\.gz")
"""Serial, moment, and in a volume that was rewritten how often."""
_STEM = len("gossamer-00000000-00000000000000")


class Trace(msgspec.Struct, frozen=True):
    """What a metadata record says of a page whose body was not kept."""

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
    """What a revisit record says: an answer, and where its body is to be found."""

    answer: Capture
    """Without its body."""
    refers_at: Instant
    digest: bytes


class Scanned(msgspec.Struct, frozen=True):
    """One whole record. `capture` is there for responses, `trace` for metadata, `again` for revisits, none of them for
    warcinfo."""

    place: Place
    kind: str
    capture: Capture | None = None
    trace: Trace | None = None
    again: RevisitRecord | None = None


class _Plain(msgspec.Struct, frozen=True):
    """A record taken out of its frame."""

    kind: str
    fields: dict[str, str]
    block: bytes


def volumes_in(files: Files, folder: Path) -> list[str]:
    """The volumes of an archive, in the order they were begun; of one that is just being rewritten only the newest."""
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
    """What stays of a volume's name when it is rewritten."""
    return name[:_STEM]


def read_capture(files: Files, folder: Path, place: Place) -> Capture | None:
    """The capture at a place; None when its body was not kept there. Raises ArchiveDamaged if it cannot be had."""
    return read_record(files, folder, place).capture


def read_record(files: Files, folder: Path, place: Place) -> Scanned:
    if not VOLUME_NAME.fullmatch(place.volume):
        raise damaged(place.volume, place.offset, "there is no such volume")
    return scanned(place, member_at(files, folder / place.volume, place.offset, place.length))


def scan(
    files: Files, folder: Path, volume: str, from_offset: int = 0, from_number: int = 0
) -> Iterator[Scanned | DamagedBytes | Torn]:
    """Every record from an offset on, which must be where record `from_number` begins; one in memory at a time.

    Bytes that are no record of ours come as `Damaged` and take one number; a torn end comes as the last thing, as
    `Torn`.
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
    """A record by its plain bytes. Raises ArchiveDamaged for what is none of ours."""
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
        raise damaged(place.volume, place.offset, f"not a record of ours ({error})") from error


def target_in(plain: bytes) -> tuple[str, str]:
    """The kind of a record and the address it is about; both empty for what is no record."""
    try:
        record = _unframed(plain)
        return record.kind, record.fields.get("warc-target-uri", "")
    except (ValueError, LookupError):
        return "", ""


def _unframed(plain: bytes) -> _Plain:
    head, separator, rest = plain.partition(b"\r\n\r\n")
    version, *lines = head.decode("utf-8", "replace").split("\r\n")
    if not separator or not version.startswith("WARC/1."):
        raise ValueError("it has no WARC head")
    fields = {name.lower(): value for name, value in map(_field, lines)}
    length = int(fields["content-length"])
    block = rest[: max(length, 0)]
    if len(block) != length:
        raise ValueError(f"{length} bytes promised, {len(block)} there")
    return _Plain(fields["warc-type"], fields, block)


def _capture_of(record: _Plain) -> Capture:
    head, separator, body = record.block.partition(b"\r\n\r\n")
    if not separator:
        raise ValueError("the HTTP head does not end")
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
    said: dict[str, list[str]] = {}
    for line in record.block.decode("utf-8").split("\r\n")[:-1]:
        name, value = _field(line)
        said.setdefault(name, []).append(value)
    status, _, reason = said["status"][0].partition(" ")
    return Trace(
        url=Url(record.fields["warc-target-uri"]),
        fetched_at=from_words(record.fields["warc-date"]),
        status=int(status),
        reason=reason,
        headers=tuple(_field(text) for text in said.get("header", [])),
        digest=bytes.fromhex(said["digest"][0].partition(":")[2]),
        size=int(said["size"][0]),
        address=record.fields.get("warc-ip-address", ""),
        links=tuple(said.get("outlink", [])),
    )


def _field(line: str) -> Field:
    """The name and the value exactly: one space after the colon is ours, any other is the server's."""
    name, colon, value = line.partition(":")
    if not colon:
        raise ValueError("a header line without a colon")
    return name, value.removeprefix(" ")


# Records as they lie in the volumes, for copies: members one after another are a WARC file again.


def volumes_of(
    files: Files, folder: Path, damaged: Callable[[str, DamagedBytes], None]
) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Each volume's name and its whole records, a record a piece; safe beside a writer. `damaged` is told of what is
    left out."""
    for name in volumes_in(files, folder):
        yield name, _whole(files, folder / name, partial(damaged, name))


def _whole(files: Files, path: Path, damaged: Callable[[DamagedBytes], None]) -> Iterator[bytes]:
    for member in members(files, path):
        if isinstance(member, DamagedBytes):
            damaged(member)
        elif isinstance(member, Member):
            yield files.read(path, member.offset, member.length)
