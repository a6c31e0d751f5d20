"""Retired hosts: down or too slow for long, or put aside by a person. Visibly, and until somebody reinstates them.

Functions on a writer's connection, inside its transaction; a running crawl is asked through its frontier instead.
"""

import sqlite3

from gossamer.base.clock import Instant
from gossamer.frontier.sqlite.hosts import find_host_id
from gossamer.store import tallies
from gossamer.store.statements import load

_SQL = load("gossamer.frontier.sqlite", "retirement.sql")


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
