"""How long to wait between two fetches from a host, also when the wall clock is changed. Pure."""

import math

import msgspec

from gossamer.base.clock import SECOND, Instant
from gossamer.config.slices import Politeness
from gossamer.values.outcome import GROUPS, PAGE_ERRORS, Reason
from gossamer.values.visit import Settled, VisitKind

FREE_CPU_S = 0.25
"""CPU seconds of reading that do not lengthen a gap: ordinary pages take a hundredth of it."""
LONGEST_READING_GAP_S = 300.0
LONGEST_WAIT_S = 86_400.0
"""No server can make us wait for more than a day."""

FAILURES = frozenset(GROUPS["failed"]) - {Reason.FILTER_ERROR}
"""Results that count as failures of the URL."""

FAILED = frozenset((*GROUPS["failed"], *GROUPS["missing"], *GROUPS["unread"])) | {
    Reason.TOO_MANY_REDIRECTS,
    Reason.REDIRECT_OUT,
}
"""Results that are listed as earlier failures after a later visit."""
MOST_FAILURES = 10
"""Earlier failures of a URL that are kept."""
TROUBLES = frozenset({Reason.CONNECT, Reason.TIMEOUT, Reason.DISCONNECTED, Reason.SLOW_DOWN, Reason.SERVER_ERROR})
"""Results that mean the host itself is in trouble and is left alone for longer; not errors of a single page."""

DOWN = (TROUBLES | {Reason.DNS} | PAGE_ERRORS) - {Reason.SLOW_DOWN}
"""Results that mean, if nothing else comes for days, that the host is down or too slow to be of use. A server that asks
us to slow down is neither."""

UNTOUCHED = frozenset((*GROUPS["refused"], Reason.FILTER_ERROR)) - {Reason.MEDIA_TYPE}
"""Results before anything was sent to the host: its gap does not start again."""


def gap_s(
    politeness: Politeness,
    crawl_delay_s: float | None,
    took_s: float = 0.0,
    troubles: int = 0,
    draw: float = 0.0,
    cpu_s: float = 0.0,
) -> float:
    """How long a host is left alone after a visit. `troubles` includes this visit.

    `took_s` is how long the response took, as far as it counts (`Settled.counted_s`), `cpu_s` the CPU time of reading.

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
    """One more for a failure; half as many for a success, so that a host which responds only sometimes is not hurried
    as soon as it does."""
    return troubles + 1 if reason in TROUBLES else troubles // 2


def failures_after(settled: Settled) -> int:
    """Consecutive failures of the URL so far. Failures of its host do not count."""
    if settled.reason not in FAILURES:
        return 0
    return settled.visit.failures + (0 if settled.is_host_fault else 1)


def is_to_retire(
    politeness: Politeness, kind: VisitKind, failing: int, failing_since: Instant | None, now: Instant
) -> bool:
    """`failing` counts the consecutive visits that found the host down, since `failing_since`. A robots.txt that cannot
    be read retires no host: it is requested more and more rarely, and no pages meanwhile."""
    if failing_since is None or failing < politeness.retire_failures or kind is VisitKind.ROBOTS:
        return False
    return now - failing_since >= politeness.retire_span_s * SECOND


def free_at(done_at: Instant, gap: float, host_wait_s: float | None) -> Instant:
    """When something may be sent to the host again. The gap starts when the response was complete."""
    wait = min(host_wait_s, LONGEST_WAIT_S) if host_wait_s is not None and host_wait_s > 0 else 0.0
    return done_at + math.ceil((gap + wait) * SECOND)


TOLERANCE = 2 * SECOND
"""Clocks are slewed all the time; a smaller difference since the last comparison is no step."""


class Steps:
    """Compares the wall clock with the one that never steps. After a sleep of the machine it looks set forward."""

    def __init__(self) -> None:
        self._last: tuple[Instant, float] | None = None

    def since(self, now: Instant, elapsed_s: float) -> int:
        """By how many microseconds the wall clock was set since the last call; 0: it was not."""
        before, self._last = self._last, (now, elapsed_s)
        if before is None:
            return 0
        by = (now - before[0]) - round((elapsed_s - before[1]) * SECOND)
        return by if abs(by) > TOLERANCE else 0


def by_this_clock(settled: Settled, taken_s: float, stepped_s: float, now: Instant) -> Settled:
    """If the clock was set since the visit was taken, it counts as ended now: its host waits too long rather than too
    short, and the time until the next visit stays the same. `taken_s`, `stepped_s`: when either happened, in elapsed
    seconds."""
    if taken_s > stepped_s:
        return settled
    due_at = None if settled.due_at is None else now + settled.due_at - settled.done_at
    return msgspec.structs.replace(settled, done_at=now, due_at=due_at)
