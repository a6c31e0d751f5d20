"""Taking: which visits are due and polite, and the marks on disk that keep the promise to their hosts."""

import math
import sqlite3
from collections import Counter
from typing import NamedTuple

import msgspec

from gossamer.clock import SECOND, Instant
from gossamer.frontier.gate import Ask, Away, GivenUp, Open, Shut, gate_of
from gossamer.frontier.hosts import LANES_OF, SCHEMES, name_of
from gossamer.frontier.politeness import Politeness, gap_s
from gossamer.frontier.rulebook import Rulebook
from gossamer.store import tallies
from gossamer.store.statements import load
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots
from gossamer.values.url import Url
from gossamer.values.visit import Visit, VisitKind

_SQL = load("gossamer.frontier")


class Lease(msgspec.Struct, frozen=True):
    """A visit that is out, and what settling it needs to know."""

    visit: Visit
    host_id: int
    lane_host_id: int
    """Whose lane this visit serves: another host's only when its robots.txt has moved here."""
    lane: int
    troubles: int
    is_errand: bool = False
    priority: int = 0
    sequence: int = 0
    address_id: int = 0
    last_reason: str | None = None


class _Ready(NamedTuple):
    """A row of hosts_ready."""

    id: int
    name: str
    lanes: int
    errands: int
    later_at: Instant | None
    crawl_delay_s: float | None
    troubles: int


class _Due(NamedTuple):
    """A row of first_due; the first two columns are its place in the lane."""

    priority: int
    sequence: int
    address_id: int
    url: str
    depth: int
    hops: int
    failures: int
    last_reason: str | None


class Leasing:
    """One `take`, inside its transaction."""

    def __init__(
        self, connection: sqlite3.Connection, rulebook: Rulebook, politeness: Politeness, now: Instant
    ) -> None:
        self._connection = connection
        self._rulebook = rulebook
        self._politeness = politeness
        self._now = now

    def lease(self, at_most: int) -> list[Lease]:
        """Lease what is due at hosts that may be touched, the longest ready first, one visit a host."""
        leases: list[Lease] = []
        while len(leases) < at_most:
            asked = (self._now, at_most - len(leases))
            ready = [_Ready._make(row) for row in self._connection.execute(_SQL["hosts_ready"], asked).fetchall()]
            if not ready:
                break
            leases += self._lease_at(ready)
        tallies.add(self._connection, {tallies.LEASED: len(leases)})
        if leases:
            self._connection.execute(_SQL["meta_set"], ("latest_at", self._now))
        return leases

    def _lease_at(self, ready: list[_Ready]) -> list[Lease]:
        """Every host given leaves the ready ones: it is leased, or it waits."""
        found: list[Lease] = []
        leased, waiting = [], []
        for host in ready:
            later_at = self._promoted(host)
            outcome = self._errand(host) if host.errands else self._look_at(host, later_at)
            if isinstance(outcome, Lease):
                gap = math.ceil(gap_s(self._politeness, host.crawl_delay_s) * SECOND)
                leased.append((self._now + gap, gap, later_at, host.id))
                found.append(outcome)
            else:
                waiting.append((outcome, later_at, host.id))
        self._connection.executemany(_SQL["host_leased"], leased)
        self._connection.executemany(_SQL["host_waits"], waiting)
        return found

    def _promoted(self, host: _Ready) -> Instant | None:
        """Pages whose time has come join those that are due; says when the next one will."""
        if host.later_at is None or host.later_at > self._now:
            return host.later_at
        laters: list[Instant] = []
        for lane in LANES_OF[host.lanes]:
            self._connection.execute(_SQL["became_due"], (host.id, lane, self._now))
            (later_at,) = self._connection.execute(_SQL["first_later"], (host.id, lane)).fetchone()
            if later_at is not None:
                laters.append(later_at)
        return min(laters, default=None)

    def _errand(self, host: _Ready) -> Lease:
        """The robots.txt of some origin, which has moved to this host."""
        lane_host_id, lane, text = self._connection.execute(_SQL["errand_first"], (host.id,)).fetchone()
        robots = self._rulebook.entry(self._connection, lane_host_id, lane)
        visit = self._robots_visit(Url(text), robots)
        return Lease(visit, host.id, lane_host_id, lane, host.troubles, is_errand=True)

    def _look_at(self, host: _Ready, later_at: Instant | None) -> Lease | Instant | None:
        """The visit to make at this host, or when there may be one; None: not before something else happens."""
        best: tuple[_Due, int, Open | Ask] | None = None
        for lane in LANES_OF[host.lanes]:
            row = self._connection.execute(_SQL["first_due"], (host.id, lane)).fetchone()
            if row is None:
                continue
            robots = self._rulebook.entry(self._connection, host.id, lane)
            gate = gate_of(robots, self._now, self._politeness.robots_tries)
            match gate:
                case Open() | Ask():
                    due = _Due._make(row)
                    best = (due, lane, gate) if best is None or due < best[0] else best
                case Shut(until=until):
                    later_at = until if later_at is None else min(later_at, until)
                case GivenUp(failures=failures):
                    give_up(self._connection, host.id, lane, failures, self._now)
                case Away():
                    pass
        return later_at if best is None else self._lease_of(host, *best)

    def _lease_of(self, host: _Ready, due: _Due, lane: int, gate: Open | Ask) -> Lease:
        if isinstance(gate, Ask):
            url = Url(f"{SCHEMES[lane]}://{host.name}/robots.txt")
            visit = self._robots_visit(url, gate.robots)
            return Lease(visit, host.id, host.id, lane, host.troubles)
        visit = Visit(Url(due.url), VisitKind.PAGE, self._now, due.depth, due.hops, due.failures, gate.robots)
        return Lease(
            visit,
            host.id,
            host.id,
            lane,
            host.troubles,
            False,
            due.priority,
            due.sequence,
            due.address_id,
            due.last_reason,
        )

    def _robots_visit(self, url: Url, robots: Robots | None) -> Visit:
        failures = robots.failures if robots else 0
        return Visit(url, VisitKind.ROBOTS, self._now, failures=failures, robots=robots)


def give_up(connection: sqlite3.Connection, host_id: int, lane: int, failures: int, now: Instant) -> int:
    """Settle, unvisited, every page that waits in a lane whose robots.txt cannot be read; says how many."""
    reasons = connection.execute(_SQL["lane_reasons"], (host_id, lane)).fetchall()
    amount: int = sum(many for _, many in reasons)
    if not amount:
        return 0
    origin = f"{SCHEMES[lane]}://{name_of(connection, host_id)}"
    detail = f"{origin}/robots.txt could not be read, {failures} times in a row"
    reason = Reason.ROBOTS_UNREACHABLE.value
    connection.execute(_SQL["lane_given_up"], (reason, detail, now, host_id, lane))
    connection.execute(_SQL["lane_emptied"], (host_id, lane))
    connection.execute(_SQL["host_lost"], (amount, host_id))
    moves = Counter({tallies.QUEUED: -amount, tallies.SETTLED: amount})
    moves.update({f"{tallies.REASON}{last}": -many for last, many in reasons if last})
    moves.update({f"{tallies.REASON}{reason}": amount})
    tallies.add(connection, moves)
    return amount
