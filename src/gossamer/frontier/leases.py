"""Which of the pages that wait at a host is fetched now, if any. Pure: the stores only load and save."""

from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

from gossamer.base.clock import Instant
from gossamer.frontier.gate import AskFirst, Away, GivenUp, Open, Shut, gate_of
from gossamer.values.robots import Robots
from gossamer.values.url import Url
from gossamer.values.visit import Visit, VisitKind

T = TypeVar("T")
Place = tuple[int, int]
"""Priority, and the place among those that share it: the lower goes first."""


class Choice(NamedTuple, Generic[T]):
    best: tuple[T, Open | AskFirst] | None
    """What goes first, and what the robots.txt of its origin says: fetch the page, or ask for the robots.txt."""
    opens_at: list[Instant]
    """When origins whose robots.txt cannot be read now are asked again."""
    given_up: list[tuple[T, int]]
    """Of origins that were asked too often: what waits there is settled. With the number of failures in a row."""


def choose(heads: Iterable[tuple[Place, T, Robots | None]], now: Instant, tries: int | None) -> Choice[T]:
    """`heads`: the first page that is due at each origin of one host, and the robots entry of that origin."""
    found: list[tuple[Place, T, Open | AskFirst]] = []
    opens_at: list[Instant] = []
    given_up: list[tuple[T, int]] = []
    for place, head, robots in heads:
        match gate_of(robots, now, tries):
            case (Open() | AskFirst()) as gate:
                found.append((place, head, gate))
            case Shut(until=until):
                opens_at.append(until)
            case GivenUp(failures=failures):
                given_up.append((head, failures))
            case Away():
                pass
    best = min(found, key=lambda one: one[0], default=None)
    return Choice(None if best is None else best[1:], opens_at, given_up)


def robots_visit(url: Url, robots: Robots | None, now: Instant) -> Visit:
    """To the robots.txt of an origin; `robots` is the entry it had."""
    return Visit(url, VisitKind.ROBOTS, now, failures=robots.failures if robots else 0, robots=robots)
