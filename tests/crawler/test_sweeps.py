"""Selective revisits: a page is due sooner because pages next to it have changed, according to the links view."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec

from gossamer.base.clock import DAY, Instant
from gossamer.base.environment import seeded
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.collection.why.trail import in_words, revisit_plan
from gossamer.config.slices import Politeness, RobotsKeeping
from gossamer.crawler.journey import Crawl
from gossamer.crawler.pace import Pace
from gossamer.crawler.revisit import FetchEnd, Revisits
from gossamer.crawler.settlement import Followed, Measures
from gossamer.crawler.sweeps import Around, Neighbours, RevisitSweeps, Swept, no_neighbours, sweeping
from gossamer.fetch.budget import Budget
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.recrawl.policies import Calendar, VisitBudget, policy_named
from gossamer.recrawl.retry import Retry
from gossamer.store.sqlite.database import Database
from gossamer.testing import FakeClock
from gossamer.values.capture import Capture
from gossamer.values.history import LinkCheck, Past, Prints, Reschedule
from gossamer.values.link import How, Link, Offer
from gossamer.values.messages import Listed, Listing, ReadDone
from gossamer.values.outcome import Fetched, Reason, Unchanged
from gossamer.values.page import Page, Reading
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Settled, Visit, VisitKind
from gossamer.views.links.reader import LinksReader
from gossamer.views.links.store import LinksWriter

HUB = Url("http://one.test/")
LEAVES = [Url(f"http://one.test/{number}") for number in range(9)]
OTHER = Url("http://two.test/")
MONTH = 30 * DAY


def linked(folder: Path) -> Path:
    """The hub, and another site, link to every leaf; the leaves link to the hub."""
    path = folder / "links.db"
    links = LinksWriter(path, DiskFiles(), silent)
    links.open()
    away = [Link(leaf, "leaf") for leaf in LEAVES]
    targets = {HUB: [*away, Link(OTHER, "away")], OTHER: away, **{leaf: [Link(HUB, "home")] for leaf in LEAVES}}
    links.replace([Reading(1, 1, Page(url, "", "", links=tuple(found))) for url, found in targets.items()])
    links.commit()
    links.close()
    return path


class Crawling:
    """A frontier and its revisits. Fetches are simulated, and every page is due again after a month."""

    def __init__(self, frontier: SqliteFrontier, clock: FakeClock, policy: str, allowance: VisitBudget | None) -> None:
        self.frontier, self.clock = frontier, clock
        self.revisits = Revisits(lambda per_page: policy_named(policy, per_page), seeded(1), allowance)

    async def visit(self, *changed: Url) -> list[Url]:
        """Fetch every page that is due, with changes in the given pages; returns the pages fetched."""
        fetched: list[Url] = []
        for _ in range(30):
            for visit in await self.frontier.take(5):
                await self.frontier.settle([self.settled(visit, visit.url in changed)])
                fetched += [visit.url] if visit.kind is VisitKind.PAGE else []
            self.clock.advance(1)
        return fetched

    async def find_changed(self, *urls: Url) -> None:
        """Fetch these pages early, and find them changed."""
        self.clock.advance(3600)
        assert await self.frontier.reschedule([Reschedule(url, self.clock.now()) for url in urls]) == len(urls)
        assert set(await self.visit(*urls)) == set(urls)

    def settled(self, visit: Visit, has_changed: bool) -> Settled:
        now = self.clock.now()
        if visit.kind is VisitKind.ROBOTS:
            robots = Robots(visit.origin, RobotsState.READ, now, now + 400 * DAY)
            return Settled(visit, Reason.FETCHED, now, robots=robots)
        text = visit.past.prints.text if visit.past is not None else b"words"
        text += b"!" if has_changed else b""
        links = tuple([leaf.text for leaf in LEAVES]) if visit.url == HUB else (HUB.text,)
        read = ReadDone(b"", b"", "text/html", b"", True, links, prints=Prints(text, text, b"facts"))
        outcome = Fetched(Capture(visit.url, now, 200, "OK", (), b""))
        past = self.revisits.plan(FetchEnd(visit, outcome, Reason.FETCHED, now, read)).past
        assert past is not None
        later = msgspec.structs.replace(past, due_at=now + MONTH, why="rate")
        return Settled(visit, Reason.FETCHED, now, past=later, due_at=later.due_at)

    async def past(self, url: Url) -> Past:
        (found,) = await self.frontier.pasts([url])
        assert found is not None
        return found

    def sweeping(self, around: Around) -> RevisitSweeps:
        return RevisitSweeps(self.frontier, self.revisits, around, self.clock, silent)


@asynccontextmanager
async def crawled(folder: Path, policy: str = "age", allowance: VisitBudget | None = None) -> AsyncIterator[Crawling]:
    """A crawl that has fetched every page once."""
    clock = FakeClock()
    async with Database(folder / "state.db", clock, silent) as database:
        frontier = SqliteFrontier(database, FrontierRules(Politeness(delay_s=1.0), lambda _: True), clock, silent)
        async with frontier:
            await frontier.offer([Offer(url, How.SEED) for url in (HUB, *LEAVES)])
            crawl = Crawling(frontier, clock, policy, allowance)
            assert len(await crawl.visit()) == 10
            yield crawl


def test_M_B3_a_page_is_due_sooner_if_enough_pages_that_it_links_to_have_changed(tmp_path: Path) -> None:
    async def story() -> None:
        async with crawled(tmp_path) as crawl:
            sweeps = crawl.sweeping(Neighbours(partial(LinksReader, linked(tmp_path))))
            assert await sweeps.sweep() == Swept(0, 0), "nothing has changed"
            await crawl.find_changed(*LEAVES[:4])
            assert await sweeps.sweep() == Swept(1, 1)
            past = await crawl.past(HUB)
            assert past.due_at <= crawl.clock.now() and past.why == "links"
            assert past.link_check is not None
            assert (past.link_check.changed, past.link_check.links, past.link_check.threshold) == (4, 9, 40)
            assert past.known.threshold == 39, "five points, times the changed share minus the rest"
            assert await crawl.visit() == [HUB], "no other page is fetched"
            await crawl.find_changed(LEAVES[8])
            assert (await sweeps.sweep()).brought_forward == 0, "changes before its own fetch do not count"

    asyncio.run(story())


def test_M_B3_too_few_changes_bring_nothing_forward_and_move_the_threshold_once_a_crawl(tmp_path: Path) -> None:
    async def story() -> None:
        async with crawled(tmp_path) as crawl:
            sweeps = crawl.sweeping(Neighbours(partial(LinksReader, linked(tmp_path))))
            await crawl.find_changed(LEAVES[0])
            assert await sweeps.sweep() == Swept(1, 0)
            past = await crawl.past(HUB)
            assert past.known.threshold == 36 and past.why == "rate" and past.due_at > crawl.clock.now() + DAY
            await crawl.find_changed(LEAVES[1])
            await sweeps.sweep()
            assert (await crawl.past(HUB)).known.threshold == 36, "the same crawl"
            crawl.clock.advance(86_400)
            await crawl.find_changed(LEAVES[2])
            await sweeps.sweep()
            assert (await crawl.past(HUB)).known.threshold == 34

    asyncio.run(story())


def test_without_a_links_view_nothing_is_brought_forward(tmp_path: Path) -> None:
    async def story() -> None:
        async with crawled(tmp_path) as crawl:
            await crawl.find_changed(*LEAVES)
            sweeps = crawl.sweeping(Neighbours(partial(LinksReader, tmp_path / "links.db")))
            assert await sweeps.sweep() == Swept(0, 0)
            (tmp_path / "links.db").write_bytes(b"no database " * 100)
            await crawl.find_changed(*LEAVES)
            assert await sweeps.sweep() == Swept(0, 0)

    asyncio.run(story())


def test_the_budget_limits_what_is_brought_forward(tmp_path: Path) -> None:
    async def story() -> None:
        async with crawled(tmp_path, allowance=VisitBudget(per_site=1.0)) as crawl:
            await crawl.find_changed(*LEAVES)
            crawl.revisits.expect({("one.test", crawl.clock.now() // DAY): 1})
            assert (
                await crawl.sweeping(Neighbours(partial(LinksReader, linked(tmp_path)))).sweep()
            ).brought_forward == 1
            assert (await crawl.past(HUB)).due_at >= crawl.clock.now() + DAY, "today is full"

    asyncio.run(story())


def test_M_B3_the_policy_tree_revisits_the_pages_below_a_changed_one(tmp_path: Path) -> None:
    async def story() -> None:
        async with crawled(tmp_path, "tree") as crawl:
            crawl.clock.advance(86_400)
            await crawl.find_changed(HUB)
            sweeps = crawl.sweeping(no_neighbours)
            assert await sweeps.sweep() == Swept(9, 9)
            assert set(await crawl.visit(LEAVES[3])) == set(LEAVES), "all leaves, and no page below them"
            assert (await sweeps.sweep()).brought_forward == 0, "this crawl has fetched the pages below the changed one"

    asyncio.run(story())


def test_M_C5_a_page_is_due_sooner_if_its_sitemap_lists_a_new_change(tmp_path: Path) -> None:
    async def story() -> None:
        async with crawled(tmp_path) as crawl:
            crawl.clock.advance(10 * 86_400)
            now = crawl.clock.now()
            dates = {LEAVES[0]: now - DAY // 2, LEAVES[1]: now - 20 * DAY, OTHER: now - DAY // 2}
            entries = [Listed(url, changed_at=at, is_foreign=url == OTHER) for url, at in dates.items()]
            visit = Visit(Url("http://one.test/sitemap.xml"), VisitKind.PAGE, now)
            read = ReadDone(b"", b"", "text/xml", b"", prints=Prints(b"1"), listing=Listing("sitemap", tuple(entries)))
            outcome = Fetched(Capture(visit.url, now, 200, "OK", (), b""))
            crawl.revisits.plan(FetchEnd(visit, outcome, Reason.FETCHED, now, read))
            assert await crawl.sweeping(no_neighbours).sweep() == Swept(2, 1)
            assert [(await crawl.past(leaf)).why for leaf in LEAVES[:3]] == ["listed", "rate", "rate"]
            assert await crawl.visit() == [LEAVES[0]]

    asyncio.run(story())


def test_sweeps_are_made_when_the_crawl_has_nothing_due(tmp_path: Path) -> None:
    async def story() -> None:
        async with crawled(tmp_path) as crawl:
            sweeps = crawl.sweeping(Neighbours(partial(LinksReader, linked(tmp_path))))
            async with sweeping(sweeps, crawl.frontier, crawl.clock):
                crawl.clock.advance(3600)
                await crawl.frontier.reschedule([Reschedule(url, crawl.clock.now()) for url in LEAVES])
                fetched: list[Url] = []
                while HUB not in fetched:
                    fetched += await crawl.visit(*LEAVES)
                    await asyncio.sleep(0.001)
                assert set(fetched) == {HUB, *LEAVES}

    asyncio.run(story())


def test_why_gives_the_reason_for_an_early_revisit() -> None:
    past = Past(1, 2, why="links", link_check=LinkCheck(1, 4, 9, 40), leads=320)
    lines = in_words(revisit_plan(past), 5)
    assert "revisited sooner: 4 of 9 pages it links to have changed (threshold 40 %)" in lines[0]
    assert "a hub" in lines[-1] and "3.2" in lines[-1]
    usual = in_words(revisit_plan(Past(1, 2, why="rate", link_check=LinkCheck(1, 0, 3, 40))), 5)
    assert "0 of 3 pages it links to had changed" in usual[1] and len(usual) == 3
    assert all(revisit_plan(Past(1, 2, why=why)).says for why in ("vanished", "broken", "refused", "", "unheard-of"))


class Watched(Calendar):
    """Each call waits a while for another call at the same time."""

    def __init__(self) -> None:
        super().__init__(VisitBudget(in_all=10.0))
        self.is_called, self.has_overlap = threading.Event(), threading.Event()

    def reserve(self, due_at: Instant, site: str, now: Instant, delay_s: float | None = None) -> Instant:
        if self.is_called.is_set():
            self.has_overlap.set()
        self.is_called.set()
        self.has_overlap.wait(0.5)
        self.is_called.clear()
        return super().reserve(due_at, site, now, delay_s)


def test_a_sweep_uses_the_calendar_only_while_no_group_is_being_settled(tmp_path: Path) -> None:
    async def story() -> bool:
        async with crawled(tmp_path) as crawl:
            await crawl.find_changed(*LEAVES[:4])
            assert await crawl.frontier.reschedule([Reschedule(LEAVES[5], crawl.clock.now())])
            (visit,) = await crawl.frontier.take(1)
            assert visit.past is not None
            calendar = crawl.revisits._calendar = Watched()

            async def write(group: list[None]) -> list[None]:
                return group

            rooms: Any = SimpleNamespace(
                frontier=crawl.frontier, writer=SimpleNamespace(write=write), tell=silent, budget=Budget(),
                clock=crawl.clock, pace=Pace(),
                measures=Measures(retry=Retry(), chance=seeded(1), keeping=RobotsKeeping(), revisits=crawl.revisits),
            )  # fmt: skip
            outcome = Unchanged(Capture(visit.url, crawl.clock.now(), 304, "", (), b""))
            followed = Followed(visit, outcome, crawl.clock.now())
            sweeps = crawl.sweeping(Neighbours(partial(LinksReader, linked(tmp_path))))
            settling = asyncio.ensure_future(Crawl(rooms)._settle([followed]))
            assert await asyncio.to_thread(calendar.is_called.wait, 60.0), "the group was never settled"
            assert (await sweeps.sweep()).brought_forward == 1
            await settling
            return calendar.has_overlap.is_set()

    assert not asyncio.run(story())
