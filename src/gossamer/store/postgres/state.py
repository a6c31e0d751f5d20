"""The shared database as a `State`.

PostgreSQL runs SQLite's statements on views in the shape of state.db.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from itertools import count
from typing import Any, Self, TypeVar

import psycopg
from psycopg.adapt import Buffer, Loader
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

from gossamer.base.clock import Clock
from gossamer.base.errors import DatabaseLost
from gossamer.base.secrets import in_conninfo, in_url, revealed
from gossamer.base.tell import Tell
from gossamer.store.postgres.database import (
    CONNECT_S,
    LOST,
    Connection,
    SharedDatabase,
    check_version,
    in_line,
    in_our_words,
    migrate,
    migrations,
    name_of,
    schema_version,
    storable,
)
from gossamer.store.statements import Rows, State, Values, load

T = TypeVar("T")
_SQL = load("gossamer.store.postgres", "database.sql")
AT_ONCE = 500
"""Rows fetched at once during iteration: the rest stays at the server."""
_TOKEN = re.compile(
    r"""'(?:[^']|'')*'|"[^"]*"|::|\?(?P<number>\d+)?|:(?P<name>\w+)|%|CROSS(?= JOIN \w+(?: \w+)? ON\b)"""
)
_QUERY = re.compile(r"(?:SELECT|WITH)\b")


@cache
def translated(statement: str) -> str:
    """With psycopg's placeholders. A CROSS JOIN with a condition fixes the join order in SQLite: here it is a JOIN."""

    def replaced(found: re.Match[str]) -> str:
        if found["number"] or found["name"]:
            return f"%({found['number'] or found['name']})s"
        token = found[0]
        return {"?": "%s", "CROSS": ""}.get(token, token.replace("%", "%%"))

    return _TOKEN.sub(replaced, statement)


def _bound(statement: str, values: Values) -> Values:
    """Values as they can be stored; those of `?1` and the like, by number."""
    if isinstance(values, Mapping):
        return {name: storable(value) if isinstance(value, str) else value for name, value in values.items()}
    plain = [storable(value) if isinstance(value, str) else value for value in values]
    return plain if "?1" not in statement else {str(number): value for number, value in enumerate(plain, 1)}


class _Boolean(Loader):
    """SQLite has no booleans, and its sums of integers are integers."""

    def load(self, data: Buffer) -> int:
        return int(bytes(data) == b"t")


class _Number(Loader):
    def load(self, data: Buffer) -> int | float:
        text = bytes(data).decode()
        return float(text) if "." in text else int(text)


class SharedState:
    """A reader's connection to the shared database, or a writer's within a transaction. Of the archives it sees only
    that of its own directory."""

    def __init__(self, connection: Connection, name: str, is_writer: bool) -> None:
        self._connection = connection
        self._name = name
        self._is_writer = is_writer
        self._cursors = count()
        self._streams = 0
        self._began = False
        """A transaction, for the open streams."""

    def execute(self, statement: str, values: Values = (), /) -> Rows:
        text = getattr(statement, "postgres", statement)
        rows = _SharedRows(self, translated(text), _bound(text, values))
        if not _QUERY.match(text):
            rows.run()
        return rows

    def executemany(self, statement: str, values: Iterable[Values], /) -> Rows:
        text = getattr(statement, "postgres", statement)
        with self._translating():
            cursor = self.cursor()
            cursor.executemany(translated(text).encode(), [_bound(text, one) for one in values])
        return cursor

    def close(self) -> None:
        self._connection.close()

    def cursor(self) -> psycopg.ClientCursor[tuple[Any, ...]]:
        """Values are written into the statement, so the server need not know their types beforehand."""
        cursor = psycopg.ClientCursor(self._connection)
        cursor.adapters.register_loader("bool", _Boolean)
        cursor.adapters.register_loader("numeric", _Number)
        return cursor

    def run(self, statement: str, values: Values) -> psycopg.ClientCursor[tuple[Any, ...]]:
        with self._translating():
            return self.cursor().execute(statement.encode(), values)

    def stream(self, statement: str, values: Values) -> Iterator[Any]:
        """Rows in parts; several statements may be streamed at the same time."""
        cursor, name = self.cursor(), f"rows_{next(self._cursors)}"
        with self._translating():
            if self._connection.info.transaction_status == TransactionStatus.IDLE:
                cursor.execute("BEGIN")
                self._began = True
            cursor.execute(f"DECLARE {name} NO SCROLL CURSOR FOR {statement}".encode(), values)
        self._streams += 1
        try:
            while True:
                with self._translating():
                    rows = cursor.execute(f"FETCH {AT_ONCE} FROM {name}".encode()).fetchall()
                yield from rows
                if len(rows) < AT_ONCE:
                    return
        finally:
            self._streams -= 1
            with suppress(psycopg.Error):  # the connection may be gone, or its transaction broken
                cursor.execute(f"CLOSE {name}".encode())
            if self._began and not self._streams:
                self._began = False
                with suppress(psycopg.Error):
                    cursor.execute("COMMIT")

    @contextmanager
    def _translating(self) -> Iterator[None]:
        """Translate errors. A writer's transaction is repeated if the connection is lost, a reader's is not."""
        try:
            with in_our_words(self._name):
                yield
        except LOST as trouble:
            if self._is_writer:
                raise
            raise DatabaseLost(f"{self._name} cannot be read: {in_line(trouble)}") from trouble


