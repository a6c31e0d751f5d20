"""A crawler's part in a shared crawl: it makes itself heard, takes the hosts of dead crawlers over, and keeps to the
clock that all crawlers share."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.errors import GossamerError
from gossamer.base.tell import Tell
from gossamer.config.slices import Politeness
from gossamer.frontier.politeness import TOLERANCE, Steps
from gossamer.store import tallies
from gossamer.store.postgres.database import Connection, SharedDatabase
from gossamer.store.statements import load
from gossamer.values.robots import Robots
from gossamer.values.visit import Settled

_SQL = load("gossamer.frontier.postgres")
SLOTS = 64
ReadTime = Callable[[Connection], Instant]


def database_time(connection: Connection) -> Instant:
    """The server's clock, not the transaction's start: a transaction may have waited."""
    row = connection.execute(_SQL["moment"]).fetchone()
    assert row is not None
    return int(row[0])


class SharedMoment(msgspec.Struct, frozen=True):
    """One instant by both clocks. Wall clocks of machines may differ by minutes; only the shared one is stored."""

    at: Instant
    local_at: Instant
    ahead: int
    """How far the shared clock is ahead of ours, or a round trip more: what is promised never comes out early."""

    elapsed_s: float
    """By our clock that never steps."""
    may_be_done: bool = False
    """What is done now may have been done before: a connection that broke during a commit leaves that unknown."""

    def ended_at(self, done_at: Instant, since_s: float) -> Instant:
        """When a visit that we took at `since_s` ended, by the shared clock.

        An end that lies in the future, or before the visit began, was told by a clock that has been set since: then
        it ended just now, as far as anybody can know.
        """
        ago = self.local_at - done_at
        return self.at - ago if 0 <= ago <= (self.elapsed_s - since_s) * SECOND + SECOND // 100 else self.at

    def settled_shared(self, settled: Settled, since_s: float) -> Settled:
        """A settled fetch, which we took at `since_s`, by the shared clock. PostgreSQL has no texts with a NUL or half
        of a surrogate pair."""
        done_at = self.ended_at(settled.done_at, since_s)
        return msgspec.structs.replace(
            settled,
            done_at=done_at,
            due_at=None if settled.due_at is None else done_at + settled.due_at - settled.done_at,
            detail=settled.detail.replace("\0", "\ufffd").encode("utf-8", "replace").decode(),
            robots=None if settled.robots is None else _shifted(settled.robots, self.ahead),
        )

    def shared(self, local_at: Instant) -> Instant:
        return local_at + self.ahead

    def here(self, shared_at: Instant) -> Instant:
        return shared_at - self.ahead

    def robots_here(self, robots: Robots) -> Robots:
        return _shifted(robots, -self.ahead)


def moment(connection: Connection, read_time: ReadTime, clock: Clock) -> SharedMoment:
    local_at = clock.now()
    at = read_time(connection)
    return SharedMoment(at, local_at, at - local_at, clock.elapsed_s())


def _shifted(robots: Robots, by: int) -> Robots:
    if by == 0:
        return robots
    return msgspec.structs.replace(
        robots,
        fetched_at=robots.fetched_at + by,
        expires_at=robots.expires_at + by,
        read_at=None if robots.read_at is None else robots.read_at + by,
        failing_since=None if robots.failing_since is None else robots.failing_since + by,
    )


def tally(connection: Connection, worker_id: int, moves: Mapping[str, int]) -> None:
    """Move counters, in the slot of this crawler."""
    moved = {name: number for name, number in moves.items() if number}
    if moved:
        given = {"slot": worker_id % SLOTS, "names": list(moved), "numbers": list(moved.values())}
        connection.execute(_SQL["tally"], given)


class Stay(msgspec.Struct, frozen=True):
    """How a crawler takes part."""

    name: str
    """Whoever starts under the name of another takes its place: the older one loses what it held."""
    lease_s: float = 20.0
    """A crawler not heard of for so long is taken for dead, and its hosts go to others."""
    renew_s: float = 5.0
    """How often it makes itself heard, at least."""

    def __post_init__(self) -> None:
        if not self.name or not 0 < self.renew_s < self.lease_s:
            raise ValueError(f"a stay that cannot be: {self}")

    def until(self, now: Instant) -> Instant:
        return now + math.ceil(self.lease_s * SECOND)


class Life(NamedTuple):
    """A crawler's number among all, and which of its starts this is."""

    worker_id: int
    number: int


