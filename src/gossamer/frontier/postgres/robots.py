"""The clock that crawlers share, and the robots.txt entries they share: kept by that clock, handed out by our own."""

from collections.abc import Callable, Mapping

import msgspec

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.store.postgres.database import Connection
from gossamer.store.statements import load
from gossamer.values.robots import Robots

_SQL = load("gossamer.frontier.postgres")
_DECODER = msgspec.msgpack.Decoder(Robots)
_ENCODER = msgspec.msgpack.Encoder()

ReadTime = Callable[[Connection], Instant]
MOST_RULES = 200_000
"""Rules (and entries) held in memory at most; the longest unused goes first."""


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

    def shared(self, local_at: Instant) -> Instant:
        return local_at + self.ahead

    def here(self, shared_at: Instant) -> Instant:
        return shared_at - self.ahead

    def robots_here(self, robots: Robots) -> Robots:
        return _shifted(robots, -self.ahead)

    def robots_shared(self, robots: Robots) -> Robots:
        return _shifted(robots, self.ahead)


def moment(connection: Connection, read_time: ReadTime, clock: Clock) -> SharedMoment:
    local_at = clock.now()
    at = read_time(connection)
    return SharedMoment(at, local_at, at - local_at, clock.elapsed_s())


class SharedRulebook:
    """Entries by (host id, lane), decoded in memory for those asked lately; a version says whether a copy is good."""

    def __init__(self, most_rules: int = MOST_RULES) -> None:
        self._most = most_rules
        self._held: dict[tuple[int, int], tuple[int, Robots]] = {}
        self._weight = 0

    def entries(
        self, connection: Connection, wanted: Mapping[tuple[int, int], int | None]
    ) -> dict[tuple[int, int], Robots | None]:
        """Entries by the shared clock. The version wanted is None when it is not known."""
        found: dict[tuple[int, int], Robots | None] = {}
        missing = []
        for key, version in wanted.items():
            held = self._held.get(key)
            if held is not None and held[0] == version:
                self._held[key] = self._held.pop(key)  # the latest asked stands last
                found[key] = held[1]
            else:
                missing.append(key)
        if missing:
            given = {"hosts": [host_id for host_id, _ in missing], "lanes": [lane for _, lane in missing]}
            for host_id, lane, version, entry in connection.execute(_SQL["robots_entries"], given):
                robots = found[host_id, lane] = _DECODER.decode(entry)
                self._hold((host_id, lane), version, robots)
        return found

    def keep(self, connection: Connection, host_id: int, lane: int, robots: Robots) -> None:
        """Write an entry, told by the shared clock, inside the caller's transaction."""
        delay_s = robots.crawl_delay_s
        asked = delay_s if delay_s is not None and delay_s > 0 else None  # not NaN, not negative
        key = {"host_id": host_id, "lane": lane}
        connection.execute(_SQL["robots_kept"], {**key, "delay_s": asked, "entry": _ENCODER.encode(robots)})

    def _hold(self, key: tuple[int, int], version: int, robots: Robots) -> None:
        """Versions are never used twice, so a copy read in a transaction that fails later does no harm."""
        if key in self._held:
            self._weight -= _weight(self._held.pop(key)[1])
        self._held[key] = (version, robots)
        self._weight += _weight(robots)
        while self._weight > self._most and len(self._held) > 1:
            self._weight -= _weight(self._held.pop(next(iter(self._held)))[1])


def _weight(robots: Robots) -> int:
    return 1 + len(robots.rules)


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
