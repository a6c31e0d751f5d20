"""Sitemaps, feeds and dates: evidence that is weighed, not obeyed."""

import pytest

from gossamer.base.clock import DAY_S, from_words
from gossamer.recrawl.change import Hints, hinted, importance_of, published
from gossamer.recrawl.policies import LEAST_DAYS, Age
from gossamer.recrawl.rates import FASTEST, IGNORANT, likely_rate, observed, posterior
from gossamer.values.history import History, PolicyPage, VisitFinding

NOW = from_words("2026-11-15T10:00:00Z")


def rate(history: History) -> float:
    return likely_rate(posterior(history, IGNORANT))


def test_M_C5_changefreq_moves_the_estimate_until_visits_contradict_it() -> None:
    hourly, yearly = (hinted(History(), Hints(every_s=s), NOW) for s in (3600.0, 365 * DAY_S))
    assert rate(hourly) > rate(History()) > rate(yearly)
    for _ in range(4):
        hourly = observed(hourly, VisitFinding(NOW, 10 * DAY_S, False))
    assert rate(hourly) < 1 / 10


def test_M_C5_an_old_lastmod_lowers_the_rate_and_a_recent_one_raises_it() -> None:
    old = hinted(History(), Hints(changed_at=from_words("2021-01-01T00:00:00Z")), NOW)
    new = hinted(History(), Hints(changed_at=NOW - 3_600_000_000), NOW)
    assert rate(old) < rate(History()) < rate(new)


@pytest.mark.parametrize(
    "hints",
    [
        Hints(changed_at=from_words("9999-01-01T00:00:00Z")),
        Hints(changed_at=from_words("1970-01-01T00:00:00Z")),
        Hints(every_s=-1.0),
    ],
)
def test_F_S4_impossible_hints_are_ignored(hints: Hints) -> None:
    assert hinted(History(), hints, NOW) == History()


def test_F_S4_always_cannot_raise_the_rate_above_the_policy() -> None:
    always = hinted(History(), Hints(every_s=0.0), NOW)
    assert rate(always) <= FASTEST
    due = Age(1 / 3).first_due(PolicyPage(1, history=always), NOW, 0.999)
    assert (due.at - NOW) / 1e6 / DAY_S > LEAST_DAYS


def test_M_E7_importance_depends_on_links_and_the_user_and_little_on_the_site() -> None:
    assert importance_of(4) == 1.0 and importance_of(0) == 2.0 and importance_of(8) == 0.5
    assert importance_of(4, moved=-3) > importance_of(4, moved=-2) > importance_of(4) > importance_of(4, moved=2)
    assert importance_of(0, moved=-(10**6)) == importance_of(0, moved=-4) == 4.0
    assert importance_of(10**6, moved=10**6) == 0.25
    assert importance_of(0, -4, nudge=-8) == 16.0, "the user's setting goes beyond the other limits"
    assert importance_of(4, nudge=-8) == 4.0 and importance_of(4, nudge=8) == 0.25


def test_pages_that_lead_to_new_pages_are_more_important() -> None:
    assert importance_of(4, new_pages=5.0) > importance_of(4, new_pages=1.0) > importance_of(4)
    assert importance_of(4, new_pages=1e9) == 4.0


def test_M_C8_a_published_item_is_visited_rarely_until_it_changes() -> None:
    plain, item = History(), published(History())
    ages = Age(1 / 3)
    days = [(ages.first_due(PolicyPage(1, history=one), NOW, 0.999).at - NOW) / 1e6 / DAY_S for one in (plain, item)]
    assert days[1] > 3 * days[0]
    for _ in range(5):
        item = observed(item, VisitFinding(NOW, DAY_S, True))
    assert rate(item) > 1 / 30
