"""Check every record of a volume against the catalogue; restore damaged ones from a backup.

Checks only read, and their memory does not grow with the archive.
"""

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from gossamer.archive.reader import PART, DamagedBytes, Member, Scanned, Torn, Trace, members, read_record, target_in
from gossamer.base.clock import Instant
from gossamer.base.errors import ArchiveDamaged, DiskFull, GossamerError
from gossamer.base.files import Files
from gossamer.spool.tail import Tail
from gossamer.store import captures
from gossamer.store.statements import State
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


def verified(files: Files, folder: Path, state: State, volume: str) -> Iterator[Whole | Finding]:
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


def fault_of(files: Files, folder: Path, state: State, kept: Kept) -> str:
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


def _catalogued(state: State, volume: str) -> Iterator[Kept]:
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


COPIED_AT_ONCE = 1 << 20


def repair(files: Files, folder: Path, copy: Path, state: State, findings: Sequence[Finding]) -> list[Finding]:
    """Those of one volume's damaged records that `copy`, the archive of a backup, holds whole at the same offset. The
    volume has its old content until the new one is synced. REQUIRES: the directory's lock."""
    good = [one for one in findings if _is_whole_in(files, copy, state, one)]
    if not good:
        return []
    volume = good[0].volume
    size = max(files.size(folder / volume) or 0, *(one.offset + one.length for one in findings))
    known = captures.end_of(state, volume)
    size = max(size, known[1] if known is not None else 0)
    if files.room(folder) < size:
        raise DiskFull(f"repairing {volume} needs {size:,} free bytes beside it, and there are fewer: free some space")
    write_spans(files, folder / (volume + PART), _spans(folder / volume, copy / volume, good, size))
    files.rename(folder / (volume + PART), folder / volume)
    return good


def _is_whole_in(files: Files, copy: Path, state: State, one: Finding) -> bool:
    if files.size(copy / one.volume) is None:
        return False
    if one.kept is not None:
        return not fault_of(files, copy, state, one.kept)
    end = one.offset
    for member in members(files, copy / one.volume, one.offset):
        if not isinstance(member, Member):
            return False
        end = member.offset + member.length
        if end >= one.offset + one.length:
            break
    return end == one.offset + one.length


def _spans(old: Path, copy: Path, good: Sequence[Finding], size: int) -> Iterator[tuple[Path, int, int]]:
    """Of which file the new volume is made, from where to where."""
    at = 0
    for one in sorted(good, key=lambda one: one.offset):
        yield old, at, one.offset
        at = one.offset + one.length
        yield copy, one.offset, at
    yield old, at, size


def write_spans(files: Files, path: Path, spans: Iterable[tuple[Path, int, int]]) -> None:
    """A new file, synced, of parts of others: each from one offset to another. Zeros where they cannot be read."""
    files.remove(path)
    tail = Tail(files, path)
    try:
        tail.open()
        for source, start, end in spans:
            while start < end:
                piece = _piece(files, source, start, min(COPIED_AT_ONCE, end - start))
                tail.append(piece)
                start += len(piece)
        tail.sync()
    except GossamerError:
        with contextlib.suppress(OSError):
            files.remove(path)
        raise
    finally:
        tail.close()


def _piece(files: Files, path: Path, start: int, length: int) -> bytes:
    """Zeros where the file has nothing or cannot be read: what follows keeps its offset."""
    try:
        return files.read(path, start, length) or bytes(length)
    except OSError:
        return bytes(length)
