"""The merge itself: sorted addresses into the table of addresses and the queue, in SQL, inside one transaction."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from gossamer.frontier.priority import band_of
from gossamer.frontier.sqlite.hosts import name_of, next_id, text_of
from gossamer.frontier.sqlite.links_in import raise_linked
from gossamer.store import tallies
from gossamer.store.statements import load

_SQL = load("gossamer.frontier.sqlite", "sieve.sql")
BUCKET_BITS = 10
"""A bucket is 2^10 host ids in a row."""


class Merged(NamedTuple):
    new: int
    held: list[tuple[int, int, str]]
    """Those among them that wait in quarantine: host id, lane, text."""


def merge_sorted(
    connection: sqlite3.Connection,
    incoming: Sequence[tuple[object, ...]],
    links: Mapping[int, int],
    identity: Callable[[str], str] | None,
    leased: Collection[int] = (),
) -> Merged:
    """Enter addresses, sorted by host id and id.

    `links` are counters of the other hosts that link to a host. On a hit texts are compared, by `identity` if given.
    `leased` are the sequence numbers of visits that are out.
    """
    connection.execute(_SQL["incoming_table"])
    connection.executemany(_SQL["incoming"], incoming)
    if links:
        raise_linked(connection, leased)
    connection.execute(_SQL["known_dropped"])
    (amount,) = connection.execute(_SQL["incoming_amount"]).fetchone()
    if connection.execute(_SQL["entered"]).rowcount != amount:
        _enter_collided(connection, identity)
    sequence = next_sequence(connection, len(incoming))
    connection.execute(_SQL["queued"], (sequence,))
    got = connection.execute(_SQL["incoming_by_host"]).fetchall()
    rows = [(due, held, lanes, band_of(best), host_id) for host_id, due, held, lanes, best in got]
    connection.executemany(_SQL["host_got"], rows)
    connection.executemany(_SQL["host_linked"], [(bits, host_id) for host_id, bits in links.items()])
    due = sum(row[0] for row in rows)
    held = sum(row[1] for row in rows)
    known = Counter[int]()
    for host_id, new, kept, _, _ in got:
        known[host_id >> BUCKET_BITS] += new + kept
    connection.executemany(_SQL["bucket_known"], list(known.items()))
    tallies.add(connection, {tallies.KNOWN: due + held, tallies.QUEUED: due, tallies.QUARANTINED: held})
    kept_back = connection.execute(_SQL["incoming_held"]).fetchall() if held else []
    connection.execute(_SQL["incoming_emptied"])
    return Merged(due + held, kept_back)


def next_sequence(connection: sqlite3.Connection, amount: int) -> int:
    """The first of so many numbers that no row of the queue has had."""
    (first,) = connection.execute(_SQL["meta"], ("sequence",)).fetchone()
    connection.execute(_SQL["meta_set"], ("sequence", first + amount))
    return int(first)


def _enter_collided(connection: sqlite3.Connection, identity: Callable[[str], str] | None) -> None:
    """Addresses whose id another text has: the same address spelt otherwise is known. A different one takes the next
    free id, or is found to have done so before."""
    for row_id, host_id, taken, lane, rest in connection.execute(_SQL["collided"]).fetchall():
        name = name_of(connection, host_id)
        wanted = _identity(identity, lane, name, rest)
        number = taken
        while (row := connection.execute(_SQL["address_at"], (host_id, number)).fetchone()) and wanted != _identity(
            identity, row[0], name, row[1]
        ):
            number = next_id(number)
        if row is None:
            connection.execute(_SQL["incoming_renumbered"], (number, row_id))
            connection.execute(_SQL["entered_one"], (row_id,))
        else:
            connection.execute(_SQL["incoming_removed"], (row_id,))


def _identity(identity: Callable[[str], str] | None, lane: int, name: str, rest: str) -> str:
    text = text_of(lane, name, rest)
    return text if identity is None else identity(text)
