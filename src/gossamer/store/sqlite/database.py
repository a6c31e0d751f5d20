"""`state.db`: one SQLite file in WAL mode.

Written by one process on a thread of its own, read by any.

A commit is on disk when `run` returns (`synchronous=FULL`): it may be called an acknowledgement.
"""

import asyncio
import contextlib
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from gossamer.base.clock import Clock
from gossamer.base.errors import DirectoryUnusable, DiskFull, GossamerError, StateDamaged
from gossamer.base.files import DiskFiles
from gossamer.base.tell import Tell

T = TypeVar("T")
UNDER_FULL_DISK = ("SQLITE_IOERR", "SQLITE_CANTOPEN")
"""Errors that a full disk causes when a journal or its index cannot be created or extended."""
NO_ROOM_BYTES = 1 << 20
OF_A_DAMAGED_SCHEMA = ("no such table", "no such column", "no such index", "malformed")
"""The schema version is checked when a database is opened, so these names did exist."""

BUSY_S = 10.0
SETTINGS = {
    "journal_mode": "WAL",
    "synchronous": "FULL",
    "temp_store": "MEMORY",
    "cache_size": "-32768",  # KiB
    "wal_autocheckpoint": "16000",  # pages: rows that change often are rarely copied back
    "journal_size_limit": "67108864",
}


class Database:
    """The writer. One per data directory, under the lock of `store.directory.hold`."""

    trouble = ""
    """It is on this machine: there is no server to lose."""

    def __init__(self, path: Path, clock: Clock, tell: Tell) -> None:
        self._path = path
        self._clock = clock
        self._tell = tell
        self._thread: ThreadPoolExecutor | None = None
        self._connection: sqlite3.Connection | None = None

    async def __aenter__(self) -> Self:
        self._thread = ThreadPoolExecutor(1, "state.db")
        with contextlib.ExitStack() as undo:
            undo.callback(self._thread.shutdown)
            self._connection = await self._on_thread(self._open)
            undo.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._thread is not None and self._connection is not None
        try:
            await self._on_thread(self._connection.close)
        finally:
            self._thread.shutdown()
            self._connection = None

    async def run(self, work: Callable[[sqlite3.Connection], T], after: Callable[[T], None] | None = None) -> T:
        def transact() -> T:
            with transaction(self._opened(), "IMMEDIATE"):
                result = work(self._opened())
            if after is not None:
                after(result)
            return result

        return await self._on_thread(transact)

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def look() -> T:
            with transaction(self._opened(), "DEFERRED"):
                return work(self._opened())

        return await self._on_thread(look)

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            raise RuntimeError("the database is not open: use it inside `async with`")
        return self._connection

    async def _on_thread(self, work: Callable[[], T]) -> T:
        if self._thread is None:
            raise RuntimeError("the database is not open: use it inside `async with`")

        def translated() -> T:
            with _in_our_words(self._path):
                return work()

        return await asyncio.get_running_loop().run_in_executor(self._thread, translated)

    def _open(self) -> sqlite3.Connection:
        began_s = self._clock.elapsed_s()
        connection = sqlite3.connect(self._path, BUSY_S, isolation_level=None, check_same_thread=False)
        with contextlib.ExitStack() as undo:
            undo.callback(connection.close)
            for name, value in SETTINGS.items():
                connection.execute(f"PRAGMA {name}={value}")
            before, now = migrate(connection, migrations(), self._path)
            undo.pop_all()
        if before != now:
            took_s = self._clock.elapsed_s() - began_s
            self._tell("database.migrated", path=str(self._path), before=before, now=now, took_s=took_s)
        return connection


def read_only(path: Path) -> sqlite3.Connection:
    """A reader's connection, from any process, while the writer writes. The caller closes it.

    A database that is just being created, and has no schema yet, is read as an empty one.
    """
    if not path.exists():
        raise DirectoryUnusable(f"there is no {path.name} in {path.parent}: nothing has been crawled into it yet")
    with _in_our_words(path):
        connection = _opened_to_read(path, _reading(path))
        with contextlib.ExitStack() as undo:
            undo.callback(connection.close)
            version, known = _version(connection), len(migrations())
            _refuse_newer(version, known, path)
            if 0 < version < known:
                raise DirectoryUnusable(
                    f"{path} was written by an older gossamer (schema {version}, this one needs {known}): "
                    "`gossamer crawl` brings it up to date"
                )
            if version == 0:
                return _empty(path)
            undo.pop_all()
    return connection


def _opened_to_read(path: Path, factory: type[sqlite3.Connection] = sqlite3.Connection) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=ro"
    return sqlite3.connect(uri, BUSY_S, isolation_level=None, uri=True, factory=factory)


