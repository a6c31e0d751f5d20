"""How a crawl is paced: how much it may take, what keeps it from taking, how long it may sleep. Pure."""

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum

from gossamer.base.clock import Clock
from gossamer.fetch.budget import CROWD
from gossamer.values.messages import Keep

WAIT_S = 0.25
SOONEST_S = 0.005
HELD_S = 2.0
"""A crawl that may take nothing is woken when that changes; it looks by itself this often all the same."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How the journey is paced; the politeness owed to hosts is the frontier's."""

    at_once: int = 128  # fetches in flight
    group: int = 64  # captures synced and settled together
    group_wait_s: float = 0.2  # the longest a capture waits for its group
    lag_s: float = 2.5  # take nothing more while the index is further behind
    max_pages: int | None = None  # stop taking once the collection holds this many pages
    keep: Keep = "all"  # "all", or "structured": only pages with facts are kept whole
    drain_s: float = 8.0  # how long a clean stop waits for fetches in flight


class Hold(StrEnum):
    """Why a crawl takes nothing more at the moment."""

    PAUSED = "paused"
    VIEWS = "views"  # the index is too far behind
    DISK = "disk"  # it has too little room


def hold_of(is_paused: bool, lag_s: float, pace: Pace) -> Hold | None:
    if is_paused:
        return Hold.PAUSED
    return Hold.VIEWS if lag_s > pace.lag_s else None


def room_for(pace: Pace, in_flight: int, pages: int, slow: int) -> int:
    """How many URLs may be taken now. `slow`: fetches in progress for long. Within bounds they do not count, so that
    slow servers and pages that are costly to read leave room for others."""
    free = pace.at_once - in_flight + min(slow, (CROWD - 1) * pace.at_once)
    if pace.max_pages is not None:
        free = min(free, pace.max_pages - pages - in_flight)
    return max(0, free)


def sleep_s(hold: Hold | None, next_in_s: float | None) -> float:
    """How long to sleep unless something happens. `next_in_s`: until a host is ready, if more may be taken. Nothing
    reports that the disk has room again, so that is checked more often."""
    if hold is Hold.PAUSED or hold is Hold.VIEWS:
        return HELD_S
    if hold is Hold.DISK or next_in_s is None:
        return WAIT_S
    return min(WAIT_S, max(SOONEST_S, next_in_s))


@dataclass(slots=True)
class Backlog:
    """Groups that are settled and not yet searchable; one entry each, so it stays small."""

    clock: Clock
    _waiting: deque[tuple[str, int, float]] = field(default_factory=deque)

    def added(self, volume: str, number: int) -> None:
        """The group that ends with this record is settled."""
        self._waiting.append((volume, number, self.clock.elapsed_s()))

    def passed(self, volume: str, number: int) -> bool:
        """The view has all records before this one. Returns whether that is news."""
        before = len(self._waiting)
        while self._waiting and self._waiting[0][:2] < (volume, number):
            self._waiting.popleft()
        return len(self._waiting) < before

    def lag_s(self) -> float:
        """The age of the oldest group that is not searchable yet."""
        return self.clock.elapsed_s() - self._waiting[0][2] if self._waiting else 0.0
