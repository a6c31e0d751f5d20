"""When a feed is fetched again, and what settling a fetch records about its host."""

import msgspec
import pytest

from gossamer.base.clock import SECOND
from gossamer.base.environment import seeded
from gossamer.config.slices import RobotsKeeping
from gossamer.crawler.settlement import AGAIN_S, Followed, ListPolicy, Measures, Outages, settled
from gossamer.recrawl.retry import Retry
from gossamer.values.capture import Capture, Truncated
from gossamer.values.messages import Listing, ReadDone
from gossamer.values.outcome import PAGE_ERRORS, Failed, Fetched, Gone, Moved, Outcome, Reason, Unchanged
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import FOLLOWED, Visit, VisitKind

FEED = Url("http://h.org/feed")
AT = 1_000 * SECOND


def response(status: int = 200) -> Capture:
    return Capture(FEED, AT, status, "OK", (), b"")


def end(
    outcome: Outcome, listing: Listing | None = None, failures: int = 0, is_followed: bool = True, follows: bool = True
):  # type: ignore[no-untyped-def]
    visit = Visit(FEED, VisitKind.PAGE, AT, failures=failures, is_followed=is_followed)
    measures = Measures(seeded(1), Retry(), RobotsKeeping(), ListPolicy(follows_feeds=follows))
    read = ReadDone(b"", b"", "text/html", b"", listing=listing)
    return settled(Followed(visit, outcome, AT, read), None, measures)


@pytest.mark.parametrize(
    "outcome", [Fetched(response()), Unchanged(response(304)), Gone(response(404))], ids=lambda one: type(one).__name__
)
def test_a_feed_is_fetched_again_after_every_single_outcome(outcome: Outcome) -> None:
    done = end(outcome)
    assert done.due_at == AT + round(AGAIN_S * SECOND) and done.detail.startswith(FOLLOWED)
    assert end(outcome, is_followed=False).due_at is None
    assert end(outcome, follows=False).due_at is None


def test_a_feed_may_set_its_own_interval() -> None:
    done = end(Fetched(response()), Listing("feed", (), 900.0), is_followed=False)
    assert done.due_at == AT + 900 * SECOND and done.detail == FOLLOWED


def test_a_feed_is_fetched_again_after_the_last_retry() -> None:
    failed = Failed(Reason.TIMEOUT, "slow")
    first, last = end(failed), end(failed, failures=99)
    assert first.due_at is not None and first.due_at < AT + round(AGAIN_S * SECOND)
    assert last.due_at == AT + round(AGAIN_S * SECOND) and last.detail == f"{FOLLOWED}: slow"


def test_a_feed_that_moved_or_is_gone_for_good_is_not_fetched_again() -> None:
    assert end(Gone(response(410))).due_at is None
    assert end(Moved(Url("http://h.org/elsewhere"), response(301))).due_at is None


@pytest.mark.parametrize(
    ("outcome", "follows"), [(Failed(Reason.SERVER_ERROR, "500", response(500)), False), (Fetched(response()), True)]
)
def test_M_A3_no_retry_or_feed_is_due_before_the_recrawl_delay_is_over(outcome: Outcome, follows: bool) -> None:
    def due_after_s(recrawl_delay_s: float | None) -> float:
        robots = Robots("http://h.org", RobotsState.READ, AT, AT + 10**12, recrawl_delay_s=recrawl_delay_s)
        visit = Visit(FEED, VisitKind.PAGE, AT, is_followed=follows, robots=robots)
        measures = Measures(seeded(1), Retry(), RobotsKeeping(), ListPolicy(follows_feeds=follows))
        done = settled(Followed(visit, outcome, AT, ReadDone(b"", b"", "text/html", b"")), None, measures)
        assert done.due_at is not None
        return (done.due_at - AT) / SECOND

    assert due_after_s(None) == due_after_s(1.0) < 86_400
    assert due_after_s(86_400.0) == 86_400


@pytest.mark.parametrize("reason", sorted(PAGE_ERRORS))
def test_many_endless_pages_are_no_outage_of_their_host(reason: Reason) -> None:
    outages, retry = Outages(), Retry()

    def is_down(number: int, failed: Failed) -> bool:
        return outages.is_down(Visit(Url(f"http://h.org/{number}"), VisitKind.PAGE, AT), failed, AT, retry)

    assert not any(is_down(number, Failed(reason, "", response())) for number in range(9))
    assert [is_down(number, Failed(Reason.TIMEOUT)) for number in range(4)] == [False, False, False, True]


@pytest.mark.parametrize("truncated", [*Truncated, None])
def test_a_response_cut_at_a_limit_counts_up_to_its_head(truncated: Truncated | None) -> None:
    capture = msgspec.structs.replace(response(), truncated=truncated, took_s=30.0, head_s=0.2)
    done = end(Fetched(capture) if truncated is Truncated.LENGTH else Failed(Reason.UNFINISHED, "", capture))
    assert done.took_s == 30.0
    assert done.counted_s == (0.2 if truncated in (Truncated.TIME, Truncated.LENGTH) else 30.0)


def test_the_start_of_an_outage_is_known_after_a_restart() -> None:
    retry = Retry()
    long_ago = AT - round((retry.host_patience_s - 10) * SECOND)
    outages = Outages()  # as after a restart

    def failed(number: int, at: int) -> bool:
        url = Url(f"http://h.org/{number}")
        visit = Visit(url, VisitKind.PAGE, at, host_failing=9, host_failing_since=long_ago)
        return outages.is_down(visit, Failed(Reason.TIMEOUT, "slow"), at, retry)

    assert [failed(number, AT + number) for number in range(5)] == [False, False, False, True, True]
    assert not failed(6, AT + 11 * SECOND), "the host is given up, as without the restart"
