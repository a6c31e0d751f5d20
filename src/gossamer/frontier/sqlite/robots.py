"""What every origin's robots.txt said: on disk for all, decoded in memory for those asked lately."""

import sqlite3
from collections.abc import Iterable

import msgspec

from gossamer.store.statements import load
from gossamer.values.robots import Robots

_SQL = load("gossamer.frontier.sqlite")
_DECODER = msgspec.msgpack.Decoder(Robots)
_ENCODER = msgspec.msgpack.Encoder()

MOST_RULES = 200_000
"""Rules (and entries) held in memory at most; the longest unused goes first."""


class Rulebook:
    """Entries by (host id, lane). Memory is changed only by what is on disk: see `keep` and `remember`."""

    def __init__(self, most_rules: int = MOST_RULES) -> None:
        self._most = most_rules
        self._held: dict[tuple[int, int], Robots | None] = {}
        self._weight = 0

    def entry(self, connection: sqlite3.Connection, host_id: int, lane: int) -> Robots | None:
        key = (host_id, lane)
        if key in self._held:
            found = self._held[key] = self._held.pop(key)  # the latest asked stands last
            return found
        row = connection.execute(_SQL["robots_entry"], key).fetchone()
        found = _DECODER.decode(row[0]) if row else None
        self.remember(host_id, lane, found)
        return found

    def keep(self, connection: sqlite3.Connection, host_id: int, lane: int, robots: Robots) -> None:
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
