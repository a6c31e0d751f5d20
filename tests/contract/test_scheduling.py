"""The rest of the suite for every frontier: priorities, bands, IP addresses, retired hosts, quarantine, clocks."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.contract.test_frontier import OPENERS, Opener, entry, run, seed, settled, take_page

from gossamer.base.clock import SECOND, Instant
from gossamer.config.slices import Politeness, SiteBudget
from gossamer.frontier import reports
from gossamer.frontier.api import Frontier
from gossamer.frontier.priority import LOWEST
from gossamer.frontier.rows import UrlKeys
from gossamer.testing import FakeClock
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason
from gossamer.values.robots import RobotsState
from gossamer.values.url import Url, admit
from gossamer.values.visit import TemplateTally, Visit, VisitKind, Yield

DAY_S = 86_400


@pytest.fixture(params=OPENERS, ids=lambda opener: opener.__name__)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    return lambda clock, **more: request.param(tmp_path, clock, **more)


class SteppedClock(FakeClock):
    """A wall clock that can be set, and a monotonic clock that cannot."""

    def __init__(self) -> None:
        super().__init__()
        self.by = 0

    def now(self) -> Instant:
        return super().now() + self.by

    def step(self, seconds: float) -> None:
        self.by += round(seconds * SECOND)


async def crawl_order(frontier: Frontier, clock: FakeClock, most: int) -> list[str]:
    """The pages in the order of their visits; every request succeeds."""
    pages: list[str] = []
    for _ in range(20 * most):
        next_at = await frontier.next_at()
        if len(pages) >= most or next_at is None:
            break
        clock.advance(max(0, next_at - clock.now()) / SECOND)
        visits = await frontier.take(5)
        pages += [visit.url.text for visit in visits if visit.kind is VisitKind.PAGE]
        if visits:
            await frontier.settle([settled(visit, clock) for visit in visits])
        else:
            await asyncio.sleep(0)
    return pages


async def take_resolved(frontier: Frontier, at_most: int) -> list[Visit]:
    """Hosts are resolved in the background: after a few calls their addresses are known."""
    for _ in range(20):
        if visits := await frontier.take(at_most):
            return visits
        await asyncio.sleep(0)
    return []


def test_hints_and_the_users_rules_order_the_urls_of_a_host(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        nudge = lambda offer: -8 if "news" in offer.url.text else 0  # noqa: E731
        async with opened(clock, nudge=nudge) as frontier:
            plain = [Offer(Url(f"https://a.test/{n}"), How.LINK, None, 2) for n in "xy"]
            hinted = Offer(Url("https://a.test/hinted"), How.SITEMAP, None, 2, hint=-2)
            later = Offer(Url("https://a.test/later"), How.SITEMAP, None, 2, hint=2)
            news = Offer(Url("https://a.test/news"), How.LINK, None, 3)
            await frontier.offer([later, *plain, hinted, news])
            paths = [Url(text).path for text in await crawl_order(frontier, clock, 5)]
            assert paths == ["/news", "/hinted", "/x", "/y", "/later"]

    run(story())


def test_links_from_other_hosts_also_raise_a_url_in_the_queue(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([Offer(Url(f"https://a.test/{n}"), How.LINK, None, 2) for n in "xyz"])
            await frontier.offer([seed("https://b.test/")])
            await frontier.settle([settled(robots, clock) for robots in await frontier.take(5)])
            clock.advance(1)
            out = {visit.url.host.name: visit for visit in await frontier.take(5)}
            assert out["a.test"].url.path == "/x"
            links = [Offer(Url(f"https://a.test/{n}"), How.LINK, None, 1) for n in "xz"]
            new = Offer(Url("https://new.test/"), How.LINK, None, 1)
            await frontier.settle([settled(out["b.test"], clock, offers=(*links, new))])
            clock.advance(5)
            (robots,) = await frontier.take(5)
            await frontier.settle([settled(robots, clock), settled(out["a.test"], clock)])
            pages = await crawl_order(frontier, clock, 5)
            assert [Url(text).path for text in pages if "a.test" in text] == ["/z", "/y"]
            assert (await frontier.counts()).queued == 0

    run(story())


def test_no_band_starves(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            far = [seed(f"https://far{n}.test/", 14) for n in range(3)]
            near = [seed(f"https://near{n}.test/{page}") for n in range(3) for page in range(40)]
            await frontier.offer([*near, *far])
            pages = await crawl_order(frontier, clock, 123)
            last = max(pages.index(f"https://far{n}.test/") for n in range(3))
            assert len(pages) == 123 and last < 100

    run(story())


def test_F_X8_new_urls_are_visited_although_every_take_is_full(opened: Opener) -> None:
    """Many hosts have more URLs than are taken; the links of a host's only page are still visited."""

    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed("https://good.test/")])
            await frontier.settle(
                [settled(await take_page(frontier, clock), clock, offers=[seed("https://good.test/2")])]
            )
            await frontier.offer([seed(f"https://crowd{n}.test/{page}") for n in range(40) for page in range(9)])
            taken: list[Visit] = []
            for _ in range(8):
                clock.advance(1.0)
                visits = await frontier.take(20)
                assert len(visits) == 20
                taken += visits
                await frontier.settle([settled(visit, clock) for visit in visits])
            assert Url("https://good.test/2") in [visit.url for visit in taken]

    run(story())


