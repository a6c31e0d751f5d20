"""Files: everything the program itself writes goes through a `Files`.

(SQLite, Oxigraph and tantivy write and sync their own files.) A second implementation, `gossamer.testing.FaultyFiles`,
fails, tears a write or runs out of space at a chosen call.
"""

import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol, cast

from xxhash import xxh3_128_digest

from gossamer.base.errors import DiskFull, GossamerError

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600
SEAL_BYTES = 16


class Appender(Protocol):
    """A file open for appending. One owner."""

    def append(self, data: bytes) -> int:
        """Write all of `data` (unbuffered) and return the offset it starts at. After an OSError the content beyond
        that offset is undefined: `cut` it."""

    def sync(self) -> None:
        """On return, what was appended survives a power cut. After an OSError trust nothing appended since."""

    def cut(self, size: int) -> None: ...

    def size(self) -> int: ...

    def is_worth_growing(self) -> bool:
        """False: a new file would be stored better, with more copies or on a disk with more room."""

    def close(self) -> None: ...


class Lock(Protocol):
    def release(self) -> None: ...


class Files(Protocol):
    """Real ones: `DiskFiles` here, `FaultyFiles` in `gossamer.testing`."""

    def appender(self, path: Path) -> Appender: ...

    def read(self, path: Path, offset: int = 0, length: int | None = None) -> bytes:
        """Up to `length` bytes from `offset`; fewer at the end of the file."""

    def write(self, path: Path, data: bytes) -> None:
        """Replace the whole file atomically (temporary file, sync, rename, sync of the folder)."""

    def size(self, path: Path) -> int | None:
        """None when there is no such file."""

    def names(self, folder: Path) -> list[str]:
        """Sorted; empty when there is no such folder."""

    def make_folder(self, folder: Path) -> None:
        """Parents included; on return it survives a power cut."""

    def remove(self, path: Path) -> None:
        """Remove a file or a whole folder, if it exists. A power cut may bring it back."""

    def rename(self, old: Path, new: Path) -> None:
        """On return, the new name survives a power cut. REQUIRES: both are in one folder, and the file is synced."""

    def copy(self, old: Path, new: Path, length: int | None = None) -> None:
        """Copy the first `length` bytes (default: all); content and name are synced."""

    def room(self, folder: Path) -> int:
        """Free bytes on the disk that holds `folder`."""

    def lock(self, path: Path, holder: str) -> Lock | str:
        """Take the lock and write `holder` into it; if another live process has it, return what that one wrote."""


class SystemCalls(Protocol):
    """Calls that change a disk. Real ones: the module `os`, and `gossamer.testing.PowerCuts`, which records them."""

    def open(self, path: Path, flags: int, mode: int = 0o777) -> int: ...

    def write(self, fd: int, data: memoryview) -> int: ...

    def ftruncate(self, fd: int, length: int) -> None: ...

    def fdatasync(self, fd: int) -> None: ...

    def fsync(self, fd: int) -> None: ...

    def close(self, fd: int) -> None: ...

    def replace(self, src: Path, dst: Path) -> None: ...

    def mkdir(self, path: Path, mode: int = 0o777) -> None: ...

    def unlink(self, path: Path) -> None: ...


class _DiskAppender:
    def __init__(self, path: Path, calls: SystemCalls) -> None:
        self._calls = calls
        self._fd = calls.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, FILE_MODE)
        self._size = os.fstat(self._fd).st_size

    def append(self, data: bytes) -> int:
        start, view = self._size, memoryview(data)
        while view:
            written = self._calls.write(self._fd, view)
            self._size += written
            view = view[written:]
        return start

    def sync(self) -> None:
        self._calls.fdatasync(self._fd)

    def cut(self, size: int) -> None:
        self._calls.ftruncate(self._fd, size)
        self._size = size

    def size(self) -> int:
        return self._size

    def is_worth_growing(self) -> bool:
        return True

    def close(self) -> None:
        self._calls.close(self._fd)


class _DiskLock:
    def __init__(self, fd: int) -> None:
        self._fd = fd

    def release(self) -> None:
        os.close(self._fd)


