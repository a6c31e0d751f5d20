"""A new start for what failed: the person gives the same command again because the trouble is mended."""

import sqlite3
from collections.abc import Sequence

from gossamer.frontier.codes import REASON_CODES, REASONS
from gossamer.frontier.hosts import find_host_id, parts_of
from gossamer.frontier.merging import next_sequence
from gossamer.frontier.sieve import Keys
from gossamer.recrawl.retry import TRANSIENT
from gossamer.store import tallies
from gossamer.store.statements import load
from gossamer.values.outcome import Reason
from gossamer.values.url import Url

_SQL = load("gossamer.frontier", "reviving.sql")
MENDABLE = TRANSIENT | {Reason.ROBOTS_UNREACHABLE, Reason.CONTACT, Reason.ADDRESS, Reason.TLS}
"""Ends that a setting, a server or a network may have been mended of since."""


def revive(connection: sqlite3.Connection, seeds: Sequence[Url], keys: Keys) -> int:
    """Queue seeds again that ended in a mendable way, and whatever was given up for want of a robots.txt.

    REQUIRES: no robots entry is held in memory yet. Says how many wait again.
    """
    rows: list[tuple[int, int, int, int]] = []
    for seed in seeds:
        _, name, _ = parts_of(seed.text)
        key = (
            find_host_id(connection, name),
            keys.url_id(seed.text if keys.identity is None else keys.identity(seed.text)),
        )
        rows += [row[:4] for row in connection.execute(_SQL["ended"], key) if REASONS[row[4]] in MENDABLE]
    if tallies.counts(connection).by_reason.get(Reason.ROBOTS_UNREACHABLE):
        given_up = REASON_CODES[Reason.ROBOTS_UNREACHABLE]
        rows += connection.execute(_SQL["given_up"], (given_up,)).fetchall()
    revived = dict.fromkeys(rows)
    first = next_sequence(connection, len(revived))
    for place, (host_id, number, lane, depth) in enumerate(revived):
        connection.execute(_SQL["robots_forgotten"], (host_id, lane))
        connection.execute(_SQL["queued_again"], (host_id, lane, priority_again(depth), first + place, number))
        connection.execute(_SQL["end_revived"], (host_id, number))
        connection.execute(_SQL["host_got_one"], (1 << lane, host_id))
    tallies.add(connection, {tallies.QUEUED: len(revived), tallies.SETTLED: -len(revived)})
    return len(revived)


def priority_again(depth: int) -> int:
    """Before the others of its depth."""
    return max(0, 4 * depth)
