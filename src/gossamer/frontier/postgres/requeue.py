"""Addresses that were visited or refused wait again, in a shared crawl. See `requeue`."""

from collections.abc import Sequence
from typing import NamedTuple

from gossamer.base.clock import Instant
from gossamer.frontier.postgres.hosts import find_host_id
from gossamer.frontier.postgres.known import key_of
from gossamer.frontier.postgres.revival import begin_pasts, queue, start_afresh
from gossamer.frontier.postgres.robots import Moment
from gossamer.frontier.postgres.sieve import Entering, Naming, tally
from gossamer.frontier.postgres.sooner import come_sooner
from gossamer.frontier.sqlite.hosts import lane_of
from gossamer.frontier.sqlite.requeue import ASKS_ROBOTS, AT_ONCE, FIRST, HAD, MOST_DETAILS, MOST_EXAMPLES
from gossamer.store import tallies
from gossamer.store.postgres.database import Connection
from gossamer.store.statements import load
from gossamer.values.outcome import Reason
from gossamer.values.selection import EndedGroup, Failure, Selection
from gossamer.values.url import Url

_SQL = load("gossamer.frontier.postgres", "requeue.sql")
Key = tuple[int, int]
"""Host id and id of an address."""
START: Key = (FIRST, FIRST)


class SharedEndRow(NamedTuple):
    """A row of `ended_after`."""

    host_id: int
    id: int
    url: str
    depth: int
    how: str
    reason: str
    settled_at: Instant | None
    is_queued: bool
    due_at: Instant | None


def requeue_some(
    connection: Connection, worker_id: int, selection: Selection, after: Key, naming: Naming, now: Moment
) -> tuple[int, Key | None]:
    """Of the addresses after a key so many as one transaction takes; says how many wait now that did not, or come
    sooner, and where to go on."""
    rows = _rows(connection, selection, after, naming)
    amount = _wait_again(connection, worker_id, [row for row in rows if not row.is_queued], naming, now)
    later = [row for row in rows if row.is_queued and row.due_at is not None and row.due_at > now.at]
    amount += come_sooner(connection, [((row.host_id, row.id), lane_of(row.url), now.at) for row in later])
    is_whole = bool(selection.urls) or len(rows) < AT_ONCE
    return amount, None if is_whole else (rows[-1].host_id, rows[-1].id)


def _rows(connection: Connection, selection: Selection, after: Key, naming: Naming) -> list[SharedEndRow]:
    reasons = [reason.value for reason in selection.reasons] or None
    if selection.urls:
        keys = [key for url in selection.urls if (key := key_of(connection, url, naming.url_id, naming.identity))]
        named = {"host_ids": [key[0] for key in keys], "ids": [key[1] for key in keys], "reasons": reasons}
        return [SharedEndRow._make(row) for row in connection.execute(_SQL["ended_named"], named)]
    host_id = find_host_id(connection, selection.host) if selection.host else None
    if selection.host and host_id is None:
        return []
    given = {
        "after_host": after[0],
        "after_id": after[1],
        "reasons": reasons,
        "hows": [how.value for how in selection.hows] or None,
        "host_id": host_id,
        "most": AT_ONCE,
    }
    return [SharedEndRow._make(row) for row in connection.execute(_SQL["ended_after"], given)]


def _wait_again(
    connection: Connection, worker_id: int, rows: Sequence[SharedEndRow], naming: Naming, now: Moment
) -> int:
    if not rows:
        return 0
    given = {"host_ids": [row.host_id for row in rows], "ids": [row.id for row in rows]}
    done = connection.execute(_SQL["requeued"], given).fetchall()
    if not done:
        return 0  # another crawler was first
    queue(connection, [row[:5] for row in done])
    had = [row for row in done if Reason(row[5]) in HAD]
    begin_pasts(connection, [(row[0], row[1], row[6] or now.local_at) for row in had], [now.local_at] * len(had))
    start_afresh(connection, [row[:5] for row in done if Reason(row[5]) in ASKS_ROBOTS])
    Entering(connection, naming).mail(sorted({row[0] for row in done}))
    tally(connection, worker_id, {tallies.QUEUED: len(done), tallies.SETTLED: -len(done)})
    return len(done)


def ended(connection: Connection, selection: Selection, naming: Naming) -> list[EndedGroup]:
    """How the addresses of a selection ended, the most frequent first."""
    if selection.urls:
        found: dict[Reason, list[str]] = {}
        for row in _rows(connection, selection, START, naming):
            found.setdefault(Reason(row.reason), []).append(row.url)
        return [EndedGroup(reason, len(urls), tuple(urls[:MOST_EXAMPLES])) for reason, urls in found.items()]
    host_id = find_host_id(connection, selection.host) if selection.host else None
    if selection.host and host_id is None:
        return []
    reasons = [reason.value for reason in selection.reasons] or None
    counts = connection.execute(_SQL["counted"], {"reasons": reasons, "host_id": host_id}).fetchall()
    return [EndedGroup(Reason(name), many, *_shown(connection, name, host_id)) for name, many in counts]


def _shown(
    connection: Connection, reason: str, host_id: int | None
) -> tuple[tuple[str, ...], tuple[tuple[str, int], ...]]:
    given = {"reason": reason, "host_id": host_id}
    urls = connection.execute(_SQL["examples"], {**given, "most": MOST_EXAMPLES}).fetchall()
    is_had = Reason(reason) in HAD
    details = [] if is_had else connection.execute(_SQL["details"], {**given, "most": MOST_DETAILS}).fetchall()
    return tuple([url for (url,) in urls]), tuple([(detail, many) for detail, many in details])


def failures_of(connection: Connection, url: Url, naming: Naming) -> list[Failure]:
    """Failed visits before the last one, the newest first."""
    key = key_of(connection, url, naming.url_id, naming.identity)
    if key is None:
        return []
    rows = connection.execute(_SQL["failures_of"], {"host_id": key[0], "id": key[1]})
    return [Failure(at, Reason(reason), detail or "") for at, reason, detail in rows]
