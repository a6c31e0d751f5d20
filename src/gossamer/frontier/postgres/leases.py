"""Leases in a shared database: which visits are due and polite.

Also the locks that keep other crawlers off.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gossamer.base.clock import SECOND, Instant
from gossamer.config.slices import Politeness
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.back_queues import MOST_RESOLVED, TURN, Resolving
from gossamer.frontier.core import GLANCE
from gossamer.frontier.leases import AskFirst, DuePage, Lease, Open, choose, robots_visit
from gossamer.frontier.politeness import FAILED, gap_s
from gossamer.frontier.postgres.hosts import SharedRulebook, hold_due
from gossamer.frontier.postgres.presence import SharedMoment, tally
from gossamer.frontier.priority import LAST, pick_band
from gossamer.frontier.rows import text_of
from gossamer.frontier.settlement import lane_moves
from gossamer.store import tallies
from gossamer.store.postgres.database import Connection, columns
from gossamer.store.statements import load
from gossamer.values.history import decoded
from gossamer.values.link import How
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots
from gossamer.values.url import Url
from gossamer.values.visit import Visit

_SQL = load("gossamer.frontier.postgres")
MOST_MAIL = 2_000
"""Hosts whose mail one `take` delivers at most."""
NEAR_US = 5 * SECOND
"""How long a host that is ready is left to the crawlers that rules prefer for it; then we take it."""
MOST_LEFT, MOST_REMEMBERED = 500, 50_000
"""Hosts that one `take` leaves to others before it stops looking; and those it remembers to have left."""
MOST_ROUNDS = 20
"""How often one `take` looks for a page at a host where all that wait are quarantined."""


class SharedLease(Lease, frozen=True, kw_only=True):
    token: int
    """The number of this lease among all of the host: a crawler that has an older one has lost the host."""
    taken_at: Instant
    """By the shared clock."""
    was_free_at: Instant
    """The host's earliest instant before it was leased, by the shared clock."""


class Ready(NamedTuple):
    """A row of hosts_ready."""

    id: int
    name: str
    lease: int
    next_at: Instant
    failing: int
    failing_since: Instant | None
    ready_at: Instant


class _Host(NamedTuple):
    """A row of hosts_looked."""

    id: int
    crawl_delay_s: float | None
    errand_host_id: int | None
    errand_lane: int | None
    errand_url: str | None


class _Lane(NamedTuple):
    """A row of lanes_looked."""

    host_id: int
    lane: int
    later_at: Instant | None
    version: int | None
    past: bytes | None
    due: DuePage | None
    """None: nothing in the lane is due."""


class Admitted(NamedTuple):
    """Of hosts that are ready: those that may be visited, those that wait until an instant, and those whose IP address
    is not known yet."""

    now: set[int]
    later: list[tuple[int, Instant]]
    unresolved: set[int]


