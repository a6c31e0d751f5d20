"""Fakes for tests, ours and yours; each passes the same suites as the real implementation."""

import asyncio
import errno
import os
import threading
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import cast

import msgspec

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.files import Appender, Files, Lock, SystemCalls
from gossamer.values.capture import Capture
from gossamer.values.history import Validators
from gossamer.values.outcome import Fetched, Gone, Moved, Outcome
from gossamer.values.url import Url
from gossamer.values.visit import VisitKind


class FakeClock:
    """A clock that moves only with `advance` and when a caller sleeps."""

    def __init__(self, at: Instant = 1_700_000_000 * SECOND) -> None:
        self._at = at

    def now(self) -> Instant:
        return self._at

    def elapsed_s(self) -> float:
        return self._at / SECOND

    def advance(self, seconds: float) -> None:
        self._at += round(seconds * SECOND)

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)
        await asyncio.sleep(0)

    def pause(self, seconds: float) -> None:
        self.advance(seconds)


class Fault(msgspec.Struct, frozen=True):
    """How a call fails: with this error, after writing so many of its bytes."""

    code: int = errno.ENOSPC
    written_bytes: int = 0

    def raised(self) -> OSError:
        return OSError(self.code, os.strerror(self.code))


NO_ROOM = Fault()


class FaultyFiles:
    """A disk that fails at a chosen call, or has limited space.

    Calls of the kinds in `on` ("append", "sync", "cut", "write") are counted together from 1; call number `fail_at`
    fails with `fault`, and every later one too if `is_lasting`. `room_bytes` is the space left; cutting, removing and
    `grow` add to it. `heal` ends all failures except those for lack of space.
    """

    def __init__(
        self,
        inner: Files,
        fail_at: int | None = None,
        fault: Fault = NO_ROOM,
        on: Collection[str] = ("append", "sync", "write"),
        is_lasting: bool = False,
        room_bytes: int | None = None,
    ) -> None:
        self._inner = inner
        self._fail_at = fail_at
        self._fault = fault
        self._on = frozenset(on)
        self._is_lasting = is_lasting
        self._room_bytes = room_bytes
        self.calls = 0

    def heal(self) -> None:
        self._fail_at = None

    def grow(self, more_bytes: int) -> None:
        if self._room_bytes is not None:
            self._room_bytes += more_bytes

    def fault_for(self, kind: str) -> Fault | None:
        """Count the call; how it fails, if it does."""
        if kind not in self._on:
            return None
        self.calls += 1
        if self._fail_at is None or self.calls < self._fail_at:
            return None
        return self._fault if self._is_lasting or self.calls == self._fail_at else None

    def room_for(self, wanted_bytes: int) -> int:
        """Reserve space for as many of these bytes as fit."""
        if self._room_bytes is None:
            return wanted_bytes
        granted = min(wanted_bytes, self._room_bytes)
        self._room_bytes -= granted
        return granted

    def appender(self, path: Path) -> Appender:
        return _FaultyAppender(self, self._inner.appender(path))

    def read(self, path: Path, offset: int = 0, length: int | None = None) -> bytes:
        return self._inner.read(path, offset, length)

    def write(self, path: Path, data: bytes) -> None:
        if fault := self.fault_for("write"):
            raise fault.raised()
        granted = self.room_for(len(data))
        if granted < len(data):
            self.grow(granted)
            raise NO_ROOM.raised()
        self.grow(self._inner.size(path) or 0)
        self._inner.write(path, data)

    def size(self, path: Path) -> int | None:
        return self._inner.size(path)

    def names(self, folder: Path) -> list[str]:
        return self._inner.names(folder)

    def make_folder(self, folder: Path) -> None:
        self._inner.make_folder(folder)

    def remove(self, path: Path) -> None:
        if path.is_file():
            self.grow(self._inner.size(path) or 0)
        self._inner.remove(path)

    def rename(self, old: Path, new: Path) -> None:
        self._inner.rename(old, new)

    def copy(self, old: Path, new: Path, length: int | None = None) -> None:
        wanted = length if length is not None else self._inner.size(old) or 0
        if self.room_for(wanted) < wanted:
            raise NO_ROOM.raised()
        self._inner.copy(old, new, length)

    def room(self, folder: Path) -> int:
        return self._inner.room(folder) if self._room_bytes is None else self._room_bytes

    def lock(self, path: Path, holder: str) -> Lock | str:
        return self._inner.lock(path, holder)


class _FaultyAppender:
    def __init__(self, disk: FaultyFiles, inner: Appender) -> None:
        self._disk = disk
        self._inner = inner

    def append(self, data: bytes) -> int:
        fault = self._disk.fault_for("append")
        wanted = data[: fault.written_bytes] if fault else data
        granted = wanted[: self._disk.room_for(len(wanted))]
        start = self._inner.append(granted)
        if fault:
            raise fault.raised()
        if len(granted) < len(data):
            raise NO_ROOM.raised()
        return start

    def sync(self) -> None:
        if fault := self._disk.fault_for("sync"):
            raise fault.raised()
        self._inner.sync()

    def cut(self, size: int) -> None:
        if fault := self._disk.fault_for("cut"):
            raise fault.raised()
        self._disk.grow(max(0, self._inner.size() - size))
        self._inner.cut(size)

    def size(self) -> int:
        return self._inner.size()

    def is_worth_growing(self) -> bool:
        return self._inner.is_worth_growing()

    def close(self) -> None:
        self._inner.close()