def test_M_B6_a_host_over_budget_goes_after_the_others_and_is_not_dropped(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock, budget=SiteBudget(visits=3, visits_per_link=0)) as frontier:
            await frontier.offer([seed(f"https://a.test/{page}") for page in range(12)])
            pages = await crawl_order(frontier, clock, 12)
            assert len(pages) == 12
            counts = await frontier.counts()
            assert (counts.queued, counts.settled) == (0, 12)

    run(story())


def test_F_H17_hosts_on_one_ip_address_share_its_limits(opened: Opener) -> None:
    async def story() -> None:
        async def resolve(name: str) -> str | None:
            return "20.0.0.1" if name.startswith("v") else None

        clock = FakeClock()
        async with opened(clock, resolve=resolve) as frontier:
            await frontier.offer([seed(f"https://v{n}.test:8443/") for n in range(10)])
            out = await take_resolved(frontier, 10)
            assert len(out) == 1
            for wanted in (2, 3, 4):
                assert await take_resolved(frontier, 10) == []
                clock.advance(0.1)
                out += await take_resolved(frontier, 10)
                assert len(out) == wanted
            clock.advance(5)
            assert await take_resolved(frontier, 10) == []
            await frontier.settle([settled(out[0], clock)])
            clock.advance(0.1)
            assert len(await take_resolved(frontier, 10)) == 1
            assert await take_resolved(frontier, 10) == []

    run(story())


def test_hosts_without_a_known_ip_address_do_not_block_each_other(opened: Opener) -> None:
    async def story() -> None:
        async def resolve(name: str) -> str | None:
            return None

        clock = FakeClock()
        async with opened(clock, resolve=resolve) as frontier:
            await frontier.offer([seed(f"https://v{n}.test/") for n in range(10)])
            assert len(await take_resolved(frontier, 10)) == 10

    run(story())


def test_a_resolver_that_hangs_blocks_only_its_own_host(opened: Opener) -> None:
    async def story() -> None:
        async def resolve(name: str) -> str | None:
            if name == "slow.test":
                await asyncio.Event().wait()
            return f"20.0.0.{len(name)}"

        clock = FakeClock()
        async with opened(clock, resolve=resolve) as frontier:
            await frontier.offer([seed("https://slow.test/"), seed("https://a.test/")])
            (visit,) = await take_resolved(frontier, 5)
            assert visit.url.host.name == "a.test"

    run(story())


