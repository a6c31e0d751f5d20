"""What every visiting policy is asked, and the hour it varies."""

from typing import Protocol

from gossamer.base.clock import DAY_S, SECOND, Instant
from gossamer.values.due import Due, Planned, PolicyPage, Why
from gossamer.values.history import VisitFinding

_MOST_OFF = 0.1
"""Share of the interval by which a visit is early or late at the most ..."""
_HOURS_OFF_S = 6.0 * 3600.0
"""... or half this much, if that is more and the interval allows it: hours of the day are then all met."""
_LARGEST_SHARE = 0.25


class Policy(Protocol):
    """When again? Real ones: `Age`, `Uniform`, `Paper`, `Tree`."""

    @property
    def name(self) -> str: ...

    @property
    def keeps_time(self) -> bool:
        """Whether `Due.at` is a moment; otherwise it is only an order, and crawls follow each other without pause."""
        ...

    def first_due(self, page: PolicyPage, now: Instant, chance_number: float) -> Due:
        """After the first visit. Pages met together are spread over the interval. REQUIRES: 0 <= chance_number < 1."""
        ...

    def next_due(self, page: PolicyPage, seen: VisitFinding, chance_number: float) -> Planned:
        """After every further visit. REQUIRES: 0 <= chance_number < 1; the caller draws it."""
        ...

    def allow(self, per_page: float) -> None:
        """The budget is now so many visits a page and day, perhaps because there are more pages. REQUIRES: above 0."""
        ...

    def told_load(self, used: float, days_behind: float, now: Instant) -> None:
        """How the budget fares: the share of it that was used lately, and how late due pages are visited."""
        ...


def varied(days: float, chance_number: float) -> float:
    """The interval, moved a little: a page visited daily is seen at another hour each day (MISSION B1)."""
    off = max(_MOST_OFF * days, min(_HOURS_OFF_S / DAY_S, _LARGEST_SHARE * days))
    return days + off * (chance_number - 0.5)


def in_days(now: Instant, days: float, why: Why) -> Due:
    return Due(now + round(days * DAY_S * SECOND), why)
