"""The small `control.db` through which the processes of one data directory talk: signs of life and a few commands.

Nothing in it is truth: it may be deleted whenever no process runs.
"""

import contextlib
import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.environment import Outside
from gossamer.base.errors import GossamerError
from gossamer.base.files import create_private
from gossamer.store import statements

Figures = dict[str, float]
"""By name; `FIGURES` says what each means. A figure that a process has nothing to say about is not there."""

BEAT_S = 1.0
HOUR_S = 3600
NODE = ""
"""The name under which a machine itself beats."""

FIGURES: Mapping[str, str] = {
    "cpu": "per cent of one core that a process uses; of a machine: of all its cores together",
    "cpu_s": "seconds of CPU a process has used since it started",
    "rss": "bytes of memory a process holds",
    "cores": "cores of the machine",
    "mhz": "their speed at this moment, in MHz",
    "memory_total": "bytes of memory of the machine",
    "memory_free": "of them, what programs could still have",
    "disk_total": "bytes of the disk with the data directory",
    "disk_free": "of them, free",
    "barriers_missing": "which barriers the workers of a process lack, one bit each (workers/protocol.py); 0: none",
    "pages": "pages fetched (crawler) or made findable (indexer) since the process started",
    "pages_s": "the same a second, over the last ten",
    "bytes": "bytes of answers kept since the crawler started",
    "bytes_s": "the same a second, over the last ten",
    "visits": "visits ended since the crawler started",
    "errors": "visits that failed since the crawler started",
    "errors_min": "visits that failed in the last minute",
    "queued": "addresses that wait for their turn",
    "in_flight": "visits under way",
    "rests_s": "seconds until a host may be visited again, when none may be now",
    "words_lag_s": "seconds the oldest fetched page waits to be found by its words",
    "facts_lag_s": "seconds the oldest fetched page waits to be found by its facts",
    "spooled": "readings that wait for the next commit",
    "jobs_waiting": "pages that wait for a reader",
    "lost": "workers that had to be replaced since the process started",
    "streams": "browsers that watch live",
}


class Vitals(msgspec.Struct, frozen=True):
    """One sign of life."""

    node: str
    process: str
    """"crawler", "indexer", "graph process 1", "reader 1", "web", "query worker 2"; NODE: the machine."""
    pid: int
    at: Instant
    since_at: Instant
    """When it was first heard of under this pid."""
    figures: Figures
    state: str = ""
    """"", or a word: "paused", "waits for disk", "rebuilding", "ended"."""
    version: str = ""


class Sample(msgspec.Struct, frozen=True):
    """One second of the past hour."""

    node: str
    process: str
    at: Instant
    figures: Figures


class Spent(msgspec.Struct, frozen=True):
    """CPU seconds at some moment, to tell the use between two of them."""

    at_s: float
    cpu_s: float


def percent(before: Spent | None, now: Spent) -> float:
    """Of one core, between the two; 0 when there is nothing to compare with."""
    if before is None or now.at_s <= before.at_s or now.cpu_s < before.cpu_s:
        return 0.0
    return round(100 * (now.cpu_s - before.cpu_s) / (now.at_s - before.at_s), 1)


def slot_of(at: Instant) -> int:
    """Where in the ring a second stands."""
    return at // 1_000_000 % HOUR_S


def numbered(pids: Sequence[int], before: Mapping[int, int]) -> dict[int, int]:
    """A number for each worker, from 1: the one it had, or the lowest that is free. Names then stay few, however
    often a worker is replaced."""
    kept = {pid: before[pid] for pid in pids if pid in before}
    free = (number for number in range(1, 2 * len(pids) + len(kept) + 2) if number not in set(kept.values()))
    return {pid: kept[pid] if pid in kept else next(free) for pid in pids}


