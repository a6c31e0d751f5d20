"""Settling: the results of visits, stored in one transaction."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gossamer.base.clock import SECOND, Instant
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.known import keys_of
from gossamer.frontier.politeness import MOST_FAILURES, gap_s
from gossamer.frontier.priority import LAST, band_of
from gossamer.frontier.rows import LANES_OF, REASON_CODES, UrlKeys
from gossamer.frontier.settlement import HostBefore, captures_of, host_after, lane_end, page_rows
from gossamer.frontier.sqlite.hosts import Quarantine, Rulebook, host_id_of, quarantine, retire
from gossamer.frontier.sqlite.leases import HostLease, HostRow, Pair, give_up
from gossamer.frontier.sqlite.sieve import next_sequence
from gossamer.store import captures, tallies
from gossamer.store.statements import State, load
from gossamer.values.history import MOST_NEW, Past
from gossamer.values.link import Offer
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.visit import Settled, VisitKind, Yield

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
    quarantine: Quarantine | None
    kept: dict[int, Instant] = field(default_factory=dict)
    """Hosts that keep their back queues, and their next instants."""
    quarantined: list[tuple[HostRow, str]] = field(default_factory=list)
    """Templates that are held because of these visits."""
    _fresh: dict[tuple[int, int], Robots] = field(default_factory=dict)
    """Entries settled just now, by host id and lane; the rulebook gets them after the commit."""

    def settle(self, done: Sequence[Pair]) -> None:
        """REQUIRES: each lease is valid, at most one a host."""
        moves = self._settle_pages(done)
        for settled, lease in done:
            if settled.yielded is not None and self.quarantine is not None:
                self._learn(self.quarantine, lease.host, settled.yielded)
            if settled.visit.kind is VisitKind.ROBOTS:
                self._settle_robots(settled, lease)
        self._settle_hosts(done)
        captures.insert(self.connection, *captures_of(done))
        tallies.add(self.connection, {**moves, tallies.LEASED: -len(done)})

    def _settle_pages(self, done: Sequence[Pair]) -> dict[str, int]:
        rows, many = page_rows(done), self.connection.executemany
        sequences = [next_sequence(self.connection, 1) if one.is_last else one.place.sequence for one in rows.requeued]
        again = [
            (one.due_at, one.priority, sequence, *one.place)
            for one, sequence in zip(rows.requeued, sequences, strict=True)
        ]
        ends = [
            (one.host_id, one.id, REASON_CODES[one.reason], one.failures, one.done_at, one.due_at, one.detail)
            for one in rows.ends
        ]
        many(_SQL["failure_kept"], rows.failed)
        many(_SQL["failures_thinned"], [(*key, MOST_FAILURES - 1) for key in rows.failed])
        many(_SQL["unqueued"], rows.removed)
        many(_SQL["queued_later"], again)
        many(_SQL["ended"], ends)
        many(_SQL["past_kept"], rows.pasts)
        many(_SQL["respelt"], [(url.target[1:], *key) for url, *key in rows.respelt])
        return rows.moves

    def _learn(self, quarantined: Quarantine, host: HostRow, yielded: Yield) -> None:
        """Store what a page brought for its template; a template found barren is quarantined."""
        if quarantined.learn(self.connection, host.id, host.name, yielded):
            quarantine(self.connection, host.name, yielded.template, quarantined.template_of, self.now)
            self.quarantined.append((host, yielded.template))

    def _settle_robots(self, settled: Settled, lease: HostLease) -> None:
        robots, lane = settled.robots, (lease.lane_host_id, lease.lane)
        assert robots is not None, "checked by the caller"
        self.rulebook.keep(self.connection, *lane, robots)
        self._fresh[lane] = robots
        delay_s = self._delay_s(lease.lane_host_id)
        gap = math.ceil(gap_s(self.rules.politeness, delay_s) * SECOND)
        self.connection.execute(_SQL["host_asked"], (delay_s, gap, lease.lane_host_id))
        if lease.is_errand:
            self.connection.execute(_SQL["errand_done"], (lease.host_id, *lane))
            self.connection.execute(_SQL["host_got_errands"], (-1, lease.host_id))
        if robots.state is RobotsState.PENDING and robots.ask is not None:
            at_host_id = host_id_of(self.connection, robots.ask.host.name)
            added = self.connection.execute(_SQL["errand_added"], (at_host_id, *lane, robots.ask.text)).rowcount
            self.connection.execute(_SQL["host_got_errands"], (added, at_host_id))
        if end := lane_end(settled, robots, self.rules.politeness.robots_tries):
            give_up(self.connection, lane, *end, settled.done_at)
        self.connection.execute(_SQL["host_woken"], (lease.lane_host_id,))

    def _delay_s(self, host_id: int) -> float | None:
        """The crawl delay of a host now: the longer one of its two origins."""
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
        """The parameters of `host_settled`."""
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
        """Of a host that returns to the front: by its best waiting page."""
        if lease.band == LAST:
            return LAST
        found = [
            row[0]
            for lane in LANES_OF[lease.host.lanes]
            if (row := self.connection.execute(_SQL["best_due"], (lease.host_id, lane)).fetchone())
        ]
        return band_of(min(found, default=lease.priority))


MOST_ASKED = 100
"""Offers of one page that are looked up: after a restart the table of URLs seen recently is empty."""


def with_leads(connection: State, settled: Settled, fresh: Iterable[Offer], keys: UrlKeys) -> Past | None:
    """What to remember about a page that led to new pages (MISSION E7); None: it did not, or this was its first visit.

    `fresh`: its offers that were not seen recently and may enter; those that are known after all are not new.
    """
    past = settled.past
    if past is None or settled.visit.past is None:
        return None
    new = 0
    for key in keys_of(connection, [offer.url for offer in list(fresh)[:MOST_ASKED]], keys):
        new += connection.execute(_SQL["is_known"], key).fetchone() is None
        if new == MOST_NEW:
            break
    return past.led(new) if new else None
