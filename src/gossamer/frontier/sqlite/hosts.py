"""Hosts in the SQLite frontier: ids, retirement, robots.txt entries and quarantined templates."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec

from gossamer.base.clock import Instant
from gossamer.frontier.known import find_host_id, robots_entry
from gossamer.frontier.leases import MOST_RULES, RobotsCache
from gossamer.frontier.rows import HELD, lane_of, text_of
from gossamer.frontier.settlement import is_trap
from gossamer.store import tallies
from gossamer.store.statements import State, load
from gossamer.values.robots import Robots
from gossamer.values.url import Url, id_of
from gossamer.values.visit import TemplateTally, Yield

_SQL = load("gossamer.frontier.sqlite")


def meta(connection: State, name: str, default: int) -> int:
    """A number that is stored about the database."""
    row = connection.execute(_SQL["meta"], (name,)).fetchone()
    return int(row[0]) if row else default


def host_id_of(connection: State, name: str) -> int:
    """The host's id; a new host is added."""
    found = find_host_id(connection, name)
    if found is None:
        (found,) = connection.execute(_SQL["host_added"], (name,)).fetchone()
        tallies.add(connection, {tallies.HOSTS: 1})
    return int(found)


# Retired hosts: down or too slow for long, or retired by a user; visible, and until a user reinstates them.
# These run inside a writer's transaction; while a crawl is running, call its frontier instead.


def retire(connection: State, host: str, why: str, now: Instant) -> int | None:
    """Stop leasing visits at the host. Returns its id; None: it is unknown, or already retired."""
    host_id = find_host_id(connection, host)
    if host_id is None or not connection.execute(_SQL["retired"], (now, why, host_id)).rowcount:
        return None
    tallies.add(connection, {tallies.RETIRED: 1})
    return host_id


def reinstate(connection: State, host: str) -> int | None:
    """Visit the host again as if it had never failed; its last promised instant still holds."""
    host_id = find_host_id(connection, host)
    if host_id is None or not connection.execute(_SQL["reinstated"], (host_id,)).rowcount:
        return None
    tallies.add(connection, {tallies.RETIRED: -1})
    return host_id


_ENCODER = msgspec.msgpack.Encoder()


class Rulebook:
    """Robots entries by host id and lane. Memory holds only what is on disk: see `keep` and `remember`."""

    def __init__(self, most_rules: int = MOST_RULES) -> None:
        self._cache = RobotsCache[None](most_rules)

    def of(self, connection: State, url: Url) -> Robots | None:
        """The robots.txt of the origin of a URL; None: it is not known."""
        host_id = find_host_id(connection, url.host.name)
        return None if host_id is None else self.entry(connection, host_id, lane_of(url.text))

    def entry(self, connection: State, host_id: int, lane: int) -> Robots | None:
        held = self._cache.get((host_id, lane))
        if held is not None:
            return held[0]
        found = robots_entry(connection, host_id, lane)
        self.remember(host_id, lane, found)
        return found

    def keep(self, connection: State, host_id: int, lane: int, robots: Robots) -> None:
        """Write the entry, inside the caller's transaction; `remember` it after the commit."""
        connection.execute(_SQL["robots_kept"], (host_id, lane, robots.expires_at, _ENCODER.encode(robots)))

    def remember(self, host_id: int, lane: int, robots: Robots | None) -> None:
        self._cache.put((host_id, lane), robots, None)

    def forget(self, lanes: Iterable[tuple[int, int]]) -> None:
        """The entries of these host ids and lanes are no longer on disk."""
        for lane in lanes:
            self._cache.drop(lane)


# Quarantine: URLs of an endless series wait outside the due queue, counted, listed, and released on request. What each
# template has brought is stored with the visits; `rules.learned.traps` decides whether that makes it a trap.

MOST_MOVED = 10_000
"""URLs in the queue that are moved when their template is quarantined; the others are moved when their turn comes."""