def test_a_host_that_is_down_for_long_is_retired_and_can_be_reinstated(opened: Opener) -> None:
    politeness = Politeness(delay_s=1.0, retire_failures=3, retire_span_s=10.0)

    async def story() -> None:
        clock = FakeClock()
        async with opened(clock, politeness=politeness) as frontier:
            await frontier.offer([seed(f"https://a.test/{page}") for page in range(9)])
            page = await take_page(frontier, clock)
            for _ in range(2):
                await frontier.settle([settled(page, clock, Reason.TIMEOUT)])
                clock.advance(20)
                (page,) = await frontier.take(1)
            await frontier.settle([settled(page, clock, Reason.CONNECT)])
            clock.advance(DAY_S / 2)
            assert await frontier.take(1) == [] and await frontier.next_at() is None
            counts = await frontier.counts()
            assert (counts.retired, counts.queued, counts.leased) == (1, 6, 0)
        async with opened(clock, politeness=politeness) as frontier:
            assert await frontier.take(1) == []
            assert not await frontier.reinstate("unknown.test")
            assert await frontier.reinstate("a.test") and not await frontier.reinstate("a.test")
            assert (await take_page(frontier, clock)).url.host.name == "a.test"
            assert (await frontier.counts()).retired == 0

    run(story())


def test_failures_within_a_short_time_retire_no_host(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        politeness = Politeness(delay_s=1.0, retire_failures=2, retire_span_s=3600.0)
        async with opened(clock, politeness=politeness) as frontier:
            await frontier.offer([seed(f"https://a.test/{page}") for page in range(9)])
            page = await take_page(frontier, clock)
            for _ in range(5):
                await frontier.settle([settled(page, clock, Reason.TIMEOUT)])
                clock.advance(90)
                (page,) = await frontier.take(1)
            assert (await frontier.counts()).retired == 0

    run(story())


def test_a_user_can_retire_a_host_while_it_is_visited(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed("https://a.test/1"), seed("https://a.test/2"), seed("https://b.test/1")])
            visits = await frontier.take(5)
            assert await frontier.retire("a.test", "its owner asked") and not await frontier.retire("a.test", "again")
            assert not await frontier.retire("unknown.test", "an unknown host")
            await frontier.settle([settled(visit, clock) for visit in visits])
            clock.advance(60)
            assert {visit.url.host.name for visit in await frontier.take(5)} == {"b.test"}

    run(story())


def test_a_success_halves_the_troubles(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock, politeness=Politeness(delay_s=1.0, jitter=0.0)) as frontier:
            await frontier.offer([seed(f"https://a.test/{page}") for page in range(9)])
            page = await take_page(frontier, clock)
            ends = [(Reason.TIMEOUT, 2), (Reason.TIMEOUT, 4), (Reason.FETCHED, 2), (Reason.FETCHED, 1)]
            for reason, gap_s in ends:
                await frontier.settle([settled(page, clock, reason)])
                assert await frontier.next_at() == clock.now() + gap_s * SECOND
                clock.advance(gap_s)
                (page,) = await frontier.take(1)

    run(story())


def test_ten_endless_pages_take_ten_time_limits_and_the_usual_gaps(opened: Opener) -> None:
    polite = Politeness(delay_s=1.0, times_took=10.0)

    async def story() -> None:
        clock = FakeClock()
        async with opened(clock, politeness=polite) as frontier:
            endless = [seed(f"https://a.test/endless/{n}") for n in range(10)]
            await frontier.offer([*endless, *[seed(f"https://a.test/plain/{n}", 3) for n in range(3)]])
            begun, asked = clock.now(), []
            page: Visit | None = await take_page(frontier, clock)
            while page is not None:
                asked.append(page.url.path)
                if "/endless/" in page.url.path:
                    clock.advance(30)
                    due_at = clock.now() + 30 * SECOND if page.failures < 1 else None
                    cut = settled(page, clock, Reason.UNFINISHED, took_s=30.0, busy_s=0.05, due_at=due_at)
                    await frontier.settle([cut])
                else:
                    await frontier.settle([settled(page, clock)])
                if len(asked) == 10:
                    assert clock.now() - begun <= (1 + 10 * 30 + 9 * 1) * SECOND
                next_at = await frontier.next_at()
                assert next_at is None or next_at <= clock.now() + SECOND
                clock.advance(1)
                page = next(iter(await frontier.take(1)), None)
            first = [offer.url.path for offer in endless]
            assert asked == [*first, "/plain/0", "/plain/1", "/plain/2", *first], "they are retried after the others"

    run(story())


