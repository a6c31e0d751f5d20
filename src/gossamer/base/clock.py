"""Clocks and instants: the only place that reads the time.

An instant is microseconds since 1970, UTC.
"""

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Protocol

import msgspec

Instant = Annotated[int, msgspec.Meta(extra_json_schema={"format": "date-time"})]
"""In JSON an instant is RFC 3339 text: `values.format` writes it, and the schemas of the API declare it."""
SECOND: Instant = 1_000_000
DAY: Instant = 86_400 * SECOND
DAY_S = 86_400.0


class Clock(Protocol):
    """Real ones: `SystemClock` here, `FakeClock` in `gossamer.testing`."""

    def now(self) -> Instant: ...

    def elapsed_s(self) -> float:
        """Seconds since some fixed point; never goes backwards. For measuring durations."""

    async def sleep(self, seconds: float) -> None: ...

    def pause(self, seconds: float) -> None:
        """Block this thread."""


class SystemClock:
    def now(self) -> Instant:
        return time.time_ns() // 1000

    def elapsed_s(self) -> float:
        return time.monotonic()

    def cpu_s(self) -> float:
        """CPU time of this process, user and system."""
        return time.process_time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)


def in_words(at: Instant) -> str:
    """The instant as RFC 3339 text with microseconds: `2026-11-15T08:30:00.000123Z`."""
    return f"{_second_in_words(at // SECOND)}.{at % SECOND:06d}Z"


@lru_cache(maxsize=64)
def _second_in_words(second: int) -> str:
    """Cached, because all pages fetched within one second need it, some more than once."""
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}"


def from_words(text: str) -> Instant:
    """The inverse of `in_words`; reads any RFC 3339 instant. Raises ValueError for anything else."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    whole = int(moment.replace(microsecond=0).timestamp())
    return whole * SECOND + moment.microsecond


@dataclass(frozen=True, slots=True)
class FastCalendar:
    """A clock whose dates pass quickly, for the demonstration; durations and waits are not shortened."""

    clock: Clock
    day_s: float
    """Real seconds in one of its days. REQUIRES: above 0."""
    began_s: float
    """`clock.elapsed_s()` at `start_at`."""
    start_at: Instant

    def now(self) -> Instant:
        passed_s = self.clock.elapsed_s() - self.began_s
        return self.start_at + round(passed_s / self.day_s * DAY_S * SECOND)

    def lasting_s(self, seconds: float) -> float:
        """Real seconds that pass during so many seconds of the calendar."""
        return seconds / DAY_S * self.day_s

    def elapsed_s(self) -> float:
        return self.clock.elapsed_s()

    async def sleep(self, seconds: float) -> None:
        await self.clock.sleep(seconds)

    def pause(self, seconds: float) -> None:
        self.clock.pause(seconds)


@dataclass(frozen=True, slots=True)
class CalendarClock:
    """A calendar as a clock for the frontier, which compares dates with elapsed seconds to notice that the system time
    was changed: here both pass at the calendar's speed."""

    calendar: Clock

    def now(self) -> Instant:
        return self.calendar.now()

    def elapsed_s(self) -> float:
        return self.calendar.now() / SECOND

    async def sleep(self, seconds: float) -> None:
        await self.calendar.sleep(seconds)

    def pause(self, seconds: float) -> None:
        self.calendar.pause(seconds)


def fast_calendar(clock: Clock, day_s: float, start_at: Instant) -> FastCalendar:
    return FastCalendar(clock, day_s, clock.elapsed_s(), start_at)
