"""Politeness, the gate and the table of recently seen URLs: the parts that need no database."""

import pytest

from gossamer.base.clock import SECOND
from gossamer.config.slices import Politeness, SiteBudget
from gossamer.frontier.api import LeaseLost
from gossamer.frontier.leases import AskFirst, Away, GivenUp, Open, Shut, gate_of
from gossamer.frontier.politeness import DOWN, FAILURES, failures_after, free_at, gap_s, troubles_after
from gossamer.frontier.postgres.presence import SharedMoment
from gossamer.frontier.priority import LOWEST, is_over_budget, priority_after, priority_of
from gossamer.frontier.seen import SeenTable, authorized
from gossamer.frontier.sqlite.maintenance import reason_of
from gossamer.values.link import How, Offer
from gossamer.values.outcome import PAGE_ERRORS, Reason
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Settled, Visit, VisitKind

NOW = 1_700_000_000 * SECOND


@pytest.mark.parametrize(
    ("asked", "gap"),
    [(None, 1.0), (0.001, 1.0), (-1.0, 1.0), (7.5, 7.5), (1e9, 30.0), (float("nan"), 1.0), (float("inf"), 30.0)],
)
def test_F_R11_a_crawl_delay_is_clamped_between_ours_and_thirty_seconds(asked: float | None, gap: float) -> None:
    assert gap_s(Politeness(delay_s=1.0), asked) == gap


def test_the_configured_delay_always_counts_in_full() -> None:
    assert gap_s(Politeness(delay_s=60.0), 1e9) == 60.0


def test_M_E1_the_gap_can_be_a_multiple_of_the_last_download_time() -> None:
    assert gap_s(Politeness(delay_s=1.0, times_took=10.0), None, took_s=0.5) == 5.0
    assert gap_s(Politeness(delay_s=1.0), None, took_s=100.0) == 1.0


def test_a_failing_host_gets_a_longer_gap_up_to_a_limit() -> None:
    gaps = [gap_s(Politeness(delay_s=1.0), None, troubles=n) for n in (0, 1, 2, 3, 4, 5, 1000)]
    assert gaps == [1.0, 2.0, 4.0, 8.0, 16.0, 16.0, 16.0]


def test_F_H16_no_server_can_demand_a_wait_of_more_than_a_day() -> None:
    assert free_at(NOW, 1.0, None) == NOW + SECOND
    assert free_at(NOW, 1.0, 5.0) == NOW + 6 * SECOND
    assert free_at(NOW, 1.0, 1e12) == NOW + 86_401 * SECOND
    assert free_at(NOW, 1.0, -5.0) == free_at(NOW, 1.0, float("nan")) == NOW + SECOND


@pytest.mark.parametrize("wrong", [{"delay_s": -1.0}, {"delay_s": float("nan")}, {"most_back_off": 0.5}])
def test_invalid_politeness_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError):
        Politeness(**wrong)  # type: ignore[arg-type]


def robots(state: RobotsState, for_s: int = 60, **more: object) -> Robots:
    return Robots("https://a.test", state, NOW, NOW + for_s * SECOND, **more)  # type: ignore[arg-type]


def test_the_gate_depends_on_the_state_of_the_robots_txt() -> None:
    read, missing = robots(RobotsState.READ), robots(RobotsState.MISSING)
    assert gate_of(None, NOW, 4) == AskFirst(None)
    assert gate_of(read, NOW, 4) == Open(read)
    assert gate_of(missing, NOW, 4) == Open(missing)
    assert gate_of(read, read.expires_at, 4) == AskFirst(read)
    assert gate_of(robots(RobotsState.PENDING, -5), NOW, 4) == Away()
    assert gate_of(robots(RobotsState.UNREACHABLE, failures=3), NOW, 4) == Shut(NOW + 60 * SECOND)
    assert gate_of(robots(RobotsState.UNREACHABLE, failures=4), NOW, 4) == GivenUp(4)
    expired = robots(RobotsState.UNREACHABLE, 0, failures=4)
    assert gate_of(expired, NOW, 4) == AskFirst(expired)


def offers(*texts: str, depth: int = 0) -> list[Offer]:
    return [Offer(Url(text), How.LINK, None, depth) for text in texts]