class _SharedRows:
    """Queries run when their rows are fetched; when they are iterated over, in parts."""

    def __init__(self, state: SharedState, statement: str, values: Values) -> None:
        self._state = state
        self._statement = statement
        self._values = values
        self._cursor: psycopg.ClientCursor[tuple[Any, ...]] | None = None

    def run(self) -> psycopg.ClientCursor[tuple[Any, ...]]:
        if self._cursor is None:
            self._cursor = self._state.run(self._statement, self._values)
        return self._cursor

    @property
    def rowcount(self) -> int:
        return self.run().rowcount

    def fetchone(self) -> Any:
        return self.run().fetchone()

    def fetchall(self) -> list[Any]:
        return self.run().fetchall()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._cursor) if self._cursor is not None else self._state.stream(self._statement, self._values)


def named_conninfo(conninfo: str, owner: str) -> str:
    """As libpq takes it. `owner`: the directory whose archive volumes this connection sees."""
    conninfo = revealed(conninfo, os.environ, in_url if "://" in conninfo else in_conninfo)
    options = conninfo_to_dict(conninfo).get("options") or ""
    return make_conninfo(conninfo, options=f"{options} -c gossamer.owner={owner}".strip())


def connected(conninfo: str, owner: str = "") -> Connection:
    """The caller closes it."""
    try:
        return psycopg.connect(named_conninfo(conninfo, owner), autocommit=True, connect_timeout=CONNECT_S)
    except LOST as trouble:
        raise DatabaseLost(f"{name_of(conninfo)} cannot be opened: {in_line(trouble)}") from trouble


def prepare(conninfo: str) -> None:
    """Create the tables of a crawl, or bring them up to date. Raises if they cannot be kept there."""
    name = name_of(conninfo)
    try:
        with connected(conninfo) as connection, in_our_words(name):
            migrate(connection, migrations(), name)
    except psycopg.Error as trouble:
        raise DatabaseLost(f"{name} cannot be opened: {in_line(trouble)}") from trouble


def refuse_newer_tables(conninfo: str) -> None:
    """Raises DirectoryUnusable if the tables are those of a newer version, and DatabaseEmpty if there are none."""
    with connected(conninfo) as connection:
        check_version(connection, name_of(conninfo), may_be_older=True)


def open_reader(conninfo: str, owner: str, is_any_version: bool = False) -> SharedState:
    """A reader's connection. The caller closes it."""
    name, connection = name_of(conninfo), connected(conninfo, owner)
    with ExitStack() as undo:
        undo.callback(connection.close)
        (schema_version if is_any_version else check_version)(connection, name)
        connection.execute(_SQL["views_first"], {"is_local": False})
        undo.pop_all()
    return SharedState(connection, name, is_writer=False)


def state_in(connection: Connection) -> SharedState:
    """For a writer, until the end of its transaction."""
    connection.execute(_SQL["views_first"], {"is_local": True})
    return SharedState(connection, name_of(connection.info.dsn), is_writer=True)


@contextmanager
def viewed(connection: Connection) -> Iterator[SharedState]:
    """The same inside a transaction that uses the tables afterwards."""
    row = connection.execute(_SQL["path"]).fetchone()
    assert row is not None
    yield state_in(connection)
    connection.execute(_SQL["path_restored"], {"path": row[0]})


class PostgresState:
    """The writer of one directory that takes part in a shared crawl."""

    def __init__(
        self, conninfo: str, owner: str, clock: Clock, tell: Tell, is_stopping: Callable[[], bool] | None = None
    ) -> None:
        name_of(conninfo)  # raises for an invalid one
        self.member = owner
        """The name under which its frontier leases hosts."""
        self.is_passing = False
        """It leases none: a command on a cluster."""
        self.shared = SharedDatabase(named_conninfo(conninfo, owner), clock, tell, is_stopping=is_stopping)

    @property
    def trouble(self) -> str:
        return self.shared.trouble

    async def __aenter__(self) -> Self:
        await self.shared.__aenter__()
        return self

    async def __aexit__(self, *trouble: object) -> None:
        await self.shared.__aexit__(*trouble)

    async def run(self, work: Callable[[State], T], after: Callable[[T], None] | None = None) -> T:
        return await self.shared.run(lambda connection, _: work(state_in(connection)), after)

    async def read(self, work: Callable[[State], T]) -> T:
        def look(connection: Connection, _: bool) -> T:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            return work(state_in(connection))

        return await self.shared.run(look)
