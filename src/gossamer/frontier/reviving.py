"""A new start for what failed: the person gives the same command again because the trouble is mended."""

import sqlite3
from collections.abc import Sequence

from gossamer.frontier.hosts import host_id_of, lane_of
from gossamer.recrawl.retry import TRANSIENT
from gossamer.store import tallies
from gossamer.store.statements import load
from gossamer.values.outcome import Reason
from gossamer.values.url import Url

_SQL = load("gossamer.frontier", "reviving.sql")
MENDABLE = TRANSIENT | {Reason.ROBOTS_UNREACHABLE, Reason.CONTACT, Reason.ADDRESS, Reason.TLS}
"""Ends that a setting, a server or a network may have been mended of since."""

_Row = tuple[int, int, str, int, str]


def revive(connection: sqlite3.Connection, seeds: Sequence[Url]) -> int:
    """Queue seeds again that ended in a mendable way, and whatever was given up for want of a robots.txt.

    REQUIRES: no robots entry is held in memory yet. Says how many wait again.
    """
    rows: list[_Row] = []
    for seed in seeds:
        key = (host_id_of(connection, seed.host.name), seed.id, seed.text)
        rows += [row for row in connection.execute(_SQL["ended"], key) if row[4] in MENDABLE]
    if tallies.counts(connection).by_reason.get(Reason.ROBOTS_UNREACHABLE):
        rows += connection.execute(_SQL["given_up"]).fetchall()
    revived = {(host_id, number): (url, depth) for host_id, number, url, depth, _ in rows}
    for (host_id, number), (url, depth) in revived.items():
        lane = lane_of(url)
        connection.execute(_SQL["robots_forgotten"], (host_id, lane))
        connection.execute(_SQL["queued_first"], (host_id, lane, depth, number))
        connection.execute(_SQL["address_revived"], (host_id, number))
        connection.execute(_SQL["host_got_one"], (host_id,))
    tallies.add(connection, {tallies.QUEUED: len(revived), tallies.SETTLED: -len(revived)})
    return len(revived)
