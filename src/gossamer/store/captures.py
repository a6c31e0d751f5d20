"""The catalogue: which capture is where in the archive, and which records are damaged."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec

from gossamer.base.clock import Instant
from gossamer.rules.retention import RetainedVersion
from gossamer.store import tallies
from gossamer.store.statements import State, load
from gossamer.values.capture import Kept, Place
from gossamer.values.url import Host, Url

_SQL = load("gossamer.store", "captures.sql")
_DAMAGE = load("gossamer.store", "damage.sql")
Key = tuple[int, int, str]
"""Of a page in the catalogue: host id, URL id, URL."""
FIRST: Key = (-(1 << 63), -(1 << 63), "")
Row = tuple[Any, ...]


class PageKept(msgspec.Struct, frozen=True):
    """A page that is in the archive and can be found: its newest version that counts."""

    key: Key
    fetched_at: Instant
    media_type: str
    size: int

    @property
    def url(self) -> str:
        return self.key[2]


def insert(connection: State, kept: Sequence[Kept], withdrawing: Sequence[Kept] = ()) -> int:
    """Add captures, inside the caller's transaction; returns how many were new. Adding one again changes nothing.

    `withdrawing`: those of them that remove their page from the views.
    """
    if not kept:
        return 0
    volume_ids = {name: _volume_id(connection, name) for name in {one.place.volume for one in kept}}
    new_pages = _new_pages(connection, kept)
    rows = [row_of(one, volume_ids[one.place.volume]) for one in kept]
    fresh = connection.executemany(_SQL["insert"], rows).rowcount
    new_pages += _findable(connection, kept, withdrawing)
    tallies.add(connection, {tallies.CAPTURES: fresh, tallies.PAGES: new_pages})
    return fresh


def read_again(connection: State, kept: Sequence[Kept], withdrawing: Sequence[Kept] = ()) -> None:
    """Update captures that could not be read before, inside the caller's transaction."""
    new_pages = _new_pages(connection, kept)
    rows = [(one.media_type, one.is_page, one.charset, one.charset_from, *moment_key(one)) for one in kept]
    connection.executemany(_SQL["read_again"], rows)
    tallies.add(connection, {tallies.PAGES: new_pages + _findable(connection, kept, withdrawing)})


def _new_pages(connection: State, kept: Iterable[Kept]) -> int:
    return len({one.url.text for one in kept if one.is_page and not _is_held(connection, one.url)})


def unread(connection: State) -> list[Kept]:
    """Captures whose reading failed, in the order of the archive."""
    return list(map(kept_of, connection.execute(_SQL["unread"])))


def withdraw_vanished(connection: State) -> None:
    """In a catalogue rebuilt from the archive: pages that are gone no longer count."""
    tallies.add(connection, {tallies.PAGES: -max(0, connection.execute(_SQL["vanished"]).rowcount)})


def withdraw(connection: State, rows: Sequence[tuple[int, int, str, Instant]]) -> None:
    """Pages that could not be found where they come from: host id, URL id, URL, and since when."""
    withdrawn = connection.executemany(_SQL["withdrawn"], rows).rowcount
    tallies.add(connection, {tallies.PAGES: -max(0, withdrawn)})


def latest(connection: State, url: Url) -> Kept | None:
    return next(_versions(connection, url), None)


def versions(connection: State, url: Url) -> list[Kept]:
    """Newest first; not captures that only refer to the body of another."""
    return list(_versions(connection, url))


def in_order(connection: State) -> Iterator[Kept]:
    """Every capture by volume name and number."""
    return map(kept_of, connection.execute(_SQL["in_order"]))


def in_volume(connection: State, volume: str) -> Iterator[Kept]:
    """By number."""
    return map(kept_of, connection.execute(_SQL["in_volume"], (volume,)))


def places_from(connection: State, volume: str, number: int, at_most: int) -> list[Place]:
    """Of the captures of a volume from this number on."""
    rows = connection.execute(_SQL["places_from"], (volume, number, at_most))
    return [Place(volume, *row) for row in rows]