class Networks:
    """The IP addresses of hosts, as far as this crawler knows them, and the limits of those addresses.

    Used only on the database's thread; the names in `wanted` are resolved on the event loop.
    """

    def __init__(self, resolving: Resolving, politeness: Politeness) -> None:
        self._resolving = resolving
        self._per_address = politeness.per_address
        self._apart = math.ceil(politeness.apart_s * SECOND)
        self._known: dict[str, tuple[str | None, int]] = {}
        """By host name: its IP address, and for how many more visits it counts as valid (TURN at first)."""
        self.wanted: list[str] = []

    def admit(self, connection: Connection, names: Mapping[int, str], now: Instant) -> Admitted:
        """`names`: of hosts by id, in the order of their turn. Hosts without an IP address have no limits to share."""
        self.wanted = [name for name in names.values() if not self._is_known(name)]
        found = Admitted(set(), [], {host_id for host_id, name in names.items() if name not in self._known})
        addresses = {host_id: self._known[name][0] for host_id, name in names.items() if name in self._known}
        leased, starts = self._limits(connection, sorted({one for one in addresses.values() if one is not None}))
        for host_id, address in addresses.items():
            if address is None:
                found.now.add(host_id)
            elif address not in starts or leased[address] >= self._per_address:  # or another crawler decides about it
                found.later.append((host_id, now + GLANCE))
            elif starts[address] > now:
                found.later.append((host_id, starts[address]))
            else:
                found.now.add(host_id)
                leased[address] += 1
                starts[address] = now + self._apart
        return found

    def started(self, connection: Connection, names: Iterable[str], now: Instant) -> list[str | None]:
        """Visits to these hosts begin; returns their IP addresses. The next visit there may start a little later."""
        known = [(name, *self._known.pop(name)) for name in names]
        addresses = sorted({address for _, address, _ in known if address is not None})
        if addresses:
            connection.execute(_SQL["network_started"], {"addresses": addresses, "start_at": now + self._apart})
        self._known |= {name: (address, turns - 1) for name, address, turns in known if turns > 1}
        return [address for _, address, _ in known]

    def _is_known(self, name: str) -> bool:
        if name not in self._known and self._resolving.is_known(name):
            self._known[name] = (self._resolving.take(name), TURN)
            while len(self._known) > MOST_RESOLVED:
                del self._known[next(iter(self._known))]
        return name in self._known

    def _limits(self, connection: Connection, addresses: list[str]) -> tuple[Counter[str], dict[str, Instant]]:
        """How many visits to each IP address are leased, and when the next may start; locked."""
        if not addresses:
            return Counter(), {}
        given = {"addresses": addresses}
        connection.execute(_SQL["networks_added"], given)
        starts: dict[str, Instant] = dict(connection.execute(_SQL["networks_locked"], given).fetchall())
        return Counter(dict(connection.execute(_SQL["networks_leased"], given).fetchall())), starts


class Preference:
    """Leaves hosts, for a while, to the crawlers that rules prefer for them."""

    def __init__(self, is_near: Callable[[str], bool] | None) -> None:
        """`is_near`: whether this crawler is one of those for a host."""
        self._is_near = is_near
        self.left: set[int] = set()
        """Hosts that the present `take` leaves to others."""
        self._since: dict[int, tuple[Instant, Instant]] = {}
        """When a host was ready, and when it was left for the first time since."""

    def ours(self, ready: list[Ready], now: Instant) -> list[Ready]:
        """Without those that a preferred crawler may still take."""
        if self._is_near is None:
            return ready
        for host in ready:
            if self._is_near(host.name):
                continue
            ready_at, since = self._since.get(host.id, (None, now))
            if ready_at != host.ready_at:
                since = now
            if len(self._since) >= MOST_REMEMBERED:
                self._since.clear()
            self._since[host.id] = host.ready_at, since
            if now < since + NEAR_US:
                self.left.add(host.id)
        return [host for host in ready if host.id not in self.left]


