"""The sieve: offers are journalled as they come and merged in bulk, sorted.

Addresses are keyed by hash, so each new one falls on a random page of a large tree. Inserted one by one they would
rewrite the tree again and again; sorted and merged by the thousand they walk through it once. (Mercator and BUbiNG
do the same with files.)
"""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from gossamer.frontier.hosts import host_id_of, next_id
from gossamer.store import tallies
from gossamer.store.statements import load
from gossamer.values.link import Offer

_SQL = load("gossamer.frontier")
_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(list[tuple[tuple[str], str, int | None, int, int, int, tuple[str] | None]])

MOST_IN_ROW = 1 << 20
"""Offers in one row of the journal; a sequence number is the row's number and the place in it."""

_Row = tuple[int, int, int, int, str, str, int | None, int, int]


@dataclass(frozen=True, slots=True)
class Sieve:
    """When the journal is merged, and how much is remembered in front of it."""

    journal_most: int = 20_000
    """Offers that may wait; with so many, the next `take` merges them."""
    merge_every_s: float = 1.0
    """While `take` finds less than was asked for, merge this often; at once when there is nothing else to do."""
    seen_slots: int = 1 << 20
    """Addresses remembered in memory, eight bytes each; a power of two."""


def journal(connection: sqlite3.Connection, offers: Sequence[Offer]) -> None:
    for start in range(0, len(offers), MOST_IN_ROW):
        part = offers[start : start + MOST_IN_ROW]
        connection.execute(_SQL["journalled"], (len(part), _ENCODER.encode(part)))


def journal_amount(connection: sqlite3.Connection) -> int:
    (amount,) = connection.execute(_SQL["journal_amount"]).fetchone()
    return int(amount)


def merge(connection: sqlite3.Connection, url_id: Callable[[str], int]) -> int:
    """Empty the journal into addresses and queues, inside the caller's transaction; says how many were new."""
    connection.execute(_SQL["incoming_table"])
    connection.executemany(_SQL["incoming"], _laid_out(connection, url_id))
    connection.execute(_SQL["known_dropped"])
    (amount,) = connection.execute(_SQL["incoming_amount"]).fetchone()
    if connection.execute(_SQL["entered"]).rowcount != amount:
        _enter_collided(connection)
    connection.execute(_SQL["queued"])
    got = connection.execute(_SQL["incoming_by_host"]).fetchall()
    connection.executemany(_SQL["host_got"], [(many, lanes, host_id) for host_id, many, lanes in got])
    new: int = sum(many for _, many, _ in got)
    tallies.add(connection, {tallies.KNOWN: new, tallies.QUEUED: new})
    connection.execute(_SQL["incoming_emptied"])
    connection.execute(_SQL["journal_emptied"])
    return new


def _laid_out(connection: sqlite3.Connection, url_id: Callable[[str], int]) -> list[_Row]:
    """What waits in the journal, each address once as it was met nearest to its seed, sorted by key."""
    nearest: dict[str, tuple[int, str, int | None, int, int]] = {}
    for row_id, offers in connection.execute(_SQL["journal_rows"]):
        first = row_id * MOST_IN_ROW
        for place, ((text,), how, source_id, depth, hops, _, _) in enumerate(_DECODER.decode(offers), first):
            earlier = nearest.get(text)
            if earlier is None:
                nearest[text] = (place, how, source_id, depth, hops)
            elif depth < earlier[3]:
                nearest[text] = (earlier[0], how, source_id, depth, hops)
    host_ids: dict[str, int] = {}
    rows: list[_Row] = []
    for text, (sequence, how, source_id, depth, hops) in nearest.items():
        scheme, _, name, _ = text.split("/", 3)
        host_id = host_ids.get(name)
        if host_id is None:
            host_id = host_ids[name] = host_id_of(connection, name)
        rows.append((host_id, url_id(text), scheme == "https:", sequence, text, how, source_id, depth, hops))
    rows.sort()
    return rows


def _enter_collided(connection: sqlite3.Connection) -> None:
    """Addresses whose id another has: each takes the next free one, or is found to have done so before."""
    for row_id, host_id, taken, text in connection.execute(_SQL["collided"]).fetchall():
        number = next_id(taken)
        while (row := connection.execute(_SQL["address_at"], (host_id, number)).fetchone()) and row[0] != text:
            number = next_id(number)
        if row is None:
            connection.execute(_SQL["incoming_renumbered"], (number, row_id))
            connection.execute(_SQL["entered_one"], (row_id,))
        else:
            connection.execute(_SQL["incoming_removed"], (row_id,))
