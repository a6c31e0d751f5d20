"""The only place that asks the time. An instant is an integer: microseconds since 1970, UTC."""

import asyncio
import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Protocol

import msgspec

Instant = Annotated[int, msgspec.Meta(extra_json_schema={"format": "date-time"})]
"""In JSON it is text: `values.json_form` writes it so, and the schemas of the API say so."""
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
