"""A file that only grows, whose last good byte is known: a failed append or sync leaves nothing half done behind.

Archive volumes and spool files are both written this way.
"""

import contextlib
import errno
from pathlib import Path

from gossamer.base.errors import DiskFull, GossamerError
from gossamer.base.files import Appender, Files

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})


class Tail:
    """One owner. `open` before use.

    After an `append` that failed the file ends where it ended before, and the tail goes on. After a `sync` that
    failed nothing since the last good sync is trusted (the kernel may have dropped it and will not say so twice):
    the file is cut back to there and is not to be written again, and `usable` is False.
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
        """The offset where `given` begins. REQUIRES: usable."""
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

    def back_to(self, end: int) -> None:
        """Forget what was appended past `end`. Whether that worked is in `usable`; it never raises."""
        if end < self.end:
            self._cut(end)

    def close(self) -> None:
        appender, self._appender, self.usable = self._appender, None, False
        if appender is not None:
            with contextlib.suppress(OSError):  # what was synced is safe, and nothing else was promised
                appender.close()

    def _cut(self, end: int) -> None:
        try:
            self._opened().cut(end)
        except OSError:
            self.usable = False  # a torn end stays; whoever opens the file next cuts it
        self._is_dirty = True
        self.end = end
        self.synced_end = min(self.synced_end, end)

    def _opened(self) -> Appender:
        if self._appender is None:
            raise ValueError(f"{self._path.name} is not open")
        return self._appender


def trouble(path: Path, error: OSError) -> GossamerError:
    """The disk's complaint as one of ours: no room is something to wait for, all else is not."""
    if error.errno in NO_ROOM:
        return DiskFull(f"no room left to write {path.name}; free some space and the crawl goes on")
    return GossamerError(f"the disk refused to write {path.name}: {error.strerror or error}")
