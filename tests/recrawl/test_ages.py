"""Freshness and age in closed form, and the optimum for known rates."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.recrawl.freshness import (
    PageKind,
    age_after,
    average_age,
    best_interval,
    freshness,
    gain,
    optimum,
)

RATES = st.floats(1e-5, 50.0)
DAYS = st.floats(0.01, 400.0)


def mean_age(rates: list[float], days: list[float]) -> float:
    return sum(map(average_age, rates, days)) / len(rates)


def summed(value: "object", days: float, steps: int = 4000) -> float:
    return sum(value((step + 0.5) * days / steps) for step in range(steps)) / steps  # type: ignore[operator]


def test_M_C2_the_age_after_one_to_seven_days_of_a_page_that_changes_weekly() -> None:
    ages = [round(age_after(1 / 7, day), 4) for day in range(1, 8)]
    assert ages == [0.0681, 0.2603, 0.5601, 0.9530, 1.4268, 1.9706, 2.5752]
    assert round(age_after(1 / 7, 7), 1) == 2.6


@given(RATES, DAYS)
def test_M_C2_age_is_strictly_convex(rate: float, days: float) -> None:
    steps = [age_after(rate, days * part) for part in (0.5, 1.0, 1.5)]
    assert steps[2] - steps[1] > (steps[1] - steps[0]) * (1 - 1e-12)


@pytest.mark.parametrize(("rate", "days"), [(1 / 7, 7.0), (3.0, 2.0), (1e-4, 3.0), (1 / 300, 0.2)])
def test_averages_agree_with_the_formula_summed_over_time(rate: float, days: float) -> None:
    assert average_age(rate, days) == pytest.approx(summed(lambda day: age_after(rate, day), days), rel=1e-5)
    assert freshness(rate, days) == pytest.approx(summed(lambda day: math.exp(-rate * day), days), rel=1e-6)


@given(st.floats(0.5, 1.5), DAYS)
def test_series_and_exact_forms_agree_where_they_meet(factor: float, days: float) -> None:
    for edge in (1e-3, 1e-4, 0.02):
        low, high = edge * min(factor, 0.999), edge * max(factor, 1.001)
        for formula in (age_after, average_age, freshness):
            slope = formula(high / days, days) / formula(low / days, days)
            assert 0.9 < slope < 4.0
        assert gain(high) > gain(low)


@given(RATES, st.floats(0.01, 1000.0))
def test_a_visit_at_the_best_interval_is_worth_its_price(rate: float, price: float) -> None:
    days = best_interval(rate, price)
    assert gain(rate * days) / rate**2 == pytest.approx(price, rel=1e-6)


@given(RATES, st.floats(0.01, 1000.0))
def test_M_C2_the_faster_a_page_changes_the_more_often_it_is_visited(rate: float, price: float) -> None:
    """Unlike the schedule for most freshness, the schedule for least age never gives up on a page."""
    assert best_interval(rate * 1.5, price) <= best_interval(rate, price)


def test_a_page_that_never_changes_is_worth_no_visit() -> None:
    assert best_interval(0.0, 1.0) == math.inf
    assert average_age(0.0, 10.0) == 0.0 and freshness(0.0, 10.0) == 1.0 and age_after(0.0, 5.0) == 0.0


def test_the_optimum_keeps_the_budget_and_beats_its_neighbours() -> None:
    rates = [2.0, 1 / 7, 1 / 30, 1 / 365]
    days = optimum([PageKind(rate) for rate in rates], 1 / 3)
    assert sum(1 / one for one in days) == pytest.approx(4 / 3, rel=1e-6)
    best = mean_age(rates, days)
    for more in range(4):
        for less in range(4):
            if more != less:
                shifted = [1 / one for one in days]
                shifted[more] += 0.01
                shifted[less] -= 0.01
                assert mean_age(rates, [1 / f for f in shifted]) > best


def test_important_pages_are_visited_more_often() -> None:
    usual, important = optimum([PageKind(0.1), PageKind(0.1, importance=8.0)], 1 / 3)
    assert important < usual
