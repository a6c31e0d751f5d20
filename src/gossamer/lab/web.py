"""A web that only changes: pages of several kinds on a virtual clock, for simulations of revisiting."""

import math
from array import array
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate

from gossamer.base.chance import Chance
from gossamer.recrawl.freshness import PageKind

NEVER = math.inf
ROOMS = 100
"""Pages of a site."""
BRANCHES = 10
"""Pages that a page of a site links to, one step down."""

CLASSES = (
    (0.23, 1.0, 4.0),
    (0.15, 1.0 / 7.0, 1.0),
    (0.16, 1.0 / 30.0, 1.0 / 7.0),
    (0.16, 1.0 / 120.0, 1.0 / 30.0),
    (0.30, 1.0 / 913.0, 1.0 / 120.0),
)
"""Share of pages, and the changes a day between which theirs lie: daily or more often, weekly, monthly, every four
months, less (Cho and Garcia-Molina, "The evolution of the web", VLDB 2000). Within a class the logarithm is even."""

BURST_RATE, BURST_DAYS, QUIET_DAYS = 6.0, 2.0, 28.0


class Nature(StrEnum):
    POISSON = "poisson"
    """At random, at a rate of its own."""
    BURSTY = "bursty"
    """Two busy days, then four quiet weeks, on the average."""
    DAILY = "daily"
    """Once a day, at its own hour."""
    DEAD = "dead"
    """At random until it ends."""


WEBS: dict[str, dict[Nature, float]] = {
    "measured": {Nature.POISSON: 1.0},
    "mixed": {Nature.POISSON: 0.7, Nature.BURSTY: 0.1, Nature.DAILY: 0.1, Nature.DEAD: 0.1},
}


@dataclass(slots=True)
class SyntheticWeb:
    """`stale_at[page]` is when it changed first since it was last visited, or will."""

    chance: Chance
    days: float
    natures: list[Nature] = field(default_factory=list)
    rates: "array[float]" = field(default_factory=lambda: array("d"))
    stale_at: "array[float]" = field(default_factory=lambda: array("d"))
    _starts: "array[float]" = field(default_factory=lambda: array("d"))
    """Bursty: when the burst begins; daily: the hour; dead: the end."""
    _ends: "array[float]" = field(default_factory=lambda: array("d"))

    def grow(self, pages: int, kinds: dict[Nature, float]) -> None:
        names, bounds = list(kinds), list(accumulate(kinds.values()))
        for _ in range(pages):
            nature = names[min(bisect_right(bounds, self.chance.random() * bounds[-1]), len(names) - 1)]
            self._add(nature)
        for page in range(pages):
            self.stale_at[page] = self._next_change(page, 0.0)

    def visit(self, page: int, now: float) -> bool:
        """Whether it changed since the last visit. REQUIRES: visits to a page go forward in time."""
        if self.stale_at[page] > now:
            return False
        self.stale_at[page] = self._next_change(page, now)
        return True

    def kinds(self) -> list[PageKind]:
        """Its pages by their true rates, within 1 %."""
        counts = Counter(rounded(rate) for rate in self.rates)
        return [PageKind(rate, count) for rate, count in sorted(counts.items())]

    def _add(self, nature: Nature) -> None:
        rate, start, end = self._measured_rate(), 0.0, 0.0
        if nature is Nature.BURSTY:
            start = self._after(QUIET_DAYS)
            end = start + self._after(BURST_DAYS)
            rate = BURST_RATE * BURST_DAYS / (BURST_DAYS + QUIET_DAYS)
        elif nature is Nature.DAILY:
            rate, start = 1.0, self.chance.random()
        elif nature is Nature.DEAD:
            start = self.chance.random() * self.days / 2
        self.natures.append(nature)
        self.rates.append(rate)
        self.stale_at.append(NEVER)
        self._starts.append(start)
        self._ends.append(end)

    def _measured_rate(self) -> float:
        drawn = self.chance.random()
        for share, slowest, fastest in CLASSES:
            if drawn < share:
                return slowest * math.exp(math.log(fastest / slowest) * drawn / share)
            drawn -= share
        return CLASSES[-1][1]

    def _next_change(self, page: int, now: float) -> float:
        nature = self.natures[page]
        if nature is Nature.POISSON:
            return now + self._after(1.0 / self.rates[page])
        if nature is Nature.DAILY:
            hour = self._starts[page]
            return math.floor(now - hour) + 1.0 + hour
        if nature is Nature.DEAD:
            change = now + self._after(1.0 / self.rates[page])
            return change if change < self._starts[page] else NEVER
        return self._next_in_burst(page, now)

    def _next_in_burst(self, page: int, now: float) -> float:
        while True:
            change = max(now, self._starts[page]) + self._after(1.0 / BURST_RATE)
            if change < self._ends[page]:
                return change
            self._starts[page] = max(now, self._ends[page]) + self._after(QUIET_DAYS)
            self._ends[page] = self._starts[page] + self._after(BURST_DAYS)

    def _after(self, mean_days: float) -> float:
        return -math.log(1.0 - self.chance.random()) * mean_days


def rounded(rate: float) -> float:
    return math.exp(round(math.log(rate) * 100.0) / 100.0)


def parent_of(page: int) -> int | None:
    """The page of its site that links down to it."""
    place = page % ROOMS
    return page - place + (place - 1) // BRANCHES if place else None


def links_of(page: int, pages: int) -> range:
    place = page % ROOMS
    site = page - place
    first = place * BRANCHES + 1
    return range(site + first, min(site + first + BRANCHES, site + ROOMS, pages)) if first < ROOMS else range(0)
