"""The policies that count in crawls: adaptive frequency, and pages due because linked pages changed."""

import pytest

from gossamer.base.clock import DAY_S, SECOND
from gossamer.recrawl.policies import (
    FEW_VISITS,
    MOST_CRAWLS,
    Paper,
    Tree,
    every_after,
    is_due_by_links,
    moved_threshold,
)
from gossamer.values.history import MOST_RECENT, History, PolicyPage, VisitFinding, Why

DAY = round(DAY_S * SECOND)
TEN_OF_TWENTY = 0b01010101010101010101


def test_M_B2_the_worked_example() -> None:
    assert every_after(3, 45, TEN_OF_TWENTY) == 2


def test_M_B2_a_page_that_never_changes_is_due_after_11_15_17_18_then_19_crawls() -> None:
    every, found = 3, []
    for _ in range(8):
        every = every_after(every, 45, 0)
        found.append(every)
    assert found == [11, 15, 17, 18, 19, 19, 19, 19]


def test_M_B2_a_page_that_always_changes_is_soon_due_in_every_crawl() -> None:
    every = 19
    for _ in range(6):
        every = every_after(every, 45, (1 << 20) - 1)
    assert every == 1


def test_M_B2_a_few_visits_change_nothing_and_older_ones_are_forgotten() -> None:
    assert every_after(3, 2, 0b11) == 3
    assert every_after(3, 45, 1 << 20) == every_after(3, 45, 0)
    assert every_after(1, 45, (1 << 20) - 1) == 1


def test_M_B2_the_policy_counts_in_crawls() -> None:
    policy, page, found = Paper(), PolicyPage(1, history=History(every=3)), []
    for number in range(1, 8):
        planned = policy.next_due(page, VisitFinding(number * 10 * DAY, 10 * DAY_S, False), 0.5)
        page = PolicyPage(1, history=planned.history)
        found.append((page.history.every, (planned.due.at - number * 10 * DAY) / DAY))
        assert planned.due.why is Why.TURN
    assert [every for every, _ in found] == [3, 3, 3, 3, 4, 5, 6]
    assert all(days == every for every, days in found)


def test_M_B3_a_page_is_due_when_forty_per_cent_of_its_linked_pages_changed() -> None:
    assert is_due_by_links(History().threshold, 4, 10) and not is_due_by_links(40, 3, 10)
    assert not is_due_by_links(40, 0, 0)


@pytest.mark.parametrize(("changed", "moved"), [(0, 35), (2, 37), (5, 40), (8, 43), (10, 45)])
def test_M_B3_the_threshold_rises_with_the_changed_share_and_falls_with_the_rest(changed: int, moved: int) -> None:
    assert moved_threshold(40, changed, 10) == moved


def test_M_B3_each_page_has_its_own_threshold_within_bounds() -> None:
    threshold = History().threshold
    for _ in range(50):
        threshold = moved_threshold(threshold, 10, 10)
    assert threshold == 90
    for _ in range(50):
        assert not is_due_by_links(threshold, 0, 10)
        threshold = moved_threshold(threshold, 0, 10)
    assert threshold == 10 and moved_threshold(40, 0, 0) == 40


def test_M_B3_after_a_change_the_tree_policy_checks_the_pages_below() -> None:
    policy = Tree()
    start, below = policy.at_depth(History(), 0), policy.at_depth(History(), 1)
    assert (start.every, below.every) == (1, 20)
    for has_changed in (True, False):
        planned = policy.next_due(PolicyPage(1, history=start), VisitFinding(DAY, DAY_S, has_changed), 0.5)
        assert planned.checks_links is has_changed and planned.due.at == 2 * DAY


def test_every_visit_considered_is_remembered() -> None:
    assert FEW_VISITS <= MOST_CRAWLS <= MOST_RECENT