@dataclass(slots=True)
class SharedTake:
    """One `take`, inside its transaction."""

    connection: Connection
    worker_id: int
    rulebook: SharedRulebook
    rules: FrontierRules
    networks: Networks | None
    moment: SharedMoment
    preference: Preference
    _unresolved: set[int] = field(default_factory=set)

    def lease(self, at_most: int) -> list[SharedLease]:
        """Lease one visit at each of some ready hosts: from a band drawn at random, the longest ready first."""
        deliver(self.connection, self.rules.politeness)
        leases: list[SharedLease] = []
        while len(leases) < at_most and (ready := self._ready(at_most - len(leases))):
            leases += self._lease_at(self._admitted(ready))
        tally(self.connection, self.worker_id, {tallies.LEASED: len(leases)})
        return leases

    def _ready(self, wanted: int) -> list[Ready]:
        """Hosts, locked until the transaction ends; unresolved ones found before are left out."""
        rows = self.connection.execute(_SQL["bands_ready"], {"now": self.moment.at, "last": LAST}).fetchall()
        bands = [band for (band,) in rows]
        found: list[Ready] = []
        while bands and len(found) < wanted:
            drawn = Counter(pick_band(bands, self.rules.chance.random()) for _ in range(wanted - len(found)))
            for band, amount in sorted(drawn.items()):
                without = [*self._unresolved, *self.preference.left, *(host.id for host in found)]
                given = {"now": self.moment.at, "band": band, "most": amount, "without": without}
                more = [Ready._make(row) for row in self.connection.execute(_SQL["hosts_ready"], given)]
                found += self.preference.ours(more, self.moment.at)
                if len(more) < amount or len(self.preference.left) > MOST_LEFT:
                    bands.remove(band)
        return found

    def _admitted(self, ready: Sequence[Ready]) -> list[Ready]:
        """Those whose IP address admits one more visit now; the others wait, or are resolved first."""
        networks = self.networks
        if networks is None:
            return list(ready)
        admitted = networks.admit(self.connection, {host.id: host.name for host in ready}, self.moment.at)
        self._unresolved |= admitted.unresolved
        self._mark([], admitted.later)
        return [host for host in ready if host.id in admitted.now]

    def _lease_at(self, ready: Sequence[Ready]) -> list[SharedLease]:
        """Lease these hosts, or let them wait: none is ready any longer."""
        if not ready:
            return []
        hosts, lanes = self._look_at([host.id for host in ready])
        entries = self._entries(hosts.values(), lanes)
        found: list[SharedLease] = []
        leased, waiting = [], []
        for host in ready:
            looked = hosts[host.id]
            outcome = self._errand(host, looked, entries) or self._choose(host, lanes[host.id], entries)
            if isinstance(outcome, SharedLease):
                gap = math.ceil(gap_s(self.rules.politeness, looked.crawl_delay_s) * SECOND)
                leased.append((host, outcome.address_id, self.moment.at + gap, gap))
                found.append(outcome)
            else:
                waiting.append((host.id, outcome))
        self._mark(leased, waiting)
        return found

    def _look_at(self, ids: list[int]) -> tuple[dict[int, _Host], dict[int, list[_Lane]]]:
        given = {"hosts": ids}
        hosts = {row[0]: _Host._make(row) for row in self.connection.execute(_SQL["hosts_looked"], given)}
        lanes = self._lanes(ids)
        late = sorted({row.host_id for row in lanes if row.later_at is not None and row.later_at <= self.moment.at})
        if late:
            self.connection.execute(_SQL["became_due"], {"hosts": late, "now": self.moment.at})
            lanes = self._again(lanes, late)
        for _ in range(MOST_ROUNDS):
            changed = self._hold_due(lanes)
            if not changed:
                break
            lanes = self._again(lanes, changed)
        by_host: dict[int, list[_Lane]] = defaultdict(list)
        for row in lanes:
            by_host[row.host_id].append(row)
        return hosts, by_host

    def _again(self, lanes: list[_Lane], changed: Collection[int]) -> list[_Lane]:
        return [row for row in lanes if row.host_id not in changed] + self._lanes(list(changed))

    def _hold_due(self, lanes: Iterable[_Lane]) -> set[int]:
        """Hold pages whose template was quarantined after they were queued."""
        if self.rules.template_of is None:
            return set()
        due = [(row.host_id, row.lane, row.due.text) for row in lanes if row.due is not None]
        return hold_due(self.connection, self.worker_id, due, self.rules.template_of)

    def _lanes(self, ids: list[int]) -> list[_Lane]:
        rows = self.connection.execute(_SQL["lanes_looked"], {"hosts": ids})
        return [_Lane._make((*row[:5], None if row[5] is None else DuePage._make(row[5:]))) for row in rows]

    def _entries(self, hosts: Iterable[_Host], lanes: dict[int, list[_Lane]]) -> dict[tuple[int, int], Robots | None]:
        wanted: dict[tuple[int, int], int | None] = {}
        for host in hosts:
            if host.errand_host_id is not None and host.errand_lane is not None:
                wanted[host.errand_host_id, host.errand_lane] = None
        for rows in lanes.values():
            wanted |= {(row.host_id, row.lane): row.version for row in rows if row.version is not None}
        return self.rulebook.entries(self.connection, wanted)

    def _errand(self, host: Ready, looked: _Host, entries: dict[tuple[int, int], Robots | None]) -> SharedLease | None:
        """A visit to the robots.txt of another host, which has moved here."""
        if looked.errand_url is None or looked.errand_host_id is None or looked.errand_lane is None:
            return None
        for_host_id, lane = looked.errand_host_id, looked.errand_lane
        visit = self._robots_visit(Url(looked.errand_url), entries.get((for_host_id, lane)))
        return self._leased(host, visit=visit, lane_host_id=for_host_id, lane=lane, is_errand=True)

    def _choose(
        self, host: Ready, lanes: Sequence[_Lane], entries: dict[tuple[int, int], Robots | None]
    ) -> SharedLease | Instant | None:
        """The next visit at this host, or when there may be one; None: not before something else happens."""
        heads = [
            (row.due[:2], (row, row.due), entries.get((host.id, row.lane))) for row in lanes if row.due is not None
        ]
        found = choose(heads, self.moment.at, self.rules.politeness.robots_tries)
        for (row, _), detail in found.given_up:
            lane, reason = (host.id, row.lane), Reason.ROBOTS_UNREACHABLE
            give_up(self.connection, self.worker_id, lane, reason, detail, self.moment.at)
        if found.best is not None:
            (row, due), gate = found.best
            return self._lease_of(host, row, due, gate)
        given_up = {row.lane for (row, _), _ in found.given_up}
        later = [row.later_at for row in lanes if row.later_at is not None and row.lane not in given_up]
        return min((*later, *found.opens_at), default=None)

    def _lease_of(self, host: Ready, row: _Lane, due: DuePage, gate: Open | AskFirst) -> SharedLease:
        if isinstance(gate, AskFirst):
            visit = self._robots_visit(Url(text_of(row.lane, host.name, "robots.txt")), gate.robots)
            return self._leased(host, visit=visit, lane_host_id=host.id, lane=row.lane)
        moment, since = self.moment, host.failing_since
        failing = host.failing, None if since is None else moment.local_at - (moment.at - since)
        robots = moment.robots_here(gate.robots)
        return self._leased(
            host,
            visit=due.visit(Url(due.text), How(due.how), decoded(row.past), robots, moment.local_at, failing),
            lane_host_id=host.id,
            lane=row.lane,
            priority=due.priority,
            sequence=due.sequence,
            address_id=due.address_id,
            last_reason=None if due.last_reason is None else Reason(due.last_reason),
        )

    def _leased(self, host: Ready, **more: Any) -> SharedLease:
        return SharedLease(
            host_id=host.id,
            token=host.lease + 1,
            taken_at=self.moment.at,
            was_free_at=host.next_at,
            since_s=self.moment.elapsed_s,
            **more,
        )

    def _robots_visit(self, url: Url, robots: Robots | None) -> Visit:
        here = self.moment.robots_here(robots) if robots else None
        return robots_visit(url, here, self.moment.local_at)

    def _mark(
        self, leased: Sequence[tuple[Ready, int | None, int, int]], waiting: Sequence[tuple[int, Instant | None]]
    ) -> None:
        if leased:
            names = [host.name for host, *_ in leased]
            networks = self.networks
            at = networks.started(self.connection, names, self.moment.at) if networks else [None] * len(leased)
            rows = [(host.id, *more, address) for (host, *more), address in zip(leased, at, strict=True)]
            given = columns("hosts visiting next_ats gaps addresses", rows)
            self.connection.execute(_SQL["hosts_leased"], {**given, "worker": self.worker_id})
        if waiting:
            self.connection.execute(_SQL["hosts_wait"], columns("hosts ready_ats", waiting))