def kept_from(connection: State, volume: str, number: int, at_most: int) -> list[Kept]:
    """Captures of a volume from this number on."""
    return list(map(kept_of, connection.execute(_SQL["kept_from"], (volume, number, at_most))))


def every_capture(connect: Callable[[], State], at_once: int = 500) -> Iterator[Kept]:
    """In the order of the archive, in groups: `connect` makes a reader's connection, closed after each group."""
    with closing(connect()) as connection:
        names = volume_names(connection)
    for name in names:
        number: int | None = 0
        while number is not None:
            with closing(connect()) as connection:
                found = kept_from(connection, name, number, at_once)
            yield from found
            number = found[-1].place.number + 1 if len(found) == at_once else None


def is_known(connection: State, url: Url, fetched_at: Instant) -> bool:
    """Whether there is a capture of this URL and moment."""
    row = connection.execute(_SQL["is_known"], (url.host.id, url.id, fetched_at, url.text)).fetchone()
    return row is not None


def volume_names(connection: State) -> list[str]:
    """Volumes with catalogued captures, in order."""
    return [name for (name,) in connection.execute(_SQL["volume_names"])]


def at_place(connection: State, volume: str, number: int) -> Kept | None:
    row = connection.execute(_SQL["at_place"], (volume, number)).fetchone()
    return kept_of(row) if row is not None else None


def end_of(connection: State, volume: str) -> tuple[int, int] | None:
    """How many records and bytes of the volume the catalogue covers; None: none."""
    row = connection.execute(_SQL["last_in"], (volume,)).fetchone()
    if row is None:
        return None
    number, offset, length = row
    return number + 1, offset + length


def pages(connection: State) -> Iterator[Kept]:
    """The newest capture of each page that the views hold."""
    rows = map(kept_of, connection.execute(_SQL["pages"]))
    for _, same_id in groupby(rows, key=lambda kept: (kept.url.host.name, kept.url.id)):
        newest = {kept.url.text: kept for kept in same_id}  # two texts only where ids collide
        yield from newest.values()


def pages_from(connection: State, after: Key, host: Host | None, most: int) -> list[PageKept]:
    """Pages that can be found, by key, after `after`; of one host, or of all."""
    host_id = None if host is None else host.id
    rows = connection.execute(_SQL["pages_from"], (*after, host_id, most))
    return [PageKept((host_id, url_id, url), *rest) for host_id, url_id, url, *rest in rows]


def _findable(connection: State, kept: Sequence[Kept], withdrawing: Sequence[Kept]) -> int:
    """How many pages can be found again, less those that no longer can."""
    restored = connection.executemany(_SQL["restored"], [moment_key(one) for one in kept if one.is_page]).rowcount
    withdrawn = connection.executemany(_SQL["withdrawn"], list(map(moment_key, withdrawing))).rowcount
    return max(0, restored) - max(0, withdrawn)


def moment_key(kept: Kept) -> tuple[int, int, str, Instant]:
    return kept.url.host.id, kept.url.id, kept.url.text, kept.fetched_at


def _versions(connection: State, url: Url) -> Iterator[Kept]:
    return map(kept_of, connection.execute(_SQL["versions"], (url.host.id, url.id, url.text)))


def _is_held(connection: State, url: Url) -> bool:
    return connection.execute(_SQL["is_held"], (url.host.id, url.id, url.text)).fetchone() is not None


def _volume_id(connection: State, name: str) -> int:
    (number,) = connection.execute(_SQL["volume_named"], (name,)).fetchone()
    return int(number)


def row_of(kept: Kept, volume_id: int) -> tuple[object, ...]:
    """In the order of the columns of `captures`, in either database."""
    url, place = kept.url, kept.place
    where = (place.number, place.offset, place.length)
    what = (kept.status, kept.media_type, kept.digest, kept.size, kept.is_page, kept.refers_at)
    read = (kept.charset, kept.charset_from, kept.is_unread)
    return (url.host.id, url.id, kept.fetched_at, kept.capture_id, url.text, volume_id, *where, *what, *read)


