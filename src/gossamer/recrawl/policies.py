"""The policies by name."""

from collections.abc import Callable

from gossamer.base.clock import Instant
from gossamer.recrawl.age import Age
from gossamer.recrawl.paper import Paper, Tree
from gossamer.recrawl.policy import Policy, in_days, varied
from gossamer.recrawl.rates import observed
from gossamer.values.due import Due, Planned, PolicyPage, Why
from gossamer.values.history import VisitFinding

# Every page alike: what is left when nothing is known, and hard to beat where nothing is to be known.


class Uniform:
    name = "uniform"
    keeps_time = False

    def __init__(self, per_page: float) -> None:
        """`per_page`: visits a page and day. REQUIRES: it is above 0."""
        self._every_days = 1.0 / per_page

    def first_due(self, page: PolicyPage, now: Instant, chance_number: float) -> Due:
        return in_days(now, self._every_days * chance_number, Why.EVEN)

    def next_due(self, page: PolicyPage, seen: VisitFinding, chance_number: float) -> Planned:
        days = varied(self._every_days, chance_number)
        return Planned(observed(page.history, seen), in_days(seen.at, days, Why.EVEN))

    def allow(self, per_page: float) -> None:
        self._every_days = 1.0 / per_page

    def told_load(self, used: float, days_behind: float, now: Instant) -> None:
        """Its interval is what the budget allows; there is nothing to learn."""


POLICIES: dict[str, Callable[[float], Policy]] = {
    "age": Age,
    "uniform": Uniform,
    "paper": lambda _: Paper(),
    "tree": lambda _: Tree(),
}
DEFAULT = "age"


def policy_named(name: str, per_page: float) -> Policy:
    """`per_page`: visits a page and day that the budget allows. REQUIRES: a name of `POLICIES`, per_page above 0."""
    return POLICIES[name](per_page)
