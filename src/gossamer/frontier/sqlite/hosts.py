"""Hosts of the embedded frontier: ids, retirement, and what their robots.txt files said."""

from collections.abc import Iterable

import msgspec

from gossamer.base.clock import Instant
from gossamer.frontier.known import find_host_id, robots_entry
from gossamer.store import tallies
from gossamer.store.statements import State, load
from gossamer.values.robots import Robots

_SQL = load("gossamer.frontier.sqlite")


def meta(connection: State, name: str, default: int) -> int:
    """A small fact about the database."""
    row = connection.execute(_SQL["meta"], (name,)).fetchone()
    return int(row[0]) if row else default


def host_id_of(connection: State, name: str) -> int:
    """The host's id; a host met for the first time is entered."""
    found = find_host_id(connection, name)
    if found is None:
        (found,) = connection.execute(_SQL["host_met"], (name,)).fetchone()
        tallies.add(connection, {tallies.HOSTS: 1})
    return int(found)


# Retired hosts: down or too slow for long, or put aside by a person. Visibly, and until somebody reinstates them.
# Functions on a writer's connection, inside its transaction; a running crawl is asked through its frontier instead.


def retire(connection: State, host: str, why: str, now: Instant) -> int | None:
    """Nothing at the host is handed out any more; says its id, None when it is unknown or was retired before."""
    host_id = find_host_id(connection, host)
    if host_id is None or not connection.execute(_SQL["retired"], (now, why, host_id)).rowcount:
        return None
    tallies.add(connection, {tallies.RETIRED: 1})
    return host_id


def reinstate(connection: State, host: str) -> int | None:
    """The host is visited again as if it had never failed; what it was promised last still holds."""
    host_id = find_host_id(connection, host)
    if host_id is None or not connection.execute(_SQL["reinstated"], (host_id,)).rowcount:
        return None
    tallies.add(connection, {tallies.RETIRED: -1})
    return host_id


_ENCODER = msgspec.msgpack.Encoder()

MOST_RULES = 200_000
"""Rules (and entries) held in memory at most; the longest unused goes first."""


class Rulebook:
    """Entries by (host id, lane). Memory is changed only by what is on disk: see `keep` and `remember`."""

    def __init__(self, most_rules: int = MOST_RULES) -> None:
        self._most = most_rules
        self._held: dict[tuple[int, int], Robots | None] = {}
        self._weight = 0

    def entry(self, connection: State, host_id: int, lane: int) -> Robots | None:
        key = (host_id, lane)
        if key in self._held:
            found = self._held[key] = self._held.pop(key)  # the latest asked stands last
            return found
        found = robots_entry(connection, host_id, lane)
        self.remember(host_id, lane, found)
        return found

    def keep(self, connection: State, host_id: int, lane: int, robots: Robots) -> None:
        """Write the entry, inside the caller's transaction; `remember` it after the commit."""
        connection.execute(_SQL["robots_kept"], (host_id, lane, robots.expires_at, _ENCODER.encode(robots)))

    def forget(self, lanes: Iterable[tuple[int, int]]) -> None:
        """The entries of these host ids and lanes are no longer on disk."""
        for lane in lanes:
            if lane in self._held:
                self._weight -= _weight(self._held.pop(lane))

    def remember(self, host_id: int, lane: int, robots: Robots | None) -> None:
        key = (host_id, lane)
        if key in self._held:
            self._weight -= _weight(self._held.pop(key))
        self._held[key] = robots
        self._weight += _weight(robots)
        while self._weight > self._most and len(self._held) > 1:
            self._weight -= _weight(self._held.pop(next(iter(self._held))))


def _weight(robots: Robots | None) -> int:
    return 1 + len(robots.rules) if robots else 1
