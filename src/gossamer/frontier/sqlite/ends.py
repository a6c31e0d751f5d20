"""How every address ended, for reports and checks; readable from any process."""

import sqlite3
from collections.abc import Iterator

from gossamer.frontier.codes import REASONS
from gossamer.frontier.sqlite.hosts import text_of
from gossamer.store.statements import load

_SQL = load("gossamer.frontier.sqlite", "ends.sql")


def every_end(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Address and reason code of its last visit; those never visited are left out."""
    for lane, name, text, reason in connection.execute(_SQL["every_end"]):
        yield text_of(lane, name, text), REASONS[reason].value
