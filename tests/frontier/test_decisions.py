"""What both frontiers decide, tested without a database: which page goes first, and what the end of a fetch means."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from gossamer.base.clock import SECOND
from gossamer.config.slices import Politeness
from gossamer.frontier.leases import AskFirst, Open, choose, robots_visit
from gossamer.frontier.politeness import UNTOUCHED
from gossamer.frontier.settlement import HostAfter, HostBefore, host_after, lane_moves, page_moves
from gossamer.store import tallies
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Settled, Visit, VisitKind

NOW = 1_700_000_000 * SECOND
POLITE = Politeness(delay_s=1.0, jitter=0.0, retire_failures=3, retire_span_s=60.0)
FRESH = HostBefore(free_at=NOW, left_at=None, troubles=0, failing=0, failing_since=None)


def entry(state: RobotsState, failures: int = 0, expires_at: int = NOW + SECOND) -> Robots:
    return Robots("https://a.test", state, NOW - SECOND, expires_at, failures=failures)


def ended(reason: Reason, kind: VisitKind = VisitKind.PAGE, took_s: float = 0.0, due_at: int | None = None) -> Settled:
    visit = Visit(Url("https://a.test/page"), kind, NOW)
    return Settled(visit, reason, NOW + SECOND, due_at=due_at, took_s=took_s)


def after(settled: Settled, before: HostBefore = FRESH, delay_s: float | None = None) -> HostAfter:
    return host_after(POLITE, before, settled, NOW, NOW + SECOND, delay_s, 0.0)


READ = entry(RobotsState.READ)


def test_the_lowest_place_of_a_host_goes_first_at_either_origin() -> None:
    heads = [((3, 1), "http", READ), ((2, 9), "https", READ)]
    assert choose(heads, NOW, 4).best == ("https", Open(READ))
    assert choose(heads[::-1], NOW, 4).best == ("https", Open(READ))


def test_an_origin_without_a_known_robots_txt_requests_that_first() -> None:
    assert choose([((1, 1), "page", None)], NOW, 4).best == ("page", AskFirst(None))


def test_unreadable_pending_and_given_up_origins_have_no_fetch() -> None:
    shut, away = entry(RobotsState.UNREACHABLE, 1, NOW + 9), entry(RobotsState.PENDING)
    lost = entry(RobotsState.UNREACHABLE, 4)
    found = choose([((1, 1), "a", shut), ((1, 2), "b", away), ((1, 3), "c", lost)], NOW, 4)
    assert (found.best, found.opens_at, found.given_up) == (
        None,
        [NOW + 9],
        [("c", "https://a.test/robots.txt could not be read, 4 times in a row")],
    )


def test_a_robots_txt_fetch_carries_its_number_of_failures() -> None:
    url = Url("https://a.test/robots.txt")
    assert robots_visit(url, None, NOW) == Visit(url, VisitKind.ROBOTS, NOW)
    lost = entry(RobotsState.UNREACHABLE, 2)
    assert robots_visit(url, lost, NOW) == Visit(url, VisitKind.ROBOTS, NOW, failures=2, robots=lost)


def test_a_fetch_starts_the_gap_at_its_end_and_counts_in_the_ledger() -> None:
    found = after(ended(Reason.FETCHED, took_s=0.25), FRESH._replace(left_at=NOW - 5 * SECOND))
    assert (found.next_at, found.gap, found.left_at) == (NOW + 2 * SECOND, SECOND, NOW + SECOND)
    assert (found.spent, found.rested, found.is_touched, found.is_broken) == (SECOND // 4, 5 * SECOND, True, False)


def test_a_crawl_delay_in_robots_txt_lengthens_the_gap() -> None:
    assert after(ended(Reason.FETCHED), delay_s=7.0).next_at == NOW + 8 * SECOND


def test_a_request_before_the_gap_ended_counts_as_broken() -> None:
    assert after(ended(Reason.FETCHED), FRESH._replace(free_at=NOW + 1)).is_broken
    assert not after(ended(Reason.FETCHED), FRESH._replace(free_at=NOW)).is_broken


@pytest.mark.parametrize("reason", sorted(UNTOUCHED))
def test_a_fetch_that_was_never_sent_leaves_the_host_unchanged(reason: Reason) -> None:
    before = HostBefore(NOW, NOW - SECOND, 2, 1, NOW - SECOND)
    found = after(ended(reason, took_s=9.0), before)
    assert (found.next_at, found.spent, found.rested, found.is_touched) == (NOW, 0, None, False)
    assert (found.troubles, found.failing, found.failing_since, found.left_at) == (2, 1, NOW - SECOND, NOW - SECOND)
    robots = after(ended(reason, VisitKind.ROBOTS), before)
    assert robots.is_touched, "the robots.txt was requested, so the host was contacted"


def test_a_host_is_retired_after_enough_failures_over_enough_time() -> None:
    down = ended(Reason.CONNECT)
    begun = after(down)
    assert (begun.failing, begun.failing_since, begun.retired_why) == (1, NOW + SECOND, None)
    long_down = FRESH._replace(failing=2, failing_since=NOW - 59 * SECOND)
    assert after(down, long_down).retired_why == "no connection to the host, 3 times in a row"
    assert after(down, long_down._replace(failing=1)).retired_why is None, "not often enough"
    assert after(down, long_down._replace(failing_since=NOW - 58 * SECOND)).retired_why is None, "not for long enough"
    assert after(ended(Reason.CONNECT, VisitKind.ROBOTS), long_down).retired_why is None
    well = after(ended(Reason.FETCHED), long_down)
    assert (well.failing, well.failing_since) == (0, None)


def test_a_url_is_counted_only_under_the_reason_of_its_last_fetch() -> None:
    moves = page_moves([(ended(Reason.FETCHED), Reason.TIMEOUT), (ended(Reason.TIMEOUT, due_at=NOW), None)])
    assert moves[tallies.QUEUED] == -1 and moves[tallies.SETTLED] == 1
    assert moves[f"{tallies.REASON}timeout"] == 0 and moves[f"{tallies.REASON}fetched"] == 1


@given(some.lists(some.tuples(some.sampled_from([None, *Reason]), some.integers(1, 9)), max_size=5))
def test_giving_up_a_lane_settles_every_url_it_unqueues(before: list[tuple[Reason | None, int]]) -> None:
    moves = lane_moves(before, Reason.ROBOTS_UNREACHABLE)
    amount = sum(many for _, many in before)
    first = sum(many for last, many in before if last is None)
    assert moves[tallies.SETTLED] == -moves[tallies.QUEUED] == amount
    assert sum(many for name, many in moves.items() if name.startswith(tallies.REASON)) == first
