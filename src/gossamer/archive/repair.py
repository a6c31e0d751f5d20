"""Damaged records put back from a copy of the archive. A volume is written anew beside the old one, and swapped in."""

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gossamer.archive.compaction import PART
from gossamer.archive.members import Member, members
from gossamer.archive.verify import Finding, fault_of
from gossamer.base.errors import DiskFull, GossamerError
from gossamer.base.files import Files
from gossamer.spool.tail import Tail
from gossamer.store import captures

COPIED_AT_ONCE = 1 << 20


def repair(
    files: Files, folder: Path, copy: Path, state: sqlite3.Connection, findings: Sequence[Finding]
) -> list[Finding]:
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


def _is_whole_in(files: Files, copy: Path, state: sqlite3.Connection, one: Finding) -> bool:
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