def join(connection: Connection, stay: Stay, now: Instant, politeness: Politeness) -> tuple[Life, bool]:
    """Our new life, and whether the one before had not ended in order: what it held waits a full gap."""
    connection.execute(_SQL["worker_entered"], {"name": stay.name})
    row = connection.execute(_SQL["worker_named"], {"name": stay.name}).fetchone()
    assert row is not None
    worker_id, alive_until = row
    row = connection.execute(_SQL["worker_joins"], {"worker": worker_id, "until": stay.until(now)}).fetchone()
    assert row is not None
    if alive_until is not None:
        bury(connection, worker_id, [worker_id], now, politeness)
    return Life(worker_id, row[0]), alive_until is not None


def renew(connection: Connection, life: Life, stay: Stay, now: Instant) -> bool:
    """False: we had been taken for dead, and hold nothing any longer."""
    given = {"worker": life.worker_id, "life": life.number, "until": stay.until(now)}
    return connection.execute(_SQL["worker_renews"], given).rowcount == 1


def is_at_work(connection: Connection, name: str) -> bool:
    row = connection.execute(_SQL["worker_named"], {"name": name}).fetchone()
    return row is not None and row[1] is not None


def leave(connection: Connection, life: Life, now: Instant, politeness: Politeness) -> None:
    """Visits still out return to their queues; their hosts may just have been touched, and wait a full gap."""
    given = {"worker": life.worker_id, "life": life.number}
    if connection.execute(_SQL["worker_leaves"], given).rowcount:
        return_leases(connection, life.worker_id, [], now, politeness)


def bury_the_dead(connection: Connection, worker_id: int, now: Instant, politeness: Politeness) -> int:
    """Take the hosts from crawlers whose stay has run out; says how many hosts were on lease."""
    dead = [number for (number,) in connection.execute(_SQL["workers_dead"], {"worker": worker_id, "now": now})]
    return bury(connection, worker_id, dead, now, politeness)


def bury(connection: Connection, worker_id: int, dead: Sequence[int], now: Instant, politeness: Politeness) -> int:
    """Hosts that they held, or touched within a gap, wait a full gap and go to whoever takes next."""
    if not dead:
        return 0
    rows = connection.execute(_SQL["hosts_of"], {"workers": list(dead), "now": now}).fetchall()
    return _rest(connection, worker_id, rows, now, politeness)


def return_leases(
    connection: Connection, worker_id: int, known: Sequence[int], now: Instant, politeness: Politeness
) -> int:
    """Give back what we hold by the database, but for the hosts named."""
    rows = connection.execute(_SQL["strays"], {"worker": worker_id, "known": list(known)}).fetchall()
    return _rest(connection, worker_id, rows, now, politeness)


def _rest(
    connection: Connection, worker_id: int, rows: Sequence[tuple[int, bool]], now: Instant, politeness: Politeness
) -> int:
    returned = sum(1 for _, is_leased in rows if is_leased)
    if rows:
        given = {
            "hosts": [host_id for host_id, _ in rows],
            "worker": worker_id,
            "now": now,
            "floor": math.ceil(politeness.delay_s * SECOND),
            "longest_s": politeness.longest_crawl_delay_s,
        }
        connection.execute(_SQL["hosts_rested"], given)
        tally(connection, worker_id, {tallies.LEASED: -returned})
    return returned


class Replaced(GossamerError):
    """Another crawler has started under our name, and has what we held. This one must stop."""


class _Stand(NamedTuple):
    life: Life
    heard_s: float
    """When we last made ourselves heard, by our clock that never steps; never later than the database took note."""
    connections: int
    clock_steps: int
    is_anew: bool = False
    """We had been taken for dead: what we held has gone to others."""


