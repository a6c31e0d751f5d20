"""What is stored of one address, for `why`. Functions on any connection, a reader's too."""

import sqlite3
from collections.abc import Callable

import msgspec

from gossamer.clock import Instant
from gossamer.frontier.hosts import find_host_id, next_id
from gossamer.store.statements import load
from gossamer.values.link import How
from gossamer.values.outcome import Reason
from gossamer.values.url import Url, id_of

_SQL = load("gossamer.frontier")


class Known(msgspec.Struct, frozen=True):
    url: Url
    how: How
    source_id: int | None
    """The id of the address it was first met on; None for seeds."""
    depth: int
    hops: int
    failures: int
    reason: Reason | None
    """How its last visit ended; None: not visited yet."""
    detail: str
    settled_at: Instant | None
    due_at: Instant | None
    is_queued: bool


def known(connection: sqlite3.Connection, url: Url, url_id: Callable[[str], int] = id_of) -> Known | None:
    """None when the address was never let in, or waits in the journal still (a second or so)."""
    host_id = find_host_id(connection, url.host.name)
    number = url_id(url.text)
    while host_id is not None:
        row = connection.execute(_SQL["address_known"], (host_id, number)).fetchone()
        if row is None:
            return None
        if row[0] == url.text:
            return _known_of(url, row[1:])
        number = next_id(number)
    return None


def _known_of(url: Url, row: tuple[object, ...]) -> Known:
    names = ("how", "source_id", "depth", "hops", "failures", "reason", "detail", "settled_at", "due_at", "is_queued")
    facts = dict(zip(names, row, strict=True))
    return msgspec.convert({**facts, "url": (url.text,), "detail": facts["detail"] or ""}, Known, strict=False)