def _reading(path: Path) -> type[sqlite3.Connection]:
    """Connections that report damage to this file by its name, also while rows are fetched."""

    class Cursor(sqlite3.Cursor):
        def execute(self, *given: Any) -> Self:
            with _in_our_words(path):
                return super().execute(*given)

        def fetchone(self) -> Any:
            with _in_our_words(path):
                return super().fetchone()

        def fetchall(self) -> list[Any]:
            with _in_our_words(path):
                return super().fetchall()

        def __next__(self) -> Any:
            try:
                return super().__next__()
            except (sqlite3.Error, UnicodeDecodeError):
                with _in_our_words(path):
                    raise

    class Connection(sqlite3.Connection):
        def cursor(self, factory: type[sqlite3.Cursor] = Cursor) -> sqlite3.Cursor:  # type: ignore[override]
            return super().cursor(factory)

        def execute(self, *given: Any) -> sqlite3.Cursor:
            return self.cursor().execute(*given)  # sqlite3's own makes a cursor of its own kind

    return Connection


def _empty(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection, migrations(), path)
    return connection


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, kind: str) -> Iterator[None]:
    """BEGIN of that kind, then COMMIT, or ROLLBACK on any exception."""
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        _roll_back(connection)


@cache
def migrations() -> list[str]:
    """The schema's steps in order; step n leads from version n - 1 to n."""
    folder = resources.files("gossamer.store.sqlite") / "migrations"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    for number, file in enumerate(files, 1):
        if int(file.name[:4]) != number:
            raise ValueError(f"migration {number} is missing before {file.name}")
    return [file.read_text("utf-8") for file in files]


def migrate(connection: sqlite3.Connection, steps: list[str], path: Path) -> tuple[int, int]:
    """Bring the schema up to date; returns the versions before and after.

    All steps and the version number are one transaction: if interrupted, it leaves the version before, and no reader
    ever sees one in between.
    """
    before, now = _version(connection), len(steps)
    _refuse_newer(before, now, path)
    if before < now:
        script = "\n".join(["BEGIN IMMEDIATE;", *steps[before:], f"PRAGMA user_version = {now};", "COMMIT;"])
        try:
            connection.executescript(script)
        finally:
            _roll_back(connection)
    return before, now


def bring_up_to_date(path: Path) -> bool:
    """Migrate the schema of an older version; returns whether it was older. REQUIRES: the writer's lock is held."""
    with _in_our_words(path), contextlib.closing(sqlite3.connect(path, BUSY_S, isolation_level=None)) as connection:
        before, now = migrate(connection, migrations(), path)
    return before < now


def is_older(path: Path) -> bool:
    """Whether an older version wrote it last, so that it cannot be read as it is."""
    with _in_our_words(path), contextlib.closing(_opened_to_read(path)) as connection:
        return 0 < _version(connection) < len(migrations())


def _roll_back(connection: sqlite3.Connection) -> None:
    """Undo what is not committed. After some errors, such as a full disk, SQLite itself has already done so."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def _version(connection: sqlite3.Connection) -> int:
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    return int(number)


def _refuse_newer(found: int, known: int, path: Path) -> None:
    if found > known:
        raise DirectoryUnusable(
            f"{path} was written by a newer gossamer (schema {found}, this one knows {known}): upgrade gossamer"
        )


def _has_room(path: Path) -> bool:
    """Whether the disk of this file has space left, or cannot say."""
    try:
        return DiskFiles().room(path.parent) >= NO_ROOM_BYTES
    except OSError:
        return True


@contextlib.contextmanager
def _in_our_words(where: Path) -> Iterator[None]:
    """Translate SQLite's errors, and what decoding a damaged value raises, to ours; other errors are bugs and pass."""
    try:
        yield
    except (UnicodeDecodeError, zlib.error, msgspec.DecodeError) as trouble:
        raise StateDamaged(where, trouble) from trouble
    except sqlite3.Error as trouble:
        match getattr(trouble, "sqlite_errorname", ""):
            case name if name == "SQLITE_FULL" or (name.startswith(UNDER_FULL_DISK) and not _has_room(where)):
                raise DiskFull(f"there is no disk space to write {where}") from trouble
            case name if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
                raise StateDamaged(where, trouble) from trouble
            case "SQLITE_ERROR" if any(words in str(trouble) for words in OF_A_DAMAGED_SCHEMA):
                raise StateDamaged(where, trouble) from trouble
            case "" if "decode to UTF-8" in str(trouble):
                raise StateDamaged(where, "a text is not UTF-8") from trouble
            case name if name.startswith("SQLITE_CANTOPEN"):
                raise DirectoryUnusable(
                    f"{where} cannot be opened ({trouble}): check its owner and mode, and those of its folder"
                ) from trouble
            case name if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                raise GossamerError(f"{where} is in use by another process: try again in a few seconds") from trouble
            case name if name.startswith("SQLITE_IOERR"):
                raise GossamerError(f"the disk of {where} failed ({trouble}, {name}): stop and check it") from trouble
            case _:
                raise