def deliver(connection: Connection, politeness: Politeness) -> None:
    """Apply mail to its hosts; those locked by another crawler get it later."""
    found = connection.execute(_SQL["mail_hosts"], {"most": MOST_MAIL}).fetchall()
    if found:
        given = {"floor": math.ceil(politeness.delay_s * SECOND), "longest_s": politeness.longest_crawl_delay_s}
        connection.execute(_SQL["mail_delivered"], {"hosts": [number for (number,) in found], "last": LAST, **given})


def give_up(
    connection: Connection, worker_id: int, lane: tuple[int, int], reason: Reason, detail: str, now: Instant
) -> None:
    """Settle every page that waits in a lane (host id and number) without a visit, for the same reason."""
    key = {"host_id": lane[0], "lane": lane[1]}
    reasons = connection.execute(_SQL["lane_reasons"], key).fetchall()
    amount: int = sum(many for _, many in reasons)
    if not amount:
        return
    connection.execute(_SQL["lane_failures_kept"], {**key, "failed": [one.value for one in FAILED]})
    connection.execute(_SQL["lane_given_up"], {**key, "reason": reason.value, "detail": detail, "now": now})
    before = [(Reason(last) if last else None, many) for last, many in reasons]
    tally(connection, worker_id, lane_moves(before, reason))