def test_a_page_that_was_endless_once_gets_its_priority_back_after_a_success(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed("https://a.test/")])
            page = await take_page(frontier, clock)
            places = [page.priority]
            for reason in (Reason.TOO_SLOW, Reason.FETCHED, Reason.FETCHED):
                await frontier.settle([settled(page, clock, reason, due_at=clock.now() + 5 * SECOND)])
                clock.advance(60)
                (page,) = await frontier.take(1)
                places.append(page.priority)
            assert places == [places[0], LOWEST, places[0], places[0]]

    run(story())


def template_of(text: str) -> str:
    return "trap" if "/trap/" in text else "page"


def test_a_template_without_new_content_is_quarantined_and_released_on_request(opened: Opener) -> None:
    def judge(tally: TemplateTally) -> bool:
        assert (tally.host, tally.template) in {("a.test", "trap"), ("a.test", "page")}
        return tally.fetched >= 2 and tally.fruitful == 0

    async def story() -> None:
        clock = FakeClock()
        more: dict[str, Any] = {"template_of": template_of, "judge_template": judge}
        async with opened(clock, **more) as frontier:
            traps = [seed(f"https://a.test/trap/{n}") for n in range(6)]
            await frontier.offer([*traps, seed("https://a.test/real", 9)])
            for _ in range(2):
                page = await take_page(frontier, clock)
                assert "/trap/" in page.url.text
                await frontier.settle([settled(page, clock, yielded=Yield("trap", False, False))])
                clock.advance(1)
            counts = await frontier.counts()
            assert (counts.quarantined, counts.queued) == (4, 1)
            await frontier.offer([seed("https://a.test/trap/new")])
            page = await take_page(frontier, clock)
            assert page.url.path == "/real"
            await frontier.settle([settled(page, clock, yielded=Yield("page", True, False))])
            assert await frontier.next_at() is None
            counts = await frontier.counts()
            assert (counts.quarantined, counts.queued, counts.known) == (5, 0, 8)
        async with opened(clock, **more) as frontier:
            clock.advance(5)
            assert await frontier.take(1) == []
            assert await frontier.release("a.test", "trap") == 5
            assert await frontier.release("unknown.test", "trap") == 0
            assert len(await crawl_order(frontier, clock, 5)) == 5

    run(story())


def test_links_to_known_pages_of_a_host_count_for_its_budget(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed("http://a.test/"), seed("http://b.test/"), seed("http://c.test/")])
            for _ in range(2):
                visits = await frontier.take(9)
                offers = (
                    Offer(Url("http://a.test/"), How.LINK, None, 1),
                    Offer(Url("http://d.test/"), How.LINK, None, 1),
                )
                done = [settled(one, clock, offers=offers if one.kind is VisitKind.PAGE else ()) for one in visits]
                await frontier.settle(done)
                clock.advance(5)
            await frontier.take(9)
            (found,) = await frontier._read(lambda state: [reports.host_state(state, "a.test")])  # type: ignore
            assert found.links_in == 2

    run(story())


def test_a_link_that_is_only_counted_leaves_nothing_to_do(opened: Opener) -> None:
    """Otherwise a crawl would not end, or would look again and again at a host without a URL that waits."""

    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed("http://a.test/")])
            await frontier.settle([settled(await take_page(frontier, clock), clock)])
            await frontier.offer([seed("http://b.test/")])
            links = (Offer(Url("http://a.test/"), How.LINK, None, 1),)
            await frontier.settle([settled(await take_page(frontier, clock), clock, offers=links)])
            assert await frontier.next_at() is None
            assert await frontier.take(9) == []
            assert await frontier.next_at() is None

    run(story())


