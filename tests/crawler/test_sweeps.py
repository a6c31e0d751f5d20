"""Selective revisits: a page comes sooner because pages next to it have changed, and the links view says which."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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
    said = {HUB: [*away, Link(OTHER, "away")], OTHER: away, **{leaf: [Link(HUB, "home")] for leaf in LEAVES}}
    links.replace([Reading(1, 1, Page(url, "", "", links=tuple(found))) for url, found in said.items()])
    links.commit()
    links.close()
    return path


class Crawling:
    """A frontier and what comes back to its pages; visits are made by hand, and every page comes again in a month."""

    def __init__(self, frontier: SqliteFrontier, clock: FakeClock, policy: str, allowance: VisitBudget | None) -> None:
        self.frontier, self.clock = frontier, clock
        self.revisits = Revisits(lambda per_page: policy_named(policy, per_page), seeded(1), allowance)

    async def visit(self, *changed: Url) -> list[Url]:
        """Make every visit that is due; these pages are found changed. Which pages were met."""
        met: list[Url] = []
        for _ in range(30):
            for visit in await self.frontier.take(5):
                await self.frontier.settle([self.settled(visit, visit.url in changed)])
                met += [visit.url] if visit.kind is VisitKind.PAGE else []
            self.clock.advance(1)
        return met

    async def find_changed(self, *urls: Url) -> None:
        """These are visited out of turn, and have changed."""
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
    """Every page was visited once."""
    clock = FakeClock()
    async with Database(folder / "state.db", clock, silent) as database:
        frontier = SqliteFrontier(database, FrontierRules(Politeness(delay_s=1.0), lambda _: True), clock, silent)
        async with frontier:
            await frontier.offer([Offer(url, How.SEED) for url in (HUB, *LEAVES)])
            there = Crawling(frontier, clock, policy, allowance)
            assert len(await there.visit()) == 10
            yield there


def test_M_B3_a_page_comes_sooner_when_enough_of_what_it_links_to_has_changed(tmp_path: Path) -> None:
    async def story() -> None:
        async with crawled(tmp_path) as there:
            work = there.sweeping(Neighbours(linked(tmp_path)))
            assert await work.sweep() == Swept(0, 0), "nothing has changed"
            await there.find_changed(*LEAVES[:4])
            assert await work.sweep() == Swept(1, 1)
            called = await there.past(HUB)
            assert called.due_at <= there.clock.now() and called.why == "links"
            assert called.link_check is not None
            assert (called.link_check.changed, called.link_check.links, called.link_check.threshold) == (4, 9, 40)
            assert called.known.threshold == 39, "five points, times the share that had changed less the rest"
            assert await there.visit() == [HUB], "and nothing else"
            await there.find_changed(LEAVES[8])
            assert (await work.sweep()).brought_forward == 0, "what changed before its own visit is no reason"

    asyncio.run(story())


def test_M_B3_too_few_changes_call_nobody_and_move_the_threshold_once_a_crawl(tmp_path: Path) -> None:
    async def story() -> None:
        async with crawled(tmp_path) as there:
            work = there.sweeping(Neighbours(linked(tmp_path)))
            await there.find_changed(LEAVES[0])
            assert await work.sweep() == Swept(1, 0)
            looked = await there.past(HUB)
            assert looked.known.threshold == 36 and looked.why == "rate" and looked.due_at > there.clock.now() + DAY
            await there.find_changed(LEAVES[1])
            await work.sweep()
            assert (await there.past(HUB)).known.threshold == 36, "the same crawl"
            there.clock.advance(86_400)
            await there.find_changed(LEAVES[2])
            await work.sweep()
            assert (await there.past(HUB)).known.threshold == 34

    asyncio.run(story())


def test_without_a_links_view_nothing_is_brought_forward(tmp_path: Path) -> None:
    async def story() -> None:
        async with crawled(tmp_path) as there:
            await there.find_changed(*LEAVES)
            work = there.sweeping(Neighbours(tmp_path / "links.db"))
            assert await work.sweep() == Swept(0, 0)
            (tmp_path / "links.db").write_bytes(b"no database " * 100)
            await there.find_changed(*LEAVES)
            assert await work.sweep() == Swept(0, 0)

    asyncio.run(story())


def test_the_budget_rules_what_is_brought_forward(tmp_path: Path) -> None:
    async def story() -> None:
        async with crawled(tmp_path, allowance=VisitBudget(per_site=1.0)) as there:
            await there.find_changed(*LEAVES)
            there.revisits.expect({("one.test", there.clock.now() // DAY): 1})
            assert (await there.sweeping(Neighbours(linked(tmp_path))).sweep()).brought_forward == 1
            assert (await there.past(HUB)).due_at >= there.clock.now() + DAY, "today is full"

    asyncio.run(story())


def test_M_B3_the_policy_tree_looks_at_the_pages_below_one_that_has_changed(tmp_path: Path) -> None:
    async def story() -> None:
        async with crawled(tmp_path, "tree") as there:
            there.clock.advance(86_400)
            await there.find_changed(HUB)
            work = there.sweeping(no_neighbours)
            assert await work.sweep() == Swept(9, 9)
            assert set(await there.visit(LEAVES[3])) == set(LEAVES), "all of them, and the way ends there"
            assert (await work.sweep()).brought_forward == 0, "this crawl has seen what the changed one leads to"

    asyncio.run(story())


def test_M_C5_a_page_comes_sooner_when_its_sitemap_says_anew_that_it_has_changed(tmp_path: Path) -> None:
    async def story() -> None:
        async with crawled(tmp_path) as there:
            there.clock.advance(10 * 86_400)
            now = there.clock.now()
            dates = {LEAVES[0]: now - DAY // 2, LEAVES[1]: now - 20 * DAY, OTHER: now - DAY // 2}
            entries = [Listed(url, changed_at=at, is_foreign=url == OTHER) for url, at in dates.items()]
            visit = Visit(Url("http://one.test/sitemap.xml"), VisitKind.PAGE, now)
            read = ReadDone(b"", b"", "text/xml", b"", prints=Prints(b"1"), listing=Listing("sitemap", tuple(entries)))
            outcome = Fetched(Capture(visit.url, now, 200, "OK", (), b""))
            there.revisits.plan(FetchEnd(visit, outcome, Reason.FETCHED, now, read))
            assert await there.sweeping(no_neighbours).sweep() == Swept(2, 1)
            assert [(await there.past(leaf)).why for leaf in LEAVES[:3]] == ["listed", "rate", "rate"]
            assert await there.visit() == [LEAVES[0]]

    asyncio.run(story())


def test_sweeps_are_made_when_the_crawl_has_nothing_due(tmp_path: Path) -> None:
    async def story() -> None:
        async with crawled(tmp_path) as there:
            work = there.sweeping(Neighbours(linked(tmp_path)))
            async with sweeping(work, there.frontier, there.clock):
                there.clock.advance(3600)
                await there.frontier.reschedule([Reschedule(url, there.clock.now()) for url in LEAVES])
                met: list[Url] = []
                while HUB not in met:
                    met += await there.visit(*LEAVES)
                    await asyncio.sleep(0.001)
                assert set(met) == {HUB, *LEAVES}

    asyncio.run(story())


def test_why_says_what_called_a_page() -> None:
    called = Past(1, 2, why="links", link_check=LinkCheck(1, 4, 9, 40), leads=320)
    lines = in_words(revisit_plan(called), 5)
    assert "revisited sooner: 4 of 9 pages it links to have changed (threshold 40 %)" in lines[0]
    assert "a hub" in lines[-1] and "3.2" in lines[-1]
    usual = in_words(revisit_plan(Past(1, 2, why="rate", link_check=LinkCheck(1, 0, 3, 40))), 5)
    assert "0 of 3 pages it links to had changed" in usual[1] and len(usual) == 3
    assert all(revisit_plan(Past(1, 2, why=why)).says for why in ("vanished", "broken", "refused", "", "unheard-of"))


class Watched(Calendar):
    """Whoever asks it waits a while for somebody else to ask it meanwhile."""

    def __init__(self) -> None:
        super().__init__(VisitBudget(in_all=10.0))
        self.is_asked, self.met = threading.Event(), threading.Event()

    def room(self, due_at: Instant, site: str, now: Instant, delay_s: float | None = None) -> Instant:
        if self.is_asked.is_set():
            self.met.set()
        self.is_asked.set()
        self.met.wait(0.5)
        self.is_asked.clear()
        return super().room(due_at, site, now, delay_s)


def test_a_sweep_asks_the_calendar_only_while_no_group_is_being_settled(tmp_path: Path) -> None:
    async def story() -> bool:
        async with crawled(tmp_path) as there:
            await there.find_changed(*LEAVES[:4])
            assert await there.frontier.reschedule([Reschedule(LEAVES[5], there.clock.now())])
            (visit,) = await there.frontier.take(1)
            assert visit.past is not None
            calendar = there.revisits._calendar = Watched()
            kept = SimpleNamespace(position=int, append_all=lambda _: (), sync=lambda: None, append=None)
            rooms: Any = SimpleNamespace(
                frontier=there.frontier, volumes=kept, spool=kept, tell=silent, budget=Budget(), clock=there.clock,
                measures=Measures(retry=Retry(), chance=seeded(1), keeping=RobotsKeeping(), revisits=there.revisits),
            )  # fmt: skip
            outcome = Unchanged(Capture(visit.url, there.clock.now(), 304, "", (), b""))
            followed = Followed(visit, outcome, there.clock.now())
            work = there.sweeping(Neighbours(linked(tmp_path)))
            settling = asyncio.ensure_future(Crawl(rooms)._settle([followed]))
            await asyncio.to_thread(calendar.is_asked.wait, 60.0)
            assert (await work.sweep()).brought_forward == 1
            await settling
            return calendar.met.is_set()

    assert not asyncio.run(story())
