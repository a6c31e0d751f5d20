"""The archive of a cluster, for code that sees a folder of volumes and one of their readings.

Everything that reads captures takes a `Files` and the folder `archive`. Here a path below that folder stands for a
segment, which is an object of the storage or a part of one. Where it is can change, when segments are joined: then a
read that finds nothing looks again.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path

from gossamer.archive.segments.storage import READINGS, ObjectStorage, pieces_of, readings_key, segment_key
from gossamer.base.errors import DirectoryUnusable
from gossamer.base.files import Appender, Files, Lock
from gossamer.spool.frames import SUFFIX
from gossamer.store.directory import Directory
from gossamer.store.document_files import SharedReader
from gossamer.store.segments import StoredSegment, find_segment, segment_names

KNOWN = 10_000
"""Segments whose places are remembered."""
AHEAD = 4 << 20
"""Who reads on where the last read ended is given so much at once."""
AMPLE = 1 << 50
"""Bytes free in a storage without a limit."""


class ClusterFiles:
    """Any thread may read. What it does not map goes to `inner`: documents, and this machine's disk."""

    def __init__(
        self, inner: Files, directory: Directory, reader: SharedReader, open_storage: Callable[[], ObjectStorage]
    ) -> None:
        """`open_storage` is called when the storage is first needed."""
        self.inner, self._reader = inner, reader
        self._archive, self._spool = directory.archive, directory.spool
        self._open_storage = open_storage
        self._storage: ObjectStorage | None = None
        self._known: OrderedDict[str, StoredSegment] = OrderedDict()
        self._turn = threading.Lock()
        self._last = threading.local()
        """Of each thread: the path and end of its last read, and bytes read ahead from there."""

    @property
    def storage(self) -> ObjectStorage:
        with self._turn:
            if self._storage is None:
                self._storage = self._open_storage()
            return self._storage

    def segment(self, name: str, is_fresh: bool = False) -> StoredSegment | None:
        """Where a segment is; None: there is none of that name."""
        with self._turn:
            found = self._known.get(name) if not is_fresh else None
        if found is None:
            found = self._reader.ask(lambda state: find_segment(state, name))
            with self._turn:
                if found is None:
                    self._known.pop(name, None)
                else:
                    self._known[name] = found
                    while len(self._known) > KNOWN:
                        self._known.popitem(last=False)
        return found

    # Reading.

    def read(self, path: Path, offset: int = 0, length: int | None = None) -> bytes:
        if path.parent not in (self._archive, self._spool) or self._is_local(path):
            return self.inner.read(path, offset, length)
        size = self._size(path)
        wanted = max(0, size - offset) if length is None else min(length, max(0, size - offset))
        if wanted <= 0:
            return b""
        last, end, ahead = getattr(self._last, "at", (None, 0, b""))
        if last == path and end == offset:
            if len(ahead) < wanted:
                ahead = self._fetched(path, offset, min(max(wanted, AHEAD), size - offset))
        else:
            ahead = self._fetched(path, offset, wanted)
        found = ahead[:wanted]
        self._last.at = (path, offset + len(found), ahead[wanted:])
        return found

    def size(self, path: Path) -> int | None:
        if path.parent == self._archive and not self._is_local(path):
            found = self.segment(path.name)
            return found.size if found is not None else None
        if path.parent == self._spool and path.name.endswith(SUFFIX):
            return self.storage.size(_readings(path))
        return self.inner.size(path)

    def names(self, folder: Path) -> list[str]:
        if folder == self._archive:
            return self._reader.ask(segment_names)
        if folder == self._spool:
            return sorted(self.storage.names(READINGS))
        return self.inner.names(folder)

    def room(self, folder: Path) -> int:
        """Of the archive: of its storage."""
        if folder != self._archive:
            return self.inner.room(folder)
        room = self.storage.room()
        return AMPLE if room is None else room

    # Writing: only readings that no view waits for are deleted.

    def remove(self, path: Path) -> None:
        if path.parent == self._spool and path.name.endswith(SUFFIX):
            self.storage.remove(_readings(path))
        else:
            self.inner.remove(self._changeable(path))

    def copy(self, old: Path, new: Path, length: int | None = None) -> None:
        """Also out of the archive."""
        if old.parent != self._archive or self._is_local(old):
            self.inner.copy(old, self._changeable(new), length)
            return
        self.inner.remove(self._changeable(new))
        opened = self.inner.appender(new)
        try:
            for piece in self._pieces(old, length):
                opened.append(piece)
            opened.sync()
        finally:
            opened.close()

    def appender(self, path: Path) -> Appender:
        return self.inner.appender(self._changeable(path))

    def write(self, path: Path, data: bytes) -> None:
        self.inner.write(self._changeable(path), data)

    def rename(self, old: Path, new: Path) -> None:
        self.inner.rename(self._changeable(old), self._changeable(new))

    def make_folder(self, folder: Path) -> None:
        self.inner.make_folder(folder)

    def lock(self, path: Path, holder: str) -> Lock | str:
        return self.inner.lock(path, holder)

    # Parts of the above.

    def _is_local(self, path: Path) -> bool:
        """Whether it is another file that only lies in one of these folders: the record of the directories."""
        return not path.name.endswith(SUFFIX if path.parent == self._spool else ".warc.gz")

    def _changeable(self, path: Path) -> Path:
        if path.parent in (self._archive, self._spool) and not self._is_local(path):
            raise DirectoryUnusable(f"{path.name} is a segment of a cluster's archive: those are never changed")
        return path

    def _size(self, path: Path) -> int:
        if (size := self.size(path)) is None:
            raise FileNotFoundError(2, "the cluster has no such segment or readings", str(path))
        return size

    def _fetched(self, path: Path, offset: int, length: int) -> bytes:
        if path.parent == self._spool:
            return self.storage.read(_readings(path), offset, length)
        found = self.segment(path.name)
        while found is not None:
            content, trouble = b"", None
            try:
                content = self.storage.read(segment_key(found.object), found.base + offset, length)
            except OSError as error:
                trouble = error
            if len(content) == length:
                return content
            now = self.segment(path.name, is_fresh=True)  # it may have been joined with others
            if now == found:
                if trouble is not None:
                    raise trouble
                return content
            found = now
        raise FileNotFoundError(2, "the cluster has no such segment", str(path))

    def _pieces(self, path: Path, length: int | None) -> Iterator[bytes]:
        size = self._size(path) if length is None else min(length, self._size(path))
        found = self.segment(path.name)
        assert found is not None, "it has a size"
        yield from pieces_of(self.storage, segment_key(found.object), found.base, size)


def _readings(path: Path) -> str:
    return readings_key(path.name.removesuffix(SUFFIX))
