"""One suite for every frontier: revisits can be brought forward, and politeness is not affected."""

from tests.contract.test_frontier import Opener, opened, run, seed, settled, take_page

from gossamer.base.clock import SECOND
from gossamer.frontier.api import Frontier
from gossamer.testing import FakeClock
from gossamer.values.history import LinkCheck, Past, Reschedule, Why
from gossamer.values.link import How, ListClaim, Offer
from gossamer.values.outcome import Reason
from gossamer.values.url import Url
from gossamer.values.visit import Settled, Visit, VisitKind

__all__ = ["opened"]
DAY = 86_400 * SECOND
HOME = Url("http://one.test/")


async def visit_page(frontier: Frontier, clock: FakeClock, days: int = 9, etag: str = "") -> Visit:
    """Fetch the next page, which is due again after so many days."""
    visit = await take_page(frontier, clock)
    past = Past(clock.now(), clock.now() + days * DAY, etag=etag, is_page=True, why="rate")
    await frontier.settle([settled(visit, clock, due_at=clock.now() + days * DAY, past=past)])
    return visit


def test_a_revisit_is_brought_forward_with_the_reason(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed(HOME.text)])
            await visit_page(frontier, clock, etag='"tag"')
            link_check = LinkCheck(clock.now(), 4, 9, 40)
            clock.advance(3600)
            assert await frontier.take(1) == []
            wanted = Reschedule(HOME, clock.now() + 60 * SECOND, Why.LINKS, link_check, threshold=45)
            assert await frontier.reschedule([wanted]) == 1
            next_at = await frontier.next_at()
            assert next_at is not None and next_at <= clock.now() + 60 * SECOND
            assert await frontier.take(1) == []
            clock.advance(60)
            again = await take_page(frontier, clock)
            past = again.past
            assert past is not None and past.etag == '"tag"' and past.is_page, "the rest of the past is unchanged"
            assert (past.due_at, past.why, past.link_check) == (wanted.due_at, "links", link_check)
            assert past.known.threshold == 45

    run(story())


def test_a_revisit_brought_forward_stays_so_after_a_restart(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed(HOME.text)])
            await visit_page(frontier, clock)
            clock.advance(3600)
            assert await frontier.reschedule([Reschedule(HOME, clock.now())]) == 1
        async with opened(clock) as frontier:
            clock.advance(30)
            assert (await take_page(frontier, clock)).url == HOME

    run(story())


def test_a_link_check_is_stored_without_bringing_the_page_forward(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed(HOME.text)])
            await visit_page(frontier, clock)
            assert (
                await frontier.reschedule([Reschedule(HOME, None, link_check=LinkCheck(5, 0, 3, 40), threshold=35)])
                == 0
            )
            (past,) = await frontier.pasts([HOME])
            assert past is not None and past.known.threshold == 35 and past.why == "rate"
            assert past.due_at == past.visited_at + 9 * DAY
            clock.advance(3600)
            assert await frontier.take(1) == []

    run(story())


def test_no_page_is_delayed_and_leased_due_or_unknown_ones_are_not_changed(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed(HOME.text)])
            await visit_page(frontier, clock)
            assert await frontier.reschedule([Reschedule(HOME, clock.now() + 20 * DAY)]) == 0, "no page is delayed"
            unknown = Reschedule(Url("http://two.test/"), clock.now())
            assert await frontier.reschedule([unknown, Reschedule(Url("http://one.test/never"), clock.now())]) == 0
            assert await frontier.pasts([unknown.url, HOME, Url("http://one.test/x")]) != [None, None, None]
            clock.advance(9 * 86_400)
            out = await take_page(frontier, clock)
            assert out.url == HOME
            assert await frontier.reschedule([Reschedule(HOME, clock.now() - DAY)]) == 0, "it is on lease"
            await frontier.settle([settled(out, clock, Reason.UNCHANGED, due_at=clock.now() + DAY)])
            assert (await frontier.counts()).queued == 1

    run(story())


