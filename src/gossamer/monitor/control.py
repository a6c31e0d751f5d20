"""The small `control.db` through which the processes of one data directory talk: signs of life and a few commands.

Nothing in it is truth: it may be deleted whenever no process runs.
"""

import contextlib
import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from gossamer.clock import Clock, Instant
from gossamer.store import statements

ADDRESSEE = {
    "checkpoint": "indexer",
    **dict.fromkeys(("pause", "resume", "stop", "retire", "reinstate", "release"), "crawler"),
}
"""The verbs, and the process each is meant for."""
BUSY_S = 5.0
OPEN_TRIES = 50
SQL = statements.load("gossamer.monitor")


@dataclass(frozen=True, slots=True)
class Beat:
    """A process's last sign of life; `facts` are counters and words, whatever JSON holds."""

    name: str
    pid: int
    at: Instant
    facts: dict[str, object]


@dataclass(frozen=True, slots=True)
class Command:
    id: int
    verb: str
    args: dict[str, object]
    asked_at: Instant


class Control:
    """`with Control(path, clock) as control:` in any process, on any thread. A call is one short transaction.

    Threads take turns: a beat whose task was cancelled is still being written when the last one is said.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._opened: sqlite3.Connection | None = None
        self._turn = threading.Lock()

    def __enter__(self) -> "Control":
        for attempt in range(OPEN_TRIES):
            try:
                self._opened = _open(self._path)
                return self
            except sqlite3.OperationalError as trouble:
                # Two that create the file at once: SQLite does not wait while the journal mode changes.
                if not _is_busy(trouble) or attempt == OPEN_TRIES - 1:
                    raise
                self._clock.pause(0.02)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, trouble: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._turn:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def beat(self, name: str, pid: int, facts: Mapping[str, object]) -> bool:
        """Say how we are. A full disk or a busy database costs this beat and nothing else: False, then."""
        row = {"name": name, "pid": pid, "at": self._clock.now(), "facts": json.dumps(facts)}
        try:
            with self._writing() as connection:
                connection.execute(SQL["put_beat"], row)
        except sqlite3.OperationalError as trouble:
            if _is_busy(trouble) or trouble.sqlite_errorcode == sqlite3.SQLITE_FULL:
                return False
            raise
        return True

    def beats(self) -> list[Beat]:
        rows = self._read("every_beat", {})
        return [Beat(name, pid, at, json.loads(facts)) for name, pid, at, facts in rows]

    def ask(self, verb: str, **args: object) -> int:
        """Leave a command for the process it is meant for. What already waits is not asked twice. Its id."""
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
        """What waits for "crawler" or "indexer", oldest first."""
        rows = self._read("pending_for", {"addressee": addressee})
        return [Command(number, verb, _table(args), asked_at) for number, verb, args, asked_at in rows]

    def done(self, command_id: int) -> None:
        with self._writing() as connection:
            connection.execute(SQL["mark_done"], {"id": command_id, "at": self._clock.now()})

    def is_done(self, command_id: int) -> bool:
        """True also for one so old that it is forgotten."""
        rows = self._read("is_done", {"id": command_id})
        return not rows or bool(rows[0][0])

    def start_afresh(self, addressee: str) -> None:
        """For a process that starts: what was asked of its predecessor does not concern it."""
        with self._writing() as connection:
            connection.execute(SQL["mark_all_done"], {"addressee": addressee, "at": self._clock.now()})

    @property
    def _connection(self) -> sqlite3.Connection:
        assert self._opened is not None, "the control database is not open"
        return self._opened

    def _read(self, statement: str, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        with self._turn:
            return self._connection.execute(SQL[statement], values).fetchall()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._turn:
            connection = self._connection
            connection.execute("BEGIN IMMEDIATE")
            with connection:  # commits, or rolls back when the block raises
                yield connection


def _table(text: str) -> dict[str, object]:
    """What a command was given; nothing, when it was written by somebody who did not know how."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        for name in ("create_beats", "create_commands", "index_pending"):
            connection.execute(SQL[name])
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _is_busy(trouble: sqlite3.OperationalError) -> bool:
    return trouble.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
