"""How often a page changes: a posterior over a grid of rates.

From irregular and censored observations.

A visit only shows whether there was at least one change since the previous one. If changes are random (Poisson) with r
a day, an interval of t days without one has likelihood `e^(-rt)`, one with some `1 - e^(-rt)`, and a change known to be
the last, t days before the visit, `r e^(-rt)`. The posterior follows from these and a prior.

Pages of one kind resemble each other, so priors are learned for sites, templates and the whole collection (empirical
Bayes). For each group a panel of pages is followed: each page once, with all that is known of it, because counting
visits would count busy pages more. A group's prior is the mixture of rates under which its panel is likeliest
(expectation maximisation), pulled towards the prior of the next larger group while the panel is small.
"""

import math
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from math import exp

import msgspec

from gossamer.base.clock import DAY_S, Instant
from gossamer.values.history import History, VisitFinding

SLOWEST, FASTEST, STEPS = 1.0 / 2048.0, 8.0, 20
_RATIO = math.log(FASTEST / SLOWEST) / (STEPS - 1)
LOG_RATES = tuple(math.log(SLOWEST) + _RATIO * step for step in range(STEPS))
RATES = tuple(math.exp(log_rate) for log_rate in LOG_RATES)
"""Changes per day: half octaves from one in five and a half years to one in three hours."""

MOST_CHANGES = 20.0
"""Beyond this many, older changes fade: a page's behaviour may change. The interval follows the cube root of the rate,
so the precision lost hardly matters."""
_PER_UNIT = 16.0
"""Table rows of changed intervals for each factor e of their length."""
_STAMPED = 0.02
"""A page with a change date within this share of the interval before the visit was dated when it was sent."""


class Prior(msgspec.Struct, frozen=True):
    """How much of a group of pages changes at each rate of the grid."""

    weights: tuple[float, ...]
    logs: tuple[float, ...]


def prior_of(weights: Sequence[float]) -> Prior:
    """REQUIRES: a weight for each rate, none negative, not all zero."""
    total = math.fsum(weights)
    shares = tuple(weight / total for weight in weights)
    return Prior(shares, tuple(math.log(max(share, 1e-12)) for share in shares))


IGNORANT = prior_of([1.0] * STEPS)
"""With no observations, every order of magnitude is equally likely."""


def observed(history: History, seen: VisitFinding) -> History:
    """The history with one more visit."""
    days = max(seen.elapsed_s, 1.0) / DAY_S
    visits, recent = history.visits + 1, history.recent << 1 & 0xFFFFFFFF | seen.has_changed
    quiet, changes, log_days, dated = history.quiet_days, history.changes, history.log_days, history.dated
    if not seen.has_changed:
        quiet += days
    else:
        if changes + dated >= MOST_CHANGES:
            fade = (MOST_CHANGES - 1.0) / (changes + dated)
            quiet, changes, dated = quiet * fade, changes * fade, dated * fade
        if seen.changed_at is not None and believed(seen.changed_at, seen.at, seen.elapsed_s):
            dated += 1.0
            quiet += (seen.at - seen.changed_at) / 1e6 / DAY_S
        else:
            changes += 1.0
            log_days += (math.log(days) - log_days) / changes
    return History(quiet, changes, log_days, dated, visits, recent, history.every, history.threshold)


def believed(changed_at: Instant, at: Instant, elapsed_s: float) -> bool:
    """Whether a visit may have found a change at that time: after the previous visit, and not generated on sending."""
    return _STAMPED * elapsed_s <= (at - changed_at) / 1e6 < elapsed_s


def posterior(history: History, prior: Prior) -> list[float]:
    """The share of each rate of the grid; they sum to 1."""
    found = likelihoods(history, prior)
    scale = 1.0 / sum(found)
    return [one * scale for one in found]


def likelihoods(history: History, prior: Prior) -> list[float]:
    """The posterior up to scale: the maximum is 1. Computed at every visit, so it avoids work."""
    changes, dated, quiet = history.changes, history.dated, history.quiet_days
    if changes:
        row = _changed_row(round(history.log_days * _PER_UNIT))
        logs = [p + changes * c - quiet * r for p, c, r in zip(prior.logs, row, RATES)]  # noqa: B905
    else:
        logs = [p - quiet * r for p, r in zip(prior.logs, RATES)]  # noqa: B905
    if dated:
        logs = [one + dated * log_rate for one, log_rate in zip(logs, LOG_RATES, strict=True)]
    top = max(logs)
    return [exp(one - top) for one in logs]


@lru_cache(maxsize=1024)
def _changed_row(number: int) -> tuple[float, ...]:
    """The log likelihood, at each rate, of a change within an interval of this length."""
    days = math.exp(number / _PER_UNIT)
    return tuple(math.log(-math.expm1(-rate * days)) for rate in RATES)


