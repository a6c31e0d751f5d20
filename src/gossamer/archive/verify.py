"""Checks every record of a volume against the catalogue, and restores damaged ones from a backup.

Checks only read, and their memory does not grow with the archive.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from gossamer.archive.reader import PART, DamagedBytes, Member, Scanned, members, read_record, target_in
from gossamer.base.clock import Instant
from gossamer.base.errors import ArchiveDamaged, DiskFull, GossamerError
from gossamer.base.files import Files, Tail
from gossamer.store import captures
from gossamer.store.statements import State
from gossamer.values.capture import Kept

AT_ONCE = 500
WARCINFO = "warcinfo"
MISSING = "the volume is missing"


class Whole(msgspec.Struct, frozen=True):
    """An intact record: as catalogued, or uncatalogued and a whole WARC record."""

    is_known: bool = True


class Finding(msgspec.Struct, frozen=True):
    """Damaged bytes."""

    volume: str
    number: int
    offset: int
    length: int
    why: str
    kept: Kept | None = None
    """The catalogue's entry; None: it has no capture there."""

    @property
    def url(self) -> str:
        return self.kept.url.text if self.kept is not None else ""

    @property
    def fetched_at(self) -> Instant | None:
        return self.kept.fetched_at if self.kept is not None else None


def verified(files: Files, folder: Path, state: State, volume: str) -> Iterator[Whole | Finding]:
    """Every record of one volume, in order. REQUIRES: no transaction is open on `state`, so that a volume
    rewritten in the meantime does not look damaged."""
    size, end, number = files.size(folder / volume), 0, 0
    for kept in _catalogued(state, volume):
        place = kept.place
        if end < place.offset:
            yield from _unknown(files, folder, volume, end, number, place.offset)
        why = "" if size is not None else MISSING
        if why := why or defect_of(files, folder, state, kept):
            now = captures.at_place(state, volume, place.number)
            if now is None or now.capture_id != kept.capture_id:
                return  # the volume has been rewritten
            yield Finding(volume, place.number, place.offset, place.length, why, kept)
        else:
            yield Whole()
        end, number = place.offset + place.length, place.number + 1
    if size is not None and end < size:
        yield from _unknown(files, folder, volume, end, number, None)


def defect_of(files: Files, folder: Path, state: State, kept: Kept) -> str:
    """How the record differs from its catalogue entry; empty when it does not."""
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
    again, response = found.again, found.response
    if kept.refers_at is not None:
        if again is None or (again.refers_at, again.digest) != (kept.refers_at, kept.digest):
            return "it is not the catalogued revisit record"
    elif again is not None:
        response = None
    if response is None:
        return f"it is a {found.kind} record instead of a capture"
    if (response.url, response.fetched_at) != (kept.url, kept.fetched_at):
        return "it is a capture of another URL or time"
    return "" if found.digest() == kept.digest else "its body does not have the catalogued digest"


def _catalogued(state: State, volume: str) -> Iterator[Kept]:
    number = 0
    while some := captures.kept_from(state, volume, number, AT_ONCE):
        yield from some
        number = some[-1].place.number + 1


def _unknown(
    files: Files, folder: Path, volume: str, offset: int, number: int, until: int | None
) -> Iterator[Whole | Finding]:
    """Uncatalogued records: a volume's first, duplicates, and what a running crawl has written but not settled. A torn
    end counts as one of these, not as damage."""
    size = files.size(folder / volume) or 0
    if size <= offset:
        if until is not None:
            yield Finding(volume, number, offset, until - offset, "the file is missing or too short")
        return
    for member in members(files, folder / volume, offset, until):
        end = member.offset + member.length
        if isinstance(member, Member) and (until is None or end <= until):
            if target_in(member.plain)[0] != WARCINFO:
                yield Whole(is_known=False)
        elif until is not None or isinstance(member, DamagedBytes):
            stretch = end if until is None else min(end, until)
            why = member.why if isinstance(member, DamagedBytes) else "the record is not whole"
            yield Finding(volume, number, member.offset, stretch - member.offset, why)
        number += 1


COPIED_AT_ONCE = 1 << 20


def repair(files: Files, folder: Path, copy: Path, state: State, findings: Sequence[Finding]) -> list[Finding]:
    """Restore those of one volume's damaged records that are whole in `copy`, a backup's archive, at the same offset.

    Returns the restored ones. The volume keeps its old content until the new one is synced. REQUIRES: the directory's
    lock."""
    good = [one for one in findings if _is_whole_in(files, copy, state, one)]
    if not good:
        return []
    volume = good[0].volume
    size = max(files.size(folder / volume) or 0, *(one.offset + one.length for one in findings))
    known = captures.end_of(state, volume)
    size = max(size, known[1] if known is not None else 0)
    if files.room(folder) < size:
        raise DiskFull(f"repairing {volume} needs {size:,} bytes of free space in addition: free some space")
    write_spans(files, folder / (volume + PART), _spans(folder / volume, copy / volume, good, size))
    files.rename(folder / (volume + PART), folder / volume)
    return good


def _is_whole_in(files: Files, copy: Path, state: State, one: Finding) -> bool:
    if files.size(copy / one.volume) is None:
        return False
    if one.kept is not None:
        return not defect_of(files, copy, state, one.kept)
    end = one.offset
    for member in members(files, copy / one.volume, one.offset, one.offset + one.length):
        if not isinstance(member, Member):
            return False
        end = member.offset + member.length
    return end == one.offset + one.length


def _spans(old: Path, copy: Path, good: Sequence[Finding], size: int) -> Iterator[tuple[Path, int, int]]:
    """The pieces of the new volume: file, start and end."""
    at = 0
    for one in sorted(good, key=lambda one: one.offset):
        yield old, at, one.offset
        at = one.offset + one.length
        yield copy, one.offset, at
    yield old, at, size


def write_spans(files: Files, path: Path, spans: Iterable[tuple[Path, int, int]]) -> None:
    """Write a new file, synced, from pieces of others. Zeros where they cannot be read."""
    with new_file(files, path) as tail:
        for source, start, end in spans:
            for piece in pieces(files, source, start, end):
                tail.append(piece)


@contextlib.contextmanager
def new_file(files: Files, path: Path) -> Iterator[Tail]:
    """Write a file from scratch; synced at the end of the block, deleted if the disk fails."""
    files.remove(path)
    tail = Tail(files, path)
    try:
        tail.open()
        yield tail
        tail.sync()
    except GossamerError:
        with contextlib.suppress(OSError):
            files.remove(path)
        raise
    finally:
        tail.close()


def pieces(files: Files, path: Path, start: int, end: int) -> Iterator[bytes]:
    """Zeros where the file ends or cannot be read: the rest keeps its offset, and damaged records stay damaged."""
    while start < end:
        length = min(COPIED_AT_ONCE, end - start)
        try:
            piece = files.read(path, start, length) or bytes(length)
        except OSError:
            piece = bytes(length)
        start += len(piece)
        yield piece
