"""SQL statements, in `.sql` files next to the code that runs them; each has a name and a sentence.

-- first_due: The page of a lane that is visited next.
SELECT ...;

Statements that both databases run are written for SQLite. If PostgreSQL needs another form, it follows under the same
name, so that both change together:

-- first_due on PostgreSQL: Its bare columns would have to be grouped.
SELECT ...;
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any, Protocol, TypeVar

_NAMED = re.compile(r"^-- ([a-z][a-z_0-9]*)( on PostgreSQL)?: \S.*$")
T = TypeVar("T")
Values = Sequence[Any] | Mapping[str, Any]


class Rows(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class State(Protocol):
    """A reader's or writer's connection to the state of a collection. Real ones: `sqlite3.Connection`, and
    `postgres.state.SharedState`."""

    def execute(self, statement: str, values: Values = (), /) -> Rows: ...
    def executemany(self, statement: str, values: Iterable[Values], /) -> Rows: ...
    def close(self) -> None: ...


class StateWriter(Protocol):
    """The writer, on a thread of its own. Real ones: `sqlite.database.Database`, and `postgres.state.PostgresState`."""

    @property
    def trouble(self) -> str:
        """Since when the database cannot be reached, for people; empty while it can. Calls wait meanwhile."""

    async def run(self, work: Callable[[State], T], after: Callable[[T], None] | None = None) -> T:
        """`work` in one transaction: all of it is on disk on return, or if it raises, none of it.

        `after` is called with its result right after the commit, on the same thread, even if the caller has been
        cancelled meanwhile: it changes memory that mirrors the database. It must not fail.
        """

    async def read(self, work: Callable[[State], T]) -> T:
        """`work` on one consistent state; it must not write."""


class Statement(str):
    """A statement that PostgreSQL needs in another form."""

    postgres: str


def load(package: str, file: str = "statements.sql") -> dict[str, str]:
    """The statements of a package's SQL file, by name. Raises ValueError for a malformed file."""
    return parse((resources.files(package) / file).read_text("utf-8"))


def parse(text: str) -> dict[str, str]:
    found: dict[tuple[str, bool], list[str]] = {}
    current: list[str] | None = None
    for line in text.splitlines():
        if named := _NAMED.match(line):
            key = named[1], named[2] is not None
            if key in found:
                raise ValueError(f"two statements are named {named[1]}")
            current = found[key] = []
        elif line.strip() and not line.startswith("--"):
            if current is None:
                raise ValueError(f"a statement without a name: {line.strip()}")
            current.append(line)
    if empty := [name for (name, _), lines in found.items() if not lines]:
        raise ValueError(f"names without a statement: {', '.join(empty)}")
    statements = {
        name: Statement("\n".join(lines).rstrip("; \n")) for (name, other), lines in found.items() if not other
    }
    for (name, other), lines in found.items():
        if other:
            statements[name].postgres = "\n".join(lines).rstrip("; \n")
    return {name: one if hasattr(one, "postgres") else str(one) for name, one in statements.items()}
