"""A PostgreSQL database that many crawlers share.

A connection on a thread of its own, transactions, migrations.

A commit is on the server's disk when `run` returns: it may be called an acknowledgement. A transaction that was aborted
(deadlock, serialization) or lost its connection is repeated, so it must be safe to repeat.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from typing import Any, Self, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from gossamer.base.clock import Clock, Instant, in_words
from gossamer.base.errors import ConfigError, DatabaseEmpty, DatabaseLost, DirectoryUnusable, DiskFull, GossamerError
from gossamer.base.secrets import REFERENCE
from gossamer.base.tell import Tell
from gossamer.store.statements import load

T = TypeVar("T")
Connection = psycopg.Connection[tuple[Any, ...]]
Work = Callable[[Connection, bool], T]
"""What a transaction does. The flag says that it may have been committed before: a connection that breaks during a
commit leaves that unknown."""

_SQL = load("gossamer.store.postgres", "database.sql")
LOST = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.errors.IdleInTransactionSessionTimeout,  # this process was frozen within a transaction
)
BEATEN = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)
GOING_AWAY = ("08", "57P", "25P03")
"""Connection lost, refused or ended for idling, server stopped or starting."""
NO_ROOM = (psycopg.errors.DiskFull, psycopg.errors.OutOfMemory)
CONNECT_S = 10
ALIVE: dict[str, Any] = {
    "keepalives_idle": 5,
    "keepalives_interval": 3,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
"""For a network that loses everything silently: the connection is given up after about 15 s."""
FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 2.0
NOTICED_S = 1.0
"""A database that is away for less is not worth a word."""
LONGEST_SCHEMA = 57
"""PostgreSQL cuts names after 63 bytes; that of the views is six longer, and must not be that of the tables."""


class SharedDatabase:
    """REQUIRES: `conninfo` is a connection string of libpq; the tables live in its first schema."""

    def __init__(
        self,
        conninfo: str,
        clock: Clock,
        tell: Tell,
        patience_s: float = 30.0,
        is_stopping: Callable[[], bool] | None = None,
    ) -> None:
        """`patience_s`: how long a call keeps trying to reach a server that cannot be reached. With `is_stopping` it
        tries without end, until that says so."""
        self._conninfo = conninfo
        self.name = name_of(conninfo)
        self._clock = clock
        self._tell = tell
        self._patience_s = patience_s
        self._is_stopping = is_stopping
        self._lost: tuple[Instant, str] | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._connection: Connection | None = None
        self.times_connected = 0
        """Grows when the connection was lost and made again; read it only on the database's thread."""

    async def __aenter__(self) -> Self:
        self._thread = ThreadPoolExecutor(1, "postgres")
        with contextlib.ExitStack() as undo:
            undo.callback(self._thread.shutdown)
            await self._on_thread(self._open)
            undo.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._thread is not None
        try:
            await self._on_thread(self._hang_up)
        finally:
            self._thread.shutdown()
            self._thread = None

    @property
    def trouble(self) -> str:
        """Since when the server has not been reached, and why, for people; empty while it answers."""
        lost = self._lost
        return f"{self.name}: no answer since {in_words(lost[0])[:19]}Z ({lost[1]}); trying again" if lost else ""

    async def run(self, work: Work[T], after: Callable[[T], None] | None = None) -> T:
        """As `StateWriter.run`."""

        def transact() -> T:
            result = self._until_done(work)
            if after is not None:
                after(result)
            return result

        return await self._on_thread(transact)

    def _until_done(self, work: Work[T]) -> T:
        may_be_done = False
        pause_s, lost_at, lost_at_s = FIRST_PAUSE_S, 0, None
        while True:
            try:
                with in_our_words(self.name):
                    result = self._once(work, may_be_done)
                self._note_answer()
                return result
            except BEATEN as race:
                self._tell("database.beaten", why=type(race).__name__)
            except LOST as trouble:
                may_be_done = True
                if self._connection is not None and is_refusal(trouble):
                    raise DatabaseLost(
                        f"{self.name} refuses what the crawl asks of it: {in_line(trouble)}"
                    ) from trouble
                self._hang_up()
                if lost_at_s is None:
                    lost_at, lost_at_s = self._clock.now(), self._clock.elapsed_s()
                self._tell("database.lost", why=in_line(trouble))
                self._wait_or_give_up(trouble, lost_at, self._clock.elapsed_s() - lost_at_s)
            self._clock.pause(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _wait_or_give_up(self, trouble: psycopg.Error, lost_at: Instant, lost_s: float) -> None:
        why = in_line(trouble)
        if self._is_stopping is None and lost_s >= self._patience_s:
            raise DatabaseLost(
                f"{self.name} has not been reached for {self._patience_s:g} s ({why}): "
                "check the server, then start again; nothing acknowledged is lost"
            ) from trouble
        if self._is_stopping is not None and self._is_stopping():
            raise DatabaseLost(
                f"{self.name} is not reached ({why}): stopped without it. Nothing acknowledged is lost; fetches that "
                "were in progress are repeated"
            ) from trouble
        if self._lost is None and lost_s >= NOTICED_S:
            self._lost = lost_at, why
            self._tell("database.suspended", says=self.trouble)

    def _note_answer(self) -> None:
        if self._lost is not None:
            self._lost = None
            self._tell("database.back", name=self.name)

    def _once(self, work: Work[T], may_be_done: bool) -> T:
        connection = self._connection or self._connect()
        with connection.transaction():
            return work(connection, may_be_done)

    def _connect(self) -> Connection:
        conninfo = make_conninfo("", **(ALIVE | conninfo_to_dict(self._conninfo)))
        self._connection = psycopg.connect(conninfo, autocommit=True, connect_timeout=CONNECT_S)
        self._connection.execute(_SQL["idle_limit"])
        self.times_connected += 1
        return self._connection

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> None:
        """The first connection is tried only once: a wrong address should not take half a minute to report."""
        try:
            with in_our_words(self.name):
                before, now = migrate(self._connect(), migrations(), self.name)
        except psycopg.Error as trouble:
            self._hang_up()
            raise DatabaseLost(f"{self.name} cannot be opened: {in_line(trouble)}") from trouble
        except GossamerError:
            self._hang_up()
            raise
        if before != now:
            self._tell("database.migrated", path=self.name, before=before, now=now)

    async def _on_thread(self, work: Callable[[], T]) -> T:
        if self._thread is None:
            raise RuntimeError("the database is not open: use it inside `async with`")
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def parameters_of(conninfo: str, what: str = "frontier.database") -> dict[str, str]:
    """The parts of a connection string. References to secrets stay as they are. Raises ConfigError for an invalid one.

    `what`: where it was given."""
    references = [found[0] for found in REFERENCE.finditer(conninfo)]
    masked = conninfo  # libpq would take the slashes of a file's path for parts of the string
    for number, reference in enumerate(references):
        masked = masked.replace(reference, f"%24reference{number}%24" if "://" in conninfo else f"$reference{number}$")
    try:
        given = {name: str(value) for name, value in conninfo_to_dict(masked).items()}
    except (psycopg.ProgrammingError, UnicodeDecodeError):
        raise ConfigError(
            f'{what} is not a PostgreSQL connection string, such as "postgresql://user@host/crawl"'
        ) from None
    for number, reference in enumerate(references):
        given = {name: value.replace(f"$reference{number}$", reference) for name, value in given.items()}
    return given


def name_of(conninfo: str) -> str:
    """For messages, without the password. Raises ConfigError for an invalid connection string."""
    given = parameters_of(conninfo)
    name = f"the database {given.get('dbname') or ''} at {given.get('host') or 'localhost'}"
    if "@" in name:  # a part of the password would be taken for it
        raise ConfigError("frontier.database has a password that must be percent-encoded: write / as %2F and @ as %40")
    return name


def storable(text: str) -> str:
    """PostgreSQL has no texts with a NUL or half of a surrogate pair."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def is_refusal(trouble: psycopg.Error) -> bool:
    """Whether the server says that it will not do this; otherwise it, or the connection, is going away."""
    return trouble.sqlstate is not None and not trouble.sqlstate.startswith(GOING_AWAY)


def in_line(trouble: psycopg.Error) -> str:
    """What the server or its client says, in one line."""
    return " ".join(str(trouble).split())


def migrations() -> list[str]:
    """The schema's steps in order; step n leads from version n - 1 to n."""
    folder = resources.files("gossamer.store.postgres") / "migrations"
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    return [(folder / name).read_text("utf-8") for name in names]


def migrate(connection: Connection, steps: list[str], name: str) -> tuple[int, int]:
    """Bring the schema up to date; returns the versions before and after.

    One crawler does it while the others wait: it is one transaction under a lock of this schema. The views in the shape
    of state.db are recreated, because they could block a step.
    """
    with connection.transaction():
        schema, encoding = connection.execute(_SQL["schema"]).fetchone() or (None, "")
        check_schema(schema, encoding, name)
        connection.execute(_SQL["migration_lock"])
        connection.execute(_SQL["meta_table"])
        row = connection.execute(_SQL["version"]).fetchone()
        before = int(row[0]) if row else 0
        if before > len(steps):
            raise DirectoryUnusable(
                f"{name} was written by a newer gossamer (schema {before}, this one knows {len(steps)}): "
                "upgrade gossamer"
            )
        if before < len(steps):
            row = connection.execute(_SQL["views_schema"]).fetchone()
            assert row is not None
            views = (resources.files("gossamer.store.postgres") / "views.sql").read_text("utf-8")
            if before:  # otherwise a schema of that name belongs to another program
                connection.execute(f"DROP SCHEMA IF EXISTS {row[0]} CASCADE".encode())
            for step in (*steps[before:], views.replace("{views}", row[0])):
                connection.execute(step.encode())
            connection.execute(_SQL["version_set"], {"version": len(steps)})
    return before, len(steps)


def check_schema(schema: str | None, encoding: str, name: str) -> None:
    """Raises DirectoryUnusable if the tables of a crawl cannot be kept there."""
    if schema is None:
        raise DirectoryUnusable(f"{name} has no schema of the search_path it is opened with: create it first")
    if len(schema.encode()) > LONGEST_SCHEMA:
        raise DirectoryUnusable(
            f"the name of the schema in {name} has more than {LONGEST_SCHEMA} bytes, and that of its views would be "
            "too long: use a shorter one"
        )
    if encoding != "UTF8":
        raise DirectoryUnusable(f"{name} stores texts in {encoding}: use a database with the encoding UTF8")


def schema_version(connection: Connection, name: str) -> int:
    """Of the tables. Raises DatabaseEmpty if there are none."""
    try:
        row = connection.execute(_SQL["version"]).fetchone()
    except psycopg.errors.UndefinedTable:
        raise DatabaseEmpty(f"nothing has been crawled into {name} yet") from None
    return int(row[0]) if row else 0


def check_version(connection: Connection, name: str, may_be_older: bool = False) -> None:
    """Raises DirectoryUnusable if the schema is not the one that readers of this version know."""
    found, known = schema_version(connection, name), len(migrations())
    if found > known or (found < known and not may_be_older):
        what = "upgrade gossamer" if found > known else "`gossamer crawl` brings it up to date"
        raise DirectoryUnusable(f"{name} has schema {found}, and this gossamer knows {known}: {what}")


def numbers(values: Iterable[int | None]) -> str:
    """An array of integers as PostgreSQL writes it: several times faster than psycopg's own."""
    return "{" + str(list(values))[1:-1].replace("None", "NULL") + "}"


def texts(values: Iterable[str]) -> str:
    """An array of texts, likewise."""
    quoted = [value.replace("\\", "\\\\").replace('"', '\\"') for value in values]
    return '{"' + '","'.join(quoted) + '"}' if quoted else "{}"


def columns(names: str, rows: Iterable[Iterable[object]]) -> dict[str, object]:
    """Rows as one array a column, by the names of the columns. REQUIRES: there is a row."""
    return dict(zip(names.split(), map(list, zip(*rows, strict=True)), strict=True))


@contextlib.contextmanager
def in_our_words(name: str) -> Iterator[None]:
    """Translate the server's errors to ours; those that a retry repairs, and bugs, pass."""
    try:
        yield
    except NO_ROOM as trouble:
        raise DiskFull(f"its disk is full, and {name} cannot be written") from trouble
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction) as trouble:
        raise DirectoryUnusable(f"{name} does not let us write: {in_line(trouble)}") from trouble
    except (psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted) as trouble:
        raise DirectoryUnusable(f"{name} is damaged ({in_line(trouble)})") from trouble
