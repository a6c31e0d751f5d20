"""A calendar that hurries: a demonstration shows in minutes what takes a crawl weeks."""

from dataclasses import dataclass

from gossamer.base.clock import DAY_S, SECOND, Clock, Instant


@dataclass(frozen=True, slots=True)
class ShortDays:
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
class Even:
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


def short_days(clock: Clock, day_s: float, start_at: Instant) -> ShortDays:
    return ShortDays(clock, day_s, clock.elapsed_s(), start_at)
