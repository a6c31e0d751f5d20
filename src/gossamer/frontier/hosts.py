"""Hosts and their lanes. A lane is one origin of a host: its http pages, or its https pages."""

import sqlite3

from gossamer.store import tallies
from gossamer.store.statements import load
from gossamer.values.url import Host

_SQL = load("gossamer.frontier")

SCHEMES = ("http", "https")
LANES_OF = ((), (0,), (1,), (0, 1))
"""By the bits of `hosts.lanes`."""


def lane_of(origin: str) -> int:
    return int(origin.startswith("https:"))


def next_id(number: int) -> int:
    """The id after this one, among signed 64-bit integers."""
    return number + 1 if number < (1 << 63) - 1 else -(1 << 63)


def host_id_of(connection: sqlite3.Connection, name: str) -> int:
    """The host's id; a host met for the first time is entered. The name is compared: hashes may collide."""
    number = Host(name).id
    while (row := connection.execute(_SQL["host_name"], (number,)).fetchone()) and row[0] != name:
        number = next_id(number)
    if row is None:
        connection.execute(_SQL["host_met"], (number, name))
        tallies.add(connection, {tallies.HOSTS: 1})
    return number


def find_host_id(connection: sqlite3.Connection, name: str) -> int | None:
    """The same for a reader: None when the host is not known."""
    number = Host(name).id
    while (row := connection.execute(_SQL["host_name"], (number,)).fetchone()) and row[0] != name:
        number = next_id(number)
    return number if row else None


def name_of(connection: sqlite3.Connection, host_id: int) -> str:
    """REQUIRES: the host is known."""
    (name,) = connection.execute(_SQL["host_name"], (host_id,)).fetchone()
    return str(name)
