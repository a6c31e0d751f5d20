"""Leases of the SQLite frontier: which hosts get a back queue, and which visit is due at a host."""

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from gossamer.base.clock import SECOND, Instant
from gossamer.base.environment import Chance
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.back_queues import NEVER, PER_FETCH, Backs, Resolving
from gossamer.frontier.known import past_at
from gossamer.frontier.leases import AskFirst, DuePage, Lease, Open, choose, robots_visit
from gossamer.frontier.politeness import FAILED, gap_s
from gossamer.frontier.priority import BANDS, band_of, is_over_budget, pick_band
from gossamer.frontier.rows import HOWS, LANES_OF, REASON_CODES, REASONS, text_of
from gossamer.frontier.settlement import check_entry, lane_moves
from gossamer.frontier.sqlite.hosts import Quarantine, Rulebook
from gossamer.store import tallies
from gossamer.store.statements import State, load
from gossamer.values.outcome import Reason
from gossamer.values.url import Url
from gossamer.values.visit import Settled

_SQL = load("gossamer.frontier.sqlite")
MOST_HELD = 1000
"""URLs of a host quarantined in one transaction; the next one continues."""


class HostRow(NamedTuple):
    """A row of hosts_looked_at."""

    id: int
    name: str
    lanes: int
    errands: int
    later_at: Instant | None
    crawl_delay_s: float | None
    troubles: int
    next_at: Instant
    left_at: Instant | None
    failing: int
    failing_since: Instant | None
    visits: int
    spent: int
    linked_from: int


class HostLease(Lease, frozen=True, kw_only=True):
    host: HostRow
    """As it was when the visit was taken, including its promise (`next_at`)."""
    band: int


@dataclass(slots=True)
class Take:
    """One `take`, inside its transaction."""

    connection: State
    rulebook: Rulebook
    rules: FrontierRules
    quarantine: Quarantine | None
    now: Instant
    elapsed_s: float

    def lease_at(self, host_ids: list[int]) -> tuple[list[HostLease], list[int]]:
        """Lease one visit at each host that has one due; the other hosts, returned too, lose their back queue."""
        leases: list[HostLease] = []
        leased, waiting = [], []
        rows = self.connection.execute(_SQL["hosts_looked_at"], (str(host_ids),)).fetchall()
        hosts = {row[0]: HostRow._make(row) for row in rows}
        for host_id in host_ids:
            host = hosts[host_id]
            later_at = self._promoted(host)
            found = self._errand(host) if host.errands else self._look_at(host, later_at)
            if isinstance(found, HostLease):
                gap = math.ceil(gap_s(self.rules.politeness, host.crawl_delay_s) * SECOND)
                leased.append((self.now + gap, gap, later_at, found.band, host_id))
                leases.append(found)
            else:
                waiting.append((found, later_at, host_id))
        self.connection.executemany(_SQL["host_leased"], leased)
        self.connection.executemany(_SQL["host_waits"], waiting)
        return leases, [row[2] for row in waiting]

    def _promoted(self, host: HostRow) -> Instant | None:
        """Mark pages as due whose time has come; returns when the next one will be."""
        if host.later_at is None or host.later_at > self.now:
            return host.later_at
        laters: list[Instant] = []
        for lane in LANES_OF[host.lanes]:
            self.connection.execute(_SQL["became_due"], (host.id, lane, self.now))
            (later_at,) = self.connection.execute(_SQL["first_later"], (host.id, lane)).fetchone()
            if later_at is not None:
                laters.append(later_at)
        return min(laters, default=None)

    def _errand(self, host: HostRow) -> HostLease:
        """A visit to the robots.txt of another host, which has moved here."""
        lane_host_id, lane, text = self.connection.execute(_SQL["errand_first"], (host.id,)).fetchone()
        robots = self.rulebook.entry(self.connection, lane_host_id, lane)
        visit = robots_visit(Url(text), robots, self.now)
        return HostLease(
            visit=visit,
            host=host,
            host_id=host.id,
            lane_host_id=lane_host_id,
            lane=lane,
            band=self._band(host, 0),
            since_s=self.elapsed_s,
            is_errand=True,
        )

    def _look_at(self, host: HostRow, later_at: Instant | None) -> HostLease | Instant | None:
        """The next visit at this host, or when there may be one; None: not before something else happens."""
        heads = []
        for lane in LANES_OF[host.lanes]:
            due = self._first_due(host, lane)
            if isinstance(due, int):
                return due
            if due is not None:
                heads.append((due[:2], (due, lane), self.rulebook.entry(self.connection, host.id, lane)))
        found = choose(heads, self.now, self.rules.politeness.robots_tries)
        for (_, lane), detail in found.given_up:
            give_up(self.connection, (host.id, lane), Reason.ROBOTS_UNREACHABLE, detail, self.now)
        if found.best is None:
            return min((at for at in (later_at, *found.opens_at) if at is not None), default=None)
        (due, lane), gate = found.best
        return self._lease_of(host, due, lane, gate)

    def _first_due(self, host: HostRow, lane: int) -> DuePage | Instant | None:
        """The next page of a lane; the quarantined ones before it are held, up to MOST_HELD in one transaction."""
        quarantine = self.quarantine
        for _ in range(MOST_HELD):
            row = self.connection.execute(_SQL["first_due"], (host.id, lane)).fetchone()
            if row is None:
                return None
            due = DuePage._make(row)
            if quarantine is None or not quarantine.is_held(host.id, lane, due.text):
                return due
            quarantine.hold(self.connection, host.id, lane, due[:2], due.text)
        return self.now

    def _lease_of(self, host: HostRow, due: DuePage, lane: int, gate: Open | AskFirst) -> HostLease:
        lease = partial(HostLease, host=host, host_id=host.id, lane_host_id=host.id, lane=lane, since_s=self.elapsed_s)
        band = self._band(host, due.priority)
        if isinstance(gate, AskFirst):
            url = Url(text_of(lane, host.name, "robots.txt"))
            return lease(visit=robots_visit(url, gate.robots, self.now), band=band)
        url, how = Url(text_of(lane, host.name, due.text)), HOWS[due.how]
        past = None if due.last_reason is None else past_at(self.connection, (host.id, due.address_id))
        return lease(
            visit=due.visit(url, how, past, gate.robots, self.now, (host.failing, host.failing_since)),
            band=band,
            priority=due.priority,
            sequence=due.sequence,
            address_id=due.address_id,
            last_reason=None if due.last_reason is None else REASONS[due.last_reason],
        )

    def _band(self, host: HostRow, priority: int) -> int:
        return band_of(priority, is_over_budget(self.rules.budget, host.visits, host.spent / SECOND, host.linked_from))


