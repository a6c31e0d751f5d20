"""Settling: what became of visits, written down in one transaction."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gossamer.base.clock import SECOND, Instant
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.known import find_host_id
from gossamer.frontier.leases import is_given_up
from gossamer.frontier.politeness import (
    FAILED,
    MOST_FAILURES,
    failures_after,
    gap_s,
)
from gossamer.frontier.priority import LAST, band_of, priority_after
from gossamer.frontier.rows import LANES_OF, REASON_CODES, UrlKeys, parts_of
from gossamer.frontier.settlement import HostBefore, host_after, page_moves
from gossamer.frontier.sqlite.hosts import Rulebook, host_id_of, retire
from gossamer.frontier.sqlite.leases import HostLease, Pair, give_up, give_up_unread
from gossamer.frontier.sqlite.sieve import next_sequence
from gossamer.store import captures, tallies
from gossamer.store.statements import State, load
from gossamer.values.history import MOST_NEW, Past, encoded
from gossamer.values.link import Offer
from gossamer.values.outcome import HELD, PAGE_ERRORS
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.visit import Settled, VisitKind

_SQL = load("gossamer.frontier.sqlite")


@dataclass(slots=True)
class Settle:
    """One `settle`, inside its transaction."""

    connection: State
    rulebook: Rulebook
    rules: FrontierRules
    stays: Callable[[int], bool]
    """Whether a host may keep its back queue."""
    now: Instant
    learn: Callable[[Settled, HostLease], None]
    """Writes down what a page brought."""
    kept: dict[int, Instant] = field(default_factory=dict)
    """Hosts that keep their back queues, and when they may be touched again."""
    _fresh: dict[tuple[int, int], Robots] = field(default_factory=dict)
    """Entries settled just now, by host id and lane; the rulebook learns of them after the commit."""

    def settle(self, done: Sequence[Pair]) -> None:
        """REQUIRES: each lease is out and there is at most one a host."""
        pages = [pair for pair in done if pair[0].visit.kind is VisitKind.PAGE]
        self._settle_pages(pages)
        for settled, lease in done:
            if settled.yielded is not None:
                self.learn(settled, lease)
            if settled.visit.kind is VisitKind.ROBOTS:
                self._settle_robots(settled, lease)
        self._settle_hosts(done)
        kept = [settled.kept for settled, _ in done if settled.kept is not None]
        captures.insert(self.connection, kept, [one.kept for one, _ in done if one.withdraws and one.kept is not None])
        tallies.add(self.connection, {**page_moves(pages), tallies.LEASED: -len(done)})

    def _settle_pages(self, pages: Sequence[Pair]) -> None:
        over, again, ends = [], [], []
        for settled, lease in pages:
            host_id = lease.host_id
            place = (host_id, lease.lane, lease.priority, lease.sequence)
            due_at = settled.due_at
            if due_at is None:
                over.append(place)
            else:
                is_last = settled.reason in PAGE_ERRORS
                sequence = next_sequence(self.connection, 1) if is_last else lease.sequence
                again.append((max(1, due_at), priority_after(settled, lease.priority), sequence, *place))
            failures = failures_after(settled)
            reason = REASON_CODES[settled.reason]
            ends.append((host_id, lease.address_id, reason, failures, settled.done_at, due_at, settled.detail or None))
        self._keep_failures([lease for _, lease in pages if lease.last_reason in FAILED])
        self.connection.executemany(_SQL["unqueued"], over)
        self.connection.executemany(_SQL["queued_later"], again)
        self.connection.executemany(_SQL["ended"], ends)
        pasts = [(lease.host_id, lease.address_id, encoded(one.past)) for one, lease in pages if one.past is not None]
        self.connection.executemany(_SQL["past_kept"], pasts)
        respelt = [
            (settled.respelt.target[1:], lease.host_id, lease.address_id)
            for settled, lease in pages
            if settled.respelt is not None
        ]
        self.connection.executemany(_SQL["respelt"], respelt)

    def _keep_failures(self, leases: Sequence[HostLease]) -> None:
        """How each ended before, which is overwritten now."""
        keys = [(lease.host_id, lease.address_id) for lease in leases]
        self.connection.executemany(_SQL["failure_kept"], keys)
        self.connection.executemany(_SQL["failures_thinned"], [(*key, MOST_FAILURES - 1) for key in keys])

    def _settle_robots(self, settled: Settled, lease: HostLease) -> None:
        robots = settled.robots
        assert robots is not None, "checked by the caller"
        self.rulebook.keep(self.connection, lease.lane_host_id, lease.lane, robots)
        self._fresh[lease.lane_host_id, lease.lane] = robots
        delay_s = self._delay_s(lease.lane_host_id)
        gap = math.ceil(gap_s(self.rules.politeness, delay_s) * SECOND)
        self.connection.execute(_SQL["host_asked"], (delay_s, gap, lease.lane_host_id))
        if lease.is_errand:
            row = (lease.host_id, lease.lane_host_id, lease.lane)
            self.connection.execute(_SQL["errand_done"], row)
            self.connection.execute(_SQL["host_got_errands"], (-1, lease.host_id))
        if robots.state is RobotsState.PENDING and robots.ask is not None:
            at_host_id = host_id_of(self.connection, robots.ask.host.name)
            errand = (at_host_id, lease.lane_host_id, lease.lane, robots.ask.text)
            added = self.connection.execute(_SQL["errand_added"], errand).rowcount
            self.connection.execute(_SQL["host_got_errands"], (added, at_host_id))
        if settled.reason in HELD:
            give_up(self.connection, (lease.lane_host_id, lease.lane), settled.reason, settled.detail, settled.done_at)
        elif is_given_up(robots, self.rules.politeness.robots_tries):
            give_up_unread(self.connection, lease.lane_host_id, lease.lane, robots.failures, settled.done_at)
        self.connection.execute(_SQL["host_woken"], (lease.lane_host_id,))

    def _delay_s(self, host_id: int) -> float | None:
        """What the host asks for now: of its two origins the one that asks for more is heard."""
        asked = []
        for lane in (0, 1):
            entry = self._fresh.get((host_id, lane)) or self.rulebook.entry(self.connection, host_id, lane)
            if entry is not None and entry.crawl_delay_s is not None and entry.crawl_delay_s > 0:  # not NaN
                asked.append(entry.crawl_delay_s)
        return max(asked, default=None)

    def _settle_hosts(self, done: Sequence[Pair]) -> None:
        rows = [self._host_row(settled, lease) for settled, lease in done]
        self.connection.executemany(_SQL["host_settled"], rows)
        next_at = {row[-1]: row[0] for row in rows}
        kept = self.connection.execute(_SQL["hosts_in_back"], (str(list(next_at)),)).fetchall()
        self.kept = {host_id: next_at[host_id] for (host_id,) in kept}

    def _host_row(self, settled: Settled, lease: HostLease) -> tuple[Any, ...]:
        """When the host is free again, what it still has to give, and the ledger of what it was promised."""
        host, is_page = lease.host, settled.visit.kind is VisitKind.PAGE
        before = HostBefore(host.next_at, host.left_at, host.troubles, host.failing, host.failing_since)
        done_at, delay_s = min(settled.done_at, self.now), self._delay_s(host.id)
        draw = self.rules.chance.random()
        after = host_after(self.rules.politeness, before, settled, settled.visit.taken_at, done_at, delay_s, draw)
        if after.retired_why is not None:
            retire(self.connection, host.name, after.retired_why, done_at)
        stays = after.retired_why is None and self.stays(host.id)
        band = lease.band if stays else self._band(lease)
        is_over = is_page and settled.due_at is None
        return (*after, is_over, stays, band, settled.due_at if is_page else None, host.id)

    def _band(self, lease: HostLease) -> int:
        """Of a host that goes back to the front: by the best it has waiting now."""
        if lease.band == LAST:
            return LAST
        found = [
            row[0]
            for lane in LANES_OF[lease.host.lanes]
            if (row := self.connection.execute(_SQL["best_due"], (lease.host_id, lane)).fetchone())
        ]
        return band_of(min(found, default=lease.priority))


# Pages that lead to new pages: what a visit that was not the first has brought to the frontier (MISSION E7).

MOST_ASKED = 100
"""Offers of one page that are looked up: after a restart none of them was met lately."""


def led(connection: State, settled: Settled, fresh: Sequence[Offer], keys: UrlKeys) -> Past | None:
    """What is to be remembered of a page whose visit led to new pages; None: it did not, or was its first.

    `fresh`: what it offers that was not met lately and may enter; what is known all the same is not new.
    """
    past = settled.past
    if past is None or settled.visit.past is None or not fresh:
        return None
    new = 0
    for offer in fresh[:MOST_ASKED]:
        text = offer.url.text
        host_id = find_host_id(connection, parts_of(text)[1])
        key = (host_id, keys.id(text))
        new += connection.execute(_SQL["is_known"], key).fetchone() is None
        if new == MOST_NEW:
            break
    return past.led(new) if new else None


class SettleResult(NamedTuple):
    """What a settle wrote that memory is to learn after the commit."""

    settling: Settle
    fresh: int
    nods: int
    met: set[int]
    quarantined: list[tuple[int, str, str]]