def kept_of(row: Row) -> Kept:
    """The inverse of `row_of`, the volume by its name."""
    capture_id, url, fetched_at, volume, number, offset, length, *rest = row
    *what, is_page, refers_at, charset, charset_from, is_unread = rest
    what += bool(is_page), refers_at, charset, charset_from, bool(is_unread)
    return Kept(capture_id, Url(url), fetched_at, Place(volume, number, offset, length), *what)


# Queries over the whole catalogue, for reports: slow where the catalogue is large, and never used by a crawl.


class CapturedAt(msgspec.Struct, frozen=True):
    """A visit to a host: when it began, its URL, and where the response is."""

    at: Instant
    url: Url
    place: Place


def totals(connection: State) -> tuple[int, int]:
    """How many pages the views hold, and the bytes of their bodies as received."""
    pages, size = connection.execute(_SQL["totals"]).fetchone()
    return int(pages), int(size)


def moments(connection: State, host: Host | None = None) -> Iterator[tuple[str, list[CapturedAt]]]:
    """Each host with its visits that brought a response, oldest first; or that one host."""
    found = connection.execute(_SQL["moments"]) if host is None else connection.execute(_SQL["moments_of"], (host.id,))
    for _, rows in groupby(found, key=itemgetter(0)):
        by_name: dict[str, list[CapturedAt]] = {}  # two names only where ids collide
        for _, at, text, volume, number, offset, length in rows:
            url = Url(text)
            by_name.setdefault(url.host.name, []).append(CapturedAt(at, url, Place(volume, number, offset, length)))
        for name, visits in by_name.items():
            if host is None or name == host.name:
                yield name, sorted(visits, key=lambda one: one.at)


class StoredVersion(msgspec.Struct, frozen=True):
    """A version of a URL, and the place of its record."""

    version: RetainedVersion
    volume: str
    offset: int
    length: int


class CataloguedRecord(msgspec.Struct, frozen=True):
    """The place and URL of a record, as the catalogue has them."""

    number: int
    offset: int
    length: int
    url: str


class MovedRecord(msgspec.Struct, frozen=True):
    """A record that was copied to another volume."""

    old_number: int
    number: int
    offset: int


def by_url(connection: State) -> Iterator[tuple[str, list[StoredVersion]]]:
    """Each URL with its captures, oldest first."""
    for url, rows in groupby(connection.execute(_SQL["by_url"]), key=itemgetter(0)):
        yield (
            url,
            [
                StoredVersion(RetainedVersion(at, status, bool(is_page), refers_at), volume, offset, length)
                for _, at, status, is_page, refers_at, volume, offset, length in rows
            ],
        )


def records_in(connection: State, volume: str) -> list[CataloguedRecord]:
    return [CataloguedRecord(*row) for row in connection.execute(_SQL["records_in"], (volume,))]


def urls_at(connection: State, host: Host) -> list[Url]:
    """The URLs of a host that have captures."""
    found = [Url(url) for (url,) in connection.execute(_SQL["urls_of_host"], (host.id,))]
    return [url for url in found if url.host == host]  # ids may collide


def hosts(connection: State) -> list[Host]:
    """Those that have captures."""
    return [Url(url).host for (url,) in connection.execute(_SQL["hosts"])]


def copies_of(connection: State, hosts: Iterable[Host], is_unwanted: Callable[[str], bool]) -> list[str]:
    """Other URLs with the same bytes as an unwanted page. Searches all pages."""
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


