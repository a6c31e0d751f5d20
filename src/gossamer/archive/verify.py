"""Every record of a volume held against the catalogue. Reads only; memory does not grow with the archive."""

import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec

from gossamer.archive.members import DamagedBytes, Member, Torn, members
from gossamer.archive.reader import Scanned, Trace, read_record, target_in
from gossamer.base.clock import Instant
from gossamer.base.errors import ArchiveDamaged
from gossamer.base.files import Files
from gossamer.store import captures
from gossamer.values.capture import Capture, Kept

AT_ONCE = 500
WARCINFO = "warcinfo"


class Whole(msgspec.Struct, frozen=True):
    """A record that is what the catalogue says; or one it does not know, and that is a whole WARC record."""

    is_known: bool = True


class Finding(msgspec.Struct, frozen=True):
    """Bytes that are not what they should be."""

    volume: str
    number: int
    offset: int
    length: int
    why: str
    kept: Kept | None = None
    """What the catalogue says of it; None: it knows no capture there."""

    @property
    def url(self) -> str:
        return self.kept.url.text if self.kept is not None else ""

    @property
    def fetched_at(self) -> Instant | None:
        return self.kept.fetched_at if self.kept is not None else None


def verified(files: Files, folder: Path, state: sqlite3.Connection, volume: str) -> Iterator[Whole | Finding]:
    """Every record of one volume, in order. REQUIRES: no transaction is open on `state`, so that a volume which is
    rewritten meanwhile is not mistaken for a damaged one."""
    size, end, number = files.size(folder / volume), 0, 0
    for kept in _catalogued(state, volume):
        place = kept.place
        if end < place.offset:
            yield from _unknown(files, folder, volume, end, number, place.offset)
        why = "" if size is not None else "the volume is missing"
        if why := why or fault_of(files, folder, state, kept):
            now = captures.at_place(state, volume, place.number)
            if now is None or now.capture_id != kept.capture_id:
                return  # the volume has been rewritten
            yield Finding(volume, place.number, place.offset, place.length, why, kept)
        else:
            yield Whole()
        end, number = place.offset + place.length, place.number + 1
    if size is not None and end < size:
        yield from _unknown(files, folder, volume, end, number, None)


def fault_of(files: Files, folder: Path, state: sqlite3.Connection, kept: Kept) -> str:
    """Why the record is not the one the catalogue says; empty when it is."""
    try:
        found = read_record(files, folder, kept.place)
    except ArchiveDamaged as damage:
        return str(damage).partition(": ")[2]
    if why := _difference(found, kept):
        return why
    if kept.refers_at is not None and not captures.is_known(state, kept.url, kept.refers_at):
        return "it is a revisit, and the capture it refers to is not in the catalogue"
    return ""


def _difference(found: Scanned, kept: Kept) -> str:
    said: Capture | Trace
    if kept.refers_at is not None:
        again = found.again
        if again is None or (again.refers_at, again.digest) != (kept.refers_at, kept.digest):
            return "it is not the revisit record that the catalogue says"
        said, digest = again.answer, again.digest
    elif found.capture is not None:
        said, digest = found.capture, hashlib.sha256(found.capture.body).digest()
    elif found.trace is not None:
        said, digest = found.trace, found.trace.digest
    else:
        return f"it is a {found.kind} record, and should be a capture"
    if (said.url, said.fetched_at) != (kept.url, kept.fetched_at):
        return "it is a capture of another URL or moment"
    return "" if digest == kept.digest else "its body does not have the digest that the catalogue says"


def _catalogued(state: sqlite3.Connection, volume: str) -> Iterator[Kept]:
    number = 0
    while some := captures.kept_from(state, volume, number, AT_ONCE):
        yield from some
        number = some[-1].place.number + 1


def _unknown(
    files: Files, folder: Path, volume: str, offset: int, number: int, until: int | None
) -> Iterator[Whole | Finding]:
    """Records that the catalogue does not know: a volume's first, duplicates, and what a running crawl has written and
    not acknowledged. A torn end is one of these, and no damage."""
    size = files.size(folder / volume) or 0
    if size <= offset:
        if until is not None:
            yield Finding(volume, number, offset, until - offset, "the file is missing or ends before")
        return
    for member in members(files, folder / volume, offset):
        end = member.offset + member.length
        if until is not None and member.offset >= until:
            return
        if isinstance(member, Member) and (until is None or end <= until):
            if target_in(member.plain)[0] != WARCINFO:
                yield Whole(is_known=False)
        elif until is not None or isinstance(member, DamagedBytes):
            stretch = end if until is None else min(end, until)
            why = member.why if isinstance(member, DamagedBytes) else "the record is not whole"
            yield Finding(volume, number, member.offset, stretch - member.offset, why)
        number += 1
        if isinstance(member, Torn) or (until is not None and end >= until):
            return
