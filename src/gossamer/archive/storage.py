"""The archive on several disks, for code that sees one folder.

It is a `Files` that maps its volumes to their copies.

Everything that reads or writes volumes takes a `Files` and the folder `archive`. Here a path below that folder stands
for all copies of the volume, in the directories of the record (`store/disks.py`) and in the folder itself. Other paths
go to the disk unchanged. A read is checked against the volume's checksums, block by block, and a block that one copy
does not have right is taken from another. Every other operation is done to all copies that are there; what could not
be deleted is recorded and deleted when its directory returns.
"""

import errno
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from gossamer.archive.checksums import (
    BLOCK_BYTES,
    Checksums,
    blocks_in,
    read_checksums,
    sums_path,
    write_checksums,
)
from gossamer.archive.copies import CopiedAppender, DiskRoom, chosen, is_worth_growing
from gossamer.archive.reader import PART, VOLUME_NAME
from gossamer.base.clock import Clock, Instant
from gossamer.base.files import NO_ROOM, Appender, Files, Lock
from gossamer.base.tell import Tell, silent
from gossamer.spool.codec import Broken, gzip_inflater
from gossamer.store.disks import RECORD, DiskRecord, device_of, located, marked_by, read_record, write_record

KNOWN = 32
"""Volumes whose checksums are kept in memory, at most 128 KiB each."""
COPIED_AT_ONCE = 1 << 20
FAILED_S = 60.0
"""How long a directory where a write failed gets no new volumes; twice as long each time, up to an hour."""
MOST_FAILED_S = 3600.0
ROOM_AGAIN = 1 << 20
"""How much more must be free on a disk that was full."""


def is_volume(name: str) -> bool:
    return VOLUME_NAME.fullmatch(name.removesuffix(PART)) is not None


def is_member(content: bytes) -> bool:
    """Whether these bytes are one whole gzip member, by its own checksum."""
    inflater = gzip_inflater()
    try:
        inflater.decompress(content)
    except Broken:
        return False
    return bool(inflater.eof and not inflater.unused_data)


