"""Which capture of an address lies where: the read side of the table that settling writes, and its mending."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from gossamer.archive.reader import read_capture
from gossamer.archive.volumes import ArchiveEnd
from gossamer.base.clock import Instant
from gossamer.base.errors import ArchiveDamaged
from gossamer.base.files import Files
from gossamer.store import captures
from gossamer.store.sqlite.database import Database, read_only
from gossamer.values.capture import Capture, Kept, Truncated
from gossamer.values.url import Url


class Catalogue:
    """Readable from any process while the crawler writes. Use it in a `with`."""

    def __init__(self, state: Path, files: Files, folder: Path) -> None:
        self._state = state
        self._files = files
        self._folder = folder
        self._connection: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        self._connection = read_only(self._state)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, trouble: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened().close()
        self._connection = None

    def kept(self, url: Url, at: Instant | None = None) -> Kept | None:
        """What was kept of an address: the newest with a body, or the newest that is not younger than `at`."""
        if at is None:
            return captures.latest(self._opened(), url)
        return next((one for one in captures.versions(self._opened(), url) if one.fetched_at <= at), None)

    def versions(self, url: Url) -> list[Kept]:
        """Newest first."""
        return captures.versions(self._opened(), url)

    def in_order(self) -> Iterator[Kept]:
        """Every capture as it lies in the archive."""
        return captures.in_order(self._opened())

    def pages(self) -> Iterator[Kept]:
        """The newest capture that views hold of each address."""
        return captures.pages(self._opened())

    def capture(self, url: Url, at: Instant | None = None) -> Capture | None:
        """The answer itself; None when there is none, or only its metadata was kept."""
        found = self.kept(url, at)
        return self.read(found) if found is not None else None

    def read(self, kept: Kept) -> Capture | None:
        """Also when its volume has been rewritten since it was looked up; None when it was dropped meanwhile."""
        try:
            return read_capture(self._files, self._folder, kept.place)
        except ArchiveDamaged:
            now = next((one for one in self.versions(kept.url) if one.fetched_at == kept.fetched_at), None)
            if now is not None and now.place == kept.place:
                raise
            return read_capture(self._files, self._folder, now.place) if now is not None else None

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            raise RuntimeError("the catalogue is not open: use it inside `with`")
        return self._connection


async def acknowledged(database: Database) -> ArchiveEnd | None:
    """How far the catalogue reaches over the archive; None when it holds nothing. `Volumes.open` wants to know."""
    return await database.read(_end)


def may_be_page(capture: Capture) -> bool:
    """Whether it is an answer that a reader could make a page of."""
    is_whole = capture.truncated in (None, Truncated.LENGTH)
    return 200 <= capture.status < 300 and is_whole and capture.url != capture.url.robots


def _end(connection: sqlite3.Connection) -> ArchiveEnd | None:
    for name in reversed(captures.volume_names(connection)):
        found = captures.end_of(connection, name)
        if found is not None:  # of a rewritten volume perhaps nothing was kept
            return ArchiveEnd(name, *found)
    return None
