"""How fresh a collection is, against what was possible."""

import pytest

from gossamer.recrawl.ages import age_after
from gossamer.recrawl.measuring import Copy, measured, prior_from
from gossamer.recrawl.rates import observed
from gossamer.values.history import DAY_S, History, Seen


def test_M_C2_the_age_of_a_page_that_changes_weekly_is_2_6_days_after_a_week() -> None:
    assert age_after(1 / 7, 7) == pytest.approx(2.575, abs=0.01)


def seen(changes: list[bool], every_days: float) -> History:
    history = History()
    for changed in changes:
        history = observed(history, Seen(0, every_days * DAY_S, changed))
    return history


BUSY, QUIET = seen([True] * 20, 1.0), seen([False] * 20, 10.0)


def test_nothing_is_said_of_no_page() -> None:
    assert measured([], prior_from([])) is None


def test_copies_that_were_just_made_are_fresh_and_grow_old_with_the_rate_of_their_pages() -> None:
    prior = prior_from([Copy(BUSY, 0.0, 1.0), Copy(QUIET, 0.0, 1.0)])
    new = measured([Copy(BUSY, 0.0, 1.0)], prior)
    busy, quiet = measured([Copy(BUSY, 5.0, 1.0)], prior), measured([Copy(QUIET, 5.0, 1.0)], prior)
    assert new is not None and busy is not None and quiet is not None
    assert new.average_age_days == 0.0 and new.freshness == pytest.approx(1.0)
    assert busy.average_age_days > 3.0 > 0.5 > quiet.average_age_days
    assert busy.freshness < 0.2 < 0.9 < quiet.freshness


def test_what_is_possible_is_at_least_as_young_as_what_is_planned_with_as_many_visits() -> None:
    copies = [Copy(BUSY, 1.0, 3.0)] * 10 + [Copy(QUIET, 1.0, 3.0)] * 30
    found = measured(copies, prior_from(copies))
    assert found is not None and found.visits_a_day == pytest.approx(40 / 3)
    assert found.possible_age_days < 0.8 * found.planned_age_days
