"""The only place that asks the time. An instant is an integer: microseconds since 1970, UTC."""

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Protocol

import msgspec

Instant = Annotated[int, msgspec.Meta(extra_json_schema={"format": "date-time"})]
"""In JSON it is text: `values.format` writes it so, and the schemas of the API say so."""
SECOND: Instant = 1_000_000
DAY: Instant = 86_400 * SECOND


class Clock(Protocol):
    """Real ones: `SystemClock` here, `FakeClock` in `gossamer.testing`."""

    def now(self) -> Instant: ...

    def elapsed_s(self) -> float:
        """Seconds from some fixed start; never steps back, for measuring how long a thing took."""
        ...

    async def sleep(self, seconds: float) -> None: ...

    def pause(self, seconds: float) -> None:
        """Sleep, and let nothing else of this thread go on meanwhile."""
        ...


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
    """Cached, because every page of one second asks for it, more than once."""
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}"


def from_words(text: str) -> Instant:
    """The inverse of `in_words`; any RFC 3339 instant is understood. Raises ValueError on anything else."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    whole = int(moment.replace(microsecond=0).timestamp())
    return whole * SECOND + moment.microsecond


DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class FastCalendar:
    """Its dates pass quickly, from `start_at` on; what is measured or waited for takes as long as it does."""

    clock: Clock
    day_s: float
    """What a day lasts. REQUIRES: above 0."""
    began_s: float
    """By `clock.elapsed_s()`."""
    start_at: Instant

    def now(self) -> Instant:
        passed_s = self.clock.elapsed_s() - self.began_s
        return self.start_at + round(passed_s / self.day_s * DAY_S * SECOND)

    def lasting_s(self, seconds: float) -> float:
        """How long so many seconds between two of its dates take."""
        return seconds / DAY_S * self.day_s

    def elapsed_s(self) -> float:
        return self.clock.elapsed_s()

    async def sleep(self, seconds: float) -> None:
        await self.clock.sleep(seconds)

    def pause(self, seconds: float) -> None:
        self.clock.pause(seconds)


@dataclass(frozen=True, slots=True)
class CalendarClock:
    """For the frontier, which holds a clock's dates against its seconds to notice that somebody has set it: here both
    pass alike, and its gaps are counted in the calendar's seconds."""

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
