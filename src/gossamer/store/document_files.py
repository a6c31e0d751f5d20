"""The small lasting files of a cluster, for code that reads and writes files.

In a single collection they are in its directory: rules, tokens, vocabularies, contexts, plug-ins, the chronicle. All
nodes see them at once. Other files are on the disk of this machine.
"""

import re
from collections.abc import Callable
from pathlib import Path
from threading import Lock as Turn
from typing import TypeVar

from gossamer.base.errors import DatabaseLost
from gossamer.base.files import Appender, Files, Lock
from gossamer.store.directory import VOCABULARY, Directory
from gossamer.store.disks import RECORD
from gossamer.store.state import open_state
from gossamer.store.statements import State, load

T = TypeVar("T")
_SQL = load("gossamer.store", "documents.sql")
DOCUMENT = re.compile(
    rf"rules\.txt|rules\.before\.txt|token|reader-token|{re.escape(VOCABULARY)}|contexts/.+|plugged\.json|[^/]+\.py"
    rf"|collection\.id|chronicle|archive/{re.escape(RECORD)}"
)
"""Paths below the directory."""


class SharedReader:
    """A connection for short questions to the state, from any thread; made again when it was lost."""

    def __init__(self, directory: Directory, is_any_version: bool = False) -> None:
        """`is_any_version`: as in `open_state`."""
        self._directory, self._is_any_version = directory, is_any_version
        self._state: State | None = None
        self._turn = Turn()

    def ask(self, question: Callable[[State], T]) -> T:
        """REQUIRES: it may be repeated. Raises DatabaseLost."""
        with self._turn:
            if self._state is not None:
                try:
                    return question(self._state)
                except DatabaseLost:
                    self._close()
            self._state = open_state(self._directory, self._is_any_version)
            try:
                return question(self._state)
            except DatabaseLost:
                self._close()
                raise

    def _close(self) -> None:
        if self._state is not None:
            self._state.close()
            self._state = None


class DocumentFiles:
    """A `Files`. While the database is away, reading gives what was read last."""

    def __init__(self, inner: Files, directory: Directory, reader: SharedReader) -> None:
        self.inner, self._root, self._reader = inner, directory.root, reader
        self._known: dict[str, bytes | None] = {}

    def read(self, path: Path, offset: int = 0, length: int | None = None) -> bytes:
        if (name := self._name(path)) is None:
            return self.inner.read(path, offset, length)
        content = self._content(name)
        if content is None:
            raise FileNotFoundError(2, "there is no such document in the cluster", str(path))
        return content[offset:] if length is None else content[offset : offset + length]

    def write(self, path: Path, data: bytes) -> None:
        if (name := self._name(path)) is None:
            self.inner.write(path, data)
            return
        self._reader.ask(lambda state: state.execute(_SQL["document_written"], (name, data)))
        self._known[name] = data

    def size(self, path: Path) -> int | None:
        if (name := self._name(path)) is None:
            return self.inner.size(path)
        content = self._content(name)
        return len(content) if content is not None else None

    def names(self, folder: Path) -> list[str]:
        found = {name for name in self.inner.names(folder) if self._name(folder / name) is None}
        try:
            below = folder.relative_to(self._root)
        except ValueError:
            return sorted(found)
        every = self._reader.ask(lambda state: [row[0] for row in state.execute(_SQL["documents"]).fetchall()])
        return sorted(found | {Path(name).name for name in every if Path(name).parent == below})

    def remove(self, path: Path) -> None:
        if self._name(path) is None:
            self.inner.remove(path)
        if (below := self._below(path)) is not None:
            self._reader.ask(lambda state: state.execute(_SQL["document_removed"], (below,)))
            self._known.pop(below, None)

    def rename(self, old: Path, new: Path) -> None:
        if self._name(old) is None and self._name(new) is None:
            self.inner.rename(old, new)
            return
        self.write(new, self.read(old))
        self.remove(old)

    def copy(self, old: Path, new: Path, length: int | None = None) -> None:
        if self._name(old) is None and self._name(new) is None:
            self.inner.copy(old, new, length)
            return
        self.write(new, self.read(old, 0, length))

    def appender(self, path: Path) -> Appender:
        return self.inner.appender(path)

    def make_folder(self, folder: Path) -> None:
        self.inner.make_folder(folder)

    def room(self, folder: Path) -> int:
        return self.inner.room(folder)

    def lock(self, path: Path, holder: str) -> Lock | str:
        return self.inner.lock(path, holder)

    def _content(self, name: str) -> bytes | None:
        try:
            row = self._reader.ask(lambda state: state.execute(_SQL["document"], (name,)).fetchone())
        except DatabaseLost:
            if name not in self._known:
                raise
            return self._known[name]
        self._known[name] = bytes(row[0]) if row is not None else None
        return self._known[name]

    def _below(self, path: Path) -> str | None:
        try:
            return path.relative_to(self._root).as_posix()
        except ValueError:
            return None

    def _name(self, path: Path) -> str | None:
        """The name of a document; None: the file is on the disk."""
        below = self._below(path)
        return below if below is not None and DOCUMENT.fullmatch(below) else None
