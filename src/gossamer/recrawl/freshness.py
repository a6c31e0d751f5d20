"""How fresh a collection is, by what fetches have shown of its pages, and how fresh it could be.

In days throughout.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import mul
from typing import NamedTuple

import msgspec

from gossamer.recrawl.rates import IGNORANT, RATES, Prior, posterior, prior_of
from gossamer.values.history import History

# Freshness and age of copies whose originals change at random (Poisson), in days and changes per day.
# Sources: Cho and Garcia-Molina, "Effective page refresh policies for web crawlers", ACM TODS 28 (2003); the age after
# t days is the formula in Croft, Metzler and Strohman's textbook. A copy is fresh until the first change after the
# visit, and its age is the time since that change.

_SMALL = 1e-3
"""Below this the exact forms lose precision; a series of a few terms does not."""


def age_after(rate: float, days: float) -> float:
    """Expected age so many days after a visit: `t - (1 - e^(-rt))/r`. REQUIRES: rate >= 0, days >= 0."""
    changes = rate * days
    if changes < _SMALL:
        return days * changes * (0.5 - changes / 6.0)
    return days + math.expm1(-changes) / rate


def average_age(rate: float, every_days: float) -> float:
    """Average age over time with a visit every so many days. REQUIRES: rate >= 0, every_days > 0."""
    changes = rate * every_days
    if changes < _SMALL:
        return every_days * changes * (1.0 / 6.0 - changes / 24.0)
    return every_days / 2.0 - 1.0 / rate - math.expm1(-changes) / (rate * changes)


def freshness(rate: float, every_days: float) -> float:
    """The share of time in which the copy is up to date. REQUIRES: rate >= 0, every_days > 0."""
    changes = rate * every_days
    return 1.0 - changes / 2.0 if changes < _SMALL / 10 else -math.expm1(-changes) / changes


def gain(changes: float) -> float:
    """`u^2/2 - 1 + (1 + u) e^-u`: the value of a visit after `u` expected changes, in units of 1/rate^2.

    A visit rate f costs f and lowers the average age by `gain(u)/rate^2` per unit (u = rate / f), so under a budget
    every page's interval solves `gain(rate * interval) / rate^2 = price / importance`. It grows without bound: for age,
    unlike freshness, the faster a page changes the more often it is visited.
    """
    if changes < 0.02:
        return changes**3 * (1.0 / 3.0 - changes * (1.0 / 8.0 - changes / 30.0))
    return changes * changes / 2.0 - 1.0 + (1.0 + changes) * math.exp(-changes)


def best_interval(rate: float, price: float, importance: float = 1.0) -> float:
    """The interval in days at which a visit is worth its price (days squared); infinite if nothing ever changes."""
    if rate <= 0.0:
        return math.inf
    wanted = price / importance * rate * rate
    # `gain` is convex, so Newton's steps from above approach the root without passing it.
    changes = math.cbrt(4.8 * wanted)
    if changes > 1.0:
        changes = math.sqrt(2.0 * (wanted + 1.0))
    for _ in range(50):
        step = (gain(changes) - wanted) / -(changes * math.expm1(-changes))
        changes -= step
        if abs(step) <= 1e-12 * changes:
            break
    return changes / rate


class PageKind(NamedTuple):
    """A number of similar pages."""

    rate: float
    pages: float = 1.0
    importance: float = 1.0


def optimum(pages: Sequence[PageKind], per_page: float) -> list[float]:
    """The intervals with the least average age for known rates and visits per page and day. REQUIRES: per_page > 0."""

    def spent(log_price: float) -> float:
        price = math.exp(log_price)
        return math.fsum(one.pages / best_interval(one.rate, price, one.importance) for one in pages)

    wanted = per_page * math.fsum(one.pages for one in pages)
    start = -2.0 * math.log(per_page)
    price = math.exp(_increasing_root(lambda log_price: wanted - spent(log_price), start - 4.0, start))
    return [best_interval(one.rate, price, one.importance) for one in pages]


def _increasing_root(value: Callable[[float], float], low: float, high: float) -> float:
    """The root of an increasing function; `low` and `high` are first guesses, moved outwards as needed."""
    step = high - low
    while value(low) > 0.0:
        low, step = low - step, 2.0 * step
    while value(high) < 0.0:
        high, step = high + step, 2.0 * step
    for _ in range(60):
        middle = (low + high) / 2.0
        if high - low < 1e-9:
            break
        low, high = (middle, high) if value(middle) < 0.0 else (low, middle)
    return (low + high) / 2.0


_LEAST_DAYS = 1e-3
_PER_UNIT = 64.0
"""Table rows for each factor e of an interval: rounded to within 0.8 %, up or down."""
_PER_PRICE = 16.0
"""The same for prices, with interpolation."""


class HeldCopy(NamedTuple):
    """A page that is kept in the collection."""

    history: History
    since_days: float
    """Since its last visit."""
    every_days: float
    """From that visit to the next planned one."""

    @property
    def is_first(self) -> bool:
        """Visited only once: its second visit is anywhere in an interval, and says little about the interval's
        length."""
        return self.history.visits == 0


class Freshness(msgspec.Struct, frozen=True):
    pages: int
    average_age_days: float
    """Expected now: how long ago, on average, pages changed since they were copied; 0 for fresh ones."""
    freshness: float
    """Expected share of up-to-date copies now."""
    planned_age_days: float
    """Over time, at the planned intervals."""
    planned_freshness: float
    possible_age_days: float
    """The minimum for this number of visits, if the rates were exactly known."""
    possible_freshness: float
    visits_a_day: float
    """At the planned intervals."""


class Sums(msgspec.Struct, frozen=True):
    """Totals over copies, before division by their number; totals of parts of a collection can be added."""

    pages: int = 0
    age: float = 0.0
    fresh: float = 0.0
    planned_age: float = 0.0
    planned_fresh: float = 0.0
    visits: float = 0.0
    weights: tuple[float, ...] = (0.0,) * len(RATES)
    """How many of them change at each rate."""


def prior_from(copies: Sequence[HeldCopy]) -> Prior:
    """What these pages together say about how often pages change: one round, starting from ignorance."""
    sums = [1.0 / len(RATES)] * len(RATES)
    for copy in copies:
        sums = [total + share for total, share in zip(sums, posterior(copy.history, IGNORANT), strict=True)]
    return prior_of(sums)


def first_days(copies: Sequence[HeldCopy]) -> float:
    """The interval of pages that were visited once: twice the mean time until their revisit."""
    waits = [copy.every_days for copy in copies if copy.is_first]
    return 2.0 * math.fsum(waits) / len(waits) if waits else 0.0


def summed(copies: Sequence[HeldCopy], prior: Prior, first: float) -> Sums:
    """`first`: the result of `first_days` for the whole collection."""
    weights = [0.0] * len(RATES)
    age = fresh = planned_age = planned_fresh = visits = 0.0
    for copy in copies:
        shares = posterior(copy.history, prior)
        weights = [total + share for total, share in zip(weights, shares, strict=True)]
        every = max(first if copy.is_first else copy.every_days, _LEAST_DAYS)
        visits += 1.0 / every
        if copy.since_days > _LEAST_DAYS:
            ages, kept = _after(round(math.log(copy.since_days) * _PER_UNIT))
            age += sum(map(mul, shares, ages))
            fresh += sum(map(mul, shares, kept))
        else:
            fresh += 1.0
        ages, kept = _between(round(math.log(every) * _PER_UNIT))
        planned_age += sum(map(mul, shares, ages))
        planned_fresh += sum(map(mul, shares, kept))
    return Sums(len(copies), age, fresh, planned_age, planned_fresh, visits, tuple(weights))


def together(parts: Sequence[Sums]) -> Sums:
    return Sums(
        sum(one.pages for one in parts),
        math.fsum(one.age for one in parts),
        math.fsum(one.fresh for one in parts),
        math.fsum(one.planned_age for one in parts),
        math.fsum(one.planned_fresh for one in parts),
        math.fsum(one.visits for one in parts),
        tuple([math.fsum(column) for column in zip(*[one.weights for one in parts], strict=True)])
        if parts
        else Sums().weights,
    )


def in_short(sums: Sums) -> Freshness | None:
    """The averages, and what as many visits could achieve. None if there are no pages."""
    count = sums.pages
    if not count:
        return None
    possible_age, possible_freshness = _possible(sums.weights, sums.visits / count)
    return Freshness(
        count,
        sums.age / count,
        sums.fresh / count,
        sums.planned_age / count,
        sums.planned_fresh / count,
        possible_age,
        possible_freshness,
        sums.visits,
    )


def _possible(weights: Sequence[float], per_page: float) -> tuple[float, float]:
    """Age and freshness at the price that leads to so many visits per page: like `optimum`, but from a table of prices,
    because it is computed for every site."""
    count = math.fsum(weights)
    wanted = per_page * count

    def is_too_dear(number: int) -> bool:
        return bool(sum(map(mul, weights, _priced(number)[0])) < wanted)

    low = high = round(-2.0 * math.log(per_page) * _PER_PRICE)
    step = 16
    while is_too_dear(low):
        low, step = low - step, 2 * step
    while not is_too_dear(high):
        high, step = high + step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_too_dear(middle) else (middle, high)
    (some, ages, shares), (fewer, later, less) = _priced(low), _priced(high)
    many, few = sum(map(mul, weights, some)), sum(map(mul, weights, fewer))
    part = (many - wanted) / (many - few)
    age = (1 - part) * sum(map(mul, weights, ages)) + part * sum(map(mul, weights, later))
    fresh = (1 - part) * sum(map(mul, weights, shares)) + part * sum(map(mul, weights, less))
    return age / count, fresh / count


@lru_cache(maxsize=2048)
def _priced(number: int) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """At each rate, the visits per day that a price is worth, and the resulting age and freshness."""
    price = math.exp(number / _PER_PRICE)
    everies = [best_interval(rate, price) for rate in RATES]
    both = list(zip(RATES, everies, strict=True))
    return (
        tuple([1.0 / every for every in everies]),
        tuple([average_age(rate, every) for rate, every in both]),
        tuple([freshness(rate, every) for rate, every in both]),
    )


@lru_cache(maxsize=2048)
def _after(number: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """At each rate, the age and the share of copies still fresh, so long after a visit."""
    days = math.exp(number / _PER_UNIT)
    return tuple([age_after(rate, days) for rate in RATES]), tuple([math.exp(-rate * days) for rate in RATES])


@lru_cache(maxsize=2048)
def _between(number: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """At each rate, age and freshness over time, visited at this interval."""
    days = math.exp(number / _PER_UNIT)
    return tuple([average_age(rate, days) for rate in RATES]), tuple([freshness(rate, days) for rate in RATES])