@dataclass(slots=True)
class Quarantine:
    """The quarantined templates of each host, as stored. Traps are few, so all are in memory.

    Memory is changed by `remember`, after the commit.
    """

    template_of: Callable[[str], str]
    judge: Callable[[TemplateTally], bool] | None = None
    _held: dict[int, tuple[str, frozenset[str]]] = field(default_factory=dict)
    """By host id: its name, and the templates."""

    def load(self, connection: State) -> None:
        self._held.clear()
        found: dict[tuple[int, str], set[str]] = {}
        for host_id, name, template in connection.execute(_SQL["quarantined"]):
            found.setdefault((host_id, name), set()).add(template)
        self._held.update({host_id: (name, frozenset(held)) for (host_id, name), held in found.items()})

    def is_held(self, host_id: int, lane: int, rest: str) -> bool:
        found = self._held.get(host_id)
        return found is not None and self.template_of(text_of(lane, found[0], rest)) in found[1]

    def remember(self, host_id: int, name: str, template: str, is_held: bool) -> None:
        templates = self._held.get(host_id, (name, frozenset[str]()))[1]
        templates = templates | {template} if is_held else templates - {template}
        if templates:
            self._held[host_id] = (name, templates)
        else:
            self._held.pop(host_id, None)

    def count(self, connection: State, held: Iterable[tuple[int, int, str]]) -> None:
        """Count URLs (host id, lane, text) that are newly held."""
        many = Counter((host_id, self._template(host_id, lane, rest)) for host_id, lane, rest in held)
        rows = [(amount, host_id, id_of(template)) for (host_id, template), amount in many.items()]
        connection.executemany(_SQL["template_held"], rows)

    def hold(self, connection: State, host_id: int, lane: int, place: tuple[int, int], rest: str) -> None:
        """Hold one due URL, found when its turn came. `place`: priority, sequence."""
        connection.execute(_SQL["held"], (host_id, lane, 0, *place))
        self.count(connection, [(host_id, lane, rest)])
        _moved(connection, host_id, 1)

    def _template(self, host_id: int, lane: int, rest: str) -> str:
        return self.template_of(text_of(lane, self._held[host_id][0], rest))

    def learn(self, connection: State, host_id: int, name: str, yielded: Yield) -> bool:
        """Store what a visit brought; returns whether its template must now be quarantined."""
        key = (host_id, id_of(yielded.template))
        learned = (*key, yielded.template, int(yielded.is_fruitful))
        return is_trap(self.judge, name, yielded.template, connection.execute(_SQL["learned"], learned).fetchone())


def quarantine(
    connection: State,
    host: str,
    template: str,
    template_of: Callable[[str], str],
    now: Instant,
    leased: int | None = None,
) -> tuple[int, int]:
    """Hold the waiting URLs of a template, up to MOST_MOVED of them; returns the host's id and how many.

    `leased` is the sequence number of the URL that is leased at the host: it stays where it is.
    """
    host_id = host_id_of(connection, host)
    connection.execute(_SQL["template_quarantined"], (host_id, id_of(template), template, now))
    rows = connection.execute(_SQL["due_of_host"], (host_id, MOST_MOVED)).fetchall()
    wanted = [row for row in rows if template_of(text_of(row[1], host, row[5])) == template]
    moved = [row[:5] for row in wanted if row[4] != leased]
    connection.executemany(_SQL["held"], moved)
    connection.execute(_SQL["template_held"], (len(moved), host_id, id_of(template)))
    _moved(connection, host_id, len(moved))
    return host_id, len(moved)


def release(connection: State, host: str, template: str, template_of: Callable[[str], str]) -> tuple[int | None, int]:
    """Queue the held URLs of a template again and reset its counts; returns the host's id (None: unknown) and how
    many."""
    host_id = find_host_id(connection, host)
    if host_id is None:
        return None, 0
    rows = connection.execute(_SQL["held_of_host"], (host_id,)).fetchall()
    moved = [row[:5] for row in rows if template_of(text_of(row[1] - HELD, host, row[5])) == template]
    connection.executemany(_SQL["released"], moved)
    connection.execute(_SQL["template_released"], (host_id, id_of(template)))
    _moved(connection, host_id, -len(moved))
    connection.execute(_SQL["host_resumed"], (sum({1 << (row[1] - HELD) for row in moved}), host_id))
    return host_id, len(moved)


def _moved(connection: State, host_id: int, amount: int) -> None:
    connection.execute(_SQL["host_held"], (amount, host_id))
    tallies.add(connection, {tallies.QUEUED: -amount, tallies.QUARANTINED: amount})
