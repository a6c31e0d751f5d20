"""Whether somebody has set the wall clock. Pure: the caller reads both clocks."""

import msgspec

from gossamer.base.clock import SECOND, Instant
from gossamer.values.visit import Settled

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
