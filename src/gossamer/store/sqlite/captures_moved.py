"""The catalogue while volumes are rewritten: what lies in one, and the one step that puts another in its place."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

import msgspec

from gossamer.rules.retention import RetainedVersion
from gossamer.store import tallies
from gossamer.store.sqlite import damage
from gossamer.store.statements import load
from gossamer.values.url import Host, Url

_SQL = load("gossamer.store.sqlite", "captures_moved.sql")


class Lying(msgspec.Struct, frozen=True):
    """A capture, and where it lies."""

    version: RetainedVersion
    volume: str
    offset: int
    length: int


class Laid(msgspec.Struct, frozen=True):
    """A catalogued record of a volume."""

    number: int
    offset: int
    length: int
    url: str


class MovedRecord(msgspec.Struct, frozen=True):
    """A record that goes on in another volume."""

    old_number: int
    number: int
    offset: int


def by_address(connection: sqlite3.Connection) -> Iterator[tuple[str, list[Lying]]]:
    """Each address with its captures, the oldest first."""
    for url, rows in groupby(connection.execute(_SQL["by_address"]), key=itemgetter(0)):
        yield (
            url,
            [
                Lying(RetainedVersion(at, status, bool(is_page), refers_at), volume, offset, length)
                for _, at, status, is_page, refers_at, volume, offset, length in rows
            ],
        )


def laid(connection: sqlite3.Connection, volume: str) -> list[Laid]:
    return [Laid(*row) for row in connection.execute(_SQL["laid"], (volume,))]


def urls_at(connection: sqlite3.Connection, host: Host) -> list[Url]:
    """The addresses of a host that anything was kept of."""
    found = [Url(url) for (url,) in connection.execute(_SQL["urls_of_host"], (host.id,))]
    return [url for url in found if url.host == host]  # ids may collide


def hosts(connection: sqlite3.Connection) -> list[Host]:
    """Those that anything was kept of."""
    return [Url(url).host for (url,) in connection.execute(_SQL["hosts"])]


def copies_of(connection: sqlite3.Connection, hosts: Iterable[Host], is_unwanted: Callable[[str], bool]) -> list[str]:
    """Other addresses under which the bytes of an unwanted page are kept too. Looks at every page."""
    going = {
        digest
        for host in hosts
        for url, digest in connection.execute(_SQL["pages_of_host"], (host.id,))
        if is_unwanted(url)
    }
    if not going:
        return []
    rows = connection.execute(_SQL["page_digests"])
    return sorted({url for url, digest in rows if digest in going and not is_unwanted(url)})


def replaced(connection: sqlite3.Connection, old: str, new: str, moved: Sequence[MovedRecord]) -> int:
    """Volume `new` takes the place of `old`, inside the caller's transaction; captures that have not moved are gone.
    Says how many those were."""
    row = connection.execute(_SQL["volume_id"], (old,)).fetchone()
    old_id = row[0] if row is not None else None  # a volume of which the catalogue knows nothing
    (new_id,) = connection.execute(_SQL["volume_added"], (new,)).fetchone()
    rows = [(new_id, one.number, one.offset, old_id, one.old_number) for one in moved]
    connection.executemany(_SQL["moved"], rows)
    damage.moved(connection, old, new, [(one.old_number, one.number) for one in moved])
    pages = connection.execute(_SQL["left_pages"], (old_id,)).fetchall()
    dropped = connection.execute(_SQL["left_dropped"], (old_id,)).rowcount
    dropped_pages = [page for page in pages if connection.execute(_SQL["is_held"], page).fetchone() is None]
    withdrawn = connection.executemany(_SQL["withdrawn_dropped"], dropped_pages).rowcount if dropped_pages else 0
    connection.execute(_SQL["volume_dropped"], (old_id,))
    tallies.add(connection, {tallies.CAPTURES: -dropped, tallies.PAGES: withdrawn - len(dropped_pages)})
    return dropped


def empty_volumes(connection: sqlite3.Connection) -> list[str]:
    return [name for _, name in connection.execute(_SQL["empty"])]


def drop_volume(connection: sqlite3.Connection, name: str) -> None:
    """REQUIRES: no capture lies in it."""
    row = connection.execute(_SQL["volume_id"], (name,)).fetchone()
    if row is not None:
        connection.execute(_SQL["volume_dropped"], row)
