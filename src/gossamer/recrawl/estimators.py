"""The estimators of Cho and Garcia-Molina ("Estimating frequency of change", ACM TOIT 3, 2003): each page by itself.

They are the measure for `rates`, which knows more. Rates are changes a day.
"""

import math
from collections.abc import Sequence

_LEAST, _MOST = 1e-5, 1e3


def counted(changes: int, days: float) -> float:
    """Changes found by time: too low, as several changes between two visits count as one."""
    return changes / days if days > 0 else 0.0


def corrected(changes: int, visits: int, every_days: float) -> float:
    """For regular visits: `-ln((n - X + 0.5) / (n + 0.5)) / I`, nearly free of bias and finite always."""
    return -math.log((visits - changes + 0.5) / (visits + 0.5)) / every_days


def likeliest(changed_days: Sequence[float], quiet_days: float) -> float:
    """For irregular visits: the rate under which they are likeliest, between one in 274 years and 1000 a day.

    It solves `sum of t / (e^(rt) - 1) over intervals with a change = sum of intervals without`.
    """
    if not changed_days:
        return _LEAST
    low, high = math.log(_LEAST), math.log(_MOST)
    for _ in range(60):
        middle = (low + high) / 2.0
        rate = math.exp(middle)
        expected = sum(days / math.expm1(min(rate * days, 700.0)) for days in changed_days)
        low, high = (middle, high) if expected > quiet_days else (low, middle)
    return math.exp((low + high) / 2.0)


def from_last_dates(visits: int, dated: int, since_days: float) -> float:
    """When the date of the last change is told: `since_days` sums, for each visit, the days since that change or, with
    none, since the visit before. `(X - 1) - X / (n ln(1 - X/n))` is their estimator's correction for few visits."""
    if since_days <= 0 or dated == 0:
        return 0.0
    if dated == visits:
        return (dated - 1) / since_days
    return (dated - 1 - dated / (visits * math.log(1.0 - dated / visits))) / since_days