Pair = tuple[Settled, HostLease]


def lease_of(settled: Settled, leases: Mapping[str, HostLease]) -> HostLease:
    """The lease that this ends, of all leases by host name. Raises ValueError when there is none, or a robots visit
    ends without a complete entry."""
    visit = settled.visit
    lease = leases.get(visit.url.host.name)
    if lease is None or lease.visit.url != visit.url or lease.visit.taken_at != visit.taken_at:
        raise ValueError(f"the visit to {visit.url} is not leased: it was never taken, or is already settled")
    check_entry(settled)
    return lease


def give_up(connection: State, lane: tuple[int, int], reason: Reason, detail: str, now: Instant) -> None:
    """Settle every page that waits in a lane (host id and number) without a visit, for the same reason."""
    reasons = connection.execute(_SQL["lane_reasons"], lane).fetchall()
    amount: int = sum(many for _, many in reasons)
    if not amount:
        return
    failed = str([REASON_CODES[one] for one in FAILED])
    connection.execute(_SQL["lane_failures_kept"], (*lane, failed))
    connection.execute(_SQL["lane_given_up"], (REASON_CODES[reason], now, detail, *lane))
    connection.execute(_SQL["lane_emptied"], lane)
    connection.execute(_SQL["host_lost"], (amount, lane[0]))
    before = [(None if last is None else REASONS[last], many) for last, many in reasons]
    tallies.add(connection, lane_moves(before, reason))


class ChosenHost(NamedTuple):
    host_id: int
    name: str
    ready_at: Instant
    band: int


