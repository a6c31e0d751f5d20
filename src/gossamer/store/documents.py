"""The small lasting files of a cluster, in the table `documents`, and local copies of them.

Most are read and written through `Files`, as in a directory. Code of plug-ins, JSON-LD contexts and the vocabulary are
also copied to the scratch folder, where sandboxed workers and the import of code find them.
"""

import re
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from gossamer.base.clock import Clock, Instant
from gossamer.base.errors import DatabaseEmpty, DatabaseLost, DirectoryUnusable
from gossamer.base.files import DiskFiles, Files
from gossamer.store.directory import VOCABULARY, Directory
from gossamer.store.state import is_cluster, open_state, shared_place
from gossamer.store.statements import State
from gossamer.store.statements import load as load_sql
from gossamer.store.trust import turn

IDENTITY = "collection.id"
"""A random name. A database that has this document has a cluster."""
COPIED = re.compile(rf"contexts/\w[\w.-]*|\w[\w.-]*\.py|{re.escape(VOCABULARY)}")
LARGEST = 8 << 20
EVERY_S = 30.0
NAME = "documents.json"
"""In the scratch folder: which copies it has."""
_SQL = load_sql("gossamer.store", "documents.sql")
NO_CLUSTER = "there is no cluster in {}. Make one: gossamer cluster init {} --archive STORAGE --words URL --facts URL"
_COPIES = msgspec.json.Decoder(dict[str, Instant])


class DocumentEntry(msgspec.Struct, frozen=True):
    name: str
    size: int
    changed_at: Instant


# In the database.


def documents(state: State) -> list[DocumentEntry]:
    return [DocumentEntry(*row) for row in state.execute(_SQL["documents"]).fetchall()]


def document(state: State, name: str) -> bytes | None:
    row = state.execute(_SQL["document"], (name,)).fetchone()
    return None if row is None else bytes(row[0])


def put_document(state: State, name: str, content: bytes, now: Instant) -> None:
    state.execute(_SQL["document_put"], (name, content, now))


def new_document(state: State, name: str, content: bytes, now: Instant) -> bool:
    """Whether there was none of this name."""
    return state.execute(_SQL["document_new"], (name, content, now)).rowcount > 0


def drop_document(state: State, name: str) -> bool:
    """Whether there was one."""
    return state.execute(_SQL["document_drop"], (name,)).rowcount > 0


def owners(state: State) -> set[str]:
    """The directories, and clusters, that have an archive in this database."""
    return {owner for (owner,) in state.execute(_SQL["archives"]).fetchall()}


def server_version(state: State) -> str:
    return str(state.execute(_SQL["server_version"]).fetchone()[0])


def crawlers(state: State) -> int:
    """How many crawl at this moment."""
    return int(state.execute(_SQL["crawlers"]).fetchone()[0])


def archive_bytes(state: State) -> int:
    return int(state.execute(_SQL["archive_bytes"]).fetchone()[0])


# In the scratch folder.


def refuse_no_cluster(directory: Directory, address: str, is_any_version: bool = False) -> None:
    """Raises DirectoryUnusable, saying what to do, if the database that a scratch folder names has no cluster.

    `is_any_version`: its tables may be those of another version."""
    place = shared_place(directory)
    assert place is not None, directory.root
    try:
        with closing(open_state(directory, is_any_version)) as state:
            if document(state, IDENTITY) is not None:
                return
    except DatabaseEmpty:
        pass
    raise DirectoryUnusable(NO_CLUSTER.format(address, address))


def refresh_copies(directory: Directory, files: Files | None = None) -> None:
    """Make the copies in the scratch folder equal to the documents. Does nothing in other directories.

    `files`: the disk itself."""
    if not is_cluster(directory):
        return
    disk, index = files or DiskFiles(), directory.root / NAME
    with closing(open_state(directory)) as state:
        wanted = {one.name: one.changed_at for one in documents(state) if COPIED.fullmatch(one.name)}
        if wanted == _copied(disk, index):
            return
        with turn(disk, index):
            known = _copied(disk, index)
            for name in known.keys() - wanted.keys():
                disk.remove(directory.root / name)
            for name in [name for name, changed_at in wanted.items() if known.get(name) != changed_at]:
                if (content := document(state, name)) is not None:
                    disk.make_folder((directory.root / name).parent)
                    disk.write(directory.root / name, content)
            disk.write(index, msgspec.json.encode(wanted))


class DocumentCopies:
    """Refreshes the copies now and then, for a process that runs for long."""

    def __init__(self, directory: Directory, clock: Clock) -> None:
        self._directory, self._clock, self._next_s = directory, clock, clock.elapsed_s() + EVERY_S

    def refresh(self) -> None:
        """While the database is away, the copies stay as they are."""
        if (now_s := self._clock.elapsed_s()) >= self._next_s:
            self._next_s = now_s + EVERY_S
            with suppress(DatabaseLost):
                refresh_copies(self._directory)


def _copied(files: Files, index: Path) -> dict[str, Instant]:
    if files.size(index) is None:
        return {}
    try:
        found = _COPIES.decode(files.read(index))
    except (OSError, msgspec.MsgspecError):
        return {}
    return {name: changed_at for name, changed_at in found.items() if COPIED.fullmatch(name)}
