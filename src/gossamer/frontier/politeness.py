"""How long a host is left alone. Pure: instants in, instants out."""

import math
from dataclasses import dataclass

from gossamer.base.clock import SECOND, Instant
from gossamer.values.outcome import PAGE_FAULTS, Reason
from gossamer.values.visit import Settled, VisitKind

FREE_CPU_S = 0.25
"""CPU seconds of reading that are not charged to a host: ordinary pages take a hundredth of it."""
LONGEST_READING_GAP_S = 300.0
LONGEST_WAIT_S = 86_400.0
"""No server can ask for more than a day of rest."""

FAILURES = frozenset(
    {
        Reason.DNS,
        Reason.CONNECT,
        Reason.TLS,
        Reason.TIMEOUT,
        Reason.TOO_SLOW,
        Reason.UNFINISHED,
        Reason.PROTOCOL,
        Reason.HEADERS_TOO_LARGE,
        Reason.DISCONNECTED,
        Reason.CODING,
        Reason.SLOW_DOWN,
        Reason.SERVER_ERROR,
        Reason.CLIENT_ERROR,
    }
)
"""Ends that count as failures of the address."""

FAILED = FAILURES | {
    Reason.GONE,
    Reason.SOFT_404,
    Reason.TOO_MANY_REDIRECTS,
    Reason.REDIRECT_OUT,
    Reason.FILTER_ERROR,
    Reason.READ_TIMEOUT,
    Reason.READ_CRASH,
    Reason.READ_MEMORY,
}
"""Ends that are listed as earlier failures once a later visit has ended."""
MOST_FAILURES = 10
"""Earlier failures of a URL that are kept."""
TROUBLES = frozenset(
    {
        Reason.CONNECT,
        Reason.TIMEOUT,
        Reason.DISCONNECTED,
        Reason.SLOW_DOWN,
        Reason.SERVER_ERROR,
    }
)
"""Ends that say the host itself is in trouble: leave it alone for longer. A page's own fault says no such thing."""

DOWN = (TROUBLES | {Reason.DNS} | PAGE_FAULTS) - {Reason.SLOW_DOWN}
"""Ends that say, if nothing else comes for days, that it is down or too slow to be of use. A server that asks for
patience is neither."""

UNTOUCHED = frozenset(
    {
        Reason.ROBOTS,
        Reason.ROBOTS_UNREACHABLE,
        Reason.SCOPE,
        Reason.ADDRESS,
        Reason.CONTACT,
        Reason.FILTER,
        Reason.TRAP,
        Reason.RETIRED,
        Reason.FORGOTTEN,
        Reason.FILTER_ERROR,
    }
)
"""Ends before anything was sent to the host: its gap does not start again."""


@dataclass(frozen=True, slots=True)
class Politeness:
    delay_s: float = 1.0
    """Between the end of one visit to a host and the start of the next, at least."""
    longest_crawl_delay_s: float = 30.0
    """A Crawl-delay in robots.txt counts up to this; the delay above always counts in full."""
    times_took: float = 0.0
    """The gap is also at least this many times what the last answer took; 0 leaves it at the delay."""
    longest_gap_s: float = 30.0
    """A slow answer draws the gap out to this at most."""
    times_read: float = 0.0
    """The gap is also at least this many times the CPU seconds that reading the last page took, less those that any
    page may take: hosts whose pages are costly to read leave the readers to others most of the time."""
    most_back_off: float = 16.0
    """A host that fails visit after visit has its gap doubled each time, up to this many gaps."""
    robots_tries: int | None = 4
    """After so many failures in a row to read a robots.txt, the pages waiting for it are given up. None: never."""
    jitter: float = 0.25
    """A backed-off gap is drawn out by up to this share, so that hosts of one fate do not come back together."""
    per_address: int = 4
    """Visits at one time to one network address, whatever the hosts on it are called."""
    apart_s: float = 0.1
    """Between the starts of two of them."""
    retire_failures: int = 20
    """A host that has failed this often in a row,"""
    retire_span_s: float = 7 * 86_400.0
    """and for this long, is visited no more until somebody reinstates it."""

    def __post_init__(self) -> None:
        gaps = (self.delay_s, self.longest_crawl_delay_s, self.longest_gap_s, self.times_took, self.times_read)
        numbers = (*gaps, self.apart_s, self.retire_span_s)
        counted = (1 if self.robots_tries is None else self.robots_tries, self.per_address, self.retire_failures)
        if not all(math.isfinite(n) and n >= 0 for n in numbers) or min(counted) < 1:
            raise ValueError(f"politeness that cannot be: {self}")
        if not self.most_back_off >= 1 or not 0 <= self.jitter <= 1:
            raise ValueError(f"politeness that cannot be: {self}")


def gap_s(
    politeness: Politeness,
    crawl_delay_s: float | None,
    took_s: float = 0.0,
    troubles: int = 0,
    draw: float = 0.0,
    cpu_s: float = 0.0,
) -> float:
    """How long a host is left alone after a visit, given the troubles it has had, this visit included.

    `took_s` is what the answer took as far as it counts (`Settled.counted_s`), `cpu_s` the CPU time of reading it.

    REQUIRES: 0 <= draw < 1. The caller draws it; a test passes 0.
    """
    asked = crawl_delay_s if crawl_delay_s is not None and crawl_delay_s > 0 else 0.0  # not NaN, not negative
    drawn_out = min(politeness.times_took * took_s, politeness.longest_gap_s)
    plain = max(politeness.delay_s, min(asked, politeness.longest_crawl_delay_s), drawn_out)
    if cpu_s > FREE_CPU_S:
        plain = max(plain, min(politeness.times_read * (cpu_s - FREE_CPU_S), LONGEST_READING_GAP_S))
    if not troubles:
        return plain
    return plain * min(2.0 ** min(troubles, 30), politeness.most_back_off) * (1 + politeness.jitter * draw)


def troubles_after(troubles: int, reason: Reason) -> int:
    """One more for a failure; half of them are forgiven for a success, so that a host which only now and then
    answers is not hurried the moment it does."""
    return troubles + 1 if reason in TROUBLES else troubles // 2


def failures_after(settled: Settled) -> int:
    """How often in a row the address has failed by now. What is its host's fault is not counted against it."""
    if settled.reason not in FAILURES:
        return 0
    return settled.visit.failures + (0 if settled.is_host_fault else 1)


def is_to_retire(
    politeness: Politeness, kind: VisitKind, failing: int, failing_since: Instant | None, now: Instant
) -> bool:
    """`failing` counts the visits in a row that found the host down, from `failing_since` on. A robots.txt that cannot
    be read retires nobody: it is asked for ever more rarely, and its pages are not asked for meanwhile."""
    if failing_since is None or failing < politeness.retire_failures or kind is VisitKind.ROBOTS:
        return False
    return now - failing_since >= politeness.retire_span_s * SECOND


def free_at(done_at: Instant, gap: float, host_wait_s: float | None) -> Instant:
    """When the host may be touched again. The window starts when the answer had been received."""
    wait = min(host_wait_s, LONGEST_WAIT_S) if host_wait_s is not None and host_wait_s > 0 else 0.0
    return done_at + math.ceil((gap + wait) * SECOND)
