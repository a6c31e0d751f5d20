"""What was to be forgotten: it is not accepted again until it is allowed."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import msgspec

from gossamer.base.clock import Instant
from gossamer.rules.scope import Forgotten, forgotten_of, key_of
from gossamer.store.given import stored_seeds
from gossamer.store.statements import State, load

_SQL = load("gossamer.store", "forgotten.sql")


class ForgottenEntry(msgspec.Struct, frozen=True):
    name: str
    """A host's name, or the text of an address."""
    is_host: bool
    asked_at: Instant
    done_at: Instant | None = None
    """When the last of it was gone; None: it was begun, and did not come to its end."""


def put(connection: State, entries: Iterable[ForgottenEntry]) -> None:
    """Inside the caller's transaction; what is forgotten is no seed any more either."""
    asked = list(entries)
    connection.executemany(_SQL["put"], [(one.name, one.is_host, one.asked_at) for one in asked])
    block = block_of(asked)
    gone = [(url.text,) for url, _ in stored_seeds(connection) if block.has(url)]
    connection.executemany(_SQL["unseeded"], gone)


def every(connection: State) -> list[ForgottenEntry]:
    return [ForgottenEntry(name, bool(is_host), *ats) for name, is_host, *ats in connection.execute(_SQL["all"])]


def done(connection: State, at: Instant) -> None:
    connection.execute(_SQL["done"], (at,))


def allow(connection: State, entry: ForgottenEntry) -> bool:
    """Whether it was there. An address is found however it is spelt."""
    wanted = key_of(entry.name) if not entry.is_host else entry.name
    names = [
        (one.name,)
        for one in every(connection)
        if one.is_host is entry.is_host and (one.name if one.is_host else key_of(one.name)) == wanted
    ]
    return bool(connection.executemany(_SQL["allowed"], names).rowcount > 0) if names else False


def block(connection: State) -> Forgotten:
    """What is not let in."""
    return block_of(every(connection))


def block_of(entries: Iterable[ForgottenEntry]) -> Forgotten:
    asked = list(entries)
    return forgotten_of([one.name for one in asked if one.is_host], [one.name for one in asked if not one.is_host])


# What was deleted from a database is still in its file until something else is written there: this makes it go.

BUSY_S = 10.0


def scrub(path: Path) -> None:
    """Write the whole database anew, and empty its journal. REQUIRES: no other process writes to it.

    A reader that holds an old state keeps the journal alive until it lets go; what was deleted then stays in it till
    the next writer closes the database.
    """
    with closing(sqlite3.connect(path, BUSY_S, isolation_level=None)) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
