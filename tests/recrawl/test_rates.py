"""Estimating rates of change from visits, and what a history keeps of these."""

import math
import random
import statistics

import pytest
from bench.recrawl import MOST_ERROR, PRIORS, corrected, counted, from_last_dates, likeliest, median_errors
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.clock import DAY_S, SECOND
from gossamer.recrawl import rates
from gossamer.recrawl.rates import (
    IGNORANT,
    MOST_CHANGES,
    RATES,
    STEPS,
    PriorLearning,
    learnt,
    likely_rate,
    observed,
    posterior,
    prior_of,
    smoothed,
)
from gossamer.values.history import PACKED_BYTES, History, VisitFinding, packed, unpacked

DAY = round(DAY_S * SECOND)


def seen(days: float, has_changed: bool, ago: float | None = None) -> VisitFinding:
    at = 1000 * DAY
    return VisitFinding(at, days * DAY_S, has_changed, None if ago is None else at - round(ago * DAY))


def after(*visits: tuple[float, bool]) -> History:
    history = History()
    for days, has_changed in visits:
        history = observed(history, seen(days, has_changed))
    return history


def exactly(visits: list[tuple[float, bool]]) -> list[float]:
    """The posterior computed from every single visit."""
    shares = []
    for rate, weight in zip(RATES, IGNORANT.weights, strict=True):
        logs = [math.log(-math.expm1(-rate * days)) if changed else -rate * days for days, changed in visits]
        shares.append(math.log(weight) + sum(logs))
    top = max(shares)
    scale = sum(math.exp(share - top) for share in shares)
    return [math.exp(share - top) / scale for share in shares]


@given(st.lists(st.floats(0.5, 60.0), min_size=1, max_size=15))
def test_for_visits_without_change_their_sum_suffices(days: list[float]) -> None:
    visits = [(one, False) for one in days]
    assert posterior(after(*visits), IGNORANT) == pytest.approx(exactly(visits), rel=1e-6, abs=1e-12)


@given(st.lists(st.tuples(st.floats(1.0, 20.0), st.booleans()), min_size=1, max_size=15))
def test_the_summary_gives_nearly_the_posterior_of_all_visits(visits: list[tuple[float, bool]]) -> None:
    short, whole = posterior(after(*visits), IGNORANT), exactly(visits)
    assert abs(math.log(likely_rate(short) / likely_rate(whole))) < 1.0
    assert math.fsum(short) == pytest.approx(1.0)


def test_a_changing_page_has_a_high_rate_and_an_unchanging_one_a_low_rate() -> None:
    rates = [likely_rate(posterior(after(*[(3.0, has_changed)] * 8), IGNORANT)) for has_changed in (False, True)]
    assert rates[0] < 1 / 100 and rates[1] > 1 / 2


def test_a_change_with_a_date_is_better_evidence_than_one_without() -> None:
    dated, bare = History(), History()
    for _ in range(5):
        dated, bare = observed(dated, seen(30.0, True, ago=10.0)), observed(bare, seen(30.0, True))
    assert likely_rate(posterior(dated, IGNORANT)) == pytest.approx(1 / 10, rel=0.3)
    assert likely_rate(posterior(bare, IGNORANT)) > 1 / 7


@pytest.mark.parametrize("ago", [-3.0, 0.0, 0.1, 31.0, 40_000.0])
def test_F_S4_an_impossible_date_is_ignored(ago: float) -> None:
    """In the future, at the time of sending (twice), before the last visit, before the web."""
    assert observed(History(), seen(30.0, True, ago)) == observed(History(), seen(30.0, True))


def test_old_changes_fade_so_that_the_rate_can_change() -> None:
    busy = after(*[(1.0, True)] * 200)
    assert busy.changes <= MOST_CHANGES and busy.visits == 200
    calm = busy
    for _ in range(15):
        calm = observed(calm, seen(10.0, False))
    assert likely_rate(posterior(calm, IGNORANT)) < likely_rate(posterior(busy, IGNORANT)) / 5


