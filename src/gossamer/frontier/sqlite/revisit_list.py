"""Pages that come again, and what is remembered of each. Functions on any connection, a reader's too."""

import sqlite3
from collections.abc import Iterator

import msgspec

from gossamer.base.clock import Instant
from gossamer.frontier.sqlite.hosts import text_of
from gossamer.store.statements import load
from gossamer.values.past import Past, decoded

_SQL = load("gossamer.frontier.sqlite", "revisit_list.sql")


class Remembered(msgspec.Struct, frozen=True):
    url: str
    host: str
    due_at: Instant | None
    """When its next visit is due; None: it does not wait for one."""
    past: Past


def remembered(connection: sqlite3.Connection, host: str | None = None) -> Iterator[Remembered]:
    """In no order: there may be millions. Of one host, or of all."""
    for name, lane, text, due_at, kept in connection.execute(_SQL["remembered"], {"host": host}):
        if (past := decoded(kept)) is not None:
            yield Remembered(text_of(lane, name, text), name, due_at, past)
