"""How long a host is left alone. Pure: instants in, instants out."""

import math
from dataclasses import dataclass

from gossamer.clock import SECOND, Instant
from gossamer.values.outcome import Reason

LONGEST_WAIT_S = 86_400.0
"""No server can ask for more than a day of rest."""

FAILURES = frozenset(
    {
        Reason.DNS,
        Reason.CONNECT,
        Reason.TLS,
        Reason.TIMEOUT,
        Reason.TOO_SLOW,
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

TROUBLES = frozenset(
    {
        Reason.CONNECT,
        Reason.TIMEOUT,
        Reason.TOO_SLOW,
        Reason.DISCONNECTED,
        Reason.SLOW_DOWN,
        Reason.SERVER_ERROR,
    }
)
"""Ends that say the host itself is in trouble: leave it alone for longer."""

UNTOUCHED = frozenset({Reason.ROBOTS, Reason.ROBOTS_UNREACHABLE, Reason.SCOPE, Reason.ADDRESS, Reason.CONTACT})
"""Ends before anything was sent to the host: its gap does not start again."""


@dataclass(frozen=True, slots=True)
class Politeness:
    delay_s: float = 1.0
    """Between the end of one visit to a host and the start of the next, at least."""
    longest_crawl_delay_s: float = 30.0
    """A Crawl-delay in robots.txt counts up to this; the delay above always counts in full."""
    times_took: float = 0.0
    """The gap is also at least this many times what the last answer took; 0 leaves it at the delay."""
    most_back_off: float = 8.0
    """A host that fails visit after visit has its gap doubled each time, up to this many gaps."""
    robots_tries: int = 4
    """After so many failures in a row to read a robots.txt, the pages waiting for it are given up."""

    def __post_init__(self) -> None:
        numbers = (self.delay_s, self.longest_crawl_delay_s, self.times_took)
        if not all(math.isfinite(n) and n >= 0 for n in numbers) or self.most_back_off < 1 or self.robots_tries < 1:
            raise ValueError(f"politeness that cannot be: {self}")


def gap_s(politeness: Politeness, crawl_delay_s: float | None, took_s: float = 0.0, troubles: int = 0) -> float:
    """How long a host is left alone after a visit. `troubles` counts the failed visits in a row, this one included."""
    asked = crawl_delay_s if crawl_delay_s is not None and crawl_delay_s > 0 else 0.0  # not NaN, not negative
    plain = max(politeness.delay_s, min(asked, politeness.longest_crawl_delay_s), politeness.times_took * took_s)
    return plain * min(2.0 ** min(troubles, 30), politeness.most_back_off) if troubles else plain


def free_at(done_at: Instant, gap: float, host_wait_s: float | None) -> Instant:
    """When the host may be touched again. The window starts when the answer had been received."""
    wait = min(host_wait_s, LONGEST_WAIT_S) if host_wait_s is not None and host_wait_s > 0 else 0.0
    return done_at + math.ceil((gap + wait) * SECOND)
