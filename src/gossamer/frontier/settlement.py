"""What the end of a fetch means for its URL, its host and the counters. Pure: the stores only load and save."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from gossamer.base.clock import SECOND, Instant
from gossamer.config.slices import Politeness
from gossamer.frontier.politeness import DOWN, UNTOUCHED, free_at, gap_s, is_to_retire, troubles_after
from gossamer.store import tallies
from gossamer.values.outcome import IN_WORDS, Reason
from gossamer.values.robots import RobotsState
from gossamer.values.visit import Settled, TemplateTally, VisitKind


class HostBefore(NamedTuple):
    """How a host stood when the fetch was leased."""

    free_at: Instant
    """What was promised: nothing is sent to it before."""
    left_at: Instant | None
    """When the last fetch that touched it ended."""
    troubles: int
    failing: int
    failing_since: Instant | None


class HostAfter(NamedTuple):
    """How it stands now, and what the fetch adds to its ledger."""

    next_at: Instant
    gap: int
    troubles: int
    failing: int
    failing_since: Instant | None
    retired_why: str | None
    """It is retired, in words; None: it is not, or was before."""
    is_touched: bool
    """Whether anything was sent to it."""
    spent: int
    """Microseconds that answering took."""
    left_at: Instant | None
    rested: int | None
    """How long it had rested before; None: this was the first fetch that touched it, or none did."""
    is_broken: bool
    """Whether it was touched earlier than promised."""


def host_after(
    politeness: Politeness,
    before: HostBefore,
    settled: Settled,
    taken_at: Instant,
    ended_at: Instant,
    delay_s: float | None,
    draw: float,
) -> HostAfter:
    """`taken_at` and `ended_at` by the clock of the store, `delay_s`: what its robots.txt asks for now.

    REQUIRES: 0 <= draw < 1."""
    kind, reason = settled.visit.kind, settled.reason
    if kind is VisitKind.PAGE and reason in UNTOUCHED:
        gap = math.ceil(gap_s(politeness, delay_s) * SECOND)
        standing = (before.troubles, before.failing, before.failing_since, None)
        return HostAfter(min(taken_at, ended_at), gap, *standing, False, 0, before.left_at, None, False)
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


class EndedLease(Protocol):
    """A lease that is settled."""

    @property
    def last_reason(self) -> Reason | None: ...


def page_moves(pages: Sequence[tuple[Settled, EndedLease]]) -> Counter[str]:
    """How the counters move. A URL counts under the reason of its last fetch only."""
    over = sum(1 for settled, _ in pages if settled.due_at is None)
    moves = Counter({tallies.QUEUED: -over, tallies.SETTLED: over})
    for settled, lease in pages:
        if lease.last_reason is not None:
            moves[f"{tallies.REASON}{lease.last_reason.value}"] -= 1
        moves[f"{tallies.REASON}{settled.reason.value}"] += 1
    return moves


def lane_moves(before: Iterable[tuple[Reason | None, int]], reason: Reason) -> Counter[str]:
    """The same when all that waits in a lane ends in one way. `before`: how many of them ended how the last time."""
    before = list(before)
    amount = sum(many for _, many in before)
    moves = Counter({tallies.QUEUED: -amount, tallies.SETTLED: amount})
    for last, many in before:
        if last is not None:
            moves[f"{tallies.REASON}{last.value}"] -= many
    moves[f"{tallies.REASON}{reason.value}"] += amount
    return moves


def is_trap(
    judge: Callable[[TemplateTally], bool] | None,
    host: str,
    template: str,
    learned: tuple[int, int, Instant | None],
) -> bool:
    """Whether a template is to be quarantined now. `learned`: pages fetched, those of them that brought something, and
    since when it is quarantined."""
    fetched, fruitful, quarantined_at = learned
    if judge is None or quarantined_at is not None:
        return False
    return judge(TemplateTally(host, template, fetched, fruitful))


def check_entry(settled: Settled) -> None:
    """Raises ValueError when a robots visit ends without a whole entry."""
    robots = settled.robots
    is_whole = robots is not None and (robots.state is not RobotsState.PENDING or robots.ask is not None)
    if settled.visit.kind is VisitKind.ROBOTS and not is_whole:
        raise ValueError(f"the robots visit to {settled.visit.url} is settled without a whole entry")
