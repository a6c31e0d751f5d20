"""Freshness and age of a copy whose original changes at random, in days and changes a day (Poisson).

Sources: Cho and Garcia-Molina, "Effective page refresh policies for web crawlers", ACM TODS 28 (2003); the age after t
days is the formula of Croft, Metzler and Strohman's textbook. A copy is fresh until the first change after the visit,
and its age is the time since that change.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

_SMALL = 1e-3
"""Below this the exact forms lose their digits; a series of a few terms has them all."""


def age_after(rate: float, days: float) -> float:
    """The expected age so many days after a visit: `t - (1 - e^(-rt))/r`. REQUIRES: rate >= 0, days >= 0."""
    changes = rate * days
    if changes < _SMALL:
        return days * changes * (0.5 - changes / 6.0)
    return days + math.expm1(-changes) / rate


def average_age(rate: float, every_days: float) -> float:
    """The age averaged over time, visited every so many days. REQUIRES: rate >= 0, every_days > 0."""
    changes = rate * every_days
    if changes < _SMALL:
        return every_days * changes * (1.0 / 6.0 - changes / 24.0)
    return every_days / 2.0 - 1.0 / rate - math.expm1(-changes) / (rate * changes)


def freshness(rate: float, every_days: float) -> float:
    """The share of time in which the copy is as the page is. REQUIRES: rate >= 0, every_days > 0."""
    changes = rate * every_days
    return 1.0 - changes / 2.0 if changes < _SMALL / 10 else -math.expm1(-changes) / changes


def gain(changes: float) -> float:
    """`u^2/2 - 1 + (1 + u) e^-u`: what a visit after `u` expected changes is worth, in units of 1/rate^2.

    A visit rate f spends f and lowers the average age by `gain(u)/rate^2` for each unit of it (u = rate / f), so under
    a budget every page's interval solves `gain(rate * interval) / rate^2 = price / importance`. It grows for ever: for
    age, unlike freshness, the faster a page changes the more often it is visited.
    """
    if changes < 0.02:
        return changes**3 * (1.0 / 3.0 - changes * (1.0 / 8.0 - changes / 30.0))
    return changes * changes / 2.0 - 1.0 + (1.0 + changes) * math.exp(-changes)


def best_interval(rate: float, price: float, importance: float = 1.0) -> float:
    """The interval in days that makes a visit worth its price (days squared); infinite where nothing ever changes."""
    if rate <= 0.0:
        return math.inf
    wanted = price / importance * rate * rate
    # `gain` is convex, so from above Newton's steps come down to the root without passing it.
    changes = math.cbrt(4.8 * wanted)
    if changes > 1.0:
        changes = math.sqrt(2.0 * (wanted + 1.0))
    for _ in range(50):
        step = (gain(changes) - wanted) / -(changes * math.expm1(-changes))
        changes -= step
        if abs(step) <= 1e-12 * changes:
            break
    return changes / rate


class Kind(NamedTuple):
    """So many pages that are alike."""

    rate: float
    pages: float = 1.0
    importance: float = 1.0


def optimum(pages: Sequence[Kind], per_page: float) -> list[float]:
    """The intervals of least average age for known rates, so many visits a page and day. REQUIRES: per_page > 0."""

    def spent(log_price: float) -> float:
        price = math.exp(log_price)
        return math.fsum(one.pages / best_interval(one.rate, price, one.importance) for one in pages)

    wanted = per_page * math.fsum(one.pages for one in pages)
    start = -2.0 * math.log(per_page)
    price = math.exp(_increasing_root(lambda log_price: wanted - spent(log_price), start - 4.0, start))
    return [best_interval(one.rate, price, one.importance) for one in pages]


def collection(pages: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Average age in days and freshness of a collection of (rate, interval in days)."""
    ages = share = count = 0.0
    for rate, every_days in pages:
        ages += average_age(rate, every_days)
        share += freshness(rate, every_days)
        count += 1
    return (ages / count, share / count) if count else (0.0, 1.0)


def _increasing_root(value: Callable[[float], float], low: float, high: float) -> float:
    """Where an increasing function crosses zero; `low` and `high` are first guesses, moved outwards as needed."""
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