class ArchiveFiles:
    """Use `archive_files` to make one. Any thread may read; one writes."""

    def __init__(self, inner: Files, folder: Path, clock: Clock, tell: Tell = silent) -> None:
        self.inner, self.folder = inner, folder
        self._clock, self._tell = clock, tell
        self.record: DiskRecord | None = None
        self.folders: list[Path] = [folder]
        """The directories that are there: of the collection, and of the record."""
        self._known: OrderedDict[str, Checksums] = OrderedDict()
        self._built: dict[str, tuple[Sequence[Path], Checksums | None]] = {}
        """Files that wait for their final name: where they are whole, and their checksums."""
        self._failures: dict[Path, tuple[float, float]] = {}
        """Until when a directory gets no new volumes, and for how long that was."""
        self._full: dict[Path, int] = {}
        """How much must be free in a directory that was full before it gets new volumes."""
        self._turn = threading.Lock()
        self.writing: set[str] = set()
        """Volumes that this process appends to."""
        self._begun: dict[str, list[Path]] = {}
        """Where this process has begun volumes."""
        self.refresh()

    def refresh(self) -> None:
        """Look again which directories are there."""
        record = read_record(self.inner, self.folder)
        found = [self.folder]
        for one in record.directories if record is not None else ():
            path = located(self.folder, one.path)
            if path not in found and record is not None and marked_by(self.inner, path) == record.collection:
                found.append(path)
        self.record, self.folders = record, found

    # Reading: any copy.

    def copies(self, name: str) -> list[Path]:
        """The copies that are there."""
        found = []
        for folder in self.folders:
            with suppress(OSError):
                if self.inner.size(folder / name) is not None and name not in self.erased_in(folder):
                    found.append(folder / name)
        return found

    def read(self, path: Path, offset: int = 0, length: int | None = None) -> bytes:
        if not self._is_copied(path):
            return self.inner.read(path, offset, length)
        copies = self._some_copies(path)
        known = self.checksums(path.name, copies)
        if known is None:
            return self._unchecked(copies, offset, length)
        return self._checked(copies, known, offset, known.size if length is None else offset + length)

    def checksums(self, name: str, copies: Sequence[Path]) -> Checksums | None:
        """None: the volume is not sealed."""
        if (known := self._known.get(name)) is not None:
            return known
        found = [one for copy in copies if (one := read_checksums(self.inner, copy)) is not None]
        newest = max(found, key=lambda one: one.made_at, default=None)
        if newest is not None:
            self._known[name] = newest
            if len(self._known) > KNOWN:
                self._known.popitem(last=False)
        return newest

    def size(self, path: Path) -> int | None:
        if not self._is_copied(path):
            return self.inner.size(path)
        copies = self.copies(path.name) or self._again(path.name)
        sizes = {self.inner.size(copy) or 0 for copy in copies}
        if len(sizes) < 2:
            return max(sizes, default=None)
        known = self.checksums(path.name, copies)
        return known.size if known is not None else max(sizes)

    def names(self, folder: Path) -> list[str]:
        if folder != self.folder:
            return self.inner.names(folder)
        self.refresh()
        if self.record is None:
            return self.inner.names(folder)
        found = set[str]()
        for one in self.folders:
            with suppress(OSError):
                found |= set(filter(is_volume, self.inner.names(one))) - self.erased_in(one)
        return sorted(found)

    def room(self, folder: Path) -> int:
        """Of the archive: the room for one more volume, so that of the roomiest directory."""
        if folder != self.folder or self.record is None:
            return self.inner.room(folder)
        return max((one.free_bytes for one in self.rooms()), default=0)

    # Writing: every copy.

    def appender(self, path: Path) -> Appender:
        if not self._is_copied(path):
            return self.inner.appender(path)
        held = [copy.parent for copy in self.copies(path.name)]
        folders = held or self._chosen()
        if not held:
            self._begun[path.name] = folders
        opened, trouble = dict[Path, Appender](), OSError(errno.ENOSPC, "no directory of the archive is available")
        for folder in folders:
            try:
                opened[folder] = self.inner.appender(folder / path.name)
            except OSError as error:
                trouble = error
                self.has_failed(folder, path.name, error)
        if not opened and not held:  # what exists and cannot be written is left as it is
            is_elsewhere = any(one.free_bytes >= self._low_water and not one.failed for one in self.rooms())
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) if is_elsewhere else trouble
        self.writing.add(path.name)
        return CopiedAppender(path.name, opened, self, self._clock.now, self._tell)

    def remove(self, path: Path) -> None:
        if not self._is_copied(path):
            self.inner.remove(path)
            return
        others = self._begun.pop(path.name, self._all_folders())
        left = [folder for folder in others if folder not in self.folders]
        for folder in self.folders:
            if not self._is_erased(folder, path.name):
                left.append(folder)
        self._forget(path.name)
        if not path.name.endswith(PART):
            self._erase_later(path.name, left)

    def rename(self, old: Path, new: Path) -> None:
        """Copies of `new` that no copy of `old` replaces are removed: they are outdated."""
        if not self._is_copied(new):
            self.inner.rename(old, new)
            return
        self.unseal(new.name)
        done, trouble = list[Path](), OSError(errno.ENOENT, os.strerror(errno.ENOENT), str(old))
        folders, found = self._built.pop(old.name, (self.folders, None))
        for copy in self.copies(old.name):
            try:
                if copy.parent in folders:
                    self.inner.rename(copy, copy.with_name(new.name))
                    done.append(copy.parent)
                else:  # its disk failed or was full in the middle
                    self.inner.remove(copy)
            except OSError as error:
                trouble = error
        if not done:
            raise trouble
        if found is not None:
            self.seal(new.name, done, found)
        for outdated in self.copies(new.name):
            if outdated.parent not in done:
                with suppress(OSError):
                    self.inner.remove(outdated)

    def copy(self, old: Path, new: Path, length: int | None = None) -> None:
        if not self._is_copied(old):
            self.inner.copy(old, new, length)
            return
        self.inner.remove(new)
        opened = self.inner.appender(new)
        try:
            for piece in self.pieces(old, length):
                opened.append(piece)
            opened.sync()
        finally:
            opened.close()

    def pieces(self, path: Path, length: int | None = None) -> Iterator[bytes]:
        self._some_copies(path)
        end = (self.size(path) or 0) if length is None else length
        for start in range(0, end, COPIED_AT_ONCE):
            yield self.read(path, start, min(COPIED_AT_ONCE, end - start))

    def write(self, path: Path, data: bytes) -> None:
        self.inner.write(path, data)

    def make_folder(self, folder: Path) -> None:
        self.inner.make_folder(folder)

    def lock(self, path: Path, holder: str) -> Lock | str:
        return self.inner.lock(path, holder)

    # For the appender, and for the repair of copies.

    def rooms(self) -> list[DiskRoom]:
        """The directories for new volumes that are there."""
        self.refresh()
        now_s, found = self._clock.elapsed_s(), list[DiskRoom]()
        for folder in self.used():
            with suppress(OSError):
                room = self.inner.room(folder)
                until_s, _ = self._failures.get(folder, (0.0, 0.0))
                has_failed = now_s < until_s or room < self._full.get(folder, 0)
                found.append(DiskRoom(folder, room, device_of(folder), has_failed))
        return found

    def used(self) -> list[Path]:
        """The directories for new volumes, among those that are there."""
        if self.record is None or not self.record.used():
            return [self.folder]
        used = [located(self.folder, path) for path in self.record.used()]
        marked = [path for path in used if path in self.folders]
        if self.folder in marked and marked_by(self.inner, self.folder) != self.record.collection:
            marked.remove(self.folder)
        return marked

    @property
    def wanted(self) -> int:
        """How many copies each volume should have."""
        return min(self.record.copies, max(1, len(self.record.used()))) if self.record is not None else 1

    def is_worth_growing(self, held: Sequence[Path]) -> bool:
        return is_worth_growing(self.rooms(), held, self.wanted, self._low_water)

    def has_failed(self, folder: Path, name: str, error: OSError) -> bool:
        if error.errno in NO_ROOM:
            with suppress(OSError):
                self._full[folder] = self.inner.room(folder) + ROOM_AGAIN
        else:
            until_s, before_s = self._failures.get(folder, (0.0, FAILED_S / 2))
            now_s = self._clock.elapsed_s()
            if now_s >= until_s:
                rest_s = min(2 * before_s, MOST_FAILED_S)
                self._failures[folder] = now_s + rest_s, rest_s
        self._tell("copy.failed", volume=name, directory=str(folder), why=error.strerror or str(error))
        return any(not one.failed and one.free_bytes >= self._low_water for one in self.rooms())

    def unseal(self, name: str) -> None:
        self._forget(name)
        for folder in self.folders:
            with suppress(OSError):
                self.inner.remove(sums_path(folder / name))

    def closed(self, name: str, folders: Sequence[Path], found: Checksums | None) -> None:
        self.writing.discard(name)
        if name.endswith(PART):
            self._built[name] = folders, found
        elif found is not None:
            self.seal(name, folders, found)

    def seal(self, name: str, folders: Sequence[Path], found: Checksums) -> None:
        """A copy whose checksums cannot be written is checked with those of another."""
        self.refresh()  # nothing is written into the mount point of a disk that has gone away
        for folder in set(folders).intersection(self.folders):
            with suppress(OSError):
                write_checksums(self.inner, folder / name, found)
        self._known[name] = found

    def place(self, part: Path, found: Checksums) -> None:
        """Give one copy, complete and synced, its final name, and its checksums."""
        copy = part.with_name(part.name.removesuffix(PART))
        self.inner.rename(part, copy)
        write_checksums(self.inner, copy, found)

    def erase(self) -> int:
        """Delete what was to be deleted while its directory was away; returns how many volumes."""
        done = 0
        for folder in self.folders:
            names = self._erased_in(folder)
            left = [name for name in names if not self._is_erased(folder, name)]
            done += len(names) - len(left)
            if len(left) < len(names):
                self._put(folder, left)
        return done

    def erased_in(self, folder: Path) -> frozenset[str]:
        """Volumes that count as deleted there."""
        return frozenset(self._erased_in(folder))

    def now(self) -> Instant:
        return self._clock.now()

    def put(self, record: DiskRecord) -> None:
        write_record(self.inner, self.folder, record)
        self.refresh()

    # Parts of the above.

    @property
    def _low_water(self) -> int:
        return self.record.low_water_bytes if self.record is not None else 0

    def _is_copied(self, path: Path) -> bool:
        if path.parent != self.folder or not is_volume(path.name):
            return False
        if self.record is None and self.inner.size(self.folder / RECORD) is not None:
            self.refresh()
        return self.record is not None

    def _all_folders(self) -> list[Path]:
        directories = self.record.directories if self.record is not None else ()
        return [self.folder, *(located(self.folder, one.path) for one in directories)]

    def _chosen(self) -> list[Path]:
        return chosen(self.rooms(), self.wanted, self._low_water)

    def _again(self, name: str) -> list[Path]:
        self.refresh()
        return self.copies(name)

    def _some_copies(self, path: Path) -> list[Path]:
        found = self.copies(path.name) or self._again(path.name)
        if not found:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        return found

    def _unchecked(self, copies: Sequence[Path], offset: int, length: int | None) -> bytes:
        """Of a volume without checksums: the copy that has the whole record there, or else the most bytes."""
        found, trouble = list[bytes](), None
        for copy in copies:
            try:
                found.append(self.inner.read(copy, offset, length))
            except OSError as error:
                trouble = error
        if not found and trouble is not None:
            raise trouble
        if len(set(found)) > 1 and (whole := [one for one in found if is_member(one)]):
            return whole[0]
        return max(found, key=len, default=b"")

    def _checked(self, copies: Sequence[Path], known: Checksums, offset: int, until: int) -> bytes:
        """Bytes that are as the checksums say; where no copy has them so, as the first readable copy has them."""
        until = min(until, known.size)
        if offset >= until:
            return b""
        first, end = offset // BLOCK_BYTES, -(-until // BLOCK_BYTES)
        start, stop = first * BLOCK_BYTES, min(known.size, end * BLOCK_BYTES)
        good, other = dict[int, bytes](), dict[int, bytes]()
        for copy in copies:
            for number, piece in enumerate(self._blocks(copy, start, stop), first):
                (good if known.has(number, piece) else other).setdefault(number, piece)
            if len(good) == end - first:
                break
            self._tell("copy.damaged", volume=copy.name, directory=str(copy.parent))
        if len(good) < end - first:
            self._known.pop(copies[0].name, None)  # it may have been written again under its name
        found = b"".join(good.get(number) or other.get(number, b"") for number in range(first, end))
        if not found:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(copies[0]))
        return found[offset - start : until - start]

    def _blocks(self, copy: Path, start: int, stop: int) -> list[bytes]:
        """Block by block where the disk cannot read all of them."""
        try:
            return blocks_in(self.inner.read(copy, start, stop - start))
        except OSError:
            if stop - start <= BLOCK_BYTES:
                return []
        found = []
        for at in range(start, stop, BLOCK_BYTES):
            try:
                found.append(self.inner.read(copy, at, min(BLOCK_BYTES, stop - at)))
            except OSError:
                found.append(b"")
        return found

    def _forget(self, name: str) -> None:
        self._known.pop(name, None)
        self._built.pop(name, None)
        self.writing.discard(name)

    def _name_of(self, folder: Path) -> str:
        directories = self.record.directories if self.record is not None else ()
        return next((one.path for one in directories if located(self.folder, one.path) == folder), "")

    def _erased_in(self, folder: Path) -> Sequence[str]:
        return self.record.erase.get(self._name_of(folder), ()) if self.record is not None and self.record.erase else ()

    def _erase_later(self, name: str, folders: Sequence[Path]) -> None:
        for folder in folders:
            self._tell("copy.unerased", volume=name, directory=str(folder))
            self._put(folder, [*self._erased_in(folder), name])

    def _is_erased(self, folder: Path, name: str) -> bool:
        with suppress(OSError):
            for path in (sums_path(folder / name), folder / name):
                if self.inner.size(path) is not None:  # a disk that may not be written refuses to remove nothing, too
                    self.inner.remove(path)
            return True
        return False

    def _put(self, folder: Path, names: Sequence[str]) -> None:
        with self._turn:
            assert self.record is not None
            self.put(self.record.with_erased(self._name_of(folder), names))


def archive_files(files: Files, folder: Path, clock: Clock, tell: Tell = silent) -> ArchiveFiles:
    """The files of a collection's archive, as its record says at each moment; all other files unchanged."""
    return ArchiveFiles(files.inner if isinstance(files, ArchiveFiles) else files, folder, clock, tell)