def test_the_gap_is_kept_for_pages_brought_forward(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            pages = [Url(f"http://one.test/{number}") for number in range(3)]
            await frontier.offer([seed(page.text) for page in pages])
            for _ in pages:
                await visit_page(frontier, clock)
                clock.advance(1)
            clock.advance(3600)
            assert await frontier.reschedule([Reschedule(page, clock.now()) for page in pages]) == 3
            visited = []
            for _ in pages:
                (visit,) = await frontier.take(5)
                visited.append(visit.url)
                assert await frontier.take(5) == []
                await frontier.settle([settled(visit, clock, due_at=clock.now() + DAY)])
                assert await frontier.take(5) == [], "its host waits for the gap first"
                clock.advance(1)
            assert visited == pages, "in their order"

    run(story())


def test_a_page_brought_forward_while_its_host_is_visited_comes_after_that_visit(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            await frontier.offer([seed(HOME.text)])
            await visit_page(frontier, clock)
            clock.advance(1)
            await frontier.offer([seed("http://one.test/new")])
            out = await take_page(frontier, clock)
            assert await frontier.reschedule([Reschedule(HOME, clock.now())]) == 1
            await frontier.settle([settled(out, clock)])
            clock.advance(1)
            assert (await take_page(frontier, clock)).url == HOME

    run(story())


def test_the_planned_revisits_of_every_day_are_counted(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(clock) as frontier:
            assert await frontier.plans() == {}
            await frontier.offer([seed(f"http://{host}.test/{number}") for host in ("one", "two") for number in (1, 2)])
            for days in (1, 1, 2, 2):
                await visit_page(frontier, clock, days)
                clock.advance(1)
            plans = await frontier.plans()
            today = clock.now() // DAY
            assert sum(plans.values()) == 4 and {host for host, _ in plans} == {"one.test", "two.test"}
            assert {day - today for _, day in plans} <= {1, 2, 3}

    run(story())


def test_pages_that_lead_to_new_pages_are_recognized(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()

        def leads_to(visit: Visit, *names: str, past: Past) -> Settled:
            offers = tuple([Offer(Url(f"http://one.test/{name}"), How.LINK, visit.url.id, 1) for name in names])
            return settled(visit, clock, offers=offers, past=past, due_at=clock.now() + 60 * SECOND)

        async with opened(clock) as frontier:
            await frontier.offer([seed(HOME.text)])
            first = await take_page(frontier, clock)
            await frontier.settle([leads_to(first, "a", "b", past=Past(1, 2))])
            clock.advance(1)
            for _ in range(2):
                await frontier.settle([settled(await take_page(frontier, clock), clock)])
                clock.advance(1)
            (past,) = await frontier.pasts([HOME])
            assert past is not None and past.leads == 0, "at the first visit every page is new"
        async with opened(clock) as frontier:
            clock.advance(100)
            again = await take_page(frontier, clock)
            await frontier.settle([leads_to(again, "a", "b", "c", "outside", past=Past(1, 2))])
            (past,) = await frontier.pasts([HOME])
            assert past is not None and past.leads == 100 and past.new_pages == 1.0, "only c is new and accepted"
            clock.advance(1)
            await frontier.settle([settled(await take_page(frontier, clock), clock)])
            clock.advance(100)
            again = await take_page(frontier, clock)
            many = [f"new/{number}" for number in range(50)]
            await frontier.settle([leads_to(again, *many, past=again.past or Past(1, 2))])
            (past,) = await frontier.pasts([HOME])
            assert past is not None and past.new_pages == 11.0, "at most ten new pages count for one visit"

    run(story())


def test_M_C5_the_claims_of_a_sitemap_about_a_page_are_part_of_its_visits(opened: Opener) -> None:
    async def story() -> None:
        clock = FakeClock()
        claims = {"a": ListClaim(5 * SECOND, None), "b": ListClaim(None, 3600.0), "c": None}

        def listed(visit: Visit) -> Settled:
            here = [
                Offer(Url(f"http://one.test/{name}"), How.SITEMAP, visit.url.id, 1, claim=claim)
                for name, claim in claims.items()
            ]
            away = Offer(Url("http://two.test/a"), How.SITEMAP, visit.url.id, 1, claim=ListClaim(7 * SECOND))
            return settled(visit, clock, offers=(*here, away), due_at=clock.now() + DAY, past=Past(1, 2))

        async with opened(clock) as frontier:
            await frontier.offer([Offer(Url("http://one.test/sitemap.xml"), How.ROBOTS)])
            await frontier.settle([listed(await take_page(frontier, clock))])
            received: dict[str, ListClaim | None] = {}
            while len(received) < 4:
                clock.advance(1)
                for visit in await frontier.take(5):
                    if visit.kind is VisitKind.PAGE:
                        received[visit.url.text] = visit.claim
                    await frontier.settle([settled(visit, clock)])
            assert received.pop("http://two.test/a") is None, "a sitemap makes no claims about another host"
            assert received == {f"http://one.test/{name}": claim for name, claim in claims.items()}
            clock.advance(86_400)
            claims |= {"a": ListClaim(9 * SECOND, 60.0)}
            await frontier.settle([listed(await take_page(frontier, clock))])
            clock.advance(1)
            assert await frontier.recall() >= 3
            again: dict[str, ListClaim | None] = {}
            while len(again) < 4:
                clock.advance(1)
                for visit in await frontier.take(5):
                    if visit.kind is VisitKind.PAGE:
                        again[visit.url.text] = visit.claim
                    await frontier.settle([settled(visit, clock)])
            assert again["http://one.test/a"] == ListClaim(9 * SECOND, 60.0), "the last claim counts"

    run(story())