def choose_hosts(connection: State, now: Instant, at_most: int, chance: Chance) -> list[ChosenHost]:
    """Hosts that may be visited, in the order in which they get their back queues. Nothing is changed."""
    bands: dict[int, deque[ChosenHost]] = {}
    for band in range(BANDS):
        rows = connection.execute(_SQL["front_ready"], (band, now, at_most)).fetchall()
        if rows:
            bands[band] = deque(ChosenHost(host_id, name, ready_at, band) for host_id, name, ready_at in rows)
    if len(bands) == 1:
        return list(bands.popitem()[1])
    chosen: list[ChosenHost] = []
    while bands and len(chosen) < at_most:
        band = pick_band(list(bands), chance.random())
        chosen.append(bands[band].popleft())
        if not bands[band]:
            del bands[band]
    return chosen


def first_at(connection: State) -> Instant:
    """The earliest instant at which `choose_hosts` may find something, or NEVER."""
    (at,) = connection.execute(_SQL["front_first"]).fetchone()
    return NEVER if at is None else int(at)


# Hosts move from the front queues to back queues, and visits are taken there.

MOST_BACKS = 1 << 16
"""Limit of back queues, however many fetches there are."""
ENTERING = 64
"""Hosts that get a back queue together."""


@dataclass(slots=True)
class HostQueues:
    """The back queues in memory, and when the front queues have something. Used only on the database's thread.

    Memory runs ahead of the disk inside a transaction. If that fails, `begin` of the next one dissolves all back queues
    except those of leased hosts.
    """

    backs: Backs
    chance: Chance
    resolving: Resolving | None = None
    front_at: Instant | None = None
    """The front queues have nothing before; None: not known."""
    wanted: list[str] = field(default_factory=list)
    """Hosts whose names must be resolved."""
    is_uncommitted: bool = False

    def begin(self, connection: State, leased: set[int]) -> None:
        """To be called first in a transaction that leases; `committed` after its commit."""
        if self.is_uncommitted:
            self.backs.keep_only(leased)
            connection.execute(_SQL["backs_dissolved"])
            self.front_at = None
        self.is_uncommitted = True

    def committed(self) -> None:
        self.is_uncommitted = False

    def lease(self, connection: State, take: Take, at_most: int, out: int, now: Instant) -> list[HostLease]:
        """Up to so many visits, with `out` others leased. Hosts get back queues as they are needed."""
        leases: list[HostLease] = []
        may_enter = max(ENTERING, 2 * at_most)
        while True:
            if host_ids := self.backs.ready(now, at_most - len(leases)):
                more, idle = take.lease_at(host_ids)
                for lease in more:
                    self.backs.leased(lease.host_id)
                for host_id in idle:
                    self.backs.leave(host_id)
                    self.front_at = None
                leases += more
            missing = at_most - len(leases)
            room = max(missing, PER_FETCH * (at_most + out) - len(self.backs))
            entered = self._enter(connection, min(room, ENTERING, may_enter), now)
            may_enter -= entered
            if not missing or not (entered or host_ids):
                return leases

    def _enter(self, connection: State, at_most: int, now: Instant) -> int:
        """Give back queues to hosts of the front; returns to how many. Unresolved ones become `wanted`."""
        if at_most < 1 or len(self.backs) >= MOST_BACKS or (self.front_at is not None and self.front_at > now):
            return 0
        resolving = self.resolving
        busy = resolving.busy() if resolving is not None else 0
        chosen = choose_hosts(connection, now, at_most + busy, self.chance)
        if not chosen:
            self.front_at = first_at(connection)
        entered = []
        for host in chosen:
            address = None
            if resolving is not None:
                if not resolving.is_known(host.name):
                    self.wanted.append(host.name)
                    continue
                address = resolving.take(host.name)
            self.backs.enter(host.host_id, host.ready_at, address, host.band)
            entered.append((host.host_id,))
        connection.executemany(_SQL["host_entered"], entered)
        return len(entered)

    def stays(self, host_id: int, now: Instant) -> bool:
        """Whether a host whose visit is over keeps its back queue; it loses it after its turn if others wait."""
        if host_id not in self.backs:
            return False
        others_wait = self.front_at is None or self.front_at <= now
        return not (others_wait and self.backs.is_turn_over(host_id))

    def next_at(self, connection: State) -> Instant | None:
        """The earliest instant at which `lease` may find something."""
        if self.front_at is None:
            self.front_at = first_at(connection)
        in_front = self.front_at if len(self.backs) < MOST_BACKS else NEVER
        in_back = self.backs.next_at()
        earliest = in_front if in_back is None else min(in_front, in_back)
        return None if earliest == NEVER else earliest
