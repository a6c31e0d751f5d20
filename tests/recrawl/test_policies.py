"""Rules that hold for every policy, and how `age` uses a budget."""

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.clock import DAY_S, SECOND
from gossamer.recrawl.freshness import best_interval, gain
from gossamer.recrawl.policies import (
    DEFAULT,
    LEAST_DAYS,
    MOST_DAYS,
    POLICIES,
    Age,
    Policy,
    interval_worth,
    policy_named,
    price_for,
    varied,
    visits_at,
)
from gossamer.recrawl.rates import IGNORANT, RATES, observed, posterior
from gossamer.values.history import IN_WORDS, History, PolicyPage, VisitFinding, Why

DAY = round(DAY_S * SECOND)


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_continues_endlessly_and_forwards_in_time(name: str) -> None:
    policy: Policy = policy_named(name, 1 / 3)
    assert policy.name == name
    page, chance, now = PolicyPage(5, ("a.example",)), random.Random(1), 0
    due = policy.first_due(page, now, chance.random())
    for _ in range(50):
        assert due.at >= now
        elapsed, now = max(due.at - now, SECOND), max(due.at, now + SECOND)
        planned = policy.next_due(page, VisitFinding(now, elapsed / SECOND, chance.random() < 0.3), chance.random())
        policy.report_load(1.0, 0.1, now)
        page, due = PolicyPage(5, ("a.example",), planned.history), planned.due
    assert page.history.visits == 50


def test_the_default_is_age() -> None:
    assert DEFAULT in POLICIES and policy_named(DEFAULT, 1.0).name == "age"


@given(st.floats(0.05, 200.0), st.floats(0.0, 0.999))
def test_a_varied_interval_is_near_the_interval(days: float, chance_number: float) -> None:
    assert abs(varied(days, chance_number) - days) <= 0.125 * days + 1e-9


def test_M_B1_the_hour_of_the_visit_changes_from_day_to_day() -> None:
    hours = [varied(1.0, number / 10) * 24 for number in range(10)]
    assert max(hours) - min(hours) > 5
    assert statistics.mean(varied(1.0, number / 1000) for number in range(1000)) == pytest.approx(1.0, abs=0.001)


@given(st.integers(0, len(RATES) - 1), st.floats(0.05, 500.0), st.floats(0.1, 100.0))
def test_for_a_known_rate_the_interval_is_the_best_one(place: int, price: float, near: float) -> None:
    shares = [float(number == place) for number in range(len(RATES))]
    best = best_interval(RATES[place], price)
    if 0.02 < best < 900:
        assert interval_worth(shares, price, near) == pytest.approx(best, rel=0.01)


def test_the_interval_depends_on_neither_search_start_nor_scale() -> None:
    shares = posterior(observed(History(), VisitFinding(0, 5 * DAY_S, True)), IGNORANT)
    found = [interval_worth(shares, 4.0, near) for near in (0.001, 1.0, 30.0, 1e6)]
    assert found == pytest.approx([found[0]] * 4)
    assert interval_worth([7 * share for share in shares], 4.0) == pytest.approx(found[0])
    worth = sum(share * gain(rate * found[0]) / rate**2 for share, rate in zip(shares, RATES, strict=True))
    assert worth == pytest.approx(4.0, rel=0.01)


@pytest.mark.parametrize("per_page", [2.0, 1 / 3, 1 / 30])
def test_the_price_fills_the_budget(per_page: float) -> None:
    chance = random.Random(3)
    shares = [
        posterior(observed(History(), VisitFinding(0, chance.uniform(1, 30) * DAY_S, chance.random() < 0.5)), IGNORANT)
        for _ in range(50)
    ]
    price = price_for(per_page, shares, 1.0, 1 / 24, 300.0)
    assert visits_at(price, shares, 1 / 24, 300.0, [3.0] * 50) == pytest.approx(per_page, rel=0.01)


def settled(policy: Age, has_changed: bool, importance: float = 1.0) -> tuple[float, Why]:
    """The interval after many visits with the same result, and its reason."""
    page, now, days, why = PolicyPage(1, ("a.example",), importance=importance), 0, 3.0, Why.FIRST
    for _ in range(40):
        now += round(days * DAY)
        planned = policy.next_due(page, VisitFinding(now, days * DAY_S, has_changed), 0.5)
        page = PolicyPage(1, ("a.example",), planned.history, importance)
        days, why = (planned.due.at - now) / DAY, planned.due.why
    return days, why


def test_a_changing_page_is_visited_often_and_an_unchanging_one_rarely() -> None:
    often, why = settled(Age(1 / 3), True)
    assert often < 2.0 and why is Why.RATE
    rarely, why = settled(Age(1 / 300), False)
    assert rarely == MOST_DAYS and why is Why.LONGEST
    least, why = settled(Age(48.0), True)
    assert least == LEAST_DAYS and why is Why.SHORTEST


def test_M_E7_important_pages_are_revisited_more() -> None:
    assert settled(Age(1 / 3), True, importance=4.0)[0] < 0.7 * settled(Age(1 / 3), True)[0]


@pytest.mark.parametrize("importance", [1e9, math.inf, 0.0])
def test_F_S4_no_importance_exceeds_the_interval_limits(importance: float) -> None:
    days, _ = settled(Age(1 / 3), True, importance)
    assert LEAST_DAYS <= days <= MOST_DAYS


def test_falling_behind_raises_the_price_and_idleness_lowers_it() -> None:
    prices = {}
    for used, behind in ((1.0, 2.0), (0.6, 0.0)):
        policy, chance = Age(1 / 3), random.Random(4)
        for visit in range(600):
            now = visit * DAY // 10
            page = PolicyPage(visit % 100, ("a.example",))
            policy.next_due(page, VisitFinding(now, 3 * DAY_S, chance.random() < 0.3), 0.5)
            if visit % 10 == 0:
                policy.report_load(used, behind, now)
        prices[used] = policy.price
    assert prices[1.0] > 1.5 * prices[0.6]


def test_F_P10_a_clock_that_steps_back_causes_no_burst_of_visits() -> None:
    policy = Age(1 / 3)
    planned = policy.next_due(PolicyPage(1), VisitFinding(5 * DAY, -3 * DAY_S, True), 0.5)
    assert planned.due.at >= 5 * DAY + round(LEAST_DAYS * DAY * 0.8)


def test_every_reason_has_a_description() -> None:
    assert set(IN_WORDS) == set(Why)
