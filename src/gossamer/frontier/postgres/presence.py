"""A crawler's membership of a shared crawl.

Its lease renewals, the hosts of dead crawlers, and the shared clock.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.errors import GossamerError
from gossamer.base.tell import Tell
from gossamer.config.slices import Politeness
from gossamer.frontier.politeness import TOLERANCE, Steps
from gossamer.store import tallies
from gossamer.store.postgres.database import Connection, SharedDatabase, storable
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
    """How far the shared clock is ahead of ours, or a round trip more: no promise ends early."""

    elapsed_s: float
    """By our clock that never steps."""
    may_be_done: bool = False
    """The transaction may have been committed before: a connection that broke during a commit leaves that unknown."""

    def ended_at(self, done_at: Instant, since_s: float) -> Instant:
        """When a visit that we took at `since_s` ended, by the shared clock.

        An end in the future, or before the visit began, comes from a clock that has been set since: then the visit
        counts as ended just now.
        """
        ago = self.local_at - done_at
        return self.at - ago if 0 <= ago <= (self.elapsed_s - since_s) * SECOND + SECOND // 100 else self.at

    def settled_shared(self, settled: Settled, since_s: float) -> Settled:
        """A settled visit, which we took at `since_s`, by the shared clock."""
        done_at = self.ended_at(settled.done_at, since_s)
        return msgspec.structs.replace(
            settled,
            done_at=done_at,
            due_at=None if settled.due_at is None else done_at + settled.due_at - settled.done_at,
            detail=storable(settled.detail),
            robots=None if settled.robots is None else _shifted(settled.robots, self.ahead),
        )

    def shared(self, local_at: Instant) -> Instant:
        return local_at + self.ahead

    def here(self, shared_at: Instant) -> Instant:
        return shared_at - self.ahead

    def robots_here(self, robots: Robots) -> Robots:
        return _shifted(robots, -self.ahead)


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
    """The terms of a crawler's membership."""

    name: str
    """A crawler that starts under the name of another takes its place: the older one loses its leases."""
    lease_s: float = 20.0
    """A crawler silent for so long is taken for dead, and its hosts go to others."""
    renew_s: float = 5.0
    """How often it renews its membership, at least."""
    is_passing: bool = False
    """A command that leases nothing: nothing is kept of it."""

    def __post_init__(self) -> None:
        if not self.name or not 0 < self.renew_s < self.lease_s:
            raise ValueError(f"impossible terms of membership: {self}")


class Replaced(GossamerError):
    """Another crawler has started under our name, and has our leases. This one must stop."""


class _Standing(NamedTuple):
    """The membership as of some commit."""

    worker_id: int
    life: int
    """Which start of this crawler it is."""
    renewed_s: float
    """By our clock that never steps; never later than the database's time of the renewal."""
    connections: int
    clock_steps: int
    has_lost_leases: bool = False
    """We had been taken for dead: our leases have gone to others."""


