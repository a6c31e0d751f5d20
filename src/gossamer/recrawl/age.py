"""The policy `age`: the least average age, weighted by importance, that a budget of visits allows."""

from dataclasses import dataclass

from gossamer.base.clock import DAY_S, SECOND, Instant
from gossamer.recrawl.policy import in_days, varied
from gossamer.recrawl.price import price_for
from gossamer.recrawl.priors import Learning, Panels
from gossamer.recrawl.rates import IGNORANT, Prior, likelihoods, observed
from gossamer.recrawl.worth import interval_worth
from gossamer.values.due import Due, Known, Planned, Why
from gossamer.values.history import Seen


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
        self._learning = Learning(panels, start)
        self._off = self._bias = 0.0
        self._told_at: Instant | None = None
        self._priced_at: Instant | None = None
        self.price = price_for(per_page, [start.weights], per_page**-2, 0.0, float("inf"))
        """In days squared: what a visit must be worth for a page of importance 1."""

    @property
    def prior(self) -> Prior:
        """What was learnt of the whole collection: `start` of the next one, after a restart."""
        return self._learning.all

    def first_due(self, page: Known, now: Instant, chance_number: float) -> Due:
        shares = likelihoods(page.history, self._learning.prior_for(page.group))
        days, _ = self._interval(shares, page.importance, 1.0 / self._per_page)
        return in_days(now, days * chance_number, Why.FIRST)

    def next_due(self, page: Known, seen: Seen, chance_number: float) -> Planned:
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