def replaced(connection: State, old: str, new: str, moved: Sequence[MovedRecord]) -> int:
    """Replace volume `old` by `new`, inside the caller's transaction; captures that have not moved are removed. Returns
    how many those were."""
    row = connection.execute(_SQL["volume_id"], (old,)).fetchone()
    old_id = row[0] if row is not None else None  # a volume of which the catalogue knows nothing
    (new_id,) = connection.execute(_SQL["volume_added"], (new,)).fetchone()
    rows = [(new_id, one.number, one.offset, old_id, one.old_number) for one in moved]
    connection.executemany(_SQL["moved"], rows)
    _move_marks(connection, old, new, moved)
    pages = connection.execute(_SQL["left_pages"], (old_id,)).fetchall()
    dropped = connection.execute(_SQL["left_dropped"], (old_id,)).rowcount
    dropped_pages = [page for page in pages if connection.execute(_SQL["is_held"], page).fetchone() is None]
    withdrawn = connection.executemany(_SQL["withdrawn_dropped"], dropped_pages).rowcount if dropped_pages else 0
    connection.execute(_SQL["volume_dropped"], (old_id,))
    tallies.add(connection, {tallies.CAPTURES: -dropped, tallies.PAGES: withdrawn - len(dropped_pages)})
    return dropped


def empty_volumes(connection: State) -> list[str]:
    return [name for _, name in connection.execute(_SQL["empty"])]


def drop_volume(connection: State, name: str) -> None:
    """REQUIRES: it has no captures."""
    row = connection.execute(_SQL["volume_id"], (name,)).fetchone()
    if row is not None:
        connection.execute(_SQL["volume_dropped"], row)


# Marks on damaged records, which `gossamer verify` leaves.

MarkKey = tuple[str, int]
"""A volume's name and a record's number in it."""


class DamageMark(msgspec.Struct, frozen=True):
    volume: str
    number: int
    capture_id: int | None
    why: str

    @property
    def key(self) -> MarkKey:
        return self.volume, self.number


class MarkCounts(msgspec.Struct, frozen=True):
    marked: int = 0
    open: int = 0
    """Those that no user has acknowledged."""


def replace_marks(connection: State, volumes: Iterable[str], marks: Sequence[DamageMark], now: Instant) -> None:
    """Mark the damaged records of these volumes. Other marks there are removed: those records are whole again."""
    connection.executemany(_DAMAGE["clear"], list(_marked(connection, volumes) - {mark.key for mark in marks}))
    add_marks(connection, marks, now)


def unmarked(connection: State, marks: Sequence[DamageMark]) -> set[MarkKey]:
    """Those that are not in the state yet."""
    return {mark.key for mark in marks} - _marked(connection, {mark.volume for mark in marks})


def _marked(connection: State, volumes: Iterable[str]) -> set[MarkKey]:
    return {(name, number) for name in volumes for (number,) in connection.execute(_DAMAGE["in_volume"], (name,))}


def add_marks(connection: State, marks: Iterable[DamageMark], now: Instant) -> None:
    rows = [(mark.volume, mark.number, mark.capture_id, mark.why, now) for mark in marks]
    connection.executemany(_DAMAGE["mark"], rows)


def acknowledge_marks(connection: State, volumes: Iterable[str], now: Instant) -> None:
    connection.executemany(_DAMAGE["acknowledge"], [(now, volume) for volume in volumes])


def acknowledged_marks(connection: State) -> set[MarkKey]:
    return set(connection.execute(_DAMAGE["acknowledged"]))


def mark_counts(connection: State) -> MarkCounts:
    return MarkCounts(*connection.execute(_DAMAGE["counts"]).fetchone())


def damage_of(connection: State, capture_id: int) -> str:
    """Why the record of a capture cannot be read; empty: it is not marked."""
    row = connection.execute(_DAMAGE["of_capture"], (capture_id,)).fetchone()
    return str(row[0]) if row is not None else ""


def _move_marks(connection: State, old: str, new: str, moved: Iterable[MovedRecord]) -> None:
    marked = {number for _, number in _marked(connection, [old])}
    rows = [(new, one.number, old, one.old_number) for one in moved if one.old_number in marked]
    connection.executemany(_DAMAGE["moved"], rows)
    connection.execute(_DAMAGE["volume_cleared"], (old,))
