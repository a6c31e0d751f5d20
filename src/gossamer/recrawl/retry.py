"""When to retry after a temporary failure: the wait doubles, with jitter, and ends after a few tries."""

from dataclasses import dataclass

from gossamer.base.clock import SECOND, Instant
from gossamer.values.outcome import Reason

TRANSIENT = frozenset(
    (
        Reason.DNS, Reason.CONNECT, Reason.TIMEOUT, Reason.TOO_SLOW, Reason.UNFINISHED, Reason.DISCONNECTED,
        Reason.SLOW_DOWN, Reason.SERVER_ERROR,
    )
)  # fmt: skip
"""Failures that may be temporary. A page that is gone, forbidden or broken is not retried."""

DISCONNECTED_TRIES = 2
"""A server that announces more than it sends does so every time: one retry is enough to know."""


@dataclass(frozen=True, slots=True)
class Retry:
    base_s: float = 30.0
    """The wait after the first failure; each further one doubles it."""
    cap_s: float = 3600.0
    """The longest wait."""
    tries: int = 3
    """Visits to a URL in total, before its failure is final."""

    host_patience_s: float = 7_200.0
    """While a whole host is down, no URL there is given up, for up to this long."""

    def __post_init__(self) -> None:
        if not 0 < self.base_s <= self.cap_s or self.tries < 1 or not self.host_patience_s >= 0:
            raise ValueError(f"retries need 0 < base_s <= cap_s and tries >= 1, not {self}")


MANY_FAILED = 2
"""Consecutive failed visits to a host before this one: then the page is not the cause."""


def is_host_fault(
    reason: Reason, host_failing: int, host_failing_since: Instant | None, now: Instant, settings: Retry
) -> bool:
    """Whether a failure says more about the host, which may recover, than about the URL."""
    if reason not in TRANSIENT or host_failing < MANY_FAILED or host_failing_since is None:
        return False
    return now - host_failing_since < settings.host_patience_s * SECOND


def next_due(
    failures: int,
    reason: Reason,
    now: Instant,
    chance_number: float,
    settings: Retry | None = None,
    is_host_fault: bool = False,
) -> Instant | None:
    """When to retry; None: the failure is final.

    `failures` counts consecutive ones before this (`Visit.failures`). REQUIRES: 0 <= chance_number < 1; the wait is
    extended by up to half, so that hosts that failed together are not retried together.
    """
    settings = settings or Retry()
    tries = min(settings.tries, DISCONNECTED_TRIES) if reason is Reason.DISCONNECTED else settings.tries
    if reason not in TRANSIENT or (failures + 1 >= tries and not is_host_fault):
        return None
    wait_s = settings.base_s * 2.0 ** min(failures, 30) * (1.0 + chance_number / 2.0)
    return now + round(min(wait_s, settings.cap_s) * SECOND)
