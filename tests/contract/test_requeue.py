"""One suite for every frontier: URLs refused for lack of an option wait for it, URLs that ended can be
queued again, and earlier failures of a URL are kept."""

from tests.contract.test_frontier import Opener, entry, opened, run, seed, settled, take_page

from gossamer.base.clock import SECOND
from gossamer.frontier.api import Frontier
from gossamer.testing import FakeClock
from gossamer.values.history import Past, Validators
from gossamer.values.outcome import Reason
from gossamer.values.robots import RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Selection, VisitKind

__all__ = ["opened"]
NOT_PUBLIC = "127.0.0.1 is not public (loopback)"


async def settle_pages(frontier: Frontier, clock: FakeClock, reason: Reason, number: int, detail: str = "") -> None:
    for _ in range(number):
        visit = await take_page(frontier, clock)
        await frontier.settle([settled(visit, clock, reason, detail=detail)])
        clock.advance(60)


def urls(number: int, host: str = "one.test") -> list[Url]:
    return [Url(f"http://{host}/{place}") for place in range(number)]


def test_pages_behind_a_forbidden_robots_txt_end_with_that_reason_at_once(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed(url.text) for url in urls(3)])
            (visit,) = await frontier.take(1)
            unread = entry(visit.origin, clock.now(), RobotsState.UNREACHABLE, for_s=0)
            await frontier.settle([settled(visit, clock, Reason.ADDRESS, detail=NOT_PUBLIC, robots=unread)])
            clock.advance(60)
            assert await frontier.take(5) == [] and await frontier.next_at() is None, "the crawl does not wait for them"
            counts = await frontier.counts()
            assert counts.by_reason == {"address": 3} and counts.queued == 0
            (held,) = await frontier.ended(Selection(frozenset({Reason.ADDRESS})))
            assert (held.reason, held.urls, held.details) == (Reason.ADDRESS, 3, ((NOT_PUBLIC, 3),))
            assert await frontier.requeue(Selection(frozenset({Reason.ADDRESS, Reason.CONTACT}))) == 3
            assert (await frontier.counts()).queued == 3
            (again,) = await frontier.take(1)
            assert again.kind is VisitKind.ROBOTS, "robots.txt is requested again"
            await frontier.settle([settled(again, clock)])
            clock.advance(1)
            await settle_pages(frontier, clock, Reason.FETCHED, 3)
            assert (await frontier.counts()).by_reason == {"fetched": 3}

    run(story())


def test_urls_to_queue_again_are_selected_by_reason_host_or_url(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed(url.text) for url in urls(3)])
            await settle_pages(frontier, clock, Reason.FILTER, 1, "rule 1")
            await settle_pages(frontier, clock, Reason.GONE, 2)
            await frontier.offer([seed(url.text) for url in urls(2, "two.test")])
            await settle_pages(frontier, clock, Reason.GONE, 2)
            found = {one.reason: one.urls for one in await frontier.ended(Selection())}
            assert found == {Reason.GONE: 4, Reason.FILTER: 1}
            at_one = await frontier.ended(Selection(host="one.test"))
            assert {one.reason: one.urls for one in at_one} == {Reason.GONE: 2, Reason.FILTER: 1}
            assert all(text.startswith("http://one.test/") for one in at_one for text in one.examples)
            one = Url("http://two.test/1")
            (named,) = await frontier.ended(Selection(urls=(one, Url("http://two.test/never"))))
            assert (named.reason, named.urls, named.examples) == (Reason.GONE, 1, (one.text,))
            assert await frontier.requeue(Selection(urls=(one, Url("http://three.test/")))) == 1
            assert await frontier.requeue(Selection(urls=(one,))) == 0, "it is queued already"
            assert (await take_page(frontier, clock)).url == one
            assert await frontier.requeue(Selection(frozenset({Reason.FILTER}), host="one.test")) == 1
            assert await frontier.requeue(Selection(frozenset({Reason.GONE}), host="one.test")) == 2
            assert await frontier.requeue(Selection(host="nowhere.test")) == 0
            assert await frontier.ended(Selection(host="nowhere.test")) == []

    run(story())


def test_all_pages_are_fetched_again_politely_and_keep_their_past(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed(url.text) for url in urls(3)])
            await settle_pages(frontier, clock, Reason.FETCHED, 3)
            assert await frontier.requeue(Selection()) == 3
            visits = []
            for _ in range(3):
                visits.append(visit := await take_page(frontier, clock))
                assert await frontier.take(1) == [], "one at a time"
                await frontier.settle([settled(visit, clock)])
                assert await frontier.take(1) == [], "the gap is kept"
                clock.advance(1)
            assert {visit.url for visit in visits} == set(urls(3))
            assert all(visit.past is not None and visit.past.is_page for visit in visits)
            counts = await frontier.counts()
            assert (counts.queued, counts.settled, counts.by_reason) == (0, 3, {"fetched": 3})

    run(story())


