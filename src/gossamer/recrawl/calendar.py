"""The revisit budget as a calendar: which days have visits left."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from gossamer.base.clock import DAY, DAY_S, Instant


@dataclass(frozen=True, slots=True)
class VisitBudget:
    """Revisits per day; None: no limit but politeness."""

    in_all: float | None = None
    per_site: float | None = None
    gap_s: float = 0.0
    """The minimum gap between two visits to a host. Of the visits that this allows, half are reserved for new pages, so
    that revisits cannot keep them out."""

    def at_site(self, delay_s: float | None) -> float:
        """Revisits per day for a site with this Crawl-delay."""
        gap_s = max(self.gap_s, delay_s if delay_s is not None and delay_s > 0 else 0.0)  # not NaN
        room = DAY_S / gap_s / 2 if gap_s > 0 else math.inf
        return max(1.0, room if self.per_site is None else min(self.per_site, room))


class Calendar:
    """Which days have visits left. After a restart it is filled from the waiting visits (`expect`).

    REQUIRES: only one thread at a time uses it (`crawler.revisit`).
    """

    def __init__(self, allowance: VisitBudget) -> None:
        self._allowance = allowance
        self._days: Counter[int] = Counter()
        self._site_days: Counter[tuple[str, int]] = Counter()
        self._today = 0

    def room(self, due_at: Instant, site: str, now: Instant, delay_s: float | None = None) -> Instant:
        """Reserve the first moment, from `due_at` on and at that hour, on a day with room."""
        self._forget_before(now // DAY)
        in_all = math.inf if self._allowance.in_all is None else max(1.0, self._allowance.in_all)
        at_site = self._allowance.at_site(delay_s)
        while self._days[due_at // DAY] >= in_all or self._site_days[site, due_at // DAY] >= at_site:
            due_at += DAY
        if in_all < math.inf:
            self._days[due_at // DAY] += 1
        if at_site < math.inf:
            self._site_days[site, due_at // DAY] += 1
        return due_at

    def sooner(self, was_due_at: Instant, site: str, now: Instant, free_at: Instant = 0) -> Instant:
        """Reserve the first moment from now on with room, not before `free_at`, for a visit that had a later one, which
        is released."""
        due_at = self.room(max(now, free_at), site, now)
        if due_at >= was_due_at:
            was_due_at = due_at  # nothing gained: release the moment just reserved
        self._give_back(was_due_at, site)
        return due_at

    def expect(self, plans: Mapping[tuple[str, int], int]) -> None:
        """Set the planned visits by site and day (since 1970)."""
        for (site, day), many in plans.items():
            self._days[day] += many
            self._site_days[site, day] += many

    def _give_back(self, due_at: Instant, site: str) -> None:
        day = due_at // DAY
        self._days[day] = max(0, self._days[day] - 1)
        self._site_days[site, day] = max(0, self._site_days[site, day] - 1)

    def _forget_before(self, today: int) -> None:
        if today == self._today:
            return
        self._today = today
        self._days = Counter({day: many for day, many in self._days.items() if day >= today})
        self._site_days = Counter({key: many for key, many in self._site_days.items() if key[1] >= today})
