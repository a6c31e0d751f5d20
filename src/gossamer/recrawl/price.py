"""The budget: the price at which a visit is worth making, so that as many are due in a day as may be made."""

import math
from collections.abc import Sequence
from itertools import repeat

from gossamer.recrawl.worth import interval_worth

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
