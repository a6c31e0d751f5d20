"""The budget: the price at which a visit is worth making, so that as many are due in a day as may be made."""

import math
from collections.abc import Sequence

from gossamer.recrawl.worth import interval_worth

_NEAR = 1e-3
_TRIES = 12


def visits_at(price: float, posteriors: Sequence[Sequence[float]], least_days: float, most_days: float) -> float:
    """Visits a page and day, on the average of these pages, when each comes at the interval worth the price."""
    near, total = math.sqrt(2.0 * price) + 1e-6, 0.0
    for shares in posteriors:
        total += 1.0 / min(max(interval_worth(shares, price, near), least_days), most_days)
    return total / len(posteriors)


def price_for(
    per_page: float, posteriors: Sequence[Sequence[float]], start: float, least_days: float, most_days: float
) -> float:
    """The price at which these pages are visited `per_page` times a day each. REQUIRES: some posteriors, start > 0.

    Visits go with the price to the power of -1/2 where pages change all the time, -1/3 where they hardly do: each step
    assumes -0.4 and the next corrects it.
    """
    price, power = start, -0.4
    found = visits_at(price, posteriors, least_days, most_days)
    for _ in range(_TRIES):
        if abs(found / per_page - 1.0) < _NEAR:
            break
        step = math.log(per_page / found) / power
        step = min(max(step, -3.0), 3.0)
        price *= math.exp(step)
        before, found = found, visits_at(price, posteriors, least_days, most_days)
        if step and found != before:
            power = min(max(math.log(found / before) / step, -0.7), -0.1)
    return price
