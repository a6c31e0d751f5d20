"""A crawler's presence in a shared crawl: it makes itself heard, buries the dead, and keeps the shared clock honest."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.errors import GossamerError
from gossamer.base.tell import Tell
from gossamer.frontier.clock_steps import TOLERANCE, Steps
from gossamer.frontier.politeness import Politeness
from gossamer.frontier.postgres import hosts as standing
from gossamer.frontier.postgres.hosts import Life, Stay
from gossamer.frontier.postgres.robots import Moment, ReadTime, moment
from gossamer.store.postgres.database import Connection, SharedDatabase
from gossamer.store.statements import load

_SQL = load("gossamer.frontier.postgres")


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


class Presence:
    """Touched on the database's thread alone. Every transaction starts with `begin`; after its commit, `committed`."""

    def __init__(
        self,
        database: SharedDatabase,
        stay: Stay,
        politeness: Politeness,
        clock: Clock,
        read_time: ReadTime,
        tell: Tell,
    ) -> None:
        self._database = database
        self._stay = stay
        self._politeness = politeness
        self._clock = clock
        self._read_time = read_time
        self._tell = tell
        self._steps = Steps()
        self._stepped = 0
        """By how much the shared clock was set, until that has been made good."""
        self._stand: _Stand | None = None
        self._next: _Stand | None = None

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
        return self._clock.elapsed_s() - heard_s < self._stay.lease_s

    def join(self, connection: Connection) -> bool:
        """Begin a stay; says whether an earlier one under this name had ended in order."""
        now = moment(connection, self._read_time, self._clock)
        clock_steps, latest_at = _clock_of(connection)
        if latest_at > now.at + TOLERANCE:
            self._shift(connection, clock_steps, now.at - latest_at)
            clock_steps += 1
        self._steps.since(now.at, now.elapsed_s)
        life, was_there = standing.join(connection, self._stay, now.at, self._politeness)
        self._next = _Stand(life, now.elapsed_s, self._database.times_connected, clock_steps)
        return not was_there

    def leave(self, connection: Connection, now: Moment) -> None:
        if self._next is not None:
            standing.leave(connection, self._next.life, now.at, self._politeness)
        connection.execute(_SQL["latest_at"], {"now": now.at})

    def left(self) -> None:
        self._stand = self._next = None

    def begin(self, connection: Connection, held: Iterable[int], may_be_done: bool) -> Moment:
        """The time by both clocks. `held` are the hosts whose leases we know of."""
        stand = self._stand
        if stand is None:
            raise RuntimeError("the frontier is not open")
        self._next = stand
        now = moment(connection, self._read_time, self._clock)
        self._stepped += self._steps.since(now.at, now.elapsed_s)
        is_due = now.elapsed_s - stand.heard_s >= self._stay.renew_s
        if is_due or self._stepped or stand.connections != self._database.times_connected:
            self._make_heard(connection, stand, now, held)
        return msgspec.structs.replace(now, may_be_done=may_be_done)

    def committed(self) -> bool:
        """The transaction is on disk. True: all that we held has gone to others."""
        self._stepped = 0
        assert self._next is not None
        is_anew = self._next.is_anew
        self._stand = self._next = self._next._replace(is_anew=False)
        return is_anew

    def _make_heard(self, connection: Connection, stand: _Stand, now: Moment, held: Iterable[int]) -> None:
        clock_steps = self._mend_clock(connection, stand.clock_steps)
        life, is_anew = stand.life, not standing.renew(connection, stand.life, self._stay, now.at)
        if is_anew:
            if standing.is_at_work(connection, self._stay.name):
                raise Replaced(f"another crawler works under the name {self._stay.name}: this one must stop")
            life, _ = standing.join(connection, self._stay, now.at, self._politeness)
        elif stand.connections != self._database.times_connected:
            standing.return_leases(connection, life.worker_id, list(held), now.at, self._politeness)
        returned = standing.bury_the_dead(connection, life.worker_id, now.at, self._politeness)
        if returned:
            self._tell("frontier.inherited", hosts=returned)
        connection.execute(_SQL["latest_at"], {"now": now.at})
        self._next = _Stand(life, now.elapsed_s, self._database.times_connected, clock_steps, is_anew)

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
        self._tell("clock.stepped", by_s=by / SECOND)
        return True


def _clock_of(connection: Connection) -> tuple[int, Instant]:
    row = connection.execute(_SQL["steps_of_clock"]).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])