class DiskFiles:
    def __init__(self, calls: SystemCalls | None = None) -> None:
        self._calls: SystemCalls = calls or cast(SystemCalls, os)

    def appender(self, path: Path) -> Appender:
        new = not path.exists()
        opened = _DiskAppender(path, self._calls)
        if new:
            self._sync_folder(path.parent)
        return opened

    def read(self, path: Path, offset: int = 0, length: int | None = None) -> bytes:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read() if length is None else file.read(length)

    def write(self, path: Path, data: bytes) -> None:
        fresh = path.with_name(path.name + ".new")
        self.remove(fresh)
        opened = _DiskAppender(fresh, self._calls)
        try:
            opened.append(data)
            opened.sync()
        finally:
            opened.close()
        self.rename(fresh, path)

    def size(self, path: Path) -> int | None:
        try:
            return path.stat().st_size
        except FileNotFoundError:
            return None

    def names(self, folder: Path) -> list[str]:
        return sorted(os.listdir(folder)) if folder.is_dir() else []

    def make_folder(self, folder: Path) -> None:
        if not folder.is_dir():
            self.make_folder(folder.parent)
            with contextlib.suppress(FileExistsError):  # another process was faster
                self._calls.mkdir(folder, DIRECTORY_MODE)
            self._sync_folder(folder.parent)

    def remove(self, path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            with contextlib.suppress(FileNotFoundError):
                self._calls.unlink(path)

    def rename(self, old: Path, new: Path) -> None:
        self._calls.replace(old, new)
        self._sync_folder(new.parent)

    def copy(self, old: Path, new: Path, length: int | None = None) -> None:
        self.remove(new)
        opened = _DiskAppender(new, self._calls)
        try:
            for piece in _pieces(old, length):
                opened.append(piece)
            opened.sync()
        finally:
            opened.close()
        self._sync_folder(new.parent)

    def room(self, folder: Path) -> int:
        return shutil.disk_usage(folder).free

    def lock(self, path: Path, holder: str) -> Lock | str:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        with contextlib.ExitStack() as undo:
            undo.callback(os.close, fd)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return os.pread(fd, 4096, 0).decode("utf-8", "replace") or "another process"
            os.ftruncate(fd, 0)
            os.pwrite(fd, holder.encode(), 0)
            undo.pop_all()
        return _DiskLock(fd)

    def _sync_folder(self, folder: Path) -> None:
        fd = self._calls.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            self._calls.fsync(fd)
        finally:
            self._calls.close(fd)


def create_private(path: Path) -> None:
    """Create an empty file, if there is none, that only its owner can read. For databases, which would follow the
    umask: they take over its mode, also for their journals."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE))


def sync_disks() -> None:
    """On return, what every program has written so far survives a power cut: for files that others have made."""
    os.sync()


def make_private(path: Path, mode: int) -> bool:
    """Set the mode; returns whether it could be. Another user's file keeps its own. Symbolic links are not followed."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.fchmod(fd, mode)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def _pieces(path: Path, length: int | None) -> Iterator[bytes]:
    left = path.stat().st_size if length is None else length
    with path.open("rb") as file:
        while left > 0 and (piece := file.read(min(left, 1 << 20))):
            left -= len(piece)
            yield piece


def size_below(paths: Iterable[Path], files: Files) -> int:
    """Bytes of files, and of folders with all that is in them; what goes away meanwhile counts for nothing."""
    total, waiting = 0, list(paths)
    while waiting:
        path = waiting.pop()
        if path.is_dir():
            waiting += [path / name for name in files.names(path)]
        else:
            total += files.size(path) or 0
    return total


NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})


class Tail:
    """One owner. `open` before use.

    After a failed `append` the file ends where it did before, and the tail can be used further. After a failed `sync`
    nothing since the last successful one is trusted (the kernel may have dropped it and will not report it twice): the
    file is cut back to there and must not be written again; `usable` is False.
    """

    def __init__(self, files: Files, path: Path) -> None:
        self._files = files
        self._path = path
        self._appender: Appender | None = None
        self.end = 0
        self.synced_end = 0
        self.usable = False
        self._is_dirty = False

    def open(self) -> None:
        try:
            self._appender = self._files.appender(self._path)
        except OSError as error:
            raise trouble(self._path, error) from error
        self.end = self.synced_end = self._appender.size()
        self.usable = True

    def append(self, given: bytes) -> int:
        """The offset at which `given` begins. REQUIRES: usable."""
        appender = self._opened()
        try:
            start = appender.append(given)
        except OSError as error:
            self._cut(self.end)
            raise trouble(self._path, error) from error
        self.end = start + len(given)
        self._is_dirty = True
        return start

    def sync(self) -> None:
        appender = self._opened()
        if not self._is_dirty:
            return
        try:
            appender.sync()
        except OSError as error:
            self._cut(self.synced_end)
            self.usable = False
            raise trouble(self._path, error) from error
        self.synced_end = self.end
        self._is_dirty = False

    def is_worth_growing(self) -> bool:
        return self._opened().is_worth_growing()

    def back_to(self, end: int) -> None:
        """Cut what was appended past `end`. It never raises: `usable` says whether that worked."""
        if end < self.end:
            self._cut(end)

    def close(self) -> None:
        appender, self._appender, self.usable = self._appender, None, False
        if appender is not None:
            with contextlib.suppress(OSError):  # what was synced is safe
                appender.close()

    def _cut(self, end: int) -> None:
        try:
            self._opened().cut(end)
        except OSError:
            self.usable = False  # a torn end stays, and is cut when the file is opened next
        self._is_dirty = True
        self.end = end
        self.synced_end = min(self.synced_end, end)

    def _opened(self) -> Appender:
        if self._appender is None:
            raise ValueError(f"{self._path.name} is not open")
        return self._appender


def trouble(path: Path, error: OSError) -> GossamerError:
    """An error of the disk as one of ours: space on a full disk may be freed, other errors are permanent."""
    if error.errno in NO_ROOM:
        return DiskFull(f"no disk space left to write {path.name}; free some space and the crawl continues")
    return GossamerError(f"the disk refused to write {path.name}: {error.strerror or error}")


def sealed(head: bytes, body: bytes) -> bytes:
    """The content of a small file: a line that names its format, 16 bytes of xxh3 over the body, and the body."""
    return b"".join((head, xxh3_128_digest(body), body))


def unsealed(head: bytes, content: bytes) -> bytes:
    """The body. Raises ValueError with the reason for anything that `sealed` has not made with this head."""
    if not content.startswith(head):
        raise ValueError("it is of another kind or version")
    body = content[len(head) + SEAL_BYTES :]
    if xxh3_128_digest(body) != content[len(head) : len(head) + SEAL_BYTES]:
        raise ValueError("it is damaged")
    return body
