"""How a crawl is paced: how much it may take, what keeps it from taking, how long it may sleep. Pure."""

from collections import deque
from dataclasses import dataclass, field, replace
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
    group_bytes: int | None = None  # a group with more is complete
    group_wait_s: float = 0.2  # the longest a capture waits for its group
    hungry_wait_s: float = 0.2  # the same while more hosts could be fetched from, if their last pages were settled
    frees_read: bool = False  # pages that wait for their group leave their place to others
    lag_s: float = 2.5  # take nothing more while the index is further behind
    max_pages: int | None = None  # stop taking once the collection holds this many pages
    keep: Keep = "all"  # "all", or "structured": only pages with facts are kept whole
    drain_s: float = 8.0  # how long a clean stop waits for fetches in flight
    is_endless: bool = False  # it does not end when nothing is left to fetch: others may add work


def cluster_pace(pace: Pace, segment_bytes: int, segment_s: float, delay_s: float) -> Pace:
    """For an archive in object storage, where each group is an object: few large groups are better than many small
    ones, as long as no fetch waits for them.

    A group may have half of the places beyond `at_once`: so one can fill while another is stored. A host is fetched
    from again once its last page is settled; so while hosts are few, a group is complete before their gaps are over."""
    return replace(
        pace,
        group=max(1, (CROWD - 1) * pace.at_once // 2),
        group_bytes=segment_bytes,
        group_wait_s=segment_s,
        hungry_wait_s=min(segment_s, delay_s / 2),
        frees_read=True,
        is_endless=True,
    )


class Hold(StrEnum):
    """Why a crawl takes nothing more at the moment."""

    PAUSED = "paused"
    VIEWS = "views"  # the index is too far behind
    DISK = "disk"  # it has too little room
    STORAGE = "storage"  # the storage of a cluster's archive cannot be written


def hold_of(is_paused: bool, lag_s: float, pace: Pace) -> Hold | None:
    if is_paused:
        return Hold.PAUSED
    return Hold.VIEWS if lag_s > pace.lag_s else None


def room_for(pace: Pace, in_flight: int, pages: int, slow: int, read: int = 0) -> int:
    """How many URLs may be taken now. `slow`: fetches in progress for long. Within bounds they do not count, so that
    slow servers and pages that are costly to read leave room for others; nor do those that are `read`, and wait for
    their group, if that takes long."""
    aside = slow + (read if pace.frees_read else 0)
    free = pace.at_once - in_flight + min(aside, (CROWD - 1) * pace.at_once)
    if pace.max_pages is not None:
        free = min(free, pace.max_pages - pages - in_flight)
    return max(0, free)


def sleep_s(hold: Hold | None, next_in_s: float | None) -> float:
    """How long to sleep unless something happens. `next_in_s`: until a host is ready, if more may be taken. Nothing
    reports that the disk has room again, so that is checked more often."""
    if hold is Hold.PAUSED or hold is Hold.VIEWS:
        return HELD_S
    if hold in (Hold.DISK, Hold.STORAGE) or next_in_s is None:
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
