"""Leases of the embedded frontier: which hosts get a back queue, and which fetch is due at a host."""

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
from gossamer.frontier.known import name_of
from gossamer.frontier.leases import AskFirst, DuePage, Lease, Open, choose, robots_visit
from gossamer.frontier.politeness import FAILED, gap_s
from gossamer.frontier.priority import BANDS, band_of, is_over_budget, pick_band
from gossamer.frontier.rows import HOWS, LANES_OF, REASON_CODES, REASONS, text_of
from gossamer.frontier.settlement import check_entry, lane_moves
from gossamer.frontier.sqlite.hosts import Quarantine, Rulebook
from gossamer.store import tallies
from gossamer.store.statements import State, load
from gossamer.values.history import Past, decoded
from gossamer.values.outcome import Reason
from gossamer.values.url import Url
from gossamer.values.visit import Settled

_SQL = load("gossamer.frontier.sqlite")
MOST_HELD = 1000
"""Addresses put into quarantine in one look at a host; the next look goes on."""


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
    """As it was when the fetch was taken; its promise (`next_at`) among it."""
    band: int


class TakeResult(NamedTuple):
    """What `look` found: visits, and hosts that give their back queues up."""

    leases: list[HostLease]
    left: list[int]


@dataclass(slots=True)
class Take:
    """One `take`, inside its transaction."""

    connection: State
    rulebook: Rulebook
    rules: FrontierRules
    quarantine: Quarantine | None
    now: Instant
    elapsed_s: float

    def look(self, host_ids: list[int]) -> TakeResult:
        """Lease one visit at each host that has one due; every other host leaves its back queue and waits."""
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
        return TakeResult(leases, [row[2] for row in waiting])

    def _promoted(self, host: HostRow) -> Instant | None:
        """Pages whose time has come join those that are due; says when the next one will."""
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
        """The robots.txt of some origin, which has moved to this host."""
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
        """The visit to make at this host, or when there may be one; None: not before something else happens."""
        heads = []
        for lane in LANES_OF[host.lanes]:
            due = self._first_due(host, lane)
            if isinstance(due, int):
                return due
            if due is not None:
                heads.append((due[:2], (due, lane), self.rulebook.entry(self.connection, host.id, lane)))
        found = choose(heads, self.now, self.rules.politeness.robots_tries)
        for (_, lane), failures in found.given_up:
            give_up_unread(self.connection, host.id, lane, failures, self.now)
        if found.best is None:
            return min((at for at in (later_at, *found.opens_at) if at is not None), default=None)
        (due, lane), gate = found.best
        return self._lease_of(host, due, lane, gate)

    def _first_due(self, host: HostRow, lane: int) -> DuePage | Instant | None:
        """The next page of a lane; those in quarantine are put aside on the way, many of them in several looks."""
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
        out = partial(HostLease, host=host, host_id=host.id, lane_host_id=host.id, lane=lane, since_s=self.elapsed_s)
        band = self._band(host, due.priority)
        if isinstance(gate, AskFirst):
            url = Url(text_of(lane, host.name, "robots.txt"))
            return out(visit=robots_visit(url, gate.robots, self.now), band=band)
        url, how, past = Url(text_of(lane, host.name, due.text)), HOWS[due.how], self._past(host.id, due)
        return out(
            visit=due.visit(url, how, past, gate.robots, self.now, (host.failing, host.failing_since)),
            band=band,
            priority=due.priority,
            sequence=due.sequence,
            address_id=due.address_id,
            last_reason=None if due.last_reason is None else REASONS[due.last_reason],
        )

    def _past(self, host_id: int, due: DuePage) -> Past | None:
        if due.last_reason is None:
            return None
        row = self.connection.execute(_SQL["past_of"], (host_id, due.address_id)).fetchone()
        return decoded(row[0]) if row is not None else None

    def _band(self, host: HostRow, priority: int) -> int:
        return band_of(priority, is_over_budget(self.rules.budget, host.visits, host.spent / SECOND, host.linked_from))


Pair = tuple[Settled, HostLease]


def lease_of(settled: Settled, leases: Mapping[str, HostLease]) -> HostLease:
    """The lease that this ends, of those that are out (by host name). Raises ValueError when there is none, or a robots
    visit ends without a whole entry."""
    visit = settled.visit
    lease = leases.get(visit.url.host.name)
    if lease is None or lease.visit.url != visit.url or lease.visit.taken_at != visit.taken_at:
        raise ValueError(f"the visit to {visit.url} is not out: it was never taken, or is settled")
    check_entry(settled)
    return lease


