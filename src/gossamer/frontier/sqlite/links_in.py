"""Links from other hosts count also for an address that waits already: it moves towards the head of its lane.

The queue has no index by address, so only the head of a lane is looked at. What waits far behind is not helped by a few
places; when it comes near the head, the next link that is seen counts.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable

from gossamer.frontier.codes import HOWS
from gossamer.frontier.priority import MOST_OTHERS, band_of, priority_of
from gossamer.store.statements import load
from gossamer.values.link import How

_SQL = load("gossamer.frontier.sqlite", "sieve.sql")
HEAD = 64
"""Waiting addresses of a lane that are looked at."""
MOST_RAISED = 128
"""Addresses looked for in one merge."""

Linked = tuple[int, int, int, int, int, int]
"""A known address that was met on another host: host id, id, lane, and how, depth and priority of this meeting."""


def raise_linked(connection: sqlite3.Connection, leased: Collection[int]) -> int:
    """REQUIRES: the incoming addresses are laid out, the known ones among them. `leased`: the sequence numbers of
    visits that are out; their rows stay where they are. Says how many moved."""
    wanted: dict[tuple[int, int], dict[int, Linked]] = defaultdict(dict)
    for row in connection.execute(_SQL["incoming_linked"], (MOST_RAISED,)):
        wanted[row[0], row[2]][row[1]] = row
    moved = 0
    for (host_id, lane), linked in wanted.items():
        moved += _raise_in(connection, host_id, lane, linked, leased)
    return moved


def _raise_in(
    connection: sqlite3.Connection, host_id: int, lane: int, linked: dict[int, Linked], leased: Collection[int]
) -> int:
    head: Iterable[tuple[int, int, int]] = connection.execute(_SQL["head_of_lane"], (host_id, lane, HEAD)).fetchall()
    best, moved = None, 0
    for priority, sequence, address_id in head:
        if address_id not in linked or sequence in leased:
            continue
        how, depth = connection.execute(_SQL["address_origin"], (host_id, address_id)).fetchone()
        _, _, _, met_how, met_depth, met_priority = linked[address_id]
        moved_by_rules = met_priority - priority_of(HOWS[met_how], met_depth)
        better = raised(priority, HOWS[how], depth, moved_by_rules)
        if better < priority:
            connection.execute(_SQL["raised"], (better, host_id, lane, priority, sequence))
            best, moved = better if best is None else min(best, better), moved + 1
    if best is not None:
        connection.execute(_SQL["host_raised"], (band_of(best), host_id))
    return moved


def raised(priority: int, how: How, depth: int, moved_by_rules: int) -> int:
    """One place better, but no better than links can make an address that was met like this."""
    best = max(0, priority_of(how, depth) + moved_by_rules - MOST_OTHERS)
    return min(priority, max(best, priority - 1))
