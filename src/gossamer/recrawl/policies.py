"""The policies by name."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import mul
from typing import Protocol

import msgspec

from gossamer.base.clock import DAY_S, SECOND, Instant
from gossamer.recrawl.freshness import gain
from gossamer.recrawl.rates import IGNORANT, RATES, Panels, Prior, PriorLearning, likelihoods, observed
from gossamer.values.history import MOST_RECENT, Due, History, Planned, PolicyPage, VisitFinding, Why

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

    def first_due(self, page: PolicyPage, now: Instant, chance_number: float) -> Due:
        """After the first visit. Pages met together are spread over the interval. REQUIRES: 0 <= chance_number < 1."""

    def next_due(self, page: PolicyPage, seen: VisitFinding, chance_number: float) -> Planned:
        """After every further visit. REQUIRES: 0 <= chance_number < 1; the caller draws it."""

    def allow(self, per_page: float) -> None:
        """The budget is now so many visits a page and day, perhaps because there are more pages. REQUIRES: above 0."""

    def report_load(self, used: float, days_behind: float, now: Instant) -> None:
        """How the budget fares: the share of it that was used lately, and how late due pages are visited."""


def varied(days: float, chance_number: float) -> float:
    """The interval, moved a little: a page visited daily is seen at another hour each day (MISSION B1)."""
    off = max(_MOST_OFF * days, min(_HOURS_OFF_S / DAY_S, _LARGEST_SHARE * days))
    return days + off * (chance_number - 0.5)


def in_days(now: Instant, days: float, why: Why) -> Due:
    return Due(now + round(days * DAY_S * SECOND), why)


# Every page alike: what is left when nothing is known, and hard to beat where nothing is to be known.


class Uniform:
    name = "uniform"
    keeps_time = False

    def __init__(self, per_page: float) -> None:
        """`per_page`: visits a page and day. REQUIRES: it is above 0."""
        self._every_days = 1.0 / per_page

    def first_due(self, page: PolicyPage, now: Instant, chance_number: float) -> Due:
        return in_days(now, self._every_days * chance_number, Why.EVEN)

    def next_due(self, page: PolicyPage, seen: VisitFinding, chance_number: float) -> Planned:
        days = varied(self._every_days, chance_number)
        return Planned(observed(page.history, seen), in_days(seen.at, days, Why.EVEN))

    def allow(self, per_page: float) -> None:
        self._every_days = 1.0 / per_page

    def report_load(self, used: float, days_behind: float, now: Instant) -> None:
        """Its interval is what the budget allows; there is nothing to learn."""


LEAST_THRESHOLD, MOST_THRESHOLD, STEP = 10, 90, 5


@dataclass(frozen=True, slots=True)
class PaperTurns:
    limit: int = 20
    """Visits looked at; no page waits for more crawls than this."""
    few: int = 3
    """Until there were so many visits the frequency stays as it is."""
    step: int = STEP
    """Per cent by which a threshold moves when all linked pages had changed (up), or none had (down)."""

    def __post_init__(self) -> None:
        if not 1 <= self.few <= self.limit <= MOST_RECENT:
            raise ValueError(f"turns need 1 <= few <= limit <= {MOST_RECENT}, not {self}")


def every_after(every: int, visits: int, recent: int, turns: PaperTurns) -> int:
    """`fr_max` after a visit. `recent`: a bit for each of the last visits, set where there was a change."""
    if visits < turns.few:
        return every
    looked_at = min(visits, turns.limit)
    changes = (recent & ((1 << looked_at) - 1)).bit_count()
    apart = looked_at // changes if changes else looked_at
    return max(1, (every + apart) // 2)


def is_called_by_links(threshold: int, changed: int, links: int) -> bool:
    """Whether enough of the pages it links to have changed since its own last visit (40 % at first)."""
    return links > 0 and 100 * changed >= threshold * links


def moved_threshold(threshold: int, changed: int, links: int, step: int = STEP) -> int:
    """The threshold after a look at the catalogue: up with the share that had changed, down with the share that had
    not, `step` points for the whole of either. Busy neighbours are soon no reason any more; quiet ones become one."""
    if links <= 0:
        return threshold
    moved = threshold + round(step * (2 * changed - links) / links)
    return min(max(moved, LEAST_THRESHOLD), MOST_THRESHOLD)


def after_look(history: History, changed: int, links: int, turns: PaperTurns) -> tuple[bool, History]:
    """B3 for one page at one crawl: is it visited out of turn, and what it remembers of the look."""
    called = is_called_by_links(history.threshold, changed, links)
    threshold = moved_threshold(history.threshold, changed, links, turns.step)
    return called, msgspec.structs.replace(history, threshold=threshold)


class Paper:
    name = "paper"
    keeps_time = False

    def __init__(self, crawl_days: float = 1.0, turns: PaperTurns | None = None) -> None:
        """`crawl_days`: how long one crawl lasts, for the moments it names."""
        self._crawl_days = crawl_days
        self._turns = turns or PaperTurns()

    def first_due(self, page: PolicyPage, now: Instant, chance_number: float) -> Due:
        return in_days(now, page.history.every * self._crawl_days * (0.5 + chance_number / 2), Why.FIRST)

    def next_due(self, page: PolicyPage, seen: VisitFinding, chance_number: float) -> Planned:
        history = observed(page.history, seen)
        every = every_after(history.every, history.visits, history.recent, self._turns)
        history = msgspec.structs.replace(history, every=every)
        # Its turn comes somewhere within that crawl, another time each time: the hour varies (B1).
        days = (every - 0.5 + chance_number) * self._crawl_days
        return Planned(history, in_days(seen.at, days, Why.TURN))

    def allow(self, per_page: float) -> None:
        """It counts in crawls, not in days."""

    def report_load(self, used: float, days_behind: float, now: Instant) -> None:
        """It knows no budget: a crawl takes as long as it takes."""


class Tree:
    """Downwards: a page found changed has the pages it links to looked at at once; one found unchanged ends the way.

    Starting points come at each crawl (`shallow` says which), and so that nothing starves every page does at each
    `limit`-th, changed parents or not.
    """

    name = "tree"
    keeps_time = False

    def __init__(self, crawl_days: float = 1.0, turns: PaperTurns | None = None) -> None:
        self._crawl_days = crawl_days
        self._turns = turns or PaperTurns()

    def first_due(self, page: PolicyPage, now: Instant, chance_number: float) -> Due:
        return in_days(now, self._crawl_days * (page.history.every - 1 + chance_number), Why.FIRST)

    def next_due(self, page: PolicyPage, seen: VisitFinding, chance_number: float) -> Planned:
        history = observed(page.history, seen)
        days = (history.every - 0.5 + chance_number) * self._crawl_days
        return Planned(history, in_days(seen.at, days, Why.TURN), checks_links=seen.has_changed)

    def shallow(self, history: History, is_start: bool) -> History:
        return msgspec.structs.replace(history, every=1 if is_start else self._turns.limit)

    def allow(self, per_page: float) -> None:
        """It counts in crawls, not in days."""

    def report_load(self, used: float, days_behind: float, now: Instant) -> None:
        """It knows no budget: a crawl takes as long as it takes."""


# What a visit is worth when the rate is not known for certain, and the interval at which it is worth its price.
# With a posterior over the rates the worth is the posterior's mean of `gain(rate * interval) / rate^2`. That is exact
# for the average age (it is linear in the rates' shares), and it looks again soon at a page that may be fast.

_PER_OCTAVE = 3
_FIRST_OCTAVE, _LAST_OCTAVE = -6, 10
_ROWS = (_LAST_OCTAVE - _FIRST_OCTAVE) * _PER_OCTAVE + 1
_STEP = math.log(2.0) / _PER_OCTAVE
_LOG_SHORTEST = _FIRST_OCTAVE * math.log(2.0)
_WORTH = tuple(
    tuple(gain(rate * math.exp(_LOG_SHORTEST + row * _STEP)) / rate**2 for rate in RATES) for row in range(_ROWS)
)
"""The worth of a visit after each interval (rows, from 22 minutes to 1024 days) at each rate (columns)."""


def worth_after(shares: Sequence[float], days: float) -> float:
    return sum(share * gain(rate * days) / rate**2 for share, rate in zip(shares, RATES, strict=True))


def interval_worth(shares: Sequence[float], price: float, near_days: float = 3.0) -> float:
    """The interval in days after which a visit is worth `price`; `near_days` is where the search begins.

    REQUIRES: price > 0; the shares need not sum to 1. Between the rows of the table worth is taken as a power of the
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


