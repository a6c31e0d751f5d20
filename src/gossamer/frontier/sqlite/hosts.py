"""Hosts and their lanes. A lane is one origin of a host: its http pages, or its https pages. A host of another scheme
has the scheme in its name, and one lane."""

import sqlite3

from gossamer.base.clock import Instant
from gossamer.store import tallies
from gossamer.store.statements import load

_SQL = load("gossamer.frontier.sqlite")


def meta(connection: sqlite3.Connection, name: str, default: int) -> int:
    """A small fact about the database."""
    row = connection.execute(_SQL["meta"], (name,)).fetchone()
    return int(row[0]) if row else default


def host_id_of(connection: sqlite3.Connection, name: str) -> int:
    """The host's id; a host met for the first time is entered."""
    found = find_host_id(connection, name)
    if found is None:
        (found,) = connection.execute(_SQL["host_met"], (name,)).fetchone()
        tallies.add(connection, {tallies.HOSTS: 1})
    return int(found)


def find_host_id(connection: sqlite3.Connection, name: str) -> int | None:
    """The same for a reader: None when the host is not known."""
    row = connection.execute(_SQL["host_id"], (name,)).fetchone()
    return int(row[0]) if row else None


def name_of(connection: sqlite3.Connection, host_id: int) -> str:
    """REQUIRES: the host is known."""
    (name,) = connection.execute(_SQL["host_name"], (host_id,)).fetchone()
    return str(name)


# Retired hosts: down or too slow for long, or put aside by a person. Visibly, and until somebody reinstates them.
# Functions on a writer's connection, inside its transaction; a running crawl is asked through its frontier instead.


def retire(connection: sqlite3.Connection, host: str, why: str, now: Instant) -> int | None:
    """Nothing at the host is handed out any more; says its id, None when it is unknown or was retired before."""
    host_id = find_host_id(connection, host)
    if host_id is None or not connection.execute(_SQL["retired"], (now, why, host_id)).rowcount:
        return None
    tallies.add(connection, {tallies.RETIRED: 1})
    return host_id


def reinstate(connection: sqlite3.Connection, host: str) -> int | None:
    """The host is visited again as if it had never failed; what it was promised last still holds."""
    host_id = find_host_id(connection, host)
    if host_id is None or not connection.execute(_SQL["reinstated"], (host_id,)).rowcount:
        return None
    tallies.add(connection, {tallies.RETIRED: -1})
    return host_id