@dataclass(slots=True)
class Presence:
    """Used only on the database's thread. Every transaction starts with `begin`; after its commit, `committed`."""

    database: SharedDatabase
    stay: Stay
    politeness: Politeness
    clock: Clock
    read_time: ReadTime
    tell: Tell
    _steps: Steps = field(default_factory=Steps)
    _stepped: int = 0
    """By how much the shared clock was set, until that is on disk."""
    _current: _Standing | None = None
    _next: _Standing | None = None
    """As of the running transaction."""

    @property
    def number(self) -> int:
        """The id of this crawler."""
        if self._next is None:
            raise RuntimeError("the frontier is not open")
        return self._next.worker_id

    @property
    def is_open(self) -> bool:
        return self._current is not None

    def is_trusted(self) -> bool:
        """Whether no other crawler can have taken us for dead yet."""
        renewed_s = self._current.renewed_s if self._current is not None else float("-inf")
        return self.clock.elapsed_s() - renewed_s < self.stay.lease_s

    def join(self, connection: Connection) -> bool:
        """Become a member; returns whether the last membership under this name had ended in order."""
        now = self._moment(connection)
        clock_steps, latest_at = _clock_of(connection)
        if latest_at > now.at + TOLERANCE:
            self._shift(connection, clock_steps, now.at - latest_at)
            clock_steps += 1
        self._steps.since(now.at, now.elapsed_s)
        worker_id, life, was_there = self._enter(connection, now.at)
        self._next = _Standing(worker_id, life, now.elapsed_s, self.database.times_connected, clock_steps)
        return not was_there

    def leave(self, connection: Connection, now: SharedMoment) -> None:
        """Return our leases to their queues; something may just have been sent to their hosts: they wait a full gap."""
        if (mine := self._next) is not None:
            given = {"worker": mine.worker_id, "life": mine.life}
            if connection.execute(_SQL["worker_leaves"], given).rowcount:
                self._return_leases(connection, mine.worker_id, [], now.at)
                if self.stay.is_passing:
                    connection.execute(_SQL["worker_forgotten"], given)
        connection.execute(_SQL["latest_at"], {"now": now.at})

    def is_alive(self, connection: Connection) -> bool:
        """False: we have been taken for dead. Otherwise that waits until this transaction has ended, so that no lease
        can be committed after the takeover, which no crawler would then know of."""
        assert self._next is not None
        given = {"worker": self._next.worker_id, "life": self._next.life}
        return connection.execute(_SQL["worker_alive"], given).fetchone() is not None

    def left(self) -> None:
        self._current = self._next = None

    def begin(
        self, connection: Connection, held: Sequence[int], may_be_done: bool, returns: bool = False
    ) -> SharedMoment:
        """The time by both clocks. `held` are the hosts whose leases we know; `returns`: others may be ours, and are
        given back."""
        current = self._current
        if current is None:
            raise RuntimeError("the frontier is not open")
        self._next = current
        now = self._moment(connection)
        self._stepped += self._steps.since(now.at, now.elapsed_s)
        is_due = now.elapsed_s - current.renewed_s >= self.stay.renew_s
        returns = returns or current.connections != self.database.times_connected
        if is_due or self._stepped or returns:
            self._renew(connection, current, now, held if returns else None)
        return msgspec.structs.replace(now, may_be_done=may_be_done)

    def committed(self) -> bool:
        """The transaction is on disk. True: all our leases have gone to others."""
        self._stepped = 0
        assert self._next is not None
        has_lost_leases = self._next.has_lost_leases
        self._current = self._next = self._next._replace(has_lost_leases=False)
        return has_lost_leases

    def _moment(self, connection: Connection) -> SharedMoment:
        local_at = self.clock.now()
        at = self.read_time(connection)
        return SharedMoment(at, local_at, at - local_at, self.clock.elapsed_s())

    def _until(self, now: Instant) -> Instant:
        return now + math.ceil(self.stay.lease_s * SECOND)

    def _enter(self, connection: Connection, now: Instant) -> tuple[int, int, bool]:
        """Our id, our new life, and whether the one before had not ended in order: what it held waits a full gap."""
        connection.execute(_SQL["worker_entered"], {"name": self.stay.name})
        row = connection.execute(_SQL["worker_named"], {"name": self.stay.name}).fetchone()
        assert row is not None
        worker_id, alive_until = row
        row = connection.execute(_SQL["worker_joins"], {"worker": worker_id, "until": self._until(now)}).fetchone()
        assert row is not None
        if alive_until is not None:
            self._take_over(connection, worker_id, [worker_id], now)
        return worker_id, row[0], alive_until is not None

    def _renew(self, connection: Connection, current: _Standing, now: SharedMoment, held: Sequence[int] | None) -> None:
        """`held`: all leases but these are given back; None: nothing is."""
        clock_steps = self._keep_step(connection, current.clock_steps)
        worker_id, life = current.worker_id, current.life
        given = {"worker": worker_id, "life": life, "until": self._until(now.at)}
        has_lost_leases = connection.execute(_SQL["worker_renews"], given).rowcount != 1
        if has_lost_leases:
            row = connection.execute(_SQL["worker_named"], {"name": self.stay.name}).fetchone()
            if row is not None and row[1] is not None:
                raise Replaced(f"another crawler is running under the name {self.stay.name}: this one must stop")
            worker_id, life, _ = self._enter(connection, now.at)
        elif held is not None:
            self._return_leases(connection, worker_id, held, now.at)
        rows = connection.execute(_SQL["workers_dead"], {"worker": worker_id, "now": now.at})
        if taken_over := self._take_over(connection, worker_id, [number for (number,) in rows], now.at):
            self.tell("frontier.inherited", hosts=taken_over)
        connection.execute(_SQL["latest_at"], {"now": now.at})
        self._next = _Standing(
            worker_id, life, now.elapsed_s, self.database.times_connected, clock_steps, has_lost_leases
        )

    def _take_over(self, connection: Connection, worker_id: int, dead: Sequence[int], now: Instant) -> int:
        """Hosts that these crawlers held, or visited within a gap, wait a full gap and are free then. Returns how many
        were leased."""
        if not dead:
            return 0
        rows = connection.execute(_SQL["hosts_of"], {"workers": dead, "now": now}).fetchall()
        return self._rest(connection, worker_id, rows, now)

    def _return_leases(self, connection: Connection, worker_id: int, known: Sequence[int], now: Instant) -> None:
        """Give back what we hold according to the database, except the hosts named."""
        rows = connection.execute(_SQL["strays"], {"worker": worker_id, "known": known}).fetchall()
        self._rest(connection, worker_id, rows, now)

    def _rest(self, connection: Connection, worker_id: int, rows: Sequence[tuple[int, bool]], now: Instant) -> int:
        returned = sum(is_leased for _, is_leased in rows)
        if rows:
            given = {
                "hosts": [host_id for host_id, _ in rows],
                "worker": worker_id,
                "now": now,
                "floor": math.ceil(self.politeness.delay_s * SECOND),
                "longest_s": self.politeness.longest_crawl_delay_s,
            }
            connection.execute(_SQL["hosts_rested"], given)
            tally(connection, worker_id, {tallies.LEASED: -returned})
        return returned

    def _keep_step(self, connection: Connection, known: int) -> int:
        """When the shared clock was set, the first crawler to notice moves every promise along with it."""
        found, _ = _clock_of(connection)
        if self._stepped and found == known and self._shift(connection, known, self._stepped):
            return known + 1
        return found

    def _shift(self, connection: Connection, known: int, by: int) -> bool:
        if connection.execute(_SQL["step_of_clock"], {"known": known}).rowcount != 1:
            return False
        for statement in ("hosts_shifted", "queue_shifted", "networks_shifted", "workers_shifted"):
            connection.execute(_SQL[statement], {"by": by})
        self.tell("clock.stepped", by_s=by / SECOND)
        return True


def _clock_of(connection: Connection) -> tuple[int, Instant]:
    """How often the shared clock is known to have been set, and the latest instant seen on it."""
    row = connection.execute(_SQL["steps_of_clock"]).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])
