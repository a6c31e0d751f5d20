"""Where the copies of a volume go, and the file that is written to several disks at once."""

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import msgspec

from gossamer.archive.checksums import ChecksumBuilder, Checksums
from gossamer.base.clock import Instant
from gossamer.base.files import NO_ROOM, Appender
from gossamer.base.tell import Tell


class DiskRoom(msgspec.Struct, frozen=True):
    """A directory that is there and may be written."""

    folder: Path
    free_bytes: int
    device: int | None = None
    failed: bool = False
    """A write failed there a short time ago."""


def chosen(rooms: Sequence[DiskRoom], copies: int, low_water_bytes: int) -> list[Path]:
    """The directories for a new volume: the roomiest on different disks, then the roomiest of the rest.

    Full and failing ones only if nothing else is left: then one copy, so that the crawl can report what happens."""
    ranked = sorted(rooms, key=lambda one: -one.free_bytes)
    good = [one for one in ranked if not one.failed and one.free_bytes >= low_water_bytes]
    if not good:
        return [one.folder for one in sorted(ranked, key=lambda one: one.failed)[:1]]
    devices, apart, others = set[int | None](), list[Path](), list[Path]()
    for one in good:
        (others if one.device in devices and one.device is not None else apart).append(one.folder)
        devices.add(one.device)
    return [*apart, *others][:copies]


def is_worth_growing(rooms: Sequence[DiskRoom], held: Sequence[Path], copies: int, low_water_bytes: int) -> bool:
    """Whether a new volume would not be stored better than one with copies in these directories."""
    good = {one.folder for one in rooms if not one.failed and one.free_bytes >= low_water_bytes}
    return not good or (good.issuperset(held) and len(held) >= min(copies, len(good)))


class Copies(Protocol):
    """What a `CopiedAppender` asks of the disks: `ArchiveFiles`."""

    def is_worth_growing(self, held: Sequence[Path]) -> bool: ...

    def has_failed(self, folder: Path, name: str, error: OSError) -> bool:
        """Note that a write failed; returns whether another directory can take a new volume."""

    def unseal(self, name: str) -> None: ...

    def closed(self, name: str, folders: Sequence[Path], found: Checksums | None) -> None:
        """It is written in these directories, with these checksums; None: they must be made from a copy."""


class CopiedAppender:
    """A volume open for appending on several disks. What is appended is in every copy that is left, or in none.

    A copy whose disk fails is left behind, cut where all were equal; the others continue. When none is left, the error
    is that of a full disk if another directory has room: the caller then begins a new volume there.
    """

    def __init__(
        self, name: str, opened: Mapping[Path, Appender], disks: Copies, now: Callable[[], Instant], tell: Tell
    ) -> None:
        self._name, self._live, self._disks, self._now, self._tell = name, dict(opened), disks, now, tell
        sizes = [one.size() for one in self._live.values()]
        self._size = self._synced = max(sizes, default=0)
        self._is_sealed = self._size > 0
        self._sums = ChecksumBuilder() if not self._size else None

    def append(self, data: bytes) -> int:
        start = self._size
        self._unseal()
        self._all(lambda one: self._append_at(one, start, data))
        self._size = start + len(data)
        if self._sums is not None:
            self._sums.add(data)
        return start

    def sync(self) -> None:
        self._all(lambda one: one.sync())
        self._synced = self._size

    def cut(self, size: int) -> None:
        self._unseal()
        self._sums = ChecksumBuilder() if size == 0 else None if size != self._size else self._sums
        self._all(lambda one: one.cut(size) if one.size() > size else None)
        self._size = size
        self._synced = min(self._synced, size)

    def size(self) -> int:
        return self._size

    def is_worth_growing(self) -> bool:
        return self._disks.is_worth_growing(list(self._live))

    def close(self) -> None:
        for one in self._live.values():
            with suppress(OSError):
                one.close()
        is_whole = self._sums is not None and self._live and 0 < self._size == self._synced == self._sums.size
        found = self._sums.done(self._now()) if self._sums is not None and is_whole else None
        self._disks.closed(self._name, list(self._live), found)

    def _append_at(self, one: Appender, start: int, data: bytes) -> None:
        if one.size() > start:  # a torn end that could not be cut at once
            one.cut(start)
        if one.size() != start:
            raise OSError(errno.EIO, "the copy is shorter than the others")
        one.append(data)

    def _all(self, act: Callable[[Appender], object]) -> None:
        """Do it with every copy. Those that fail are left behind, unless all do and there may be room later."""
        failed: dict[Path, OSError] = {}
        for folder, one in self._live.items():
            try:
                act(one)
            except OSError as error:
                failed[folder] = error
        if not failed and self._live:
            return
        others = [self._disks.has_failed(folder, self._name, error) for folder, error in failed.items()]
        full = [folder for folder, error in failed.items() if error.errno in NO_ROOM]
        if len(failed) < len(self._live):
            self._leave(failed, "its disk is full" if full else "its disk fails")
            return
        self._leave([folder for folder in failed if folder not in full], "its disk fails")
        if full or any(others) or not failed:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        raise next(iter(failed.values()))

    def _leave(self, folders: Sequence[Path] | Mapping[Path, OSError], why: str) -> None:
        for folder in folders:
            one = self._live.pop(folder)
            with suppress(OSError):
                one.cut(self._synced)
            with suppress(OSError):
                one.close()
            self._tell("copy.lost", volume=self._name, directory=str(folder), why=why)

    def _unseal(self) -> None:
        if self._is_sealed:
            self._disks.unseal(self._name)
            self._is_sealed = False