def test_a_url_passes_the_table_once() -> None:
    seen = SeenTable(1 << 20)
    fresh, marks = seen.sift(offers("https://a.test/1", "https://a.test/2", "https://a.test/1"), lambda _: True)
    assert [offer.url.path for offer in fresh] == ["/1", "/2"]
    assert seen.sift(offers("https://a.test/1"), lambda _: True)[0] != []  # not remembered before it is on disk
    seen.remember(marks)
    assert seen.sift(offers("https://a.test/1", "https://a.test/2"), lambda _: True) == ([], set())


def test_a_refused_url_is_judged_again_only_when_it_is_found_nearer() -> None:
    seen, asked = SeenTable(1 << 20), []

    def may_enter(offer: Offer) -> bool:
        asked.append(offer.depth)
        return offer.depth < 3

    for depth in (5, 5, 2, 2):
        _, marks = seen.sift(offers("https://a.test/far", depth=depth), may_enter)
        seen.remember(marks)
    assert asked == [5, 2]


def test_F_U1_the_table_never_grows() -> None:
    seen = SeenTable(64)
    many = offers(*(f"https://a.test/{number}" for number in range(10_000)))
    fresh, marks = seen.sift(many, lambda _: True)
    seen.remember(marks)
    assert len(fresh) == 10_000
    again, _ = seen.sift(many, lambda _: True)
    assert 10_000 - 64 <= len(again) < 10_000
    with pytest.raises(ValueError):
        SeenTable(1000)


@pytest.mark.parametrize(
    ("reason", "is_host_fault", "failures"),
    [(Reason.FETCHED, False, 0), (Reason.GONE, False, 0), (Reason.TIMEOUT, False, 4), (Reason.TIMEOUT, True, 3)],
)
def test_failures_of_a_url_in_a_row_are_counted_except_those_of_its_host(
    reason: Reason, is_host_fault: bool, failures: int
) -> None:
    visit = Visit(Url("http://example.org/"), VisitKind.PAGE, NOW, failures=3)
    assert failures_after(Settled(visit, reason, NOW, is_host_fault=is_host_fault)) == failures


def test_a_response_that_exceeds_a_limit_is_no_trouble_of_its_host() -> None:
    for reason in PAGE_ERRORS:
        assert troubles_after(4, reason) == 2, "the host responded"
        assert reason in FAILURES and reason in DOWN, "a host that sends nothing else for a week is of no use"
    assert troubles_after(4, Reason.TIMEOUT) == 5


def test_a_slow_response_lengthens_the_gap_within_bounds() -> None:
    politeness = Politeness(delay_s=1.0, times_took=10.0, longest_gap_s=30.0)
    assert [gap_s(politeness, None, took_s) for took_s in (0.05, 0.3, 2.9, 30.0)] == [1.0, 3.0, 29.0, 30.0]
    assert gap_s(Politeness(delay_s=60.0, times_took=10.0), None, 30.0) == 60.0, "the delay counts in full"


@pytest.mark.parametrize("failures", [0, 2])
def test_a_page_that_exceeded_a_limit_goes_to_the_end_of_the_queue_until_it_succeeds(failures: int) -> None:
    visit = Visit(Url("http://example.org/"), VisitKind.PAGE, NOW, depth=1, failures=failures)

    def after(reason: Reason, priority: int) -> int:
        return priority_after(Settled(visit, reason, NOW), priority)

    assert after(Reason.UNFINISHED, 12) == after(Reason.TOO_SLOW, 0) == LOWEST
    assert after(Reason.SERVER_ERROR, 12) == after(Reason.FETCHED, 12) == 12
    assert after(Reason.FETCHED, 5) == 5, "where the user's rules placed it"
    assert after(Reason.SERVER_ERROR, LOWEST) == LOWEST
    assert after(Reason.FETCHED, LOWEST) == (priority_of(How.LINK, 1) if failures else LOWEST)


def test_a_budget_may_be_zero_but_not_negative() -> None:
    assert is_over_budget(SiteBudget(visits=0, visits_per_link=0, time_s=0.0), 0, 0.0, 0)
    for wrong in ({"visits": -1}, {"visits_per_link": -1}, {"time_s": -0.1}, {"time_s": float("nan")}):
        with pytest.raises(ValueError):
            SiteBudget(**wrong)


