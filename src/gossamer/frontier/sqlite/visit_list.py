"""The visits that ended, the newest or the oldest first, from any position on: for lists that people page through.

Of each address its last visit. Nothing is counted and nothing skipped, so a page costs the same anywhere in the list.
"""

import sqlite3
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from heapq import merge
from typing import NamedTuple, cast

import msgspec

from gossamer.base.clock import Instant
from gossamer.frontier.codes import HOWS, REASON_CODES, REASONS
from gossamer.frontier.sqlite.hosts import text_of
from gossamer.store.statements import load
from gossamer.values.link import How
from gossamer.values.outcome import Reason

_SQL = load("gossamer.frontier.sqlite", "visit_list.sql")
MOST_OF_HOST = 50_000
"""Ends of one host that are sorted in memory; a larger host is found among all."""
LAST = (1 << 63) - 1
_Row = tuple[int, int, int, int, str, str, int, int, int, str | None, int, int | None]


class Position(NamedTuple):
    """Where a list goes on."""

    at: Instant
    host_id: int
    id: int


NEWEST, OLDEST = Position(LAST, LAST, LAST), Position(-LAST, -LAST, -LAST)


class Ended(msgspec.Struct, frozen=True):
    position: Position
    url: str
    host: str
    how: How
    depth: int
    reason: Reason
    detail: str
    failures: int
    due_at: Instant | None

    @property
    def ended_at(self) -> Instant:
        return self.position.at


def visits(
    connection: sqlite3.Connection,
    reasons: Sequence[Reason] = tuple(Reason),
    host: str = "",
    since_at: Instant = 0,
    until_at: Instant = LAST,
    after: Position | None = None,
    is_newest_first: bool = True,
) -> Generator[Ended, None, None]:
    """Those that ended for one of these reasons. The caller stops when it has enough, and closes it before the
    connection."""
    start = after or (NEWEST if is_newest_first else OLDEST)
    if (
        is_newest_first
    ):  # the index is entered by the instant; the rest of the position tells those of one instant apart
        until_at = min(until_at, start.at)
    else:
        since_at = max(since_at, start.at)
    bounds = {"since_at": since_at, "until_at": until_at, **start._asdict()}
    if host and (found := _of_host(connection, host, reasons, bounds, start, is_newest_first)) is not None:
        yield from map(_ended, found)
        return
    statement = _SQL["newest" if is_newest_first else "oldest"]
    streams = [connection.execute(statement, {"reason": REASON_CODES[reason], **bounds}) for reason in reasons]
    merged = cast(Generator[_Row, None, None], merge(*streams, key=_key, reverse=is_newest_first))
    with closing(merged) as rows:
        yield from (one for one in map(_ended, rows) if not host or one.host == host)


def _of_host(
    connection: sqlite3.Connection,
    host: str,
    reasons: Sequence[Reason],
    bounds: dict[str, int],
    start: Position,
    is_newest_first: bool,
) -> list[_Row] | None:
    """None: there are too many."""
    rows = connection.execute(_SQL["of_host"], {"name": host, "most": MOST_OF_HOST + 1, **bounds}).fetchall()
    if len(rows) > MOST_OF_HOST:
        return None
    wanted = {REASON_CODES[reason] for reason in reasons}
    is_beyond: Callable[[_Row], bool] = (
        (lambda row: _key(row) < start) if is_newest_first else (lambda row: _key(row) > start)
    )
    return sorted((row for row in rows if row[8] in wanted and is_beyond(row)), key=_key, reverse=is_newest_first)


def _key(row: _Row) -> tuple[int, int, int]:
    return row[:3]


def _ended(row: _Row) -> Ended:
    at, host_id, number, lane, name, text, how, depth, reason, detail, failures, due_at = row
    position = Position(at, host_id, number)
    return Ended(
        position, text_of(lane, name, text), name, HOWS[how], depth, REASONS[reason], detail or "", failures, due_at
    )
