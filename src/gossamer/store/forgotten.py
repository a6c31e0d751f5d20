"""URLs and hosts that a user asked to forget: they are not accepted again until that is allowed."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import msgspec

from gossamer.base.clock import Instant
from gossamer.rules.scope import Forgotten, forgotten_of, key_of
from gossamer.store.options import stored_seeds
from gossamer.store.statements import State, load

_SQL = load("gossamer.store", "forgotten.sql")


class ForgottenEntry(msgspec.Struct, frozen=True):
    name: str
    """A host's name, or a URL."""
    is_host: bool
    asked_at: Instant
    done_at: Instant | None = None
    """When all of it was deleted; None: that has begun, but is not complete."""


def put(connection: State, entries: Iterable[ForgottenEntry]) -> None:
    """Inside the caller's transaction; seeds among them are removed too."""
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
    """Returns whether it was there. A URL is found in any spelling."""
    wanted = key_of(entry.name) if not entry.is_host else entry.name
    names = [
        (one.name,)
        for one in every(connection)
        if one.is_host is entry.is_host and (one.name if one.is_host else key_of(one.name)) == wanted
    ]
    return bool(connection.executemany(_SQL["allowed"], names).rowcount > 0) if names else False


def block(connection: State) -> Forgotten:
    """What is not accepted."""
    return block_of(every(connection))


def block_of(entries: Iterable[ForgottenEntry]) -> Forgotten:
    asked = list(entries)
    return forgotten_of([one.name for one in asked if one.is_host], [one.name for one in asked if not one.is_host])


BUSY_S = 10.0


def scrub(path: Path) -> None:
    """Rewrite the whole database and empty its journal: deleted data stays in a file until something is written over
    it. REQUIRES: no other process writes to it.

    A reader that holds an old state keeps the journal until it closes; deleted data then stays in it until the next
    writer closes the database.
    """
    with closing(sqlite3.connect(path, BUSY_S, isolation_level=None)) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
