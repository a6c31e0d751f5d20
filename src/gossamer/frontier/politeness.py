"""How long a host is left alone, also when the wall clock is set. Pure: instants in, instants out."""

import math

import msgspec

from gossamer.base.clock import SECOND, Instant
from gossamer.config.slices import Politeness
from gossamer.values.outcome import PAGE_ERRORS, Reason
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

DOWN = (TROUBLES | {Reason.DNS} | PAGE_ERRORS) - {Reason.SLOW_DOWN}
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


TOLERANCE = 2 * SECOND
"""Clocks are slewed all the time; less than this since the last look is no step."""


class Steps:
    """Compares the wall clock with the one that never steps. A machine that slept looks like one set forward."""

    def __init__(self) -> None:
        self._last: tuple[Instant, float] | None = None

    def since(self, now: Instant, elapsed_s: float) -> int:
        """By how many microseconds the wall clock was set since the last look; 0: it simply went on."""
        before, self._last = self._last, (now, elapsed_s)
        if before is None:
            return 0
        by = (now - before[0]) - round((elapsed_s - before[1]) * SECOND)
        return by if abs(by) > TOLERANCE else 0


def by_this_clock(settled: Settled, taken_s: float, stepped_s: float, now: Instant) -> Settled:
    """If the clock was set since the visit was taken, it is over now: its host waits too long rather than too short,
    and what is to come again keeps its distance. `taken_s`, `stepped_s`: when either happened, in elapsed seconds."""
    if taken_s > stepped_s:
        return settled
    due_at = None if settled.due_at is None else now + settled.due_at - settled.done_at
    return msgspec.structs.replace(settled, done_at=now, due_at=due_at)
