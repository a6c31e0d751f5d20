"""Hosts in an order a person chose, some at a time, for lists that are paged through. One pass over one row a host."""

import sqlite3
from typing import Literal

import msgspec

from gossamer.base.clock import SECOND, Instant
from gossamer.frontier.priority import LAST
from gossamer.frontier.sqlite.hosts import find_host_id
from gossamer.frontier.sqlite.reports import HostState, Template, host_state, templates
from gossamer.store.statements import load
from gossamer.values.robots import Robots

_SQL = load("gossamer.frontier.sqlite", "host_list.sql")
_ROBOTS = msgspec.msgpack.Decoder(Robots)
LOWEST = -(1 << 62)

Order = Literal["queued", "visits", "troubles", "gap", "held", "next", "name"]
STATES = ("under-way", "ready", "waiting", "backing-off", "over-budget", "retired", "done")


class Listed(msgspec.Struct, frozen=True):
    """A host, with what a list of hosts shows of it."""

    rank: int
    """With its name, its place in this order."""
    state: str
    """One of STATES."""
    host: HostState
    least_gap_s: float | None
    broken: int
    robots: tuple[Robots, ...]
    """Of its http and its https pages, as far as they were asked for."""
    traps: tuple[Template, ...]
    """Patterns of addresses that are held back."""


def hosts(
    connection: sqlite3.Connection,
    now: Instant,
    is_crawling: bool,
    text: str = "",
    state: str = "",
    order: Order = "queued",
    after: tuple[int, str] = (LOWEST, ""),
    most: int = 50,
) -> list[Listed]:
    wanted = {"text": text, "state": state, "sort": order, "rank": after[0], "after": after[1], "most": most}
    rows = connection.execute(_SQL["some"], wanted | _standing(now, is_crawling)).fetchall()
    found = []
    for rank, name, number, least_gap, broken, kind in rows:
        host = host_state(connection, name)
        if host is None:  # forgotten between the two questions
            continue
        entries = _entries(connection, number)
        held = [one for one in templates(connection, name) if one.quarantined_at is not None] if host.held else []
        least_gap_s = None if least_gap is None else least_gap / SECOND
        found.append(Listed(rank, kind, host, least_gap_s, broken, entries, tuple(held)))
    return found


def robots_of(connection: sqlite3.Connection, name: str) -> tuple[Robots, ...]:
    """What was last known of a host's robots.txt files."""
    number = find_host_id(connection, name)
    return () if number is None else _entries(connection, number)


def _entries(connection: sqlite3.Connection, number: int) -> tuple[Robots, ...]:
    return tuple([_ROBOTS.decode(entry) for (entry,) in connection.execute(_SQL["robots"], (number,))])


def states(connection: sqlite3.Connection, now: Instant, is_crawling: bool) -> dict[str, int]:
    """How many hosts are in each state that any is in."""
    found = dict(connection.execute(_SQL["states"], _standing(now, is_crawling)).fetchall())
    return {state: found[state] for state in STATES if state in found}


def _standing(now: Instant, is_crawling: bool) -> dict[str, int]:
    return {"now": now, "is_crawling": int(is_crawling), "last_band": LAST}
