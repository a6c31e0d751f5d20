"""The small `control.db` through which the processes of a data directory communicate: heartbeats and commands.

Nothing in it is lasting: it may be deleted whenever no process runs.
"""

import contextlib
import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.environment import Outside
from gossamer.base.errors import GossamerError
from gossamer.base.files import create_private
from gossamer.store import statements

Figures = dict[str, float]
"""By name; `FIGURES` says what each means. Figures that a process does not have are left out."""

BEAT_S = 1.0
HOUR_S = 3600
NODE = ""
"""The process name under which a machine itself is recorded."""

FIGURES: Mapping[str, str] = {
    "cpu": "percent of one core that a process uses; for a machine, of all its cores together",
    "cpu_s": "seconds of CPU a process has used since it started",
    "rss": "bytes of memory a process holds",
    "cores": "cores of the machine",
    "mhz": "their current speed in MHz",
    "memory_total": "bytes of memory of the machine",
    "memory_free": "of them, what programs could still get",
    "disk_total": "bytes of the disk with the data directory",
    "disk_free": "of them, free",
    "barriers_missing": "which barriers the workers of a process lack, one bit each (workers/protocol.py); 0: none",
    "pages": "pages fetched (crawler) or indexed (indexer) since the process started",
    "pages_s": "the same per second, over the last ten seconds",
    "bytes": "bytes of responses stored since the crawler started",
    "bytes_s": "the same per second, over the last ten seconds",
    "visits": "fetches ended since the crawler started",
    "errors": "fetches that failed since the crawler started",
    "errors_min": "fetches that failed in the last minute",
    "queued": "URLs in the queue",
    "in_flight": "fetches in progress",
    "rests_s": "seconds until the next host may be fetched from, when none may be now",
    "words_lag_s": "seconds that the oldest fetched page has been waiting for the word index",
    "facts_lag_s": "seconds that the oldest fetched page has been waiting for the graph",
    "spooled": "readings waiting for the next commit",
    "jobs_waiting": "pages waiting for a reader",
    "lost": "workers that had to be replaced since the process started",
    "streams": "browsers with a live view",
}


class Vitals(msgspec.Struct, frozen=True):
    """One heartbeat's figures."""

    node: str
    process: str
    """"crawler", "indexer", "graph process 1", "reader 1", "web", "query worker 2"; NODE: the machine."""
    pid: int
    at: Instant
    since_at: Instant
    """When it was first recorded under this pid."""
    figures: Figures
    state: str = ""
    """"", or a word: "paused", "waits for disk", "suspended", "rebuilding", "ended"."""
    version: str = ""


Life = Literal["fresh", "late", "silent", "ended"]


class ProcessStatus(msgspec.Struct, frozen=True):
    """A process or a machine, judged by its last heartbeat."""

    name: str
    node: str
    pid: int | None
    """None: a machine."""
    life: Life
    """fresh: heard from within two beats; late: within five; silent: not since `at`; ended: in order."""
    says: str
    """A state of its own, such as "paused"; may be empty."""
    at: Instant
    """Its last heartbeat."""
    age_s: float
    uptime_s: float
    version: str
    figures: Figures

    @property
    def is_alive(self) -> bool:
        return self.life in ("fresh", "late")


class Sample(msgspec.Struct, frozen=True):
    """One second of the past hour."""

    node: str
    process: str
    at: Instant
    figures: Figures


RETIRE = "retire"
REINSTATE = "reinstate"
RELEASE = "release"
SEED = "seed"
REQUEUE = "requeue"
ADDRESSEE = {
    "checkpoint": "indexer",
    **dict.fromkeys(("pause", "resume", "stop", RETIRE, REINSTATE, RELEASE, SEED, REQUEUE), "crawler"),
}
"""The commands, and the process each is meant for."""
BUSY_S = 5.0
OPEN_TRIES = 50
TABLES = ("create_beats", "create_commands", "index_pending", "create_vitals", "create_samples")
PASSING = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
"""The errors of a disk that is full or may not be written, which may pass."""
SQL = statements.load("gossamer.monitor")