@given(
    st.floats(0, 1e6), st.floats(0, 100), st.floats(-12, 8), st.integers(0, 10**6), st.integers(0, 2**40),
    st.integers(1, 300),
)  # fmt: skip
def test_a_history_has_20_bytes(
    quiet: float, changes: float, log_days: float, visits: int, recent: int, every: int
) -> None:
    history = History(quiet, changes, log_days, 0.5, visits, recent, every)
    octets = packed(history)
    assert len(octets) == PACKED_BYTES == 20
    back = unpacked(octets)
    assert packed(back) == octets
    assert back.quiet_days == pytest.approx(quiet, rel=1e-6, abs=1e-6)
    assert back.changes == pytest.approx(changes, rel=1e-3, abs=1e-3)
    assert back.recent == recent & 0xFFFFFFFF and back.visits == min(visits, 65_535)


def test_a_history_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError):
        unpacked(b"short")


def test_counting_underestimates_and_the_corrected_estimators_do_not() -> None:
    chance, rate = random.Random(1), 0.2
    naive, better, best = [], [], []
    for _ in range(400):
        changes = sum(chance.random() < -math.expm1(-rate * 7.0) for _ in range(20))
        naive.append(counted(changes, 140.0))
        better.append(corrected(changes, 20, 7.0))
        best.append(likeliest([7.0] * changes, 7.0 * (20 - changes)))
    assert statistics.mean(naive) < 0.6 * rate
    assert statistics.median(better) == pytest.approx(rate, rel=0.15)
    assert statistics.median(best) == pytest.approx(rate, rel=0.15)
    assert likeliest([], 100.0) < 1e-4


def test_the_estimate_from_dates_of_last_changes_is_unbiased() -> None:
    chance, rate, found = random.Random(2), 0.1, []
    for _ in range(1500):
        since, dated = 0.0, 0
        for _ in range(10):
            back = chance.expovariate(rate)
            since, dated = since + min(back, 7.0), dated + (back < 7.0)
        found.append(from_last_dates(10, dated, since))
    assert statistics.mean(found) == pytest.approx(rate, rel=0.1)
    assert from_last_dates(10, 0, 70.0) == 0.0 and from_last_dates(2, 2, 4.0) == 0.25


@pytest.mark.parametrize("name", PRIORS)
def test_after_ten_visits_the_error_is_near_that_with_a_known_prior(name: str) -> None:
    errors = median_errors(PRIORS[name](), 700, 10, 1)
    assert errors["ours"] <= MOST_ERROR * errors["knows the prior"]
    assert errors["ours"] < min(errors["likeliest (Cho and Garcia-Molina)"], errors["counted"])


def test_smoothing_keeps_the_sum() -> None:
    assert smoothed([0.0, 0.0, 9.0, 0.0, 0.0]) == pytest.approx([1.0, 2.0, 3.0, 2.0, 1.0])
    assert sum(smoothed([3.0, 0.0, 0.0, 6.0])) == pytest.approx(9.0)


def test_a_group_is_learnt_from_its_pages_and_pulled_towards_its_parent() -> None:
    fast = [after(*[(1.0, True)] * 6)] * 40
    own = learnt(fast, IGNORANT, IGNORANT, 16.0, 5)
    drawn = learnt(fast[:2], IGNORANT, IGNORANT, 16.0, 5)
    assert likely_rate(own.weights) > 3 * likely_rate(drawn.weights) > likely_rate(IGNORANT.weights)


def test_pages_of_a_known_site_use_its_prior_from_the_first_visit() -> None:
    learning = PriorLearning()
    for page in range(60):
        learning.followed(page, ("news.example", "/a"), after(*[(1.0, True)] * 5))
        learning.followed(page + 100, ("old.example", "/b"), after(*[(30.0, False)] * 5))
    news, old = learning.prior_for(("news.example", "/new")), learning.prior_for(("old.example",))
    assert likely_rate(news.weights) > 10 * likely_rate(old.weights)
    assert learning.prior_for(("unknown.example",)) == learning.all


def test_a_panel_is_a_fair_sample_of_pages_and_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("PANEL_OF_ALL", 50), ("PANEL", 10), ("MOST_GROUPS", 3)):
        monkeypatch.setattr(rates, name, most)
    learning = PriorLearning()
    for turn in range(3):
        for page in range(1000):
            learning.followed(page, (f"site {page % 7}",), History(visits=page, quiet_days=float(turn)))
    followed = [history.visits for history in learning.panel()]
    assert len(followed) == 50 and statistics.mean(followed) == pytest.approx(500, abs=130)
    assert {history.quiet_days for history in learning.panel()} == {2.0}


def test_a_prior_sums_to_one() -> None:
    assert math.fsum(prior_of(range(STEPS)).weights) == pytest.approx(1.0)