def give_up_unread(connection: State, host_id: int, lane: int, failures: int, now: Instant) -> None:
    """Settle, unvisited, every page that waits in a lane whose robots.txt cannot be read."""
    robots_txt = text_of(lane, name_of(connection, host_id), "robots.txt")
    detail = f"{robots_txt} could not be read, {failures} times in a row"
    give_up(connection, (host_id, lane), Reason.ROBOTS_UNREACHABLE, detail, now)


def give_up(connection: State, lane: tuple[int, int], reason: Reason, detail: str, now: Instant) -> None:
    """Settle, unvisited, every page that waits in a lane (host id and number), all with the same end."""
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
    """Hosts that may be touched, in the order in which they get their back queues. Nothing is changed."""
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


def first_at(connection: State) -> Instant | None:
    """The earliest instant at which `choose_hosts` may find something."""
    (at,) = connection.execute(_SQL["front_first"]).fetchone()
    return None if at is None else int(at)


# Who is visited now: hosts come from the front queues into back queues, and visits are taken there.

MOST_BACKS = 1 << 16
"""Back queues at most, however many fetches there are."""
ENTERING = 64
"""Hosts that get a back queue together."""


@dataclass(slots=True)
class Backing:
    """The back queues in memory, and what is known of the front. Used on the database's thread alone.

    Memory runs ahead of the disk inside a transaction. If that fails, `mend` gives all back queues up but those of
    hosts on lease: the next transaction begins with it.
    """

    backs: Backs
    chance: Chance
    resolving: Resolving | None = None
    front_at: Instant | None = None
    """Nothing is to be had in the front before; None: not known."""
    wanted: list[str] = field(default_factory=list)
    """Hosts that are to be resolved."""
    is_torn: bool = False

    def mend(self, connection: State, leased: set[int]) -> None:
        if self.is_torn:
            self.backs.keep_only(leased)
            connection.execute(_SQL["backs_dissolved"])
            self.front_at = None
        self.is_torn = True

    def whole(self) -> None:
        """The transaction is on disk."""
        self.is_torn = False

    def lease(self, connection: State, leasing: Take, at_most: int, out: int, now: Instant) -> list[HostLease]:
        """Up to so many visits, while `out` are under way. Hosts get back queues as they are needed."""
        leases: list[HostLease] = []
        may_enter = max(ENTERING, 2 * at_most)
        while True:
            if host_ids := self.backs.ready(now, at_most - len(leases)):
                looked = leasing.look(host_ids)
                for lease in looked.leases:
                    self.backs.leased(lease.host_id)
                for host_id in looked.left:
                    self.backs.leave(host_id)
                    self.front_at = None
                leases += looked.leases
            missing = at_most - len(leases)
            room = max(missing, PER_FETCH * (at_most + out) - len(self.backs))
            entered = self._enter(connection, min(room, ENTERING, may_enter), now)
            may_enter -= entered
            if not missing or not (entered or host_ids):
                return leases

    def _enter(self, connection: State, at_most: int, now: Instant) -> int:
        """Give back queues to hosts of the front; says to how many. Those not resolved yet are asked for."""
        if at_most < 1 or len(self.backs) >= MOST_BACKS or (self.front_at is not None and self.front_at > now):
            return 0
        resolving = self.resolving
        busy = resolving.busy() if resolving is not None else 0
        chosen = choose_hosts(connection, now, at_most + busy, self.chance)
        if not chosen:
            found = first_at(connection)
            self.front_at = NEVER if found is None else found
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
        """Whether a host whose visit is over keeps its back queue: its turn ends while others wait."""
        if host_id not in self.backs:
            return False
        others_wait = self.front_at is None or self.front_at <= now
        return not (others_wait and self.backs.is_turn_over(host_id))

    def next_at(self, connection: State) -> Instant | None:
        """The earliest instant at which `lease` may find something."""
        if self.front_at is None:
            found = first_at(connection)
            self.front_at = NEVER if found is None else found
        in_front = self.front_at if len(self.backs) < MOST_BACKS else NEVER
        in_back = self.backs.next_at()
        earliest = in_front if in_back is None else min(in_front, in_back)
        return None if earliest == NEVER else earliest