def test_the_crawl_delay_in_a_robots_txt_that_moved_to_another_host_is_kept_at_once(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed("http://a.test/")])
            (visit,) = await frontier.take(9)
            ask = Url("http://b.test/robots.txt")
            moved = entry(visit.origin, clock.now(), RobotsState.PENDING, ask=ask, hops=1)
            await frontier.settle([settled(visit, clock, robots=moved)])
            clock.advance(2)
            (visit,) = await frontier.take(9)
            assert visit.url == ask
            await frontier.settle([settled(visit, clock, robots=entry("http://a.test", clock.now(), crawl_delay_s=20))])
            clock.advance(17)
            assert await frontier.take(9) == []
            clock.advance(1)
            assert [one.url.text for one in await frontier.take(9)] == ["http://a.test/"]

    run(story())


def test_a_released_template_is_judged_again(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        more: dict[str, Any] = {"template_of": template_of, "judge_template": lambda tally: tally.fetched >= 2}
        async with opened(clock, **more) as frontier:
            await frontier.offer([seed(f"https://a.test/trap/{n}") for n in range(6)])
            for held in (0, 4, 0, 2):
                page = await take_page(frontier, clock)
                await frontier.settle([settled(page, clock, yielded=Yield("trap", False, False))])
                clock.advance(1)
                assert (await frontier.counts()).quarantined == held
                if held:
                    assert await frontier.release("a.test", "trap") == held

    run(story())


def test_a_template_can_be_quarantined_before_its_host_is_known(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock, template_of=template_of) as frontier:
            assert await frontier.quarantine("a.test", "trap") == 0
            await frontier.offer([seed("https://a.test/trap/1"), seed("https://a.test/2")])
            counts = await frontier.counts()
            assert (counts.hosts, counts.quarantined, counts.queued) == (1, 1, 1)

    run(story())


def test_a_user_can_quarantine_a_template_while_a_page_of_it_is_visited(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock, template_of=template_of) as frontier:
            await frontier.offer([seed(f"https://a.test/trap/{n}") for n in range(4)])
            page = await take_page(frontier, clock)
            assert await frontier.quarantine("a.test", "trap") == 3
            await frontier.settle([settled(page, clock)])
            assert await frontier.next_at() is None
            counts = await frontier.counts()
            assert (counts.quarantined, counts.settled, counts.queued) == (3, 1, 0)

    run(story())


@pytest.mark.parametrize("takes", [True, False])
@pytest.mark.parametrize("by_s", [DAY_S, -DAY_S, -1000 * DAY_S])
def test_F_P10_setting_the_clock_neither_shortens_nor_blocks_a_wait(opened: Opener, by_s: float, takes: bool) -> None:
    """Also when nothing is taken between the setting of the clock and the end of a visit."""

    async def story() -> None:
        clock = SteppedClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed(f"https://{host}.test/{page}") for host in "ab" for page in range(5)])
            visits = await frontier.take(2)
            await frontier.settle([settled(visit, clock) for visit in visits])
            clock.advance(1)
            first, second = await frontier.take(2)
            due_at = clock.now() + 60 * SECOND
            await frontier.settle([settled(first, clock, Reason.DNS, due_at=due_at)])
            ended = settled(second, clock)
            clock.step(by_s)
            assert not takes or await frontier.take(2) == []
            await frontier.settle([ended])
            clock.advance(0.9)
            assert await frontier.take(2) == []
            clock.advance(0.2)
            hosts = [visit.url.host.name for visit in await frontier.take(2)]
            assert sorted(hosts) == ["a.test", "b.test"]

    run(story())