def likely_rate(shares: Sequence[float]) -> float:
    """The posterior's median, in changes per day: too high as often as too low."""
    sums = list(accumulate(shares))
    half = sums[-1] / 2.0
    place = bisect_left(sums, half)
    before = sums[place - 1] if place else 0.0
    within = (half - before) / (sums[place] - before)
    return math.exp(LOG_RATES[place] + (within - 0.5) * _RATIO)


Group = tuple[str, ...]
_MIXING, _MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1


PANEL, PANEL_OF_ALL = 48, 600
"""Pages followed for a group, and for the whole collection."""
ENOUGH = 8
"""Fewer pages say nothing about a group."""
PULL, PULL_OF_ALL = 16.0, 30.0
"""The prior of the next larger group counts as this many pages; for the whole collection, the ignorant prior does."""
MOST_GROUPS = 4_000
"""More are forgotten, the one seen longest ago first, and learned again if needed."""
ROUNDS = 2
"""Of expectation maximisation, each time; the next time continues from there."""


def learnt(histories: Iterable[History], start: Prior, parent: Prior, pull: float, rounds: int) -> Prior:
    """The prior under which these pages are likeliest; `parent` counts as `pull` more pages.

    Unchecked, the method ends with a few spikes fitted to chance; each round is therefore smoothed over neighbouring
    rates (Silverman, Jones, Wilson and Nychka, "A smoothed EM approach", J. R. Statist. Soc. B 52, 1990).
    """
    followed, prior = list(histories), start
    for _ in range(rounds):
        sums = [pull * weight for weight in parent.weights]
        for history in followed:
            found = likelihoods(history, prior)
            scale = 1.0 / sum(found)
            sums = [one + scale * share for one, share in zip(sums, found)]  # noqa: B905
        prior = prior_of(smoothed(sums))
    return prior


def smoothed(weights: Sequence[float]) -> list[float]:
    """Each rate shares with the two on either side, twice as much with the nearer ones; the sum is unchanged."""
    return _shared(_shared(weights))


def _shared(weights: Sequence[float]) -> list[float]:
    below, above = [weights[0], *weights[:-1]], [*weights[1:], weights[-1]]
    return [(low + one + high) / 3.0 for low, one, high in zip(below, weights, above, strict=True)]


@dataclass(slots=True)
class _Panel:
    """The pages with the lowest hashes of all seen: a uniform sample."""

    prior: Prior
    most: int
    pages: dict[int, History] = field(default_factory=dict)
    highest: int = -1
    visits: int = 0
    learn_at: int = 0

    def wants(self, key: int) -> bool:
        return key <= self.highest or len(self.pages) < self.most

    def follow(self, key: int, history: History, parent: Prior, pull: float) -> None:
        self.pages[key] = history
        if len(self.pages) > self.most:
            del self.pages[self.highest]
            self.highest = max(self.pages)
        elif key > self.highest:
            self.highest = key
        self.visits += 1
        if len(self.pages) >= ENOUGH and self.visits >= self.learn_at:
            self.prior = learnt(self.pages.values(), self.prior, parent, pull, ROUNDS)
            # Often while every visit teaches something, rarely later: learning costs as much as a panel's visits.
            self.learn_at = self.visits + max(len(self.pages), min(self.visits // 2, 16 * self.most))


class PriorLearning:
    """The priors of all groups, and their panels. `()` is the group of all pages."""

    def __init__(self) -> None:
        self._all = _Panel(IGNORANT, PANEL_OF_ALL)
        self._groups: OrderedDict[Group, _Panel] = OrderedDict()

    @property
    def all(self) -> Prior:
        return self._all.prior

    def panel(self) -> Sequence[History]:
        """The pages followed for the whole collection."""
        return list(self._all.pages.values())

    def prior_for(self, group: Group) -> Prior:
        """The prior of the smallest known group around it."""
        while group:
            if (known := self._groups.get(group)) is not None and known.learn_at:
                return known.prior
            group = group[:-1]
        return self._all.prior

    def followed(self, page: int, group: Group, history: History) -> None:
        """Update a page after a revisit."""
        key = page * _MIXING & _MASK
        if self._all.wants(key):
            self._all.follow(key, history, IGNORANT, PULL_OF_ALL)
        for depth in range(1, len(group) + 1):
            panel = self._panel(group[:depth])
            if panel.wants(key):
                panel.follow(key, history, self.prior_for(group[: depth - 1]), PULL)

    def _panel(self, group: Group) -> _Panel:
        if (found := self._groups.get(group)) is None:
            found = self._groups[group] = _Panel(self._all.prior, PANEL)
            if len(self._groups) > MOST_GROUPS:
                self._groups.popitem(last=False)
        else:
            self._groups.move_to_end(group)
        return found