# The budget: the price at which a visit is worth making, so that as many are due in a day as may be made.

_NEAR = 1e-3
_TRIES = 12


def visits_at(
    price: float, posteriors: Sequence[Sequence[float]], least_days: float, most_days: float, near: list[float]
) -> float:
    """Visits a page and day, on the average of these pages, when each comes at the interval worth the price.

    `near`: for each page where the search for its interval begins; it is left where it ended.
    """
    near[:] = map(interval_worth, posteriors, repeat(price), near)
    return sum([1.0 / min(max(days, least_days), most_days) for days in near]) / len(near)


def price_for(
    per_page: float, posteriors: Sequence[Sequence[float]], start: float, least_days: float, most_days: float
) -> float:
    """The price at which these pages are visited `per_page` times a day each. REQUIRES: some posteriors, start > 0.

    Visits go with the price to the power of -1/2 where pages change all the time, -1/3 where they hardly do: each step
    assumes -0.4 and the next corrects it.
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


@dataclass(frozen=True, slots=True)
class IntervalLimits:
    """Between these two every interval lies, whatever a page is worth."""

    least_days: float = 1.0 / 24.0
    most_days: float = 120.0
    """No page is given up: one that never changed is still looked at so often."""
    most_importance: float = 100.0
    """An importance above this, or below its inverse, counts as this: nobody's hint can buy a crawler."""