class _Inode:
    """A file's bytes as they are, and as they may be after a power cut."""

    def __init__(self, content: bytes = b"") -> None:
        self.content = bytearray(content)
        self.synced = content

    def after(self, kind: str) -> bytes:
        """What is read after a power cut: "dropped", "torn" or "reordered" is the fate of the writes since the last
        sync; "kept": all of them arrived."""
        whole, synced = bytes(self.content), self.synced
        if kind == "dropped":
            return synced
        if kind == "kept" or not whole.startswith(synced):
            return whole if kind == "kept" else synced
        middle = (len(synced) + len(whole)) // 2
        return whole[:middle] if kind == "torn" else synced + bytes(middle - len(synced)) + whole[middle:]


class PowerCuts:
    """System calls for `DiskFiles`, executed and recorded; `state` is what a power cut would leave now.

    Contents survive from the last sync of the file, names (new, renamed, removed) from the last sync of the folder.
    `synced` is called after each sync and each rename. REQUIRES: the folder `root` was empty.
    """

    KINDS = ("dropped", "torn", "reordered", "kept")

    def __init__(self, root: Path, synced: Callable[[], None] = lambda: None) -> None:
        self._calls = cast(SystemCalls, os)
        self._root = root
        self._synced = synced
        self._names: dict[Path, _Inode | None] = {}
        """None: a folder."""
        self._lasting: dict[Path, _Inode | None] = {}
        self._opened: dict[int, Path | _Inode] = {}
        self._turn = threading.RLock()

    def state(self, kind: str) -> dict[Path, bytes | None]:
        """Files and folders (None) by their path below the root. Writes and names are lost together, except in "torn"
        and "reordered" states, where names arrived before the contents."""
        with self._turn:
            names = self._lasting if kind == "dropped" else self._names
            found = {path: inode.after(kind) if inode else None for path, inode in names.items()}
        return {path.relative_to(self._root): content for path, content in found.items() if self._is_held(path, found)}

    def _is_held(self, path: Path, found: Mapping[Path, object]) -> bool:
        return path.parent == self._root or (path.parent in found and self._is_held(path.parent, found))

    def open(self, path: Path, flags: int, mode: int = 0o777) -> int:
        with self._turn:
            fd = self._calls.open(path, flags, mode)
            if flags & os.O_DIRECTORY:
                self._opened[fd] = path
            else:
                inode = self._names.get(path) or _Inode()
                self._names[path] = self._opened[fd] = inode
            return fd

    def write(self, fd: int, data: memoryview) -> int:
        with self._turn:
            written = self._calls.write(fd, data)
            self._inode(fd).content += data[:written]
            return written

    def ftruncate(self, fd: int, length: int) -> None:
        with self._turn:
            self._calls.ftruncate(fd, length)
            del self._inode(fd).content[length:]

    def fdatasync(self, fd: int) -> None:
        with self._turn:
            inode = self._inode(fd)
            inode.synced = bytes(inode.content)
        self._synced()

    def fsync(self, fd: int) -> None:
        with self._turn:
            folder = self._opened[fd]
            self._lasting = {path: inode for path, inode in self._lasting.items() if path.parent != folder}
            self._lasting |= {path: inode for path, inode in self._names.items() if path.parent == folder}
        self._synced()

    def close(self, fd: int) -> None:
        with self._turn:
            self._calls.close(fd)
            del self._opened[fd]

    def replace(self, src: Path, dst: Path) -> None:
        with self._turn:
            self._calls.replace(src, dst)
            self._names[dst] = self._names.pop(src)
        self._synced()

    def mkdir(self, path: Path, mode: int = 0o777) -> None:
        with self._turn:
            self._calls.mkdir(path, mode)
            self._names[path] = None

    def unlink(self, path: Path) -> None:
        with self._turn:
            self._calls.unlink(path)
            self._names.pop(path, None)

    def _inode(self, fd: int) -> _Inode:
        found = self._opened[fd]
        assert isinstance(found, _Inode)
        return found


class TinyWeb:
    """A web in a dict: URL -> HTML, or the outcome itself. Everything else is gone, including robots.txt unless given.

    Its `fetch` replaces `fetch.client.Client.fetch`, and records the requested URLs in order.
    """

    def __init__(self, pages: Mapping[str, str | Outcome], clock: Clock) -> None:
        self._pages = dict(pages)
        self._clock = clock
        self.asked: list[str] = []

    async def fetch(
        self,
        url: Url,
        kind: VisitKind = VisitKind.PAGE,
        depth: int = 0,
        validators: Validators | None = None,
        before_sending: Callable[[], None] = lambda: None,
    ) -> Outcome:
        before_sending()
        self.asked.append(url.text)
        found = self._pages.get(url.text)
        if found is None:
            return Gone(self._answer(url, 404, "Not Found", "no such page"))
        if not isinstance(found, str):
            return found
        media = "text/plain" if kind is VisitKind.ROBOTS else "text/html; charset=utf-8"
        return Fetched(self._answer(url, 200, "OK", found, media))

    def moved(self, url: str, to: str) -> Moved:
        """An outcome to put into the dict: a redirect."""
        return Moved(Url(to), self._answer(Url(url), 301, "Moved Permanently", ""))

    def _answer(self, url: Url, status: int, reason: str, text: str, kind: str = "text/html") -> Capture:
        body = text.encode()
        headers = (("Content-Type", kind), ("Content-Length", str(len(body))))
        return Capture(url, self._clock.now(), status, reason, headers, body, "20.0.0.1")
