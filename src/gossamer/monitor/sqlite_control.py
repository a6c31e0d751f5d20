"""The small `control.db` through which the processes of a data directory communicate.

Nothing in it is lasting: it may be deleted whenever no process runs.
"""

import contextlib
import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import msgspec

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.errors import GossamerError
from gossamer.base.files import create_private
from gossamer.monitor.control import (
    ADDRESSEE,
    FIGURES_DECODER,
    HOUR_S,
    Beat,
    ClusterMarks,
    Command,
    Sample,
    Vitals,
    arguments_of,
)
from gossamer.store import statements

BUSY_S = 5.0
OPEN_TRIES = 50
TABLES = ("create_beats", "create_commands", "index_pending", "create_vitals", "create_samples")
PASSING = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
"""The errors of a disk that is full or may not be written, which may pass."""
SQL = statements.load("gossamer.monitor")


class SqliteControl:
    """In any process, on any thread. A call is one short transaction.

    Threads take turns: a beat whose task was cancelled may still be being written when the last one is.
    """

    is_shared = False
    node = ""

    def __init__(self, path: Path, clock: Clock, *, repairs: bool = False) -> None:
        """`repairs`: replace a damaged file, which only the holder of the directory's lock may do. Others continue
        without it: they see no process, and commands are refused."""
        self._path, self._clock, self._repairs = path, clock, repairs
        self.is_unusable = False
        self._opened: sqlite3.Connection | None = None
        self._turn = threading.Lock()
        self._unmarked: set[int] = set()
        """Commands that were carried out and could not be marked as done."""

    def __enter__(self) -> Self:
        for attempt in range(OPEN_TRIES):
            try:
                self._opened = _open(self._path, is_checked=self._repairs)
                return self
            except sqlite3.DatabaseError as error:
                # Two processes create the file at once: SQLite does not wait while the journal mode changes.
                if not _is_busy(error) or attempt == OPEN_TRIES - 1:
                    self._opened = self._replacement()
                    return self
                self._clock.pause(0.02)
        return self

    def _replacement(self) -> sqlite3.Connection:
        """For a file that is damaged or may not be read: a new file, or an empty database in memory."""
        if self._repairs:
            for tail in ("", "-wal", "-shm"):
                self._path.with_name(self._path.name + tail).unlink(missing_ok=True)
            return _open(self._path)
        self.is_unusable = True
        return _open(":memory:")

    def __exit__(self, *_: object) -> None:
        with self._turn:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def beat(self, name: str, pid: int, facts: Mapping[str, object] | None, vitals: Sequence[Vitals] = ()) -> bool:
        row = {"name": name, "pid": pid, "at": self._clock.now(), "facts": json.dumps(facts)}
        return self._note(vitals, None if facts is None else row)

    def note(self, vitals: Sequence[Vitals]) -> bool:
        return self._note(vitals, None)

    def _note(self, vitals: Sequence[Vitals], beat: Mapping[str, object] | None) -> bool:
        try:
            with self._writing() as connection:
                if beat is not None:
                    connection.execute(SQL["put_beat"], beat)
                for one in vitals:
                    row = _row_of(one)
                    (row["beater"],) = connection.execute(SQL["put_vitals"], row).fetchone()
                    if one.state != "ended":  # it has no figures for its last second
                        connection.execute(SQL["put_sample"], row)
        except sqlite3.DatabaseError as error:
            if _may_pass(error):
                return False
            raise
        return True

    def end_workers(self, of: str) -> None:
        with contextlib.suppress(sqlite3.OperationalError), self._writing() as connection:
            connection.execute(SQL["end_workers"], {"kind": of + " "})
            old = {"before": self._clock.now() - HOUR_S * SECOND}
            connection.execute(SQL["forget_samples"], old)
            connection.execute(SQL["forget_beaters"], old)

    def vitals(self) -> list[Vitals]:
        return [
            Vitals(node, process, pid, at, since_at, FIGURES_DECODER.decode(figures), state, version)
            for node, process, pid, at, since_at, state, version, figures in self._read("every_vitals", {})
        ]

    def history(self, since_at: Instant) -> list[Sample]:
        since_at = max(since_at, self._clock.now() - HOUR_S * SECOND)
        rows = self._read("samples_since", {"since_at": since_at})
        return [Sample(node, process, at, FIGURES_DECODER.decode(figures)) for node, process, at, figures in rows]

    def beats(self) -> list[Beat]:
        rows = self._read("every_beat", {}, is_polled=True)
        return [Beat(name, pid, at, json.loads(facts)) for name, pid, at, facts in rows]

    def ask(self, verb: str, **args: object) -> int:
        if self.is_unusable:
            raise GossamerError(
                f"{self._path} is damaged or cannot be read, so no command reaches a crawl. It holds nothing of "
                "value: stop the crawl and start it again, which replaces it"
            )
        row = {
            "addressee": ADDRESSEE[verb],
            "verb": verb,
            "args": json.dumps(args, sort_keys=True),
            "at": self._clock.now(),
        }
        with self._writing() as connection:
            if waiting := connection.execute(SQL["same_pending"], row).fetchone():
                return int(waiting[0])
            number = connection.execute(SQL["put_command"], row).lastrowid
            assert number is not None
            connection.execute(SQL["forget_done"], {"id": number})
            return number

    def pending(self, addressee: str) -> list[Command]:
        rows = self._read("pending_for", {"addressee": addressee}, is_polled=True)
        found = [Command(number, verb, arguments_of(args), asked_at) for number, verb, args, asked_at in rows]
        return [command for command in found if command.id not in self._unmarked]

    def done(self, command_id: int) -> None:
        self._unmarked.add(command_id)
        try:
            with self._writing() as connection:
                for number in self._unmarked:
                    connection.execute(SQL["mark_done"], {"id": number, "at": self._clock.now()})
        except sqlite3.OperationalError as error:
            if not _may_pass(error):
                raise
        else:
            self._unmarked.clear()

    def is_done(self, command_id: int) -> bool:
        rows = self._read("is_done", {"id": command_id})
        return not rows or bool(rows[0][0])

    def discard_pending(self, addressee: str) -> None:
        with self._writing() as connection:
            connection.execute(SQL["mark_all_done"], {"addressee": addressee, "at": self._clock.now()})

    def clear(self, addressee: str) -> None:
        """REQUIRES: no such process runs."""
        with self._writing() as connection:
            connection.execute(SQL["clear_commands"], {"addressee": addressee})

    def marks(self) -> ClusterMarks | None:
        return None

    @property
    def _connection(self) -> sqlite3.Connection:
        assert self._opened is not None, "the control database is not open"
        return self._opened

    def _read(self, statement: str, values: Mapping[str, object], *, is_polled: bool = False) -> list[tuple[Any, ...]]:
        """`is_polled`: while the disk cannot be read, nothing is found."""
        with self._turn:
            try:
                return self._connection.execute(SQL[statement], values).fetchall()
            except sqlite3.DatabaseError as error:
                if _is_damage(error) or (is_polled and _may_pass(error)):
                    return []
                raise

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._turn:
            connection = self._connection
            connection.execute("BEGIN IMMEDIATE")
            with connection:  # commits, or rolls back when the block raises
                yield connection


def _row_of(one: Vitals) -> dict[str, object]:
    row = {field: getattr(one, field) for field in ("node", "process", "pid", "at", "since_at", "state", "version")}
    return {**row, "slot": one.at // SECOND % HOUR_S, "figures": msgspec.json.encode(one.figures).decode()}


def _open(path: Path | str, is_checked: bool = False) -> sqlite3.Connection:
    if isinstance(path, Path):
        with contextlib.suppress(OSError):  # SQLite has the better message
            create_private(path)
    connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        if is_checked and (found := connection.execute("PRAGMA quick_check(1)").fetchone()) != ("ok",):
            raise sqlite3.DatabaseError(str(found))
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        for name in TABLES:
            connection.execute(SQL[name])
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _code(error: sqlite3.DatabaseError) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _is_busy(error: sqlite3.DatabaseError) -> bool:
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    return _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _may_pass(error: sqlite3.DatabaseError) -> bool:
    return _is_busy(error) or _is_damage(error) or _code(error) in PASSING