@pytest.mark.parametrize(
    ("ago", "ended"),
    [
        (0, -0),
        (10 * SECOND, -10 * SECOND),
        (10 * SECOND + SECOND // 100, -(10 * SECOND + SECOND // 100)),
        (10 * SECOND + SECOND // 100 + 1, 0),
        (-1, 0),
    ],
)
def test_the_end_of_a_visit_is_trusted_unless_the_clock_was_set_since(ago: int, ended: int) -> None:
    now = SharedMoment(at=NOW + 5 * SECOND, local_at=NOW, ahead=5 * SECOND, elapsed_s=110.0)
    assert now.ended_at(NOW - ago, since_s=100.0) == now.at + ended


def test_F_X8_the_time_to_read_a_page_lengthens_the_gap_of_its_host() -> None:
    politeness = Politeness(delay_s=1.0, times_read=10.0)
    assert gap_s(politeness, None, cpu_s=0.002) == gap_s(politeness, None, cpu_s=0.25) == 1.0
    assert gap_s(politeness, None, cpu_s=3.25) == 30.0
    assert gap_s(politeness, 60.0, cpu_s=0.5) == 30.0, "the crawl delay in robots.txt counts too"
    assert gap_s(politeness, None, cpu_s=1e9) == 300.0


def test_a_link_from_another_host_counts_once_for_each_linking_host() -> None:
    seen = SeenTable(1 << 20)
    page = offers("https://a.test/1")

    def found_on(source: str, *pages: Offer) -> list[Offer]:
        repeats: list[Offer] = []
        _, marks = seen.sift(pages, lambda _: True, source, repeats=repeats)
        seen.remember(marks)
        return repeats

    assert found_on("b.test", *page) == [], "the first is no repeat: it is how the URL was found"
    assert found_on("b.test", *page) == []
    assert found_on("c.test", *page, *page) == page
    assert found_on("c.test", *page) == []
    assert found_on("a.test", *page) == [], "a host's own links do not count"


def test_an_offer_that_no_robots_txt_authorizes_may_be_offered_again() -> None:
    seen = SeenTable(1 << 20)
    sitemap = Url("https://b.test/map.xml")
    both = [Offer(Url("https://a.test/1"), How.SITEMAP, via=sitemap), *offers("https://a.test/2")]
    _, marks = seen.sift(both, lambda _: True)
    assert authorized(both, lambda _: None, lambda _: None, marks) == both[1:]
    seen.remember(marks)
    assert seen.sift(both, lambda _: True)[0] == both[:1]
    named = Robots("https://a.test", RobotsState.READ, 0, 1, sitemaps=(sitemap.text,))
    _, marks = seen.sift(both, lambda _: True)
    assert authorized(both[:1], lambda _: named, lambda _: None, marks) == both[:1]
    seen.remember(marks)
    assert seen.sift(both, lambda _: True)[0] == []


def test_an_error_names_three_of_the_lost_leases_at_most() -> None:
    urls = [Url(f"http://a.test/{number}") for number in range(4)]
    message = "1 lease went to another crawler, which fetches http://a.test/0 again"
    assert str(LeaseLost(urls[:1])) == message
    assert "fetches http://a.test/0, http://a.test/1, http://a.test/2 again" in str(LeaseLost(urls[:3]))
    assert "4 leases" in str(LeaseLost(urls)) and "http://a.test/2 ... again" in str(LeaseLost(urls))
    assert LeaseLost(urls).urls == tuple(urls)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (200, Reason.FETCHED),
        (204, Reason.FETCHED),
        (301, Reason.MOVED),
        (303, Reason.MOVED),
        (304, Reason.UNCHANGED),
        (400, Reason.CLIENT_ERROR),
        (403, Reason.CLIENT_ERROR),
        (404, Reason.GONE),
        (410, Reason.GONE),
        (429, None),
        (500, None),
        (503, None),
        (100, None),
    ],
)
def test_the_outcome_of_a_visit_follows_from_the_status_in_the_archive(status: int, reason: Reason | None) -> None:
    assert reason_of(status) is reason
