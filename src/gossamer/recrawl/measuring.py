"""How fresh a collection is, from what visits have taught of its pages; and how fresh it could be. Days throughout."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from gossamer.recrawl.ages import Kind, age_after, average_age, freshness, optimum
from gossamer.recrawl.rates import IGNORANT, RATES, Prior, posterior, prior_of
from gossamer.values.history import History

_LEAST_DAYS = 1e-3


class Copy(NamedTuple):
    """A page that is held."""

    history: History
    since_days: float
    """Since its last visit."""
    every_days: float
    """From that visit to the next one that is planned."""


class Freshness(msgspec.Struct, frozen=True):
    pages: int
    average_age_days: float
    """Expected now: how long ago, on the average, a page became another than its copy; 0 for what is fresh."""
    freshness: float
    """Expected share of copies that are as their pages are, now."""
    planned_age_days: float
    """Over time, at the intervals that are planned."""
    planned_freshness: float
    possible_age_days: float
    """The least that as many visits could lead to, were the rates known to be what they are taken for."""
    possible_freshness: float
    visits_a_day: float
    """What the planned intervals come to."""


def prior_from(copies: Sequence[Copy]) -> Prior:
    """What these pages together say of how often pages change: one round, from knowing nothing."""
    sums = [1.0 / len(RATES)] * len(RATES)
    for copy in copies:
        sums = [total + share for total, share in zip(sums, posterior(copy.history, IGNORANT), strict=True)]
    return prior_of(sums)


def measured(copies: Sequence[Copy], prior: Prior) -> Freshness | None:
    """None without any page."""
    if not copies:
        return None
    weights = [0.0] * len(RATES)
    age = fresh = planned_age = planned_fresh = visits = 0.0
    for copy in copies:
        shares = posterior(copy.history, prior)
        weights = [total + share for total, share in zip(weights, shares, strict=True)]
        since, every = max(copy.since_days, 0.0), max(copy.every_days, _LEAST_DAYS)
        visits += 1.0 / every
        for share, rate in zip(shares, RATES, strict=True):
            age += share * age_after(rate, since)
            fresh += share * math.exp(-rate * since)
            planned_age += share * average_age(rate, every)
            planned_fresh += share * freshness(rate, every)
    count = len(copies)
    possible = _possible(weights, visits / count)
    return Freshness(
        count, age / count, fresh / count, planned_age / count, planned_fresh / count, *possible, visits_a_day=visits
    )


def _possible(weights: Sequence[float], per_page: float) -> tuple[float, float]:
    kinds = [Kind(rate, pages) for rate, pages in zip(RATES, weights, strict=True)]
    count, everies = math.fsum(weights), optimum(kinds, per_page)
    age = math.fsum(kind.pages * average_age(kind.rate, every) for kind, every in zip(kinds, everies, strict=True))
    fresh = math.fsum(kind.pages * freshness(kind.rate, every) for kind, every in zip(kinds, everies, strict=True))
    return age / count, fresh / count