RETIRE = "retire"
REINSTATE = "reinstate"
RELEASE = "release"
SEED = "seed"
REQUEUE = "requeue"
ADDRESSEE = {
    "checkpoint": "indexer",
    **dict.fromkeys(("pause", "resume", "stop", RETIRE, REINSTATE, RELEASE, SEED, REQUEUE), "crawler"),
}
"""The verbs, and the process each is meant for."""
BUSY_S = 5.0
OPEN_TRIES = 50
TABLES = ("create_beats", "create_commands", "index_pending", "create_vitals", "create_samples")
PASSING = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
"""What a full disk, or one that may not be written, comes out as; it may pass."""
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

    def __init__(self, path: Path, clock: Clock, *, mends: bool = False) -> None:
        """`mends`: one that is damaged is made anew, for who holds the directory's lock. Others go on without it: they
        see nobody at work, and commands are refused."""
        self._path, self._clock, self._mends = path, clock, mends
        self._is_missed = False
        self._opened: sqlite3.Connection | None = None
        self._turn = threading.Lock()
        self._unmarked: set[int] = set()
        """Commands that were carried out and could not be crossed out."""

    def __enter__(self) -> "Control":
        for attempt in range(OPEN_TRIES):
            try:
                self._opened = _open(self._path, is_checked=self._mends)
                return self
            except sqlite3.DatabaseError as trouble:
                # Two that create the file at once: SQLite does not wait while the journal mode changes.
                if not _is_busy(trouble) or attempt == OPEN_TRIES - 1:
                    self._opened = self._instead()
                    return self
                self._clock.pause(0.02)
        return self

    def _instead(self) -> sqlite3.Connection:
        """Of a file that is damaged, or may not be read: a new one, or none."""
        if self._mends:
            for tail in ("", "-wal", "-shm"):
                self._path.with_name(self._path.name + tail).unlink(missing_ok=True)
            return _open(self._path)
        self._is_missed = True
        return _open(":memory:")

    def __exit__(self, *_: object) -> None:
        with self._turn:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    @property
    def is_missed(self) -> bool:
        """Whether the file is damaged or may not be read, so that nobody is seen at work."""
        return self._is_missed

    def beat(self, name: str, pid: int, facts: Mapping[str, object], vitals: Sequence[Vitals] = ()) -> bool:
        """Say how we are. A full disk or a busy database costs this beat and nothing else: False, then."""
        row = {"name": name, "pid": pid, "at": self._clock.now(), "facts": json.dumps(facts)}
        return self._note(row, vitals)

    def note(self, vitals: Sequence[Vitals]) -> bool:
        """The figures alone, as `beat` notes them: of each the last, and a place in the ring of the past hour."""
        return self._note(None, vitals)

    def end_workers(self, of: str) -> None:
        """For a process that starts or ends: workers of this kind ended with whoever had them. Also clears out what
        nobody has renewed for an hour."""
        with contextlib.suppress(sqlite3.OperationalError), self._writing() as connection:
            connection.execute(SQL["end_workers"], {"kind": of + " "})
            old = {"before": self._clock.now() - HOUR_S * SECOND}
            connection.execute(SQL["forget_samples"], old)
            connection.execute(SQL["forget_beaters"], old)

    def vitals(self) -> list[Vitals]:
        """The last sign of life of every process and machine, by name."""
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
        rows = self._looked("every_beat", {})
        return [Beat(name, pid, at, json.loads(facts)) for name, pid, at, facts in rows]

    def ask(self, verb: str, **args: object) -> int:
        """Leave a command for the process it is meant for. What waits as the last is not asked twice. Its id."""
        if self._is_missed:
            raise GossamerError(
                f"{self._path} is damaged or may not be read, so no command reaches a crawl. It holds nothing that is "
                "missed: stop the crawl and start it again, which makes it anew"
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
        """What waits for "crawler" or "indexer", oldest first."""
        rows = self._looked("pending_for", {"addressee": addressee})
        found = [Command(number, verb, _table(args), asked_at) for number, verb, args, asked_at in rows]
        return [command for command in found if command.id not in self._unmarked]

    def done(self, command_id: int) -> None:
        """Cross it out. On a full disk that is remembered here, and written with the next one that can be."""
        self._unmarked.add(command_id)
        try:
            with self._writing() as connection:
                for number in self._unmarked:
                    connection.execute(SQL["mark_done"], {"id": number, "at": self._clock.now()})
        except sqlite3.OperationalError as trouble:
            if not _costs_a_beat(trouble):
                raise
        else:
            self._unmarked.clear()

    def is_done(self, command_id: int) -> bool:
        """True also for one so old that it is forgotten."""
        rows = self._read("is_done", {"id": command_id})
        return not rows or bool(rows[0][0])

    def start_afresh(self, addressee: str) -> None:
        """For a process that starts: what was asked of its predecessor does not concern it."""
        with self._writing() as connection:
            connection.execute(SQL["mark_all_done"], {"addressee": addressee, "at": self._clock.now()})

    def clear(self, addressee: str) -> None:
        """Whatever was asked of it goes, done or not, with the names in it. REQUIRES: no such process runs."""
        with self._writing() as connection:
            connection.execute(SQL["clear_commands"], {"addressee": addressee})

    def _note(self, row: Mapping[str, object] | None, vitals: Sequence[Vitals]) -> bool:
        try:
            with self._writing() as connection:
                if row is not None:
                    connection.execute(SQL["put_beat"], row)
                for one in vitals:
                    said = _row_of(one)
                    (said["beater"],) = connection.execute(SQL["put_vitals"], said).fetchone()
                    if one.state != "ended":  # which is no figure of its last second
                        connection.execute(SQL["put_sample"], said)
        except sqlite3.DatabaseError as trouble:
            if _costs_a_beat(trouble):
                return False
            raise
        return True

    @property
    def _connection(self) -> sqlite3.Connection:
        assert self._opened is not None, "the control database is not open"
        return self._opened

    def _read(self, statement: str, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        with self._turn:
            try:
                return self._connection.execute(SQL[statement], values).fetchall()
            except sqlite3.DatabaseError as trouble:
                if _is_damage(trouble):
                    return []
                raise

    def _looked(self, statement: str, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        """For what is polled: while the disk cannot be read it is as if nobody had said anything."""
        try:
            return self._read(statement, values)
        except sqlite3.OperationalError as trouble:
            if _costs_a_beat(trouble):
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
    """What a command was given; nothing, when it was written by somebody who did not know how."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


_figures: msgspec.json.Decoder[Figures] = msgspec.json.Decoder(Figures)


def _row_of(one: Vitals) -> dict[str, object]:
    row = {field: getattr(one, field) for field in ("node", "process", "pid", "at", "since_at", "state", "version")}
    return {**row, "slot": slot_of(one.at), "figures": msgspec.json.encode(one.figures).decode()}


def _open(path: Path | str, is_checked: bool = False) -> sqlite3.Connection:
    if isinstance(path, Path):
        with contextlib.suppress(OSError):  # SQLite says it better
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


def _code(trouble: sqlite3.DatabaseError) -> int:
    return getattr(trouble, "sqlite_errorcode", 0) & 0xFF


def _is_busy(trouble: sqlite3.DatabaseError) -> bool:
    return _code(trouble) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _is_damage(trouble: sqlite3.DatabaseError) -> bool:
    return _code(trouble) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _costs_a_beat(trouble: sqlite3.DatabaseError) -> bool:
    return _is_busy(trouble) or _is_damage(trouble) or _code(trouble) in PASSING


def at_work(beats: Sequence[Beat], outside: Outside) -> list[dict[str, object]]:
    """Those that live, with what each said of itself."""
    now = outside.clock.now()
    return [
        {"name": beat.name, "pid": beat.pid, "silent_s": round((now - beat.at) / SECOND, 1), **beat.facts}
        for beat in beats
        if beat.facts.get("state") != "ended" and outside.processes.is_alive(beat.pid)
    ]
