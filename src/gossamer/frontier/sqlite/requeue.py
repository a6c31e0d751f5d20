"""Visited URLs wait again: an option has changed, a user asks for a retry, or pages are to be revisited.

Politeness and the order within a host are not changed.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from gossamer.base.clock import DAY, Clock, Instant
from gossamer.frontier.known import ended_urls, find_host_id, keys_of, past_at
from gossamer.frontier.priority import priority_of
from gossamer.frontier.requeue import (
    ASKS_ROBOTS,
    AT_ONCE,
    FIRST,
    HAD,
    REPAIRABLE,
    EndRow,
    begun,
    free_at,
    is_selected,
    priority_again,
    rescheduled,
)
from gossamer.frontier.rows import HOWS, REASON_CODES, REASONS, UrlKeys, text_of
from gossamer.frontier.sqlite.hosts import Rulebook
from gossamer.frontier.sqlite.sieve import next_sequence
from gossamer.store import tallies
from gossamer.store.statements import State, StateWriter, load
from gossamer.values.history import Reschedule, encoded
from gossamer.values.link import How
from gossamer.values.outcome import Reason
from gossamer.values.url import Url
from gossamer.values.visit import Selection

_SQL = load("gossamer.frontier.sqlite", "requeue.sql")


def revive(connection: State, seeds: Iterable[Url], keys: UrlKeys) -> int:
    """Queue seeds again that failed for a repairable reason, and pages given up because of their robots.txt.

    REQUIRES: no robots entry is held in memory yet. Returns how many wait again.
    """
    rows: list[tuple[int, int, int, int]] = []
    for key in keys_of(connection, seeds, keys):
        rows += [row[:4] for row in connection.execute(_SQL["ended"], key) if REASONS[row[4]] in REPAIRABLE]
    if tallies.counts(connection).by_reason.get(Reason.ROBOTS_UNREACHABLE):
        given_up = REASON_CODES[Reason.ROBOTS_UNREACHABLE]
        rows += connection.execute(_SQL["given_up_as"], (given_up,)).fetchall()
    revived = dict.fromkeys(rows)
    forget_robots(connection, dict.fromkeys([(host_id, lane) for host_id, _, lane, _ in revived]))
    _queue_again(connection, list(revived))
    return len(revived)


def refetch(connection: State, urls: Iterable[Url], keys: UrlKeys, now: Instant) -> int:
    """Make pages due whose stored content is damaged; the next response is stored whole. Returns how many of them are
    known and were not already waiting."""
    due = 0
    for host_id, number in keys_of(connection, urls, keys):
        if host_id is None:
            continue
        if (past := past_at(connection, (host_id, number))) is not None:
            connection.execute(_SQL["past_noted"], (encoded(past.without_body()), host_id, number))
        ended = connection.execute(_SQL["ended"], (host_id, number)).fetchall()
        _queue_again(connection, [one[:4] for one in ended])
        due += bool(ended) or move_earlier(connection, host_id, number, now)
    return due


def recall(connection: State, rulebook: Rulebook, now: Instant) -> int:
    """Queue every fetched page that waits for nothing: the crawl revisits pages from now on, each after its host's
    Recrawl-delay. Returns how many."""
    rows: list[tuple[int, int, int, int, int, Instant]] = []
    for reason in (Reason.FETCHED, Reason.UNCHANGED):
        rows += connection.execute(_SQL["fetched"], (REASON_CODES[reason],)).fetchall()
    places = [(host_id, number, lane, priority_of(HOWS[how], depth)) for host_id, number, lane, depth, how, _ in rows]
    free = [free_at(at, rulebook.entry(connection, host_id, lane)) for host_id, _, lane, _, _, at in rows]
    queue_at(connection, places, [at if at > now else 0 for at in free])
    begin_pasts(connection, [(*row[:2], row[5]) for row in rows], [max(now, at) for at in free])
    return len(rows)


def begin_pasts(connection: State, rows: Sequence[tuple[int, int, Instant]], due_ats: Sequence[Instant]) -> None:
    """Store the first record of pages: their host id, id, and when they were fetched."""
    pasts = [(*row[:2], encoded(begun(row[2], due_at))) for row, due_at in zip(rows, due_ats, strict=True)]
    connection.executemany(_SQL["past_begun"], pasts)


def forget_robots(connection: State, lanes: Iterable[tuple[int, int]]) -> None:
    """The robots.txt of each host id and lane is requested again."""
    connection.executemany(_SQL["robots_forgotten"], lanes)


def _queue_again(connection: State, rows: Sequence[tuple[int, int, int, int]]) -> None:
    queue_at(connection, [(*row[:3], priority_again(row[3])) for row in rows], [0] * len(rows))


def queue_at(connection: State, rows: Sequence[tuple[int, int, int, int]], later_ats: Sequence[Instant]) -> None:
    """Queue pages, given their host id, id, lane and priority, until `later_ats`; 0: due now."""
    first = next_sequence(connection, len(rows))
    for place, ((host_id, number, lane, priority), later_at) in enumerate(zip(rows, later_ats, strict=True)):
        connection.execute(_SQL["queued_again"], (host_id, lane, later_at, priority, first + place, number))
        connection.execute(_SQL["end_revived"], (later_at or None, host_id, number))
        connection.execute(_SQL["host_got_one"], (1 << lane, later_at or None, host_id))
    tallies.add(connection, {tallies.QUEUED: len(rows), tallies.SETTLED: -len(rows)})


def read_again(connection: State, sitemaps: Iterable[Url], keys: UrlKeys) -> None:
    """Queue those of these sitemaps again that were read before."""
    for key in keys_of(connection, sitemaps, keys):
        rows = connection.execute(_SQL["ended"], key).fetchall()
        _queue_again(connection, [row[:4] for row in rows if REASONS[row[4]] is Reason.FETCHED])


class EndScan(NamedTuple):
    """One pass over visited URLs: a statement, its first values, and the start of its key."""

    statement: str
    given: tuple[int, ...]
    start: tuple[int, ...]


class Requeued(NamedTuple):
    amount: int
    after: tuple[int, ...] | None
    """Where the next transaction continues; None: nowhere."""
    lanes: tuple[tuple[int, int], ...]
    """Origins (host id and lane) whose robots.txt is requested again."""


async def requeue(
    database: StateWriter, selection: Selection, keys: UrlKeys, clock: Clock, moved: Callable[[Requeued], None]
) -> int:
    """Returns how many are newly queued or due earlier. `moved` is called after every commit."""

    def at_once(connection: State) -> Requeued:
        return _requeue(connection, ended_urls(connection, selection.urls, keys), selection, clock.now(), None)

    if selection.urls:
        return (await database.run(at_once, moved)).amount
    amount = 0
    for part in await database.read(lambda connection: _parts(connection, selection)):
        after: tuple[int, ...] | None = part.start
        while after is not None:
            done = await database.run(_step(part, after, selection, clock), moved)
            amount, after = amount + done.amount, done.after
    return amount


def _step(part: EndScan, after: tuple[int, ...], selection: Selection, clock: Clock) -> Callable[[State], Requeued]:
    def step(connection: State) -> Requeued:
        rows = connection.execute(_SQL[part.statement], (*part.given, *after, AT_ONCE)).fetchall()
        found = [EndRow._make(row[: len(EndRow._fields)]) for row in rows]
        last = tuple(rows[-1][len(EndRow._fields) :]) if len(rows) == AT_ONCE else None
        return _requeue(connection, found, selection, clock.now(), last)

    return step


def _parts(connection: State, selection: Selection) -> list[EndScan]:
    if selection.host:
        host_id = find_host_id(connection, selection.host)
        return [] if host_id is None else [EndScan("ended_at", (host_id,), (FIRST,))]
    if selection.reasons:
        codes = sorted(REASON_CODES[reason] for reason in selection.reasons)
        return [EndScan("ended_as", (code,), (FIRST, FIRST, FIRST)) for code in codes]
    return [EndScan("ended_all", (), (FIRST, FIRST))]


def _requeue(
    connection: State, found: Iterable[EndRow], selection: Selection, now: Instant, after: tuple[int, ...] | None
) -> Requeued:
    rows = [row for row in found if is_selected(row, selection)]
    over = [row for row in rows if row.due_at is None]
    queue_at(connection, [(row.host_id, row.id, row.lane, row.priority) for row in over], [0] * len(over))
    had = [(row.host_id, row.id, row.settled_at) for row in rows if row.reason in HAD]
    begin_pasts(connection, had, [now] * len(had))
    later = [row for row in rows if row.due_at is not None and row.due_at > now]
    earlier = sum(move_earlier(connection, row.host_id, row.id, now) for row in later)
    lanes = tuple({(row.host_id, row.lane): None for row in over if row.reason in ASKS_ROBOTS})
    forget_robots(connection, lanes)
    return Requeued(len(over) + earlier, after, lanes)


class Redirect(NamedTuple):
    """A redirect that was followed: from where, how deep, how many before it, and where to."""

    url: Url
    depth: int
    hops: int
    how: How
    to: str


def redirects_after(
    connection: State, after: tuple[int, int, int]
) -> tuple[list[Redirect], tuple[int, int, int] | None]:
    """Some redirects, oldest first, and where to continue."""
    rows = connection.execute(_SQL["redirects"], (REASON_CODES[Reason.MOVED], *after, AT_ONCE)).fetchall()
    found = [
        Redirect(Url(text_of(lane, name, rest)), depth, hops, HOWS[how], detail or "")
        for lane, name, rest, depth, hops, how, detail, *_ in rows
    ]
    return found, tuple(rows[-1][-3:]) if len(rows) == AT_ONCE else None


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
