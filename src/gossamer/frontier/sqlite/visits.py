"""How every address ended, with all that is stored of it, for exports: a few hundred at a time, each for itself, so
that a slow reader holds no state of the database open."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing

import msgspec

from gossamer.base.clock import Instant
from gossamer.frontier.codes import HOWS, REASONS
from gossamer.frontier.sqlite.hosts import text_of
from gossamer.store.statements import load
from gossamer.values.link import How
from gossamer.values.outcome import Reason

_SQL = load("gossamer.frontier.sqlite", "visits.sql")
AT_ONCE = 500
_LOWEST = -(1 << 63)


class LastVisit(msgspec.Struct, frozen=True):
    url: str
    how: How
    depth: int
    hops: int
    reason: Reason
    detail: str
    failures: int
    settled_at: Instant
    due_at: Instant | None


def every_visit(connect: Callable[[], sqlite3.Connection]) -> Iterator[LastVisit]:
    """`connect` makes a reader's connection, which is closed after each group."""
    last, is_more = (_LOWEST, _LOWEST), True
    while is_more:
        with closing(connect()) as connection:
            rows = connection.execute(_SQL["next_ends"], (*last, AT_ONCE)).fetchall()
        for host_id, url_id, lane, name, text, how, depth, hops, reason, detail, failures, settled_at, due_at in rows:
            last = (host_id, url_id)
            url = text_of(lane, name, text)
            why = REASONS[reason]
            yield LastVisit(url, HOWS[how], depth, hops, why, detail or "", failures, settled_at, due_at)
        is_more = len(rows) == AT_ONCE