@dataclass(slots=True)
class Presence:
    """Touched on the database's thread alone. Every transaction starts with `begin`; after its commit, `committed`."""

    database: SharedDatabase
    stay: Stay
    politeness: Politeness
    clock: Clock
    read_time: ReadTime
    tell: Tell
    _steps: Steps = field(default_factory=Steps)
    _stepped: int = 0
    """By how much the shared clock was set, until that has been made good."""
    _stand: _Stand | None = None
    _next: _Stand | None = None

    @property
    def number(self) -> int:
        """Ours, among the crawlers."""
        if self._next is None:
            raise RuntimeError("the frontier is not open")
        return self._next.life.worker_id

    @property
    def is_open(self) -> bool:
        return self._stand is not None

    def is_trusted(self) -> bool:
        """Whether nobody can have taken us for dead yet."""
        heard_s = self._stand.heard_s if self._stand is not None else float("-inf")
        return self.clock.elapsed_s() - heard_s < self.stay.lease_s

    def join(self, connection: Connection) -> bool:
        """Begin a stay; says whether an earlier one under this name had ended in order."""
        now = moment(connection, self.read_time, self.clock)
        clock_steps, latest_at = _clock_of(connection)
        if latest_at > now.at + TOLERANCE:
            self._shift(connection, clock_steps, now.at - latest_at)
            clock_steps += 1
        self._steps.since(now.at, now.elapsed_s)
        life, was_there = join(connection, self.stay, now.at, self.politeness)
        self._next = _Stand(life, now.elapsed_s, self.database.times_connected, clock_steps)
        return not was_there

    def leave(self, connection: Connection, now: SharedMoment) -> None:
        if self._next is not None:
            leave(connection, self._next.life, now.at, self.politeness)
        connection.execute(_SQL["latest_at"], {"now": now.at})

    def left(self) -> None:
        self._stand = self._next = None

    def begin(self, connection: Connection, held: Iterable[int], may_be_done: bool) -> SharedMoment:
        """The time by both clocks. `held` are the hosts whose leases we know of."""
        stand = self._stand
        if stand is None:
            raise RuntimeError("the frontier is not open")
        self._next = stand
        now = moment(connection, self.read_time, self.clock)
        self._stepped += self._steps.since(now.at, now.elapsed_s)
        is_due = now.elapsed_s - stand.heard_s >= self.stay.renew_s
        if is_due or self._stepped or stand.connections != self.database.times_connected:
            self._make_heard(connection, stand, now, held)
        return msgspec.structs.replace(now, may_be_done=may_be_done)

    def committed(self) -> bool:
        """The transaction is on disk. True: all that we held has gone to others."""
        self._stepped = 0
        assert self._next is not None
        is_anew = self._next.is_anew
        self._stand = self._next = self._next._replace(is_anew=False)
        return is_anew

    def _make_heard(self, connection: Connection, stand: _Stand, now: SharedMoment, held: Iterable[int]) -> None:
        clock_steps = self._mend_clock(connection, stand.clock_steps)
        life, is_anew = stand.life, not renew(connection, stand.life, self.stay, now.at)
        if is_anew:
            if is_at_work(connection, self.stay.name):
                raise Replaced(f"another crawler works under the name {self.stay.name}: this one must stop")
            life, _ = join(connection, self.stay, now.at, self.politeness)
        elif stand.connections != self.database.times_connected:
            return_leases(connection, life.worker_id, list(held), now.at, self.politeness)
        returned = bury_the_dead(connection, life.worker_id, now.at, self.politeness)
        if returned:
            self.tell("frontier.inherited", hosts=returned)
        connection.execute(_SQL["latest_at"], {"now": now.at})
        self._next = _Stand(life, now.elapsed_s, self.database.times_connected, clock_steps, is_anew)

    def _mend_clock(self, connection: Connection, known: int) -> int:
        """When the shared clock was set, the first crawler to notice moves every promise along with it."""
        found, _ = _clock_of(connection)
        if self._stepped and found == known and self._shift(connection, known, self._stepped):
            return known + 1
        return found

    def _shift(self, connection: Connection, known: int, by: int) -> bool:
        if connection.execute(_SQL["step_of_clock"], {"known": known}).rowcount != 1:
            return False
        connection.execute(_SQL["hosts_shifted"], {"by": by})
        connection.execute(_SQL["queue_shifted"], {"by": by})
        connection.execute(_SQL["networks_shifted"], {"by": by})
        connection.execute(_SQL["workers_shifted"], {"by": by})
        self.tell("clock.stepped", by_s=by / SECOND)
        return True


def _clock_of(connection: Connection) -> tuple[int, Instant]:
    row = connection.execute(_SQL["steps_of_clock"]).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])
