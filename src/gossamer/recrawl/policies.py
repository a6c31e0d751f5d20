"""The revisit policies `age`, `uniform`, `paper` and `tree`, and the calendar of the budget.

`paper` and `tree` are those of an adaptive, selective and incremental crawler (MISSION B2, B3). They know no budget and
count in crawls of a day: `paper` visits a page each `every` crawls (`fr_max`), and each visit moves `every` half way to
the average number of crawls between two changes. A page is also visited if enough of the internal pages it links to
have changed, which is known without a request.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import mul
from typing import Protocol

import msgspec

from gossamer.base.clock import DAY, DAY_S, SECOND, Instant
from gossamer.recrawl.freshness import gain
from gossamer.recrawl.rates import RATES, PriorLearning, likelihoods, observed
from gossamer.values.history import Due, History, Planned, PolicyPage, VisitFinding, Why

_MOST_OFF = 0.1
"""Share of the interval by which a visit is early or late at the most ..."""
_HOURS_OFF_S = 6.0 * 3600.0
"""... or half this much, if that is more and the interval allows it, so that all hours of the day occur."""
_LARGEST_SHARE = 0.25


class Policy(Protocol):
    """When to visit a page again. Real ones: `Age`, `Uniform`, `Paper`, `Tree`."""

    name: str
    keeps_time: bool = False
    """Whether `Due.at` is a time; otherwise it is only an order, and crawls follow each other without a pause."""

    def first_due(self, page: PolicyPage, now: Instant, chance_number: float) -> Due:
        """After the first visit; pages found together are spread over the interval. REQUIRES: 0 <= chance_number <
        1."""

    def next_due(self, page: PolicyPage, seen: VisitFinding, chance_number: float) -> Planned:
        """After every further visit. REQUIRES: 0 <= chance_number < 1; the caller draws it."""

    def set_budget(self, per_page: float) -> None:
        """Set the budget in visits per page and day, which may fall as pages are added. Ignored by policies without a
        budget. REQUIRES: above 0."""
        return

    def report_load(self, used: float, days_behind: float, now: Instant) -> None:
        """Report the share of the budget that was used recently, and how late due pages are visited. Ignored by
        policies whose intervals do not depend on it."""
        return


def varied(days: float, chance_number: float) -> float:
    """The interval, varied a little: a page visited daily is visited at another hour each day (MISSION B1)."""
    off = max(_MOST_OFF * days, min(_HOURS_OFF_S / DAY_S, _LARGEST_SHARE * days))
    return days + off * (chance_number - 0.5)


def in_days(now: Instant, days: float, why: Why) -> Due:
    return Due(now + round(days * DAY_S * SECOND), why)


# All pages alike: the fallback when nothing is known.


class Uniform(Policy):
    name = "uniform"

    def __init__(self, per_page: float) -> None:
        """`per_page`: visits per page and day. REQUIRES: above 0."""
        self._every_days = 1.0 / per_page

    def first_due(self, page: PolicyPage, now: Instant, chance_number: float) -> Due:
        return in_days(now, self._every_days * chance_number, Why.EVEN)

    def next_due(self, page: PolicyPage, seen: VisitFinding, chance_number: float) -> Planned:
        days = varied(self._every_days, chance_number)
        return Planned(observed(page.history, seen), in_days(seen.at, days, Why.EVEN))

    def set_budget(self, per_page: float) -> None:
        self._every_days = 1.0 / per_page


MOST_CRAWLS = 20
"""Visits considered; no page waits for more crawls than this. REQUIRES: at most `MOST_RECENT`."""
FEW_VISITS = 3
"""Until there are this many visits, the frequency stays the same."""
LEAST_THRESHOLD, MOST_THRESHOLD, STEP = 10, 90, 5
"""Percent of the links, and the points by which it moves when all linked pages had changed (up), or none (down)."""


def every_after(every: int, visits: int, recent: int) -> int:
    """`fr_max` after a visit. `recent`: a bit for each of the last visits, set if there was a change."""
    if visits < FEW_VISITS:
        return every
    considered = min(visits, MOST_CRAWLS)
    changes = (recent & ((1 << considered) - 1)).bit_count()
    return max(1, (every + considered // max(changes, 1)) // 2)


def is_due_by_links(threshold: int, changed: int, links: int) -> bool:
    """Whether enough of the pages it links to have changed since its own last visit (40 % at first)."""
    return links > 0 and 100 * changed >= threshold * links


def moved_threshold(threshold: int, changed: int, links: int) -> int:
    """The threshold after a check: up with the share of pages that had changed, down with the share that had not. So
    busy neighbours soon no longer matter, and quiet ones begin to."""
    if links <= 0:
        return threshold
    moved = threshold + round(STEP * (2 * changed - links) / links)
    return min(max(moved, LEAST_THRESHOLD), MOST_THRESHOLD)


class Paper(Policy):
    name = "paper"

    def first_due(self, page: PolicyPage, now: Instant, chance_number: float) -> Due:
        return in_days(now, page.history.every * (0.5 + chance_number / 2), Why.FIRST)

    def next_due(self, page: PolicyPage, seen: VisitFinding, chance_number: float) -> Planned:
        history = observed(page.history, seen)
        every = every_after(history.every, history.visits, history.recent)
        # The visit is at any time within that crawl, so the hour varies too (B1).
        due = in_days(seen.at, every - 0.5 + chance_number, Why.TURN)
        return Planned(msgspec.structs.replace(history, every=every), due)


class Tree(Policy):
    """Top down: when a page has changed, the pages it links to are visited at once; if not, they are not.

    Start pages are visited in each crawl (`at_depth`), every other page at least in each `MOST_CRAWLS`-th: none is
    forgotten.
    """

    name = "tree"

    def first_due(self, page: PolicyPage, now: Instant, chance_number: float) -> Due:
        return in_days(now, page.history.every - 1 + chance_number, Why.FIRST)

    def next_due(self, page: PolicyPage, seen: VisitFinding, chance_number: float) -> Planned:
        history = observed(page.history, seen)
        due = in_days(seen.at, history.every - 0.5 + chance_number, Why.TURN)
        return Planned(history, due, checks_links=seen.has_changed)

    def at_depth(self, history: History, depth: int) -> History:
        return msgspec.structs.replace(history, every=MOST_CRAWLS if depth else 1)


# The value of a visit when the rate is uncertain, and the interval at which it is worth its price. With a posterior
# over the rates it is the posterior mean of `gain(rate * interval) / rate^2`. That is exact for the average age, which
# is linear in the shares of rates, and it soon revisits a page that may be fast.

_PER_OCTAVE = 3
_FIRST_OCTAVE, _LAST_OCTAVE = -6, 10
_ROWS = (_LAST_OCTAVE - _FIRST_OCTAVE) * _PER_OCTAVE + 1
_STEP = math.log(2.0) / _PER_OCTAVE
_LOG_SHORTEST = _FIRST_OCTAVE * math.log(2.0)
_WORTH = tuple(
    tuple(gain(rate * math.exp(_LOG_SHORTEST + row * _STEP)) / rate**2 for rate in RATES) for row in range(_ROWS)
)
"""The value of a visit after each interval (rows, from 22 minutes to 1024 days) at each rate (columns)."""


def interval_worth(shares: Sequence[float], price: float, near_days: float = 3.0) -> float:
    """The interval in days after which a visit is worth `price`; `near_days` is where the search begins.

    REQUIRES: price > 0; the shares need not sum to 1. Between rows of the table the value is taken as a power of the
    interval, which it nearly is.
    """
    price *= sum(shares)
    row = min(max(int((math.log(near_days) - _LOG_SHORTEST) / _STEP), 0), _ROWS - 2)
    worth, above = sum(map(mul, shares, _WORTH[row])), sum(map(mul, shares, _WORTH[row + 1]))
    while worth > price and row > 0:
        row, above = row - 1, worth
        worth = sum(map(mul, shares, _WORTH[row]))
    while above <= price and row < _ROWS - 2:
        row, worth = row + 1, above
        above = sum(map(mul, shares, _WORTH[row + 1]))
    part = math.log(price / worth) / math.log(above / worth)
    return math.exp(_LOG_SHORTEST + (row + part) * _STEP)


# The budget: the price at which as many visits are worth making as the budget allows.

_NEAR = 1e-3
_TRIES = 12


def visits_at(
    price: float, posteriors: Sequence[Sequence[float]], least_days: float, most_days: float, near: list[float]
) -> float:
    """Average visits per page and day if each page is visited at the interval worth the price.

    `near`: for each page where the search for its interval begins; updated in place.
    """
    near[:] = map(interval_worth, posteriors, repeat(price), near)
    return sum([1.0 / min(max(days, least_days), most_days) for days in near]) / len(near)


def price_for(
    per_page: float, posteriors: Sequence[Sequence[float]], start: float, least_days: float, most_days: float
) -> float:
    """The price at which these pages are visited `per_page` times a day each. REQUIRES: some posteriors, start > 0.

    Visits vary with the price to the power of -1/2 where pages change all the time, -1/3 where they hardly do: each
    step assumes -0.4, and the next corrects it.
    """
    price, power, near = start, -0.4, [1.0 / per_page] * len(posteriors)
    found = visits_at(price, posteriors, least_days, most_days, near)
    for _ in range(_TRIES):
        if abs(found / per_page - 1.0) < _NEAR:
            break
        step = math.log(per_page / found) / power
        step = min(max(step, -3.0), 3.0)
        price *= math.exp(step)
        before, found = found, visits_at(price, posteriors, least_days, most_days, near)
        if step and found != before:
            power = min(max(math.log(found / before) / step, -0.7), -0.1)
    return price


LEAST_DAYS, MOST_DAYS = 1.0 / 24.0, 120.0
"""Bounds of all intervals: no page is given up, and one that never changed is still visited."""
MOST_IMPORTANCE = 100.0
"""Importance is limited to this, and to its inverse: no hint can take over a crawler."""
_ENOUGH_FOLLOWED = 30
_BEHIND = 0.02
"""How late visits may be, as a share of an average interval."""
_AT_ONCE, _LASTING, _MOST_TRIM = 0.5, 0.5, 0.3
"""How strongly the budget is corrected for current and for lasting deviations, and the maximum correction."""


class Age(Policy):
    """The least average age, weighted by importance, within a budget of visits.

    Each page is visited when that is worth the price of a visit; the price is what just uses up the budget. Its memory
    (priors, panel, price) is small, derived from visits alone, and can be lost: it is learned again.
    """

    name = "age"
    keeps_time = True

    def __init__(self, per_page: float) -> None:
        """`per_page`: visits per page and day. REQUIRES: above 0."""
        self._learning = PriorLearning()
        self._off = self._bias = 0.0
        self._reported_at: Instant | None = None
        self._priced_at: Instant | None = None
        self.price = 0.0
        """In days squared: what a visit to a page of importance 1 must be worth."""
        self.set_budget(per_page)

    def first_due(self, page: PolicyPage, now: Instant, chance_number: float) -> Due:
        shares = likelihoods(page.history, self._learning.prior_for(page.group))
        days, _ = self._interval(shares, page.importance, 1.0 / self._per_page)
        return in_days(now, days * chance_number, Why.FIRST)

    def next_due(self, page: PolicyPage, seen: VisitFinding, chance_number: float) -> Planned:
        history = observed(page.history, seen)
        self._learning.followed(page.id, page.group, history)
        self._reprice(seen.at)
        shares = likelihoods(history, self._learning.prior_for(page.group))
        days, why = self._interval(shares, page.importance, max(seen.elapsed_s / DAY_S, 0.01))
        return Planned(history, in_days(seen.at, varied(days, chance_number), why))

    def set_budget(self, per_page: float) -> None:
        """The price is computed from what was learned; the panel corrects it at the next visit."""
        self._per_page, self._priced_at = per_page, None
        self.price = price_for(per_page, [self._learning.all.weights], per_page**-2, 0.0, math.inf)

    def report_load(self, used: float, days_behind: float, now: Instant) -> None:
        """A little late is best: then no visit is wasted. Lasting deviations are corrected slowly, as intervals are
        long."""
        off = min(used - 1.0, 0.0) + days_behind * self._per_page - _BEHIND
        off = min(max(off, -_MOST_TRIM), _MOST_TRIM)
        if self._reported_at is not None:
            passed = (now - self._reported_at) / SECOND / DAY_S * self._per_page
            self._bias = min(max(self._bias + _LASTING * passed * off, -_MOST_TRIM), _MOST_TRIM)
        self._off, self._reported_at = off, now

    def _interval(self, shares: list[float], importance: float, near_days: float) -> tuple[float, Why]:
        weight = min(max(importance, 1.0 / MOST_IMPORTANCE), MOST_IMPORTANCE)
        days = interval_worth(shares, self.price / weight, near_days)
        if days < LEAST_DAYS:
            return LEAST_DAYS, Why.SHORTEST
        return (MOST_DAYS, Why.LONGEST) if days > MOST_DAYS else (days, Why.RATE)

    def _reprice(self, now: Instant) -> None:
        """Four times per interval of an average page."""
        if self._priced_at is not None and now - self._priced_at < DAY_S * SECOND / self._per_page / 4:
            return
        followed = self._learning.panel()
        if len(followed) < _ENOUGH_FOLLOWED:
            return
        self._priced_at = now
        posteriors = [likelihoods(history, self._learning.all) for history in followed]
        trim = min(max(self._bias + _AT_ONCE * self._off, -_MOST_TRIM), _MOST_TRIM)
        self.price = price_for(self._per_page * (1.0 - trim), posteriors, self.price, LEAST_DAYS, MOST_DAYS)


POLICIES: dict[str, Callable[[float], Policy]] = {
    "age": Age,
    "uniform": Uniform,
    "paper": lambda _: Paper(),
    "tree": lambda _: Tree(),
}
DEFAULT = "age"


def policy_named(name: str, per_page: float) -> Policy:
    """`per_page`: visits per page and day within the budget. REQUIRES: a name in `POLICIES`, per_page above 0."""
    return POLICIES[name](per_page)


# The budget as a calendar: which days have visits left.


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

    def reserve(self, due_at: Instant, site: str, now: Instant, delay_s: float | None = None) -> Instant:
        """Reserve a visit at `due_at`, or at that hour on the first later day that has visits left."""
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

    def bring_forward(self, was_due_at: Instant, site: str, now: Instant, free_at: Instant = 0) -> Instant:
        """Move the reservation of a visit to the first day with visits left, from now on and not before `free_at`."""
        due_at = self.reserve(max(now, free_at), site, now)
        if due_at >= was_due_at:
            was_due_at = due_at  # no gain: release the new reservation
        self._release(was_due_at, site)
        return due_at

    def expect(self, plans: Mapping[tuple[str, int], int]) -> None:
        """Set the planned visits by site and day (since 1970)."""
        for (site, day), many in plans.items():
            self._days[day] += many
            self._site_days[site, day] += many

    def _release(self, due_at: Instant, site: str) -> None:
        day = due_at // DAY
        self._days[day] = max(0, self._days[day] - 1)
        self._site_days[site, day] = max(0, self._site_days[site, day] - 1)

    def _forget_before(self, today: int) -> None:
        if today == self._today:
            return
        self._today = today
        self._days = Counter({day: many for day, many in self._days.items() if day >= today})
        self._site_days = Counter({key: many for key, many in self._site_days.items() if key[1] >= today})
