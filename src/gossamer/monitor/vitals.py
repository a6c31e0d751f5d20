"""What each process, and each machine, says of itself once a second; the last word of each, and an hour of them."""

from collections.abc import Mapping, Sequence

import msgspec

from gossamer.base.clock import Instant

Figures = dict[str, float]
"""By name; `FIGURES` says what each means. A figure that a process has nothing to say about is not there."""

BEAT_S = 1.0
HOUR_S = 3600
NODE = ""
"""The name under which a machine itself beats."""

FIGURES: Mapping[str, str] = {
    "cpu": "per cent of one core that a process uses; of a machine: of all its cores together",
    "cpu_s": "seconds of CPU a process has used since it started",
    "rss": "bytes of memory a process holds",
    "cores": "cores of the machine",
    "mhz": "their speed at this moment, in MHz",
    "memory_total": "bytes of memory of the machine",
    "memory_free": "of them, what programs could still have",
    "disk_total": "bytes of the disk with the data directory",
    "disk_free": "of them, free",
    "barriers_missing": "which barriers the workers of a process lack, one bit each (workers/barriers.py); 0: none",
    "pages": "pages fetched (crawler) or made findable (indexer) since the process started",
    "pages_s": "the same a second, over the last ten",
    "bytes": "bytes of answers kept since the crawler started",
    "bytes_s": "the same a second, over the last ten",
    "visits": "visits ended since the crawler started",
    "errors": "visits that failed since the crawler started",
    "errors_min": "visits that failed in the last minute",
    "queued": "addresses that wait for their turn",
    "in_flight": "visits under way",
    "rests_s": "seconds until a host may be visited again, when none may be now",
    "words_lag_s": "seconds the oldest fetched page waits to be found by its words",
    "facts_lag_s": "seconds the oldest fetched page waits to be found by its facts",
    "spooled": "readings that wait for the next commit",
    "jobs_waiting": "pages that wait for a reader",
    "lost": "workers that had to be replaced since the process started",
    "streams": "browsers that watch live",
}


class Vitals(msgspec.Struct, frozen=True):
    """One sign of life."""

    node: str
    process: str
    """"crawler", "indexer", "facts keeper 1", "reader 1", "web", "query worker 2"; NODE: the machine."""
    pid: int
    at: Instant
    since_at: Instant
    """When it was first heard of under this pid."""
    figures: Figures
    state: str = ""
    """"", or a word: "paused", "waits for disk", "rebuilding", "ended"."""
    version: str = ""


class Sample(msgspec.Struct, frozen=True):
    """One second of the past hour."""

    node: str
    process: str
    at: Instant
    figures: Figures


class Spent(msgspec.Struct, frozen=True):
    """CPU seconds at some moment, to tell the use between two of them."""

    at_s: float
    cpu_s: float


def percent(before: Spent | None, now: Spent) -> float:
    """Of one core, between the two; 0 when there is nothing to compare with."""
    if before is None or now.at_s <= before.at_s or now.cpu_s < before.cpu_s:
        return 0.0
    return round(100 * (now.cpu_s - before.cpu_s) / (now.at_s - before.at_s), 1)


def slot_of(at: Instant) -> int:
    """Where in the ring a second stands."""
    return at // 1_000_000 % HOUR_S


def numbered(pids: Sequence[int], before: Mapping[int, int]) -> dict[int, int]:
    """A number for each worker, from 1: the one it had, or the lowest that is free. Names then stay few, however
    often a worker is replaced."""
    kept = {pid: before[pid] for pid in pids if pid in before}
    free = (number for number in range(1, 2 * len(pids) + len(kept) + 2) if number not in set(kept.values()))
    return {pid: kept[pid] if pid in kept else next(free) for pid in pids}
