"""What is remembered of every page that comes again: a few hundred at a time, as `visits` does it."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing

from gossamer.store.statements import load
from gossamer.values.past import Past, decoded

_SQL = load("gossamer.frontier", "pasts.sql")
AT_ONCE = 1_000
_LOWEST = -(1 << 63)


def every_past(connect: Callable[[], sqlite3.Connection]) -> Iterator[tuple[str, Past]]:
    """With the name of its host. `connect` makes a reader's connection, which is closed after each group."""
    last, is_more = (_LOWEST, _LOWEST), True
    while is_more:
        with closing(connect()) as connection:
            rows = connection.execute(_SQL["next_pasts"], (*last, AT_ONCE)).fetchall()
        for host_id, number, name, kept in rows:
            last = (host_id, number)
            if (past := decoded(kept)) is not None:
                yield name, past
        is_more = len(rows) == AT_ONCE
