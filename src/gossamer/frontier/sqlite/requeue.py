"""Fetched URLs wait again in the SQLite frontier.

Politeness and the order within a host are not changed.
"""

from collections.abc import Sequence

from gossamer.base.clock import DAY, Instant
from gossamer.frontier.known import keys_of, past_at
from gossamer.frontier.requeue import HAD, Again, EndRow, begun, rescheduled
from gossamer.frontier.rows import UrlKeys
from gossamer.frontier.sqlite.sieve import next_sequence
from gossamer.store import tallies
from gossamer.store.statements import State, load
from gossamer.values.history import Reschedule, encoded

_SQL = load("gossamer.frontier.sqlite", "requeue.sql")


def requeue(connection: State, found: Again, now: Instant) -> int:
    """Returns how many are newly queued or due earlier."""
    queue_again(connection, found.over, now)
    had = [row for row in found.over if row.reason in HAD]
    pasts = [(row.host_id, row.id, encoded(begun(row.settled_at, max(now, row.free_at)))) for row in had]
    connection.executemany(_SQL["past_begun"], pasts)
    connection.executemany(_SQL["robots_forgotten"], found.unasked())
    connection.executemany(_SQL["host_forgiven"], [(host_id,) for host_id in found.forgiven()])
    return len(found.over) + sum(move_earlier(connection, row.host_id, row.id, now) for row in found.later(now))


def queue_again(connection: State, rows: Sequence[EndRow], now: Instant) -> None:
    first = next_sequence(connection, len(rows))
    for place, row in enumerate(rows):
        later_at = row.free_at if row.free_at > now else 0
        waits = (row.host_id, row.lane, later_at, row.priority, first + place, row.id)
        connection.execute(_SQL["queued_again"], waits)
        connection.execute(_SQL["end_revived"], (later_at or None, row.host_id, row.id))
        connection.execute(_SQL["host_got_one"], (1 << row.lane, later_at or None, row.host_id))
    tallies.add(connection, {tallies.QUEUED: len(rows), tallies.SETTLED: -len(rows)})


def reschedule(connection: State, changes: Sequence[Reschedule], keys: UrlKeys) -> int:
    """Returns how many moved. The queue has no index by URL; a row is found by the time it waits for."""
    moved = 0
    for change, key in zip(changes, keys_of(connection, [one.url for one in changes], keys), strict=True):
        past = past_at(connection, key)
        if past is None or key[0] is None:
            continue
        is_moved = change.due_at is not None and move_earlier(connection, key[0], key[1], change.due_at)
        after = rescheduled(past, change, is_moved)
        if after != past:
            connection.execute(_SQL["past_noted"], (encoded(after), *key))
        moved += is_moved
    return moved


def plans(connection: State) -> dict[tuple[str, int], int]:
    return {(name, day): many for name, day, many in connection.execute(_SQL["plans"], {"day": DAY})}


def move_earlier(connection: State, host_id: int, number: int, due_at: Instant) -> bool:
    """Whether a URL that waited for a later time now waits for this one."""
    row = connection.execute(_SQL["waits_until"], (host_id, number)).fetchone()
    if row is None or row[1] is None or row[1] <= due_at:
        return False
    lane, was_due_at = row
    due_at = max(1, due_at)
    if not connection.execute(_SQL["queued_sooner"], (due_at, host_id, lane, max(1, was_due_at), number)).rowcount:
        return False  # it is due, or quarantined, or the clock was set since it was queued
    connection.execute(_SQL["end_sooner"], (due_at, host_id, number))
    connection.execute(_SQL["host_sooner"], (due_at, host_id))
    return True
