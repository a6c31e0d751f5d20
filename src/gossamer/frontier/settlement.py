"""What the end of a fetch means for its URL, its host and the counters. Pure.

The stores only load and save.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from gossamer.base.clock import SECOND, Instant
from gossamer.config.slices import Politeness
from gossamer.frontier.leases import Lease, gave_up_in_words, is_given_up
from gossamer.frontier.politeness import (
    DOWN,
    FAILED,
    UNTOUCHED,
    failures_after,
    free_at,
    gap_s,
    is_to_retire,
    troubles_after,
)
from gossamer.frontier.priority import priority_after
from gossamer.store import tallies
from gossamer.values.capture import Kept
from gossamer.values.history import encoded
from gossamer.values.outcome import HELD, IN_WORDS, PAGE_ERRORS, Reason
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Settled, TemplateTally, VisitKind


class HostBefore(NamedTuple):
    """A host as it was when the visit was leased."""

    free_at: Instant
    """What was promised: nothing is sent to it before."""
    left_at: Instant | None
    """When the last visit that sent something to it ended."""
    troubles: int
    failing: int
    failing_since: Instant | None


class HostAfter(NamedTuple):
    """A host as it is now, and what the visit adds to its ledger."""

    next_at: Instant
    gap: int
    troubles: int
    failing: int
    failing_since: Instant | None
    retired_why: str | None
    """Why it is retired now, in words; None: it is not, or already was."""
    is_touched: bool
    """Whether anything was sent to it."""
    spent: int
    """Microseconds that answering took."""
    left_at: Instant | None
    rested: int | None
    """How long nothing had been sent to it; None: this was the first visit that sent something, or none did."""
    is_broken: bool
    """Whether something was sent to it earlier than promised."""


def host_after(
    politeness: Politeness,
    before: HostBefore,
    settled: Settled,
    taken_at: Instant,
    ended_at: Instant,
    delay_s: float | None,
    draw: float,
) -> HostAfter:
    """`taken_at` and `ended_at` by the clock of the store, `delay_s`: the crawl delay of its robots.txt now.

    REQUIRES: 0 <= draw < 1."""
    kind, reason = settled.visit.kind, settled.reason
    if kind is VisitKind.PAGE and reason in UNTOUCHED:
        gap = math.ceil(gap_s(politeness, delay_s) * SECOND)
        unchanged = (before.troubles, before.failing, before.failing_since, None)
        return HostAfter(min(taken_at, ended_at), gap, *unchanged, False, 0, before.left_at, None, False)
    troubles = troubles_after(before.troubles, reason)
    length_s = gap_s(politeness, delay_s, settled.counted_s, troubles, draw, settled.cpu_s)
    next_at = free_at(ended_at, length_s, settled.host_wait_s)
    failing, since, why = 0, None, None
    if reason in DOWN:
        failing, since = before.failing + 1, ended_at if before.failing_since is None else before.failing_since
        if is_to_retire(politeness, kind, failing, since, ended_at):
            why = f"{IN_WORDS[reason]}, {failing} times in a row"
    return HostAfter(
        next_at=next_at,
        gap=math.ceil(length_s * SECOND),
        troubles=troubles,
        failing=failing,
        failing_since=since,
        retired_why=why,
        is_touched=True,
        spent=round(max(0.0, settled.took_s) * SECOND),
        left_at=ended_at,
        rested=None if before.left_at is None else max(0, taken_at - before.left_at),
        is_broken=taken_at < before.free_at,
    )


class QueuePlace(NamedTuple):
    """The row of a leased page in the queue."""

    host_id: int
    lane: int
    priority: int
    sequence: int


class Requeue(NamedTuple):
    place: QueuePlace
    due_at: Instant
    priority: int
    is_last: bool
    """It goes behind all other pages of its host."""


class PageEnd(NamedTuple):
    host_id: int
    id: int | None
    reason: Reason
    detail: str | None
    failures: int
    done_at: Instant
    due_at: Instant | None


Key = tuple[int, int | None]
"""Host id and id of a page."""


class PageRows(NamedTuple):
    """What settled pages change in the store."""

    removed: list[QueuePlace]
    """They leave the queue."""
    requeued: list[Requeue]
    ends: list[PageEnd]
    failed: list[Key]
    """Their previous visit had failed: that is kept in the list of earlier failures."""
    pasts: list[tuple[int, int | None, bytes]]
    respelt: list[tuple[Url, int, int | None]]
    moves: Counter[str]
    """How the counters move."""


def page_rows(done: Iterable[tuple[Settled, Lease]]) -> PageRows:
    """Of the visits to pages among `done`."""
    pages = [(one, lease, (lease.host_id, lease.address_id)) for one, lease in done if one.visit.kind is VisitKind.PAGE]
    rows = PageRows([], [], [], [], [], [], Counter())
    for one, lease, key in pages:
        place = QueuePlace(lease.host_id, lease.lane, lease.priority, lease.sequence)
        if one.due_at is None:
            rows.removed.append(place)
        else:
            priority, is_last = priority_after(one, lease.priority), one.reason in PAGE_ERRORS
            rows.requeued.append(Requeue(place, max(1, one.due_at), priority, is_last))
        rows.ends.append(PageEnd(*key, one.reason, one.detail or None, failures_after(one), one.done_at, one.due_at))
        if lease.last_reason in FAILED:
            rows.failed.append(key)
        if one.past is not None:
            rows.pasts.append((*key, encoded(one.past)))
        if one.respelt is not None:
            rows.respelt.append((one.respelt, *key))
    rows.moves.update(page_moves([(one, lease.last_reason) for one, lease, _ in pages]))
    return rows


def page_moves(pages: Sequence[tuple[Settled, Reason | None]]) -> Counter[str]:
    """How the counters move for pages, each with the reason of its previous visit. A URL counts under the reason of its
    last visit only."""
    over = sum(settled.due_at is None for settled, _ in pages)
    moves = Counter({tallies.QUEUED: -over, tallies.SETTLED: over})
    for settled, last_reason in pages:
        if last_reason is not None:
            moves[f"{tallies.REASON}{last_reason.value}"] -= 1
        moves[f"{tallies.REASON}{settled.reason.value}"] += 1
    return moves


def lane_moves(before: Iterable[tuple[Reason | None, int]], reason: Reason) -> Counter[str]:
    """The same when all that waits in a lane ends in one way. `before`: how many of them had which last reason."""
    before = list(before)
    amount = sum(many for _, many in before)
    moves = Counter({tallies.QUEUED: -amount, tallies.SETTLED: amount})
    for last, many in before:
        if last is not None:
            moves[f"{tallies.REASON}{last.value}"] -= many
    moves[f"{tallies.REASON}{reason.value}"] += amount
    return moves


def lane_end(settled: Settled, robots: Robots, tries: int | None) -> tuple[Reason, str] | None:
    """How everything ends that waits for this robots.txt, and the detail; None: it waits on. `tries`: see
    `is_given_up`."""
    if settled.reason in HELD:
        return settled.reason, settled.detail
    return (Reason.ROBOTS_UNREACHABLE, gave_up_in_words(robots)) if is_given_up(robots, tries) else None


def captures_of(done: Iterable[tuple[Settled, Lease]]) -> tuple[list[Kept], list[Kept]]:
    """New captures, and those of them that remove their page from the views."""
    kept = [(one.kept, one.withdraws) for one, _ in done if one.kept is not None]
    return [one for one, _ in kept], [one for one, withdraws in kept if withdraws]


def is_trap(
    judge: Callable[[TemplateTally], bool] | None, host: str, template: str, learned: tuple[int, int, Instant | None]
) -> bool:
    """Whether a template must be quarantined now. `learned`: pages fetched, those of them that brought something, and
    since when it is quarantined."""
    fetched, fruitful, quarantined_at = learned
    if judge is None or quarantined_at is not None:
        return False
    return judge(TemplateTally(host, template, fetched, fruitful))


def check_entry(settled: Settled) -> None:
    """Raises ValueError when a robots visit ends without a complete entry."""
    robots = settled.robots
    is_complete = robots is not None and (robots.state is not RobotsState.PENDING or robots.ask is not None)
    if settled.visit.kind is VisitKind.ROBOTS and not is_complete:
        raise ValueError(f"the robots visit to {settled.visit.url} is settled without a complete entry")
