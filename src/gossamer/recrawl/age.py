"""The policy `age`: the least average age, weighted by importance, that a budget of visits allows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import mul

from gossamer.base.clock import DAY_S, SECOND, Instant
from gossamer.recrawl.freshness import gain
from gossamer.recrawl.policy import in_days, varied
from gossamer.recrawl.priors import Panels, PriorLearning
from gossamer.recrawl.rates import IGNORANT, RATES, Prior, likelihoods, observed
from gossamer.values.due import Due, Planned, PolicyPage, Why
from gossamer.values.history import VisitFinding

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
class Patience:
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
        patience: Patience | None = None,
        panels: Panels | None = None,
        start: Prior = IGNORANT,
    ) -> None:
        """`per_page`: visits a page and day. REQUIRES: it is above 0."""
        self._per_page = per_page
        self._patience = patience or Patience()
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

    def told_load(self, used: float, days_behind: float, now: Instant) -> None:
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
