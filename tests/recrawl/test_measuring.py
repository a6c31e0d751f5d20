"""The freshness of a collection, compared with the best possible."""

import pytest

from gossamer.base.clock import DAY_S
from gossamer.recrawl.freshness import (
    Freshness,
    HeldCopy,
    PageKind,
    Sums,
    age_after,
    average_age,
    first_days,
    in_short,
    optimum,
    prior_from,
    summed,
    together,
)
from gossamer.recrawl.rates import RATES, Prior, observed
from gossamer.values.history import History, VisitFinding


def test_M_C2_the_age_of_a_page_that_changes_weekly_is_2_6_days_after_a_week() -> None:
    assert age_after(1 / 7, 7) == pytest.approx(2.575, abs=0.01)


def seen(changes: list[bool], every_days: float) -> History:
    history = History()
    for changed in changes:
        history = observed(history, VisitFinding(0, every_days * DAY_S, changed))
    return history


BUSY, QUIET = seen([True] * 20, 1.0), seen([False] * 20, 10.0)


def measured(copies: list[HeldCopy], prior: Prior) -> Freshness | None:
    return in_short(summed(copies, prior, first_days(copies)))


def test_without_pages_there_is_no_figure() -> None:
    assert measured([], prior_from([])) is None


def test_new_copies_are_fresh_and_age_with_the_rate_of_their_pages() -> None:
    prior = prior_from([HeldCopy(BUSY, 0.0, 1.0), HeldCopy(QUIET, 0.0, 1.0)])
    new = measured([HeldCopy(BUSY, 0.0, 1.0)], prior)
    busy, quiet = measured([HeldCopy(BUSY, 5.0, 1.0)], prior), measured([HeldCopy(QUIET, 5.0, 1.0)], prior)
    assert new is not None and busy is not None and quiet is not None
    assert new.average_age_days == 0.0 and new.freshness == pytest.approx(1.0)
    assert busy.average_age_days > 3.0 > 0.5 > quiet.average_age_days
    assert busy.freshness < 0.2 < 0.9 < quiet.freshness


@pytest.mark.parametrize("per_page", [0.01, 0.3, 5.0])
def test_the_possible_age_is_that_of_the_optimum_for_known_rates(per_page: float) -> None:
    copies = [HeldCopy(BUSY, 1.0, 1 / per_page)] * 10 + [HeldCopy(QUIET, 1.0, 1 / per_page)] * 30
    prior = prior_from(copies)
    found, sums = measured(copies, prior), summed(copies, prior, 0.0)
    everies = optimum([PageKind(rate, pages) for rate, pages in zip(RATES, sums.weights, strict=True)], per_page)
    ages = [pages * average_age(rate, every) for rate, every, pages in zip(RATES, everies, sums.weights, strict=True)]
    assert found is not None and found.possible_age_days == pytest.approx(sum(ages) / 40, rel=1e-3)


def test_sums_of_parts_equal_the_sum_of_the_whole() -> None:
    some, others = [HeldCopy(BUSY, 1.0, 3.0)] * 3, [HeldCopy(QUIET, 2.0, 9.0)] * 4
    prior = prior_from(some + others)
    parts = together([summed(some, prior, 0.0), summed(others, prior, 0.0)])
    whole = summed(some + others, prior, 0.0)
    assert parts.pages == 7 and parts.age == pytest.approx(whole.age) and parts.weights == pytest.approx(whole.weights)
    assert together([]) == Sums() and in_short(Sums()) is None


def test_pages_seen_once_count_by_their_mean_wait() -> None:
    """Second visits are spread over an interval: a page due at once does not count as a thousand visits a day."""
    copies = [HeldCopy(History(), 0.1, days) for days in (0.001, 1.0, 2.0, 3.0)]
    found = measured(copies, prior_from(copies))
    assert first_days(copies) == pytest.approx(3.0, rel=0.01)
    assert found is not None and found.visits_a_day == pytest.approx(4 / 3, rel=0.01)


def test_the_possible_age_is_below_the_planned_age_for_as_many_visits() -> None:
    copies = [HeldCopy(BUSY, 1.0, 3.0)] * 10 + [HeldCopy(QUIET, 1.0, 3.0)] * 30
    found = measured(copies, prior_from(copies))
    assert found is not None and found.visits_a_day == pytest.approx(40 / 3)
    assert found.possible_age_days < 0.8 * found.planned_age_days