@dataclass(frozen=True, slots=True)
class Beat:
    """A process's last heartbeat; `facts` are any values of JSON."""

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

    Threads take turns: a beat whose task was cancelled may still be being written when the last one is.
    """

    def __init__(self, path: Path, clock: Clock, *, repairs: bool = False) -> None:
        """`repairs`: replace a damaged file, which only the holder of the directory's lock may do. Others continue
        without it: they see no process, and commands are refused."""
        self._path, self._clock, self._repairs = path, clock, repairs
        self.is_unusable = False
        """The file is damaged or may not be read, so no process is seen."""
        self._opened: sqlite3.Connection | None = None
        self._turn = threading.Lock()
        self._unmarked: set[int] = set()
        """Commands that were carried out and could not be marked as done."""

    def __enter__(self) -> "Control":
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
        """Record a heartbeat with `facts` for other processes, if there are any, and figures, as `note` does."""
        row = {"name": name, "pid": pid, "at": self._clock.now(), "facts": json.dumps(facts)}
        return self.note(vitals, None if facts is None else row)

    def note(self, vitals: Sequence[Vitals], beat: Mapping[str, object] | None = None) -> bool:
        """Record figures: the last ones of each process, and one place in the ring of the past hour.

        False: a full disk or a busy database cost this heartbeat, and nothing else.
        """
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
        """For a process that starts or ends: its workers, of this kind, have ended too. Also deletes what has not been
        renewed for an hour."""
        with contextlib.suppress(sqlite3.OperationalError), self._writing() as connection:
            connection.execute(SQL["end_workers"], {"kind": of + " "})
            old = {"before": self._clock.now() - HOUR_S * SECOND}
            connection.execute(SQL["forget_samples"], old)
            connection.execute(SQL["forget_beaters"], old)

    def vitals(self) -> list[Vitals]:
        """The last figures of every process and machine, by name."""
        return [
            Vitals(node, process, pid, at, since_at, _figures.decode(figures), state, version)
            for node, process, pid, at, since_at, state, version, figures in self._read("every_vitals", {})
        ]

    def history(self, since_at: Instant) -> list[Sample]:
        """Second by second, oldest first; at most an hour."""
        since_at = max(since_at, self._clock.now() - HOUR_S * SECOND)
        rows = self._read("samples_since", {"since_at": since_at})
        return [Sample(node, process, at, _figures.decode(figures)) for node, process, at, figures in rows]

    def beats(self) -> list[Beat]:
        rows = self._read("every_beat", {}, is_polled=True)
        return [Beat(name, pid, at, json.loads(facts)) for name, pid, at, facts in rows]

    def ask(self, verb: str, **args: object) -> int:
        """Leave a command for the process it is meant for, unless the last one waiting is the same. Returns its id."""
        if self.is_unusable:
            raise GossamerError(
                f"{self._path} is damaged or may not be read, so no command reaches a crawl. It holds nothing of "
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
        """The commands waiting for "crawler" or "indexer", oldest first."""
        rows = self._read("pending_for", {"addressee": addressee}, is_polled=True)
        found = [Command(number, verb, _table(args), asked_at) for number, verb, args, asked_at in rows]
        return [command for command in found if command.id not in self._unmarked]

    def done(self, command_id: int) -> None:
        """Mark it as done. On a full disk that is remembered here, and written with the next command that can be."""
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
        """True also for one so old that it was deleted."""
        rows = self._read("is_done", {"id": command_id})
        return not rows or bool(rows[0][0])

    def discard_pending(self, addressee: str) -> None:
        """For a process that starts: commands for its predecessor do not concern it."""
        with self._writing() as connection:
            connection.execute(SQL["mark_all_done"], {"addressee": addressee, "at": self._clock.now()})

    def clear(self, addressee: str) -> None:
        """Delete all commands for it, done or not, with the names in them. REQUIRES: no such process runs."""
        with self._writing() as connection:
            connection.execute(SQL["clear_commands"], {"addressee": addressee})

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


def _table(text: str) -> dict[str, object]:
    """The arguments of a command; none if they are not a JSON object."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


_figures: msgspec.json.Decoder[Figures] = msgspec.json.Decoder(Figures)


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


def running_processes(beats: Sequence[Beat], outside: Outside) -> list[dict[str, object]]:
    """The processes that are alive, with the facts of their last heartbeats."""
    now = outside.clock.now()
    return [
        {"name": beat.name, "pid": beat.pid, "silent_s": round((now - beat.at) / SECOND, 1), **beat.facts}
        for beat in beats
        if beat.facts.get("state") != "ended" and outside.processes.is_alive(beat.pid)
    ]
