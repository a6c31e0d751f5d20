"""What a cluster's archive asks of object storage, and its form on shared directories.

An object is stored whole or not at all, and never changed. Its key is `archive/` or `readings/`, and a name; that of a
wheel (`cluster/wheels.py`) is `versions/`, the version, and a name.
"""

import errno
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Protocol

from gossamer.archive.reader import PART
from gossamer.archive.storage import ArchiveFiles, is_volume
from gossamer.base.clock import Clock
from gossamer.base.errors import DiskFull, GossamerError
from gossamer.base.files import NO_ROOM
from gossamer.base.tell import Tell
from gossamer.spool.frames import SUFFIX
from gossamer.store.disks import located
from gossamer.store.service import Reachability

SEGMENTS, READINGS, VERSIONS = "archive/", "readings/", "versions/"
PIECE_BYTES = 8 << 20
"""How much of an object is in memory while it is copied."""


class ObjectExists(GossamerError):
    """There is another object under this key: it was not touched."""

    def __init__(self, key: str) -> None:
        super().__init__(f"there already is another object {key}")


class ObjectStorage(Protocol):
    """For any number of threads. Real ones: `DirectoryObjects` here, and `cloud.CloudObjects`.

    Every call may raise ServiceLost when the storage cannot be reached now, ServiceRefused when it will not do what it
    was asked, and FileNotFoundError for an object that is not there."""

    @property
    def name(self) -> str:
        """For people, without secrets."""

    @property
    def trouble(self) -> str:
        """Since when it has not been reached, for people; empty while it answers."""

    def check(self) -> None:
        """Raises when it cannot be used."""

    def put(self, key: str, content: bytes) -> None:
        """Store an object; it survives what the storage survives. Doing it again changes nothing. Raises ObjectExists
        if another one has this key."""

    def put_pieces(self, key: str, pieces: Iterable[bytes]) -> int:
        """The same for an object of any size; returns that. An iterator that raises leaves nothing behind."""

    def read(self, key: str, offset: int, length: int) -> bytes:
        """Up to `length` bytes from `offset`; fewer at its end."""

    def size(self, key: str) -> int | None:
        """None: there is no such object."""

    def names(self, prefix: str) -> Iterable[str]:
        """Of all objects whose keys begin so, without it."""

    def remove(self, key: str) -> None:
        """If it is there."""

    def room(self) -> int | None:
        """Free bytes; None: as much as is paid for."""


def segment_key(name: str) -> str:
    return SEGMENTS + name


def readings_key(volume: str) -> str:
    return READINGS + volume + SUFFIX


