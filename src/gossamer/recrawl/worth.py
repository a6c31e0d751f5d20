"""What a visit is worth when the rate is not known for certain, and the interval at which it is worth its price.

With a posterior over the rates the worth is the posterior's mean of `gain(rate * interval) / rate^2`. That is exact for
the average age (it is linear in the rates' shares), and it looks again soon at a page that may be fast.
"""

import math
from collections.abc import Sequence
from operator import mul

from gossamer.recrawl.ages import gain
from gossamer.recrawl.rates import RATES

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
