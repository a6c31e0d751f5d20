"""Looks over the whole catalogue, for reports: slow where the catalogue is large, and never asked by a crawl."""

import sqlite3
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

import msgspec

from gossamer.base.clock import Instant
from gossamer.store.statements import load
from gossamer.values.capture import Place
from gossamer.values.url import Host, Url

_SQL = load("gossamer.store.sqlite", "surveys.sql")


class Moment(msgspec.Struct, frozen=True):
    """A host was visited: when the visit began, what for, and where the answer lies."""

    at: Instant
    url: Url
    place: Place


def totals(connection: sqlite3.Connection) -> tuple[int, int]:
    """How many pages views hold, and the bytes of their bodies as received."""
    pages, size = connection.execute(_SQL["totals"]).fetchone()
    return int(pages), int(size)


def moments(connection: sqlite3.Connection, host: Host | None = None) -> Iterator[tuple[str, list[Moment]]]:
    """Each host with its visits that brought an answer, in the order they were made; or that one host."""
    found = connection.execute(_SQL["moments"]) if host is None else connection.execute(_SQL["moments_of"], (host.id,))
    for _, rows in groupby(found, key=itemgetter(0)):
        by_name: dict[str, list[Moment]] = {}  # two names only where ids collide
        for _, at, text, volume, number, offset, length in rows:
            url = Url(text)
            by_name.setdefault(url.host.name, []).append(Moment(at, url, Place(volume, number, offset, length)))
        for name, visits in by_name.items():
            if host is None or name == host.name:
                yield name, sorted(visits, key=lambda one: one.at)