class DirectoryObjects:
    """Objects as files in one or several directories, with copies.

    Where copies go, what happens when a disk is full or fails, and that a damaged block is read from another copy is
    all as for the volumes of an archive on several disks."""

    def __init__(self, files: ArchiveFiles, clock: Clock, tell: Tell) -> None:
        self.files = files
        record = files.record
        self.name = f"archive.directories ({', '.join(record.used()) if record is not None else 'none'})"
        self._reach = Reachability(self.name, clock, tell)
        self._turn = Lock()

    @property
    def trouble(self) -> str:
        return self._reach.trouble

    def check(self) -> None:
        self._there()

    def put(self, key: str, content: bytes) -> None:
        try:
            self.put_pieces(key, [content])
        except ObjectExists:
            if self.size(key) != len(content) or self.read(key, 0, len(content)) != content:
                raise

    def put_pieces(self, key: str, pieces: Iterable[bytes]) -> int:
        folders = self._there()
        if not key.startswith(SEGMENTS):
            content = b"".join(pieces)
            self._put_file(key, content, folders)
            return len(content)
        with self._turn:
            return self._put_segment(self.files.folder / key.removeprefix(SEGMENTS), pieces)

    def read(self, key: str, offset: int, length: int) -> bytes:
        trouble: OSError = FileNotFoundError(errno.ENOENT, "there is no such object", key)
        for path in self._paths(key):
            try:
                return self.files.read(path, offset, length)
            except OSError as error:
                trouble = error
        if isinstance(trouble, FileNotFoundError) and (away := self._away()):
            raise self._reach.lost_by(f"{away[0]} is away") from trouble
        raise trouble

    def size(self, key: str) -> int | None:
        for path in self._paths(key):
            with suppress(OSError):
                if (size := self.files.size(path)) is not None:
                    return size
        if key.startswith(SEGMENTS) and (away := self._away()):
            raise self._reach.lost_by(f"{away[0]} is away")
        return None

    def names(self, prefix: str) -> Iterable[str]:
        if prefix == SEGMENTS:
            return [name for name in self.files.names(self.files.folder) if is_volume(name)]
        found = set[str]()
        for folder in self.files.folders:
            with suppress(OSError):
                found |= set(self.files.inner.names(folder / READINGS.rstrip("/")))
        return sorted(found)

    def remove(self, key: str) -> None:
        """A copy on a disk that is away is deleted when it returns."""
        if key.startswith(SEGMENTS):
            self.files.remove(self.files.folder / key.removeprefix(SEGMENTS))
            return
        for path in self._paths(key):
            with suppress(OSError):
                self.files.inner.remove(path)

    def room(self) -> int | None:
        return self.files.room(self.files.folder)

    def _put_segment(self, path: Path, pieces: Iterable[bytes]) -> int:
        files, part, size = self.files, path.with_name(path.name + PART), 0
        if files.size(path) is not None:
            raise ObjectExists(path.name)
        try:
            files.remove(part)
            opened = files.appender(part)
            try:
                for piece in pieces:
                    opened.append(piece)
                    size += len(piece)
                opened.sync()
            finally:
                opened.close()
            if files.size(path) is not None:
                raise ObjectExists(path.name)
            files.rename(part, path)
        except OSError as error:
            raise self._failed(path, error) from error
        finally:
            with suppress(OSError):
                files.remove(part)
        self._reach.note_answer()
        return size

    def _put_file(self, key: str, content: bytes, folders: Sequence[Path]) -> None:
        """In as many directories as segments; one is enough, since readings can be made again, and wheels are
        somewhere else too."""
        trouble: OSError | None = None
        done = 0
        rooms = {one.folder: one.free_bytes for one in self.files.rooms() if not one.failed}
        for folder in sorted(folders, key=lambda one: -rooms.get(one, 0)):
            path = folder / key
            try:
                if self.files.inner.size(path) is None:
                    self.files.inner.make_folder(path.parent)
                    self.files.inner.write(path, content)
                done += 1
            except OSError as error:
                self.files.has_failed(folder, path.name, error)
                trouble = error
            if done == self.files.wanted:
                break
        if not done:
            raise self._failed(Path(key), trouble or OSError(errno.ENOSPC, "no directory can be written"))

    def _there(self) -> list[Path]:
        """The directories that are there. Raises ServiceLost if none is."""
        self.files.refresh()
        if self.files.record is not None and (used := self.files.used()):
            return used
        raise self._reach.lost_by("no directory is there")

    def _paths(self, key: str) -> list[Path]:
        if key.startswith(SEGMENTS):
            return [self.files.folder / key.removeprefix(SEGMENTS)]
        return [folder / key for folder in self.files.folders]

    def _away(self) -> list[str]:
        """Directories that should be there."""
        record = self.files.record
        if record is None:
            return ["every directory"]
        there = set(self.files.folders)
        return [one.path for one in record.directories if located(self.files.folder, one.path) not in there]

    def _failed(self, path: Path, error: OSError) -> GossamerError:
        if error.errno in NO_ROOM and self.files.used():
            return DiskFull(f"no directory of the archive has room for {path.name}: free some, and the crawl continues")
        return self._reach.lost_by(error.strerror or str(error))


def pieces_of(storage: ObjectStorage, key: str, start: int, size: int) -> Iterator[bytes]:
    """A part of an object, from `start` on; shorter if the object is."""
    end = start + size
    while start < end and (piece := storage.read(key, start, min(PIECE_BYTES, end - start))):
        yield piece
        start += len(piece)
