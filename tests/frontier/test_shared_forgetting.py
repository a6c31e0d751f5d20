"""What is forgotten leaves the shared frontier while crawlers run, and none of them brings it back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path

import pytest
from tests import postgres_server
from tests.frontier.test_forgetting import template

from gossamer.base.clock import SECOND
from gossamer.base.tell import silent
from gossamer.config.slices import Politeness
from gossamer.frontier.api import FrontierRules, LeaseLost
from gossamer.frontier.postgres.frontier import PostgresFrontier
from gossamer.frontier.postgres.maintenance import block, forget
from gossamer.frontier.postgres.presence import Stay
from gossamer.frontier.rows import UrlKeys
from gossamer.frontier.transfer import queue_of, urls_of
from gossamer.rules.canonical import identity_of
from gossamer.store import forgotten, tallies
from gossamer.store.forgotten import ForgottenEntry
from gossamer.store.options import put_seeds, stored_seeds
from gossamer.store.postgres.state import PostgresState, open_reader
from gossamer.testing import FakeClock
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Settled, Visit, VisitKind

RULES = FrontierRules(Politeness(delay_s=1.0), lambda _: True, keys=UrlKeys(identity_of), template_of=template)
SHOP, OTHER = "https://shop.test", "https://other.test"


class Crawling:
    """One crawler, and what maintenance does beside it."""

    def __init__(self, state: PostgresState, frontier: PostgresFrontier, clock: FakeClock) -> None:
        self.state, self.frontier, self.clock = state, frontier, clock

    async def take(self, most: int = 8) -> list[Visit]:
        at = await self.frontier.next_at()
        assert at is not None
        self.clock.advance(max(0, at - self.clock.now()) / SECOND + 0.01)
        return await self.frontier.take(most)

    def settled(self, visit: Visit, *links: str) -> Settled:
        now = self.clock.now()
        robots = Robots(visit.origin, RobotsState.READ, now, now + 10**15) if visit.kind is VisitKind.ROBOTS else None
        offers = tuple(Offer(Url(link), How.LINK, visit.url.id, 1) for link in links)
        return Settled(visit, Reason.FETCHED, now, robots=robots, offers=offers)

    async def past_robots(self) -> list[Visit]:
        """The first pages that are taken."""
        while True:
            visits = await self.take()
            pages = [visit for visit in visits if visit.kind is VisitKind.PAGE]
            await self.frontier.settle([self.settled(one) for one in visits if one.kind is VisitKind.ROBOTS])
            if pages:
                return pages

    async def forget(self, name: str) -> int:
        entries = [ForgottenEntry(name, "/" not in name, self.clock.now())]
        gone = await self.state.shared.run(lambda connection, _: block(connection, entries))
        known = 0
        for host in sorted(gone.at):
            work = partial(forget, name=host, gone=gone, template_of=template)
            known += await self.state.shared.run(lambda connection, _, work=work: work(connection))
        return known


@asynccontextmanager
async def crawling(conninfo: str) -> AsyncIterator[Crawling]:
    clock = FakeClock()
    async with PostgresState(conninfo, "cluster", clock, silent) as state:
        stay = Stay("a", lease_s=1e6)
        async with PostgresFrontier(state.shared, RULES, clock, silent, stay, lambda _: clock.now()) as frontier:
            seeds = [Url(f"{host}/{number}") for host in (SHOP, OTHER) for number in range(4)]
            await state.run(lambda connection: put_seeds(connection, seeds, "host"))
            await frontier.offer([Offer(seed, How.SEED) for seed in seeds])
            yield Crawling(state, frontier, clock)


@pytest.fixture
def conninfo(tmp_path: Path) -> str:
    return postgres_server.server().conninfo_for(tmp_path, waits_for_disk=False)


def assert_counts_are_true(conninfo: str) -> None:
    with closing(open_reader(conninfo, "cluster")) as state:
        urls, queue, counts = list(urls_of(state)), list(queue_of(state)), tallies.counts(state)
        waiting = sum(one.lane < 2 for one in queue)
        assert (counts.known, counts.queued, counts.quarantined) == (len(urls), waiting, len(queue) - waiting)
        assert counts.settled == len(urls) - len(queue)
        assert sum(counts.by_reason.values()) == sum(one.reason is not None for one in urls)
        (leased, hosts, retired) = state.execute(
            "SELECT count(*) FILTER (WHERE leased), count(*), count(retired_at) FROM hosts"
        ).fetchone()
        assert (counts.leased, counts.hosts, counts.retired) == (leased, hosts, retired)


def known(conninfo: str) -> set[str]:
    with closing(open_reader(conninfo, "cluster")) as state:
        return {f"{one.host}/{one.text}" for one in urls_of(state)}


def test_a_visit_in_progress_to_a_forgotten_page_cannot_be_settled(conninfo: str) -> None:
    async def run() -> None:
        async with crawling(conninfo) as here:
            pages = await here.past_robots()
            gone = next(one for one in pages if one.url.host.name == "shop.test")
            assert await here.forget(gone.url.text) == 1
            with pytest.raises(LeaseLost) as lost:
                await here.frontier.settle([here.settled(one) for one in pages])
            assert list(lost.value.urls) == [gone.url]
            await here.frontier.settle([here.settled(one) for one in pages if one is not gone])
            assert_counts_are_true(conninfo)

    asyncio.run(run())
    assert len(known(conninfo)) == 7
    with closing(open_reader(conninfo, "cluster")) as state:
        assert len(stored_seeds(state)) == 7


def test_a_forgotten_host_is_gone_and_its_crawler_goes_on(conninfo: str) -> None:
    async def run() -> None:
        async with crawling(conninfo) as here:
            pages = await here.past_robots()
            assert await here.forget("shop.test") == 4
            kept = [one for one in pages if one.url.host.name != "shop.test"]
            if len(kept) < len(pages):
                with pytest.raises(LeaseLost):
                    await here.frontier.settle([here.settled(one) for one in pages])
            await here.frontier.settle([here.settled(one) for one in kept])
            assert_counts_are_true(conninfo)
            while (await here.frontier.counts()).queued:
                visits = await here.take()
                assert {one.url.host.name for one in visits} <= {"other.test"}
                await here.frontier.settle([here.settled(one, f"{SHOP}/new", f"{OTHER}/new") for one in visits])
            assert_counts_are_true(conninfo)

    asyncio.run(run())
    assert known(conninfo) == {f"other.test/{name}" for name in (*range(4), "new")}
    with closing(open_reader(conninfo, "cluster")) as state:
        assert [one.name for one in forgotten.every(state)] == ["shop.test"]


def test_what_was_forgotten_is_offered_in_vain_in_every_spelling(conninfo: str) -> None:
    async def run() -> None:
        async with crawling(conninfo) as here:
            await here.forget(f"{SHOP}/1")
            texts = [f"{SHOP}/1", "http://shop.test/1", f"{SHOP}/1?utm_source=x", f"{SHOP}/9"]
            await here.frontier.offer([Offer(Url(text), How.SEED) for text in texts])
            assert_counts_are_true(conninfo)

    asyncio.run(run())
    left = {one for one in known(conninfo) if one.startswith("shop.test")}
    assert left == {"shop.test/0", "shop.test/2", "shop.test/3", "shop.test/9"}
