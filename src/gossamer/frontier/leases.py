"""Which waiting page of a host is fetched next, given its robots.txt entries. Pure."""

from collections.abc import Iterable
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from gossamer.base.clock import Instant
from gossamer.frontier.rows import claim_of
from gossamer.values.history import Past
from gossamer.values.link import How
from gossamer.values.outcome import Reason
from gossamer.values.robots import HOPELESS, Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import FOLLOWED, Visit, VisitKind


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """A leased visit, and what is needed to settle it."""

    visit: Visit
    host_id: int
    lane_host_id: int
    """Whose lane this visit serves: another host's only when the robots.txt of that host has moved here."""
    lane: int
    since_s: float
    """When it was taken, by the clock that never steps."""
    is_errand: bool = False
    """It requests the robots.txt of another host, which has moved here."""
    priority: int = 0
    sequence: int = 0
    address_id: int | None = None
    """None for a robots.txt."""
    last_reason: Reason | None = None


class DuePage(NamedTuple):
    """The first page in a lane of a host; its place comes first. `how` and `last_reason` are as the store has them."""

    priority: int
    sequence: int
    address_id: int
    text: str
    how: Any
    depth: int
    hops: int
    failures: int | None
    last_reason: Any
    last_detail: str | None
    said_at: Instant | None
    said_every_s: int | None

    def visit(
        self, url: Url, how: How, past: Past | None, robots: Robots, now: Instant, failing: tuple[int, Instant | None]
    ) -> Visit:
        """`failing`: for how many visits, and since when, the host has failed."""
        return Visit(
            url=url,
            kind=VisitKind.PAGE,
            taken_at=now,
            depth=self.depth,
            hops=self.hops,
            failures=self.failures or 0,
            robots=robots,
            how=how,
            host_failing=failing[0],
            host_failing_since=failing[1],
            is_followed=self.last_detail is not None and self.last_detail.startswith(FOLLOWED),
            past=past,
            priority=self.priority,
            claim=claim_of(self.said_at, self.said_every_s),
        )


class Open(msgspec.Struct, frozen=True):
    """Pages may be leased; the crawler judges each by this entry."""

    robots: Robots


class AskFirst(msgspec.Struct, frozen=True):
    """The robots.txt must be read (again) first: it is unknown, or this entry has expired."""

    robots: Robots | None


class Shut(msgspec.Struct, frozen=True):
    """The robots.txt cannot be read: nothing before `until`."""

    until: Instant


class Away(msgspec.Struct, frozen=True):
    """The robots.txt has moved and is being requested elsewhere; pages wait for the response."""


class GivenUp(msgspec.Struct, frozen=True):
    """It failed too often: what waits is settled without a visit."""

    failures: int


Gate = Open | AskFirst | Shut | Away | GivenUp


T = TypeVar("T")


class Choice(NamedTuple, Generic[T]):
    best: tuple[T, Open | AskFirst] | None
    """What goes first, and what the robots.txt of its origin says: fetch the page, or the robots.txt."""
    opens_at: list[Instant]
    """When the robots.txt of origins where it cannot be read now is requested again."""
    given_up: list[tuple[T, str]]
    """Origins where it failed too often, each with that in words: what waits there is settled."""


def choose(heads: Iterable[tuple[tuple[int, int], T, Robots | None]], now: Instant, tries: int | None) -> Choice[T]:
    """`heads`: the first due page of each origin of a host: its priority and sequence (the lower goes first), itself,
    and the robots entry of that origin."""
    found: list[tuple[tuple[int, int], T, Open | AskFirst]] = []
    opens_at: list[Instant] = []
    given_up: list[tuple[T, str]] = []
    for place, head, robots in heads:
        match gate_of(robots, now, tries):
            case (Open() | AskFirst()) as gate:
                found.append((place, head, gate))
            case Shut(until=until):
                opens_at.append(until)
            case GivenUp() if robots is not None:
                given_up.append((head, gave_up_in_words(robots)))
            case _:  # it has moved: nothing can be done here
                pass
    best = min(found, key=lambda one: one[0], default=None)
    return Choice(None if best is None else best[1:], opens_at, given_up)


def gave_up_in_words(robots: Robots) -> str:
    return f"{robots.origin}/robots.txt could not be read, {robots.failures} times in a row"


def robots_visit(url: Url, robots: Robots | None, now: Instant) -> Visit:
    """A visit to the robots.txt of an origin; `robots` is its previous entry."""
    return Visit(url, VisitKind.ROBOTS, now, failures=robots.failures if robots else 0, robots=robots)


def gate_of(robots: Robots | None, now: Instant, tries: int | None) -> Gate:
    """Missing, unreachable and read are different states (RFC 9309, section 2.3.1). `tries`: see `is_given_up`."""
    if robots is None:
        return AskFirst(None)
    if robots.state is RobotsState.PENDING:
        return Away()
    if robots.expires_at <= now or robots.fetched_at > now:  # from the future: the clock was set back since
        return AskFirst(robots)
    if robots.state is RobotsState.UNREACHABLE:
        return GivenUp(robots.failures) if is_given_up(robots, tries) else Shut(robots.expires_at)
    return Open(robots)


MOST_RULES = 200_000
"""Rules (and entries) held in memory at most; the least recently used goes first."""


class RobotsCache(Generic[T]):
    """Robots entries in memory, by host id and lane. `T` is what is held with each, such as its version."""

    def __init__(self, most_rules: int = MOST_RULES) -> None:
        self._most = most_rules
        self._held: dict[tuple[int, int], tuple[Robots | None, T]] = {}
        self._weight = 0

    def get(self, key: tuple[int, int]) -> tuple[Robots | None, T] | None:
        found = self._held.pop(key, None)
        if found is not None:
            self._held[key] = found  # the last used is the last to go
        return found

    def put(self, key: tuple[int, int], robots: Robots | None, more: T) -> None:
        self.drop(key)
        self._held[key] = robots, more
        self._weight += _weight(robots)
        while self._weight > self._most and len(self._held) > 1:
            self.drop(next(iter(self._held)))

    def drop(self, key: tuple[int, int]) -> None:
        if key in self._held:
            self._weight -= _weight(self._held.pop(key)[0])


def _weight(robots: Robots | None) -> int:
    return 1 + len(robots.rules) if robots else 1


LONG_KNOWN = 24
"""Consecutive failures after which even a host whose robots.txt was read before is given up. The waits between them
reach an hour: that is later than the half day after which the last good copy applies again."""


def is_given_up(robots: Robots, tries: int | None) -> bool:
    """After `tries` consecutive failures. None, in a crawl without end: only where trying again can change nothing."""
    if robots.state is not RobotsState.UNREACHABLE:
        return False
    if tries is None:
        return robots.failures >= HOPELESS
    return robots.failures >= (tries if robots.read_at is None else max(tries, LONG_KNOWN))
