"""Settling: what became of visits, written down in one transaction."""

import math
import sqlite3
from collections import Counter
from collections.abc import Sequence

from gossamer.clock import SECOND, Instant
from gossamer.frontier.gate import is_given_up
from gossamer.frontier.hosts import host_id_of
from gossamer.frontier.leasing import Lease, give_up
from gossamer.frontier.politeness import FAILURES, TROUBLES, UNTOUCHED, Politeness, free_at, gap_s
from gossamer.frontier.rulebook import Rulebook
from gossamer.store import captures, tallies
from gossamer.store.statements import load
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.visit import Settled, VisitKind

_SQL = load("gossamer.frontier")


class Settling:
    """One `settle`, inside its transaction."""

    def __init__(self, connection: sqlite3.Connection, rulebook: Rulebook, politeness: Politeness) -> None:
        self._connection = connection
        self._rulebook = rulebook
        self._politeness = politeness
        self._fresh: dict[tuple[int, int], Robots] = {}
        """Entries settled just now, by host id and lane; the rulebook learns of them after the commit."""

    def settle(self, done: Sequence[tuple[Settled, Lease]]) -> None:
        """REQUIRES: each lease is out and there is at most one a host."""
        pages = [pair for pair in done if pair[0].visit.kind is VisitKind.PAGE]
        self._settle_pages(pages)
        for settled, lease in done:
            if settled.visit.kind is VisitKind.ROBOTS:
                self._settle_robots(settled, lease)
        self._connection.executemany(_SQL["host_settled"], [self._host_row(*pair) for pair in done])
        captures.insert(self._connection, [settled.kept for settled, _ in done if settled.kept is not None])
        tallies.add(self._connection, {**moves_of(pages), tallies.LEASED: -len(done)})

    def _settle_pages(self, pages: Sequence[tuple[Settled, Lease]]) -> None:
        over, again, ends = [], [], []
        for settled, lease in pages:
            place = (lease.host_id, lease.lane, lease.priority, lease.sequence)
            due_at = settled.due_at
            if due_at is None:
                over.append(place)
            else:
                again.append((max(1, due_at), *place))
            failures = settled.visit.failures + 1 if settled.reason in FAILURES else 0
            ends.append(
                (
                    settled.reason.value,
                    settled.detail or None,
                    failures,
                    settled.done_at,
                    due_at,
                    due_at is not None,
                    lease.host_id,
                    lease.address_id,
                )
            )
        self._connection.executemany(_SQL["unqueued"], over)
        self._connection.executemany(_SQL["queued_later"], again)
        self._connection.executemany(_SQL["address_settled"], ends)

    def _settle_robots(self, settled: Settled, lease: Lease) -> None:
        robots = settled.robots
        assert robots is not None, "checked by the caller"
        self._rulebook.keep(self._connection, lease.lane_host_id, lease.lane, robots)
        self._fresh[lease.lane_host_id, lease.lane] = robots
        delay_s = self._delay_s(lease.lane_host_id)
        gap = math.ceil(gap_s(self._politeness, delay_s) * SECOND)
        self._connection.execute(_SQL["host_asked"], (delay_s, gap, lease.lane_host_id))
        if lease.is_errand:
            row = (lease.host_id, lease.lane_host_id, lease.lane)
            self._connection.execute(_SQL["errand_done"], row)
            self._connection.execute(_SQL["host_errands"], (-1, lease.host_id))
        if robots.state is RobotsState.PENDING and robots.ask is not None:
            at_host_id = host_id_of(self._connection, robots.ask.host.name)
            errand = (at_host_id, lease.lane_host_id, lease.lane, robots.ask.text)
            added = self._connection.execute(_SQL["errand_added"], errand).rowcount
            self._connection.execute(_SQL["host_errands"], (added, at_host_id))
        if is_given_up(robots, self._politeness.robots_tries):
            give_up(self._connection, lease.lane_host_id, lease.lane, robots.failures, settled.done_at)
        self._connection.execute(_SQL["host_woken"], (lease.lane_host_id,))

    def _delay_s(self, host_id: int) -> float | None:
        """What the host asks for now: of its two origins the one that asks for more is heard."""
        asked = []
        for lane in (0, 1):
            entry = self._fresh.get((host_id, lane)) or self._rulebook.entry(self._connection, host_id, lane)
            if entry is not None and entry.crawl_delay_s is not None and entry.crawl_delay_s > 0:  # not NaN
                asked.append(entry.crawl_delay_s)
        return max(asked, default=None)

    def _host_row(self, settled: Settled, lease: Lease) -> tuple[object, ...]:
        """The parameters of host_settled: when the host is free again, and what it still has to give."""
        is_page = settled.visit.kind is VisitKind.PAGE
        gone = int(is_page and settled.due_at is None)
        next_at, gap, troubles = self._free(settled, lease)
        return next_at, gap, troubles, gone, settled.due_at if is_page else None, lease.host_id

    def _free(self, settled: Settled, lease: Lease) -> tuple[Instant, int, int]:
        politeness, delay_s = self._politeness, self._delay_s(lease.host_id)
        if settled.reason in UNTOUCHED and settled.visit.kind is VisitKind.PAGE:
            gap = gap_s(politeness, delay_s)
            return settled.visit.taken_at, math.ceil(gap * SECOND), lease.troubles
        troubles = lease.troubles + 1 if settled.reason in TROUBLES else 0
        gap = gap_s(politeness, delay_s, settled.took_s, troubles)
        return free_at(settled.done_at, gap, settled.host_wait_s), math.ceil(gap * SECOND), troubles


def moves_of(pages: Sequence[tuple[Settled, Lease]]) -> Counter[str]:
    """How the counters move. An address counts under the reason of its last visit only."""
    over = sum(1 for settled, _ in pages if settled.due_at is None)
    moves = Counter({tallies.QUEUED: -over, tallies.SETTLED: over})
    for settled, lease in pages:
        if lease.last_reason is not None:
            moves[f"{tallies.REASON}{lease.last_reason}"] -= 1
        moves[f"{tallies.REASON}{settled.reason.value}"] += 1
    return moves