_ENOUGH_FOLLOWED = 30
_BEHIND = 0.02
"""Of an average interval: so late visits may be."""
_AT_ONCE, _LASTING, _MOST_TRIM = 0.5, 0.5, 0.3
"""How strongly the budget is corrected for what is off now, for what stays off, and how far at the most."""


class Age:
    """Each page comes when a visit to it is worth the price of one; the price is what fills the budget and no more.

    Its memory (priors, panel, price) is small, made of visits alone, and can be lost: it is learnt again.
    """

    name = "age"
    keeps_time = True

    def __init__(
        self,
        per_page: float,
        patience: IntervalLimits | None = None,
        panels: Panels | None = None,
        start: Prior = IGNORANT,
    ) -> None:
        """`per_page`: visits a page and day. REQUIRES: it is above 0."""
        self._per_page = per_page
        self._patience = patience or IntervalLimits()
        self._learning = PriorLearning(panels, start)
        self._off = self._bias = 0.0
        self._told_at: Instant | None = None
        self._priced_at: Instant | None = None
        self.price = price_for(per_page, [start.weights], per_page**-2, 0.0, float("inf"))
        """In days squared: what a visit must be worth for a page of importance 1."""

    @property
    def prior(self) -> Prior:
        """What was learnt of the whole collection: `start` of the next one, after a restart."""
        return self._learning.all

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

    def allow(self, per_page: float) -> None:
        """The price begins anew from what was learnt of all; the panel corrects it at the next visit."""
        self._per_page, self._priced_at = per_page, None
        self.price = price_for(per_page, [self._learning.all.weights], per_page**-2, 0.0, float("inf"))

    def report_load(self, used: float, days_behind: float, now: Instant) -> None:
        """A little behind is best: then no visit is wasted. What lasts is learnt, slowly, as intervals are long."""
        off = min(used - 1.0, 0.0) + days_behind * self._per_page - _BEHIND
        off = min(max(off, -_MOST_TRIM), _MOST_TRIM)
        if self._told_at is not None:
            passed = (now - self._told_at) / SECOND / DAY_S * self._per_page
            self._bias = min(max(self._bias + _LASTING * passed * off, -_MOST_TRIM), _MOST_TRIM)
        self._off, self._told_at = off, now

    def _interval(self, shares: list[float], importance: float, near_days: float) -> tuple[float, Why]:
        patience = self._patience
        weight = min(max(importance, 1.0 / patience.most_importance), patience.most_importance)
        days = interval_worth(shares, self.price / weight, near_days)
        if days < patience.least_days:
            return patience.least_days, Why.SHORTEST
        return (patience.most_days, Why.LONGEST) if days > patience.most_days else (days, Why.RATE)

    def _reprice(self, now: Instant) -> None:
        """Four times in the interval of an average page."""
        if self._priced_at is not None and now - self._priced_at < DAY_S * SECOND / self._per_page / 4:
            return
        followed = self._learning.panel()
        if len(followed) < _ENOUGH_FOLLOWED:
            return
        self._priced_at = now
        posteriors = [likelihoods(history, self._learning.all) for history in followed]
        trim = min(max(self._bias + _AT_ONCE * self._off, -_MOST_TRIM), _MOST_TRIM)
        patience = self._patience
        wanted = self._per_page * (1.0 - trim)
        self.price = price_for(wanted, posteriors, self.price, patience.least_days, patience.most_days)


POLICIES: dict[str, Callable[[float], Policy]] = {
    "age": Age,
    "uniform": Uniform,
    "paper": lambda _: Paper(),
    "tree": lambda _: Tree(),
}
DEFAULT = "age"


def policy_named(name: str, per_page: float) -> Policy:
    """`per_page`: visits a page and day that the budget allows. REQUIRES: a name of `POLICIES`, per_page above 0."""
    return POLICIES[name](per_page)