def test_two_spellings_of_a_url_are_one_url(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        identity = lambda text: text.removesuffix("index.html")  # noqa: E731
        async with opened(clock, keys=UrlKeys(identity)) as frontier:
            await frontier.offer([seed("https://a.test/x/index.html"), seed("https://a.test/x/")])
            await frontier.offer([seed("https://a.test/x/"), seed("https://a.test/y/")])
            assert (await frontier.counts()).known == 2
            assert await crawl_order(frontier, clock, 5) == ["https://a.test/x/index.html", "https://a.test/y/"]

    run(story())


def test_F_S3_a_sitemap_counts_for_another_host_only_when_its_robots_txt_names_it(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        good, bad = Url("https://maps.test/a.xml"), Url("https://maps.test/b.xml")

        def listed(number: int, via: Url) -> Offer:
            return Offer(Url(f"https://a.test/{number}"), How.SITEMAP, None, 1, via=via)

        async with opened(clock) as frontier:
            await frontier.offer([seed("https://a.test/0"), listed(1, good)])
            (robots,) = await frontier.take(1)
            named = entry(robots.origin, clock.now(), sitemaps=("HTTPS://maps.test/a.xml",))
            await frontier.settle([settled(robots, clock, robots=named)])
            clock.advance(1)
            (page,) = await frontier.take(1)
            await frontier.settle([settled(page, clock, offers=(listed(2, good), listed(3, bad)))])
            assert await crawl_order(frontier, clock, 5) == ["https://a.test/2"]

    run(story())


def test_a_sitemap_index_named_in_robots_txt_authorizes_its_sitemaps(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        index, sitemap = Url("https://maps.test/index.xml"), Url("https://maps.test/a.xml")
        listed = Offer(Url("https://a.test/1"), How.SITEMAP, None, 1, via=sitemap)
        async with opened(clock) as frontier:
            await frontier.offer([Offer(index, How.MAP)])
            page = await take_page(frontier, clock)
            found = Offer(sitemap, How.MAP, index.id, 1)
            await frontier.settle([settled(page, clock, offers=(found, listed))])
            assert await crawl_order(frontier, clock, 1) == [sitemap.text]
            assert await frontier.known(listed.url) is None, "no robots.txt names the sitemap yet"
            await frontier.offer([seed("https://a.test/0")])
            (robots,) = [visit for visit in await frontier.take(5) if visit.kind is VisitKind.ROBOTS]
            named = entry(robots.origin, clock.now(), sitemaps=(index.text,))
            await frontier.settle([settled(robots, clock, robots=named)])
            clock.advance(1)
            again = [await take_page(frontier, clock), await take_page(frontier, clock)]
            await frontier.settle([settled(page, clock, offers=(listed,)) for page in again])
            assert await crawl_order(frontier, clock, 5) == ["https://a.test/1"]

    run(story())


def test_a_sitemap_is_read_again_when_a_robots_txt_names_it_later(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        sitemap = Url("https://maps.test/a.xml")
        async with opened(clock) as frontier:
            await frontier.offer([Offer(sitemap, How.MAP)])
            assert await crawl_order(frontier, clock, 1) == [sitemap.text]
            await frontier.offer([seed("https://a.test/")])
            clock.advance(5)
            (robots,) = await frontier.take(1)
            named = entry(robots.origin, clock.now(), sitemaps=(sitemap.text,))
            await frontier.settle([settled(robots, clock, robots=named)])
            assert sorted(await crawl_order(frontier, clock, 5)) == ["https://a.test/", sitemap.text]
            await frontier.offer([seed("https://a.test/new")])
            assert sorted(await crawl_order(frontier, clock, 5)) == ["https://a.test/new", sitemap.text]
            assert (await frontier.counts()).queued == 0

    run(story())


def test_the_robots_txt_of_another_scheme_is_requested_in_that_scheme(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        admit("wharf", 1965)
        async with opened(clock) as frontier:
            await frontier.offer([seed("wharf://a.test/x")])
            (robots,) = await frontier.take(5)
            assert (robots.kind, robots.url.text) == (VisitKind.ROBOTS, "wharf://a.test/robots.txt")
            failed = entry(robots.origin, clock.now(), RobotsState.UNREACHABLE, 0.0, failures=2)
            await frontier.settle([settled(robots, clock, Reason.CONNECT, robots=failed)])
            known = await frontier.known(Url("wharf://a.test/x"))
            assert known is not None and known.detail.startswith("wharf://a.test/robots.txt could not be read")

    run(story())


def test_rules_can_change_while_the_crawl_runs(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            assert await frontier.offer([seed("https://outside.test/"), seed("https://a.test/")]) == 1
            frontier.set_rules(lambda offer: "a.test" not in offer.url.text)
            await frontier.offer([seed("https://outside.test/"), seed("https://a.test/new")])
            assert (await frontier.counts()).known == 2

    run(story())