def test_what_is_queued_again_goes_behind_what_waits_in_its_place(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            first, second = urls(2)
            await frontier.offer([seed(first.text)])
            await settle_pages(frontier, clock, Reason.FETCHED, 1)
            await frontier.offer([seed(second.text)])
            assert await frontier.requeue(Selection(urls=(first, first))) == 1
            found = await frontier.known(first)  # type: ignore[attr-defined]
            assert found.is_queued and found.due_at == found.settled_at
            assert [(await take_page(frontier, clock)).url] == [second]

    run(story())


def test_a_host_is_forgiven_its_failures_when_they_are_retried_and_for_nothing_else(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed(url.text) for url in urls(3)])
            await settle_pages(frontier, clock, Reason.FETCHED, 1)
            await settle_pages(frontier, clock, Reason.TIMEOUT, 1)
            await frontier.requeue(Selection(frozenset({Reason.FETCHED})))
            assert (await take_page(frontier, clock)).host_failing == 1
        async with opened(clock) as frontier:
            clock.advance(9)
            await frontier.requeue(Selection(frozenset({Reason.TIMEOUT})))
            assert (await take_page(frontier, clock)).host_failing == 0

    run(story())


def test_a_page_that_waits_for_its_recrawl_delay_can_come_earlier(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed(url.text) for url in urls(1)])
            (visit,) = await frontier.take(1)
            slow = entry(visit.origin, clock.now(), recrawl_delay_s=9_000)
            await frontier.settle([settled(visit, clock, robots=slow)])
            clock.advance(1)
            await settle_pages(frontier, clock, Reason.FETCHED, 1)
            assert await frontier.recall() == 1
            found = await frontier.known(urls(1)[0])  # type: ignore[attr-defined]
            assert found.due_at == found.later_at == found.settled_at + 9_000 * SECOND
            assert await frontier.requeue(Selection(host="one.test")) == 1
            assert (await take_page(frontier, clock)).url == urls(1)[0]

    run(story())


def test_a_sitemap_that_was_never_read_makes_no_host_known(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed(url.text) for url in urls(1)])
            (visit,) = await frontier.take(1)
            elsewhere = entry(visit.origin, clock.now(), sitemaps=("http://outside.test/sitemap.xml",))
            await frontier.settle([settled(visit, clock, robots=elsewhere)])
            assert (await frontier.counts()).hosts == 1

    run(story())


def test_a_url_that_waits_for_a_retry_is_queued_at_once(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed("http://one.test/")])
            visit = await take_page(frontier, clock)
            later = clock.now() + 3600 * SECOND
            await frontier.settle([settled(visit, clock, Reason.SERVER_ERROR, due_at=later)])
            clock.advance(60)
            assert await frontier.take(1) == []
            assert await frontier.requeue(Selection(frozenset({Reason.SERVER_ERROR}))) == 1
            assert (await take_page(frontier, clock)).url.text == "http://one.test/"

    run(story())


def test_the_last_ten_failures_before_the_last_visit_are_kept(opened: Opener) -> None:
    async def story() -> None:
        clock, url = FakeClock(), Url("http://one.test/")
        async with opened(clock) as frontier:
            await frontier.offer([seed(url.text)])
            times = []
            for number in range(13):
                visit = await take_page(frontier, clock)
                times.append(clock.now())
                end = settled(visit, clock, Reason.TIMEOUT, detail=f"no {number}", due_at=clock.now() + SECOND)
                await frontier.settle([end])
                clock.advance(3600)
                assert len(await frontier.failures(url)) == min(number, 10)
            await frontier.settle([settled(await take_page(frontier, clock), clock, Reason.FETCHED)])
            found = await frontier.failures(url)
            assert [one.detail for one in found] == [f"no {number}" for number in range(12, 2, -1)]
            assert [one.at for one in found] == times[:2:-1] and {one.reason for one in found} == {Reason.TIMEOUT}
            assert await frontier.failures(Url("http://one.test/never")) == []

    run(story())


def test_a_successful_visit_records_no_failure(opened: Opener) -> None:
    async def story() -> None:
        clock, url = FakeClock(), Url("http://one.test/")
        async with opened(clock) as frontier:
            await frontier.offer([seed(url.text)])
            for _ in range(3):
                visit = await take_page(frontier, clock)
                await frontier.settle([settled(visit, clock, due_at=clock.now() + SECOND)])
                clock.advance(3600)
            assert await frontier.failures(url) == []

    run(story())


def test_damaged_pages_are_due_and_their_next_response_is_stored_in_full(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed(url.text) for url in urls(2)])
            later = clock.now() + 86_400 * SECOND
            known = Past(clock.now(), later, clock.now(), b"\1" * 32, '"tag"', is_page=True)
            for due_at in (later, None):
                visit = await take_page(frontier, clock)
                await frontier.settle([settled(visit, clock, due_at=due_at, past=known)])
                clock.advance(60)
            assert await frontier.take(1) == []
            assert await frontier.refetch([*urls(2), Url("http://one.test/unknown")]) == 2
            for _ in range(2):
                visit = await take_page(frontier, clock)
                assert visit.past is not None and visit.past.validators == Validators() and not visit.past.digest
                await frontier.settle([settled(visit, clock)])
                clock.advance(60)

    run(story())
