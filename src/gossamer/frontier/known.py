"""What is stored of hosts and URLs, for every reader."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

import msgspec

from gossamer.base.clock import Instant
from gossamer.frontier.api import KnownState
from gossamer.frontier.rows import HELD, HOWS, REASONS, next_id, parts_of, text_of
from gossamer.store.statements import State, load
from gossamer.values.link import Offer
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots
from gossamer.values.url import Url, id_of

_SQL = load("gossamer.frontier", "known.sql")
_ROBOTS = msgspec.msgpack.Decoder(Robots)

_Row = tuple[
    int,
    str,
    int,
    int | None,
    int | None,
    int,
    int,
    int | None,
    int | None,
    str | None,
    Instant | None,
    Instant | None,
]
"""A row of `address`."""


def known(
    connection: State,
    url: Url,
    url_id: Callable[[str], int] = id_of,
    identity: Callable[[str], str] | None = None,
) -> KnownState | None:
    """None when the address was never let in, or waits in the journal still (a second or so; longer in a large
    crawl that has much else to do)."""
    found = _found(connection, url, url_id, identity)
    return None if found is None else _known_of(connection, *found)


def last_end(connection: State, url: Url, identity: Callable[[str], str] | None = None) -> tuple[bool, Reason | None]:
    """Whether the address is known, and how its last visit ended. Cheaper than all of `known`: for many at once."""
    found = _found(connection, url, id_of, identity)
    return found is not None, None if found is None or found[3][8] is None else REASONS[found[3][8]]


def key_of(
    connection: State,
    url: Url,
    url_id: Callable[[str], int] = id_of,
    identity: Callable[[str], str] | None = None,
) -> tuple[int, int] | None:
    """The host id and id of a known address."""
    found = _found(connection, url, url_id, identity)
    return None if found is None else (found[1], found[2])


def met_on(
    connection: State,
    offers: Iterable[Offer],
    pages: Mapping[int, Url],
    url_id: Callable[[str], int] = id_of,
    identity: Callable[[str], str] | None = None,
) -> list[tuple[int | None, int | None, list[Offer]]]:
    """Offers by the page they were met on: its host id and id, where it is among `pages` (by id) and known."""
    found = []
    for source_id, some in groupby(offers, key=lambda offer: offer.source_id):
        page = pages.get(source_id) if source_id is not None else None
        key = key_of(connection, page, url_id, identity) if page is not None else None
        found.append((*(key or (None, None)), list(some)))
    return found


def depths_of(connection: State, urls: Sequence[Url], identity: Callable[[str], str] | None = None) -> list[int | None]:
    """How many links each is away from its seed; None: it is not known."""
    found = [_found(connection, url, id_of, identity) for url in urls]
    return [None if one is None else one[3][5] for one in found]


def _found(
    connection: State, url: Url, url_id: Callable[[str], int], identity: Callable[[str], str] | None
) -> tuple[Url, int, int, _Row] | None:
    """An address as it was met first, its key and its row. One of a pair with the same hash has the next free id."""
    _, name, _ = parts_of(url.text)
    host_id = find_host_id(connection, name)
    wanted = url.text if identity is None else identity(url.text)
    number = url_id(wanted)
    while host_id is not None:
        row: _Row | None = connection.execute(_SQL["address"], (host_id, number)).fetchone()
        if row is None:
            return None
        text = text_of(row[0], name, row[1])
        if (text if identity is None else identity(text)) == wanted:
            return Url(text), host_id, number, row
        number = next_id(number)
    return None


def _known_of(connection: State, url: Url, host_id: int, number: int, row: _Row) -> KnownState:
    _, _, how, source_host_id, source_id, depth, hops, failures, reason, detail, settled_at, due_at = row
    place = connection.execute(_SQL["place"], (host_id, number)).fetchone()
    lane, priority, later_at = place if place is not None else (None, None, None)
    return KnownState(
        url=url,
        how=HOWS[how],
        source=_source(connection, source_host_id or host_id, source_id),
        source_id=source_id,
        depth=depth,
        hops=hops,
        failures=failures or 0,
        reason=None if reason is None else REASONS[reason],
        detail=detail or "",
        settled_at=settled_at,
        due_at=due_at,
        is_queued=lane is not None and lane < HELD,
        is_held=lane is not None and lane >= HELD,
        priority=priority,
        later_at=later_at or None,
    )


def _source(connection: State, host_id: int, number: int | None) -> Url | None:
    if number is None:
        return None
    row = connection.execute(_SQL["address"], (host_id, number)).fetchone()
    return Url(text_of(row[0], name_of(connection, host_id), row[1])) if row else None


def find_host_id(connection: State, name: str) -> int | None:
    """The same for a reader: None when the host is not known."""
    row = connection.execute(_SQL["host_id"], (name,)).fetchone()
    return int(row[0]) if row else None


def name_of(connection: State, host_id: int) -> str:
    """REQUIRES: the host is known."""
    (name,) = connection.execute(_SQL["host_name"], (host_id,)).fetchone()
    return str(name)


def robots_entry(connection: State, host_id: int, lane: int) -> Robots | None:
    """What the robots.txt of an origin said; None: it is not known."""
    row = connection.execute(_SQL["robots_entry"], (host_id, lane)).fetchone()
    return _ROBOTS.decode(row[0]) if row else None
