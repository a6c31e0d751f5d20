"""What only a shared database guarantees: several crawlers share one frontier, and any of them may stop."""

import asyncio
import os
import select
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.postgres_server import Server, server, why_absent

from gossamer.base.clock import SECOND, SystemClock
from gossamer.base.errors import DirectoryUnusable
from gossamer.base.tell import silent
from gossamer.config.slices import Politeness, SiteBudget
from gossamer.frontier.api import FrontierRules, LeaseLost
from gossamer.frontier.priority import LAST
from gossamer.frontier.rows import UrlKeys
from gossamer.testing import FakeClock
from gossamer.values.capture import Kept, Place
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Settled, Visit, VisitKind, Yield

if why := why_absent():
    pytest.skip(why, allow_module_level=True)

import psycopg
from tests.frontier import postgres_crawler

from gossamer.base.errors import DatabaseLost
from gossamer.frontier import reports
from gossamer.frontier.postgres import hosts
from gossamer.frontier.postgres.frontier import PostgresFrontier
from gossamer.frontier.postgres.leases import NEAR_US
from gossamer.frontier.postgres.presence import Replaced, Stay
from gossamer.store import captures
from gossamer.store.postgres.database import SharedDatabase
from gossamer.store.postgres.state import open_reader

POLITE = Politeness(delay_s=1.0, jitter=0.0)
LEASE_S = 20.0


@pytest.fixture
def conninfo(tmp_path: Path) -> str:
    return server().conninfo_for(tmp_path)


@asynccontextmanager
async def crawler(
    conninfo: str, clock: FakeClock, name: str = "one", stops_cleanly: bool = True, **more: Any
) -> AsyncIterator[PostgresFrontier]:
    """A crawler whose shared clock is the fake one, unless another is given."""
    read_time = more.pop("read_time", lambda _: clock.now())
    tell = more.pop("tell", silent)
    rules = FrontierRules(**{"politeness": POLITE, "may_enter": lambda _: True, **more})
    async with SharedDatabase(conninfo, clock, tell, patience_s=5.0) as database:
        stay = Stay(name, LEASE_S, LEASE_S / 4)
        frontier = PostgresFrontier(database, rules, clock, tell, stay, read_time)
        await frontier.open()
        yield frontier
        if stops_cleanly:
            await frontier.close()


def seed(text: str) -> Offer:
    return Offer(Url(text), How.SEED)


def settled(visit: Visit, clock: FakeClock, reason: Reason = Reason.FETCHED, **more: Any) -> Settled:
    if visit.kind is VisitKind.ROBOTS:
        robots = Robots(visit.origin, RobotsState.MISSING, clock.now(), clock.now() + 86_400 * SECOND)
        return Settled(visit, Reason.GONE, clock.now(), robots=robots)
    return Settled(visit, reason, clock.now(), **more)


def run(story: Callable[[], Awaitable[None]]) -> None:
    async def whole_story() -> None:
        await story()

    asyncio.run(whole_story())


async def take_page(frontier: PostgresFrontier, clock: FakeClock) -> Visit:
    while True:
        (visit,) = await frontier.take(1)
        if visit.kind is VisitKind.PAGE:
            return visit
        await frontier.settle([settled(visit, clock)])
        clock.advance(1)


def test_two_crawlers_share_a_thousand_visits_but_never_a_host_at_once(conninfo: str) -> None:
    async def story() -> None:
        clock = FakeClock()
        left: dict[str, int] = {}
        pages: list[str] = []
        async with AsyncExitStack() as opened:
            crew = [await opened.enter_async_context(crawler(conninfo, clock, name)) for name in ("one", "two")]
            await crew[0].offer([seed(f"http://h{n % 50}.test/{n}") for n in range(1000)])
            while len(pages) < 1000:
                taken = await asyncio.gather(*[one.take(16) for one in crew])
                hosts = [visit.url.host.name for visits in taken for visit in visits]
                assert len(hosts) == len(set(hosts)), "a host was leased to both"
                assert all(clock.now() >= left.get(host, 0) + SECOND for host in hosts), "too early"
                clock.advance(0.25)
                left.update(dict.fromkeys(hosts, clock.now()))
                pages += [v.url.text for visits in taken for v in visits if v.kind is VisitKind.PAGE]
                await asyncio.gather(
                    *[one.settle([settled(v, clock) for v in visits]) for one, visits in zip(crew, taken, strict=True)]
                )
            assert len(set(pages)) == 1000
            assert [await one.next_at() for one in crew] == [None, None]
            counts = await crew[1].counts()
            assert (counts.known, counts.settled, counts.queued, counts.leased, counts.hosts) == (1000, 1000, 0, 0, 50)

    run(story)


def test_links_that_several_crawlers_find_at_once_are_entered_once(conninfo: str) -> None:
    async def story() -> None:
        clock = FakeClock()
        texts = [f"http://h{n % 7}.test/{n}" for n in range(300)]
        async with AsyncExitStack() as opened:
            crew = [await opened.enter_async_context(crawler(conninfo, clock, name)) for name in "abcd"]
            for part in range(0, 300, 60):
                offers = [seed(text) for text in texts[part : part + 60]]
                await asyncio.gather(
                    *[one.offer(offers[::order]) for one, order in zip(crew, (1, -1, 1, -1), strict=True)]
                )
            assert (await crew[0].counts()).known == 300

    run(story)


def test_F_N2_a_crawler_without_heartbeats_loses_its_leases_and_its_settlement_is_refused(conninfo: str) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with crawler(conninfo, clock, "slow") as slow, crawler(conninfo, clock, "quick") as quick:
            await slow.offer([seed("http://a.test/1"), seed("http://b.test/1")])
            page = await take_page(slow, clock)
            clock.advance(LEASE_S + 1)
            assert not slow.holds(page)
            assert page.url.host.name not in [visit.url.host.name for visit in await quick.take(5)]
            clock.advance(1)
            (again,) = [visit for visit in await quick.take(5) if visit.url.host == page.url.host]
            assert again.url == page.url
            links = (Offer(Url("http://new.test/"), How.LINK),)
            before = await quick.counts()
            for _ in range(2):
                with pytest.raises(LeaseLost) as refused:
                    await slow.settle([settled(page, clock, offers=links)])
                assert refused.value.urls == (page.url,)
            assert await quick.counts() == before
            assert await slow.take(5) == []  # it joins again, without leases
            with pytest.raises(LeaseLost):
                await slow.settle([settled(page, clock, offers=links)])
            await quick.settle([settled(again, clock)])
            assert (await slow.counts()).by_reason == {"fetched": 1}

    run(story)


def test_a_lease_that_was_not_trusted_is_returned_although_no_other_crawler_took_over(conninfo: str) -> None:
    """The fetch was dropped when its lease could have expired: the host must not stay leased for ever."""

    async def story() -> None:
        clock = FakeClock()
        async with crawler(conninfo, clock, "frozen") as frozen:
            await frozen.offer([seed("http://a.test/1")])
            page = await take_page(frozen, clock)
            clock.advance(LEASE_S + 1)
            assert not frozen.holds(page)
            assert await frozen.take(1) == []  # it renews its membership, and the host waits for a gap
            assert not frozen.holds(page)
            clock.advance(1)
            (again,) = await frozen.take(1)
            assert again.url == page.url and frozen.holds(again)
            with pytest.raises(LeaseLost):
                await frozen.settle([settled(page, clock)])
            await frozen.settle([settled(again, clock)])
            assert (await frozen.counts()).leased == 0

    run(story)


def test_a_crawler_with_heartbeats_keeps_its_leases_however_long_a_visit_takes(conninfo: str) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with crawler(conninfo, clock, "slow") as slow, crawler(conninfo, clock, "quick") as quick:
            await slow.offer([seed("http://a.test/1")])
            page = await take_page(slow, clock)
            for _ in range(20):
                clock.advance(LEASE_S / 2)
                assert await slow.next_at() is not None
                assert await quick.take(5) == []
            assert slow.holds(page)
            await slow.settle([settled(page, clock)])

    run(story)


def test_F_N1_the_hosts_of_a_dead_crawler_go_to_another_after_a_full_gap(conninfo: str) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with crawler(conninfo, clock, "other") as other:
            async with crawler(conninfo, clock, "dead", stops_cleanly=False) as dead:
                await dead.offer([seed(f"http://h{n}.test/") for n in range(10)])
                held = {visit.url.host.name for visit in await dead.take(10)}
            clock.advance(LEASE_S / 2)
            assert len(held) == 10 and await other.take(10) == []
            clock.advance(LEASE_S / 2 + 0.1)
            assert await other.take(10) == []  # the dead crawler is detected, and its hosts wait for a gap
            clock.advance(0.999)
            assert await other.take(10) == []
            clock.advance(0.001)
            assert {visit.url.host.name for visit in await other.take(10)} == held
            assert (await other.counts()).leased == 10

    run(story)


def test_a_restarted_crawler_replaces_the_older_process_of_its_name(conninfo: str) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with crawler(conninfo, clock, "one", stops_cleanly=False) as older:
            await older.offer([seed("http://a.test/1")])
            page = await take_page(older, clock)
            async with crawler(conninfo, clock, "one") as newer:
                with pytest.raises(LeaseLost):
                    await older.settle([settled(page, clock)])
                clock.advance(LEASE_S / 2)
                with pytest.raises(Replaced, match="under the name one"):
                    await older.take(1)
                assert [visit.url for visit in await newer.take(1)] == [page.url]

    run(story)


def test_F_N4_crawlers_whose_clocks_differ_by_minutes_keep_every_gap(conninfo: str) -> None:
    async def story() -> None:
        shared, early, late = FakeClock(), FakeClock(), FakeClock()
        early.advance(-600)
        late.advance(600)
        clocks = (shared, early, late)

        def advance(seconds: float) -> None:
            for clock in clocks:
                clock.advance(seconds)

        more = {"read_time": lambda _: shared.now()}
        async with crawler(conninfo, early, "early", **more) as one, crawler(conninfo, late, "late", **more) as two:
            await one.offer([seed("http://a.test/1"), seed("http://a.test/2")])
            (robots,) = await one.take(1)
            await one.settle([settled(robots, early)])
            assert await two.take(1) == []
            assert await two.next_at() == late.now() + SECOND
            advance(1)
            (page,) = await two.take(1)
            assert page.taken_at == late.now()
            assert page.robots is not None and page.robots.fetched_at == late.now() - SECOND
            again_at = late.now() + 60 * SECOND
            await two.settle([settled(page, late, Reason.DNS, due_at=again_at)])
            advance(0.999)
            assert await one.take(1) == []
            advance(0.001)
            (other,) = await one.take(1)
            assert other.taken_at == early.now()
            advance(LEASE_S / 2)
            assert await two.take(1) == []
            await one.settle([settled(other, early)])
            advance(60 - 1 - LEASE_S / 2 - 0.001)
            assert await one.take(1) == []
            advance(0.001)
            assert [visit.url for visit in await one.take(1)] == [page.url]

    run(story)


@pytest.mark.parametrize("by_s", [86_400.0, -86_400.0])
def test_F_P10_setting_the_shared_clock_neither_shortens_a_gap_nor_blocks_a_host(conninfo: str, by_s: float) -> None:
    async def story() -> None:
        clock, shared = FakeClock(), FakeClock()
        more = {"read_time": lambda _: shared.now()}

        def advance(seconds: float) -> None:
            clock.advance(seconds)
            shared.advance(seconds)

        async with crawler(conninfo, clock, "one", **more) as one, crawler(conninfo, clock, "two", **more) as two:
            await one.offer([seed("http://a.test/1"), seed("http://a.test/2"), seed("http://b.test/1")])
            visits = await one.take(2)
            await one.settle([settled(visit, clock) for visit in visits])
            shared.advance(by_s)
            assert await one.take(2) == [] == await two.take(2)
            advance(0.999)
            assert await two.take(2) == [] == await one.take(2)
            advance(0.001)
            pages = await two.take(2)
            assert len(pages) == 2
            advance(1)
            shared.advance(by_s)
            await two.settle([settled(visit, clock) for visit in pages])
            assert await one.take(2) == []
            advance(1)
            assert await one.take(2)

    run(story)


def break_connections(conninfo: str) -> int:
    """End every other connection to the database of this schema, as a server or network does; returns how many."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        ended = connection.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        ).fetchone()
    return ended[0] if ended else 0


def test_a_transaction_that_was_frozen_until_the_server_ended_it_is_repeated(conninfo: str) -> None:
    async def story() -> None:
        clock, tries = FakeClock(), list[bool]()
        events: list[str] = []

        def freeze_once(connection: psycopg.Connection[Any], may_be_done: bool) -> int:
            tries.append(may_be_done)
            if len(tries) == 1:
                connection.execute("SET LOCAL idle_in_transaction_session_timeout = '1ms'")
                while select.select([connection.fileno()], [], [], 60.0) == ([], [], []):  # until the server says so
                    pass
            row = connection.execute("SELECT 7").fetchone()
            return row[0] if row else 0

        async with SharedDatabase(conninfo, clock, lambda event, /, **_: events.append(event)) as database:
            assert await database.run(freeze_once) == 7
        assert tries == [False, True] and events.count("database.lost") == 1

    run(story)


def test_a_lost_connection_is_opened_again_and_the_call_succeeds(conninfo: str) -> None:
    async def story() -> None:
        clock = FakeClock()
        events: list[str] = []
        tell = lambda event, /, **facts: events.append(event)  # noqa: E731
        async with crawler(conninfo, clock, tell=tell) as frontier:
            await frontier.offer([seed("http://a.test/1"), seed("http://a.test/2")])
            page = await take_page(frontier, clock)
            assert break_connections(conninfo) >= 1
            await frontier.settle([settled(page, clock)])
            assert break_connections(conninfo) >= 1
            clock.advance(1)
            assert len(await frontier.take(1)) == 1
            assert break_connections(conninfo) >= 1
            assert await frontier.next_at() is not None
            assert events.count("database.lost") == 3

    run(story)


def test_a_server_that_stays_away_is_reported_and_nothing_is_lost_when_it_returns(tmp_path: Path) -> None:
    own = Server(Path(server().folder.parent) / f"{server().folder.name}-own", server().programs)
    own.folder.mkdir()
    try:
        own.make()
        own.start()
        conninfo = own.conninfo("s")

        async def story() -> None:
            clock = FakeClock()
            async with crawler(conninfo, clock) as frontier:
                await frontier.offer([seed("http://a.test/1"), seed("http://b.test/1")])
                visits = await frontier.take(2)
                own.stop()
                with pytest.raises(DatabaseLost, match="has not been reached for 5 s"):
                    await frontier.settle([settled(visit, clock) for visit in visits])
                own.start()
                await frontier.settle([settled(visit, clock) for visit in visits])
                assert (await frontier.counts()).leased == 0

        run(story)
    finally:
        own.stop()
        subprocess.run(["rm", "-rf", str(own.folder)], check=False)


class LossyDatabase(SharedDatabase):
    """Loses its connection right after the next commits, so the caller cannot know whether they were done."""

    losses = 0

    def _once(self, work: Any, may_be_done: bool) -> Any:
        result = super()._once(work, may_be_done)
        if self.losses:
            self.losses -= 1
            raise psycopg.OperationalError("the connection broke during the commit")
        return result


def test_F_N3_a_commit_whose_reply_is_lost_is_not_repeated(conninfo: str) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with LossyDatabase(conninfo, clock, silent) as database:
            stay = Stay("one", LEASE_S, LEASE_S / 4)
            rules = FrontierRules(POLITE, lambda _: True)
            async with PostgresFrontier(database, rules, clock, silent, stay, lambda _: clock.now()) as frontier:
                database.losses = 1
                await frontier.offer([seed("http://a.test/1"), seed("http://b.test/1")])
                assert (await frontier.counts()).known == 2
                database.losses = 1
                assert await frontier.take(2) == []  # leased, but the reply was lost: the hosts wait for a gap
                clock.advance(1)
                visits = await frontier.take(2)
                assert len(visits) == 2 and (await frontier.counts()).leased == 2
                database.losses = 1
                links = (Offer(Url("http://c.test/"), How.LINK),)
                await frontier.settle([settled(visit, clock, offers=links) for visit in visits])
                counts = await frontier.counts()
                assert (counts.leased, counts.known) == (0, 2)  # robots.txt files have no links
                clock.advance(1)
                (page, _) = await frontier.take(2)
                database.losses = 2
                await frontier.settle([settled(page, clock, offers=links)])
                counts = await frontier.counts()
                assert (counts.settled, counts.known, counts.by_reason) == (1, 3, {"fetched": 1})

    run(story)


def test_urls_whose_hashes_collide_are_each_visited_once(conninfo: str) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with crawler(conninfo, clock, keys=UrlKeys(url_id=lambda text: (1 << 63) - 1)) as frontier:
            texts = [f"http://a.test/{n}" for n in range(5)]
            await frontier.offer([seed(text) for text in texts[:3]])
            await frontier.offer([seed(text) for text in texts])
            assert (await frontier.counts()).known == 5
            found = [await frontier.known(Url(text)) for text in texts]
            assert [one and one.url.text for one in found] == texts
            visited = []
            for _ in texts:
                page = await take_page(frontier, clock)
                visited.append(page.url.text)
                await frontier.settle([settled(page, clock)])
                clock.advance(1)
            assert visited == texts and await frontier.next_at() is None

    run(story)


def test_two_spellings_of_one_url_count_once_and_the_first_is_fetched(conninfo: str) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with crawler(conninfo, clock, keys=UrlKeys(lambda text: text.removesuffix("index.html"))) as frontier:
            await frontier.offer([seed("http://a.test/index.html"), seed("http://a.test/")])
            assert await frontier.offer([seed("http://a.test/?")]) == 1
            assert (await frontier.counts()).known == 2
            assert (await take_page(frontier, clock)).url.text == "http://a.test/index.html"

    run(story)


def test_hosts_on_one_ip_address_share_its_limits_among_all_crawlers(conninfo: str) -> None:
    async def story() -> None:
        clock = FakeClock()

        async def resolve(name: str) -> str | None:
            return None if name == "lost.test" else "20.0.0.1"

        async def take(frontier: PostgresFrontier) -> list[Visit]:
            found = await frontier.take(10)
            await asyncio.sleep(0)  # names are resolved in the background
            return found + await frontier.take(10)

        more = {"resolve": resolve}
        async with crawler(conninfo, clock, "one", **more) as one, crawler(conninfo, clock, "two", **more) as two:
            await one.offer([seed(f"http://h{n}.test/") for n in range(8)] + [seed("http://lost.test/")])
            first = await take(one)
            assert len(first) == 2 and "lost.test" in [visit.url.host.name for visit in first]
            assert await take(two) == []
            out = len(first) - 1
            for frontier in (two, one, two):
                clock.advance(0.1)
                assert len(await take(frontier)) == 1
                out += 1
            assert out == POLITE.per_address
            clock.advance(5)
            assert await take(one) == [] == await take(two)
            await one.settle([settled(visit, clock) for visit in first])
            clock.advance(0.1)
            assert len(await take(two)) == 1

    run(story)


def test_crawlers_that_rules_prefer_come_first_and_others_after_a_while(conninfo: str) -> None:
    async def story() -> None:
        clock = FakeClock()
        far = {"is_near": lambda host: not host.endswith(".eu.test")}
        async with crawler(conninfo, clock, "near") as near, crawler(conninfo, clock, "far", **far) as other:

            async def hosts(frontier: PostgresFrontier, most: int = 20) -> list[str]:
                return sorted(visit.url.host.name for visit in await frontier.take(most))

            await near.offer([seed(f"http://h{n}.{zone}.test/") for n in range(3) for zone in ("eu", "us")])
            clock.advance(1)
            assert await hosts(other) == ["h0.us.test", "h1.us.test", "h2.us.test"]
            again_at = await other.next_at()
            assert again_at is not None and clock.now() < again_at <= clock.now() + SECOND, (
                "it looks again, not at once"
            )
            assert await hosts(near, 1) == ["h0.eu.test"]
            clock.advance(NEAR_US / SECOND - 0.5)
            assert await hosts(other) == []
            clock.advance(1)
            assert await hosts(other) == ["h1.eu.test", "h2.eu.test"], "the preferred crawler did not come"

    run(story)


def test_a_sitemap_on_another_host_counts_only_when_robots_txt_names_it(conninfo: str) -> None:
    async def story() -> None:
        clock = FakeClock()
        named, unnamed = Url("http://maps.test/s.xml"), Url("http://unnamed.test/s.xml")
        async with crawler(conninfo, clock) as frontier:
            await frontier.offer([seed("http://a.test/1")])
            (visit,) = await frontier.take(1)
            robots = Robots(visit.origin, RobotsState.READ, clock.now(), clock.now() + SECOND * 86_400)
            robots = msgspec.structs.replace(robots, sitemaps=(named.text,))
            await frontier.settle([Settled(visit, Reason.FETCHED, clock.now(), robots=robots)])
            offers = [Offer(Url(f"http://a.test/{via.host}"), How.SITEMAP, via=via) for via in (named, unnamed)]
            await frontier.offer([*offers, Offer(Url("http://b.test/"), How.SITEMAP, via=named)])
            assert (await frontier.counts()).known == 2
            assert await frontier.known(Url("http://a.test/maps.test")) is not None

    run(story)


def test_retired_hosts_and_quarantined_templates_wait_until_they_are_released(conninfo: str) -> None:
    async def story() -> None:
        clock = FakeClock()
        template_of = lambda text: text.rstrip("0123456789")  # noqa: E731
        more = {"template_of": template_of, "judge_template": lambda tally: tally.fetched >= 2 and not tally.fruitful}
        async with crawler(conninfo, clock, **more) as frontier:
            await frontier.offer([seed(f"http://a.test/day/{n}") for n in range(6)])
            barren = Yield("http://a.test/day/", False, False)
            for _ in range(2):
                page = await take_page(frontier, clock)
                links = (Offer(Url("http://a.test/day/77"), How.LINK), Offer(Url("http://a.test/about"), How.LINK))
                await frontier.settle([settled(page, clock, yielded=barren, offers=links)])
                clock.advance(1)
            counts = await frontier.counts()
            assert (counts.quarantined, counts.queued, counts.settled) == (5, 1, 2)
            page = await take_page(frontier, clock)
            assert page.url.path == "/about"
            more_links = (Offer(Url("http://a.test/day/99"), How.LINK),)
            await frontier.settle([settled(page, clock, offers=more_links)])
            assert (await frontier.counts()).quarantined == 6
            held = await frontier.known(Url("http://a.test/day/99"))
            assert held is not None and held.is_held
            assert await frontier.take(1) == []
            assert await frontier.next_at() is None
            assert await frontier.release("a.test", "http://a.test/day/") == 6
            assert await frontier.retire("a.test", "asked to") and not await frontier.retire("a.test", "again")
            clock.advance(1)
            assert await frontier.take(1) == []
            assert (await frontier.counts()).retired == 1
            assert await frontier.reinstate("a.test") and not await frontier.reinstate("a.test")
            assert len(await frontier.take(1)) == 1
            counts = await frontier.counts()
            assert (counts.quarantined, counts.queued, counts.retired) == (0, 6, 0)

    run(story)


def test_pages_not_quarantined_at_once_are_at_their_turn(conninfo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "MOST_MOVED", 2)
    monkeypatch.setattr(hosts, "MOST_AT_TURN", 3)

    async def story() -> None:
        clock = FakeClock()
        async with crawler(conninfo, clock, template_of=lambda text: text.rstrip("0123456789")) as frontier:
            await frontier.offer([seed(f"http://a.test/day/{n}") for n in range(12)])
            await frontier.offer([Offer(Url("http://a.test/about"), How.LINK, depth=3)])
            assert await frontier.quarantine("a.test", "http://a.test/day/") == 2
            assert (await take_page(frontier, clock)).url.path == "/about"
            counts = await frontier.counts()
            assert (counts.quarantined, counts.queued) == (12, 1)
            with closing(open_reader(conninfo, "")) as connection:
                (template,) = reports.templates(connection, "a.test")
            assert (template.held, template.fetched) == (12, 0)

    run(story)


def test_a_failed_url_is_revived_once(conninfo: str) -> None:
    async def story() -> None:
        clock = FakeClock()
        url = Url("http://a.test/1")
        async with crawler(conninfo, clock, "one") as one, crawler(conninfo, clock, "two") as two:
            await one.offer([seed(url.text)])
            page = await take_page(one, clock)
            await one.settle([settled(page, clock, Reason.DNS)])
            assert await one.next_at() is None
            assert [await one.revive([url]), await two.revive([url])] == [1, 0]
            clock.advance(1)
            again = await take_page(two, clock)
            assert (again.url, again.failures) == (url, 0)
            await two.settle([settled(again, clock)])
            counts = await one.counts()
            assert (counts.by_reason, counts.queued, counts.settled) == ({"fetched": 1}, 0, 1)

    run(story)


def test_a_host_that_fails_for_long_is_retired_and_one_over_budget_goes_last(conninfo: str) -> None:
    async def story() -> None:
        clock = FakeClock()
        strict = Politeness(delay_s=1.0, jitter=0.0, retire_failures=3, retire_span_s=10.0)
        budget = SiteBudget(visits=2, visits_per_link=0)
        async with crawler(conninfo, clock, politeness=strict, budget=budget) as frontier:
            await frontier.offer([seed(f"http://{name}.test/{n}") for name in ("down", "up") for n in range(5)])
            for _ in range(4):
                for visit in await frontier.take(2):
                    is_down = visit.url.host.name == "down.test" and visit.kind is VisitKind.PAGE
                    more = {"due_at": clock.now()} if is_down else {}
                    await frontier.settle(
                        [settled(visit, clock, Reason.CONNECT if is_down else Reason.FETCHED, **more)]
                    )
                clock.advance(10)
            counts = await frontier.counts()
            assert (counts.retired, counts.by_reason) == (1, {"connect": 1, "fetched": 3})
            with closing(open_reader(conninfo, "")) as connection:
                down, up = reports.hosts(connection)
                assert (down.name, down.failing, up.retired_at, up.band) == ("down.test", 3, None, LAST)
                assert down.retired_why is not None and "3 times in a row" in down.retired_why
                kept = list(reports.ledger(connection))
                assert [(one.host, one.visits, one.broken) for one in kept] == [("down.test", 4, 0), ("up.test", 4, 0)]
                assert kept[1].least_gap_s == kept[1].mean_gap_s == 10.0
                assert len(list(reports.queued(connection))) == counts.queued
                working = "SELECT name FROM workers WHERE alive_until IS NOT NULL"
                assert connection.execute(working).fetchall() == [("one",)]
                assert list(reports.templates(connection)) == []

    run(story)


def test_a_capture_is_catalogued_when_its_visit_is_settled(conninfo: str) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with crawler(conninfo, clock) as frontier:
            await frontier.offer([seed("http://a.test/1")])
            page = await take_page(frontier, clock)
            place = Place("one-0001", 3, 400, 50)
            kept = Kept(
                7, page.url, clock.now(), place, 200, "text/html\0", b"\0" * 32, 9, True, None, "koi8-r", "guess"
            )
            detail = "a server may send anything: \0 \ud800"
            await frontier.settle([settled(page, clock, kept=kept, detail=detail)])
            counts = await frontier.counts()
            assert (counts.captures, counts.pages) == (1, 1)
        with closing(open_reader(conninfo, "")) as connection:
            (found,) = captures.versions(connection, page.url)
            assert (found.place, found.capture_id, found.digest) == (place, 7, b"\0" * 32)
            assert (found.charset, found.charset_from) == ("koi8-r", "guess")
            assert captures.latest(connection, page.url) == found
            assert captures.end_of(connection, "one-0001") == (4, 450)
            assert captures.end_of(connection, "two-0001") is None
            assert list(captures.in_volume(connection, "one-0001")) == [found]
            assert captures.volume_names(connection) == ["one-0001"]

    run(story)


def test_F_P11_crawlers_that_start_together_migrate_once_and_a_newer_schema_is_refused(conninfo: str) -> None:
    async def story() -> None:
        clock = FakeClock()
        events: list[str] = []
        tell = lambda event, /, **facts: events.append(event)  # noqa: E731
        async with AsyncExitStack() as opened:
            databases = [SharedDatabase(conninfo, clock, tell) for _ in range(4)]
            await asyncio.gather(*[opened.enter_async_context(database) for database in databases])
        assert events.count("database.migrated") == 1
        with psycopg.connect(conninfo, autocommit=True) as connection:
            connection.execute("UPDATE meta SET number = 99 WHERE name = 'version'")
        with pytest.raises(DirectoryUnusable, match="newer gossamer"):
            await SharedDatabase(conninfo, clock, silent).__aenter__()

    run(story)


def test_a_wrong_database_address_is_refused_at_once_and_without_its_password() -> None:
    async def story() -> None:
        conninfo = "host=/nowhere dbname=crawl user=me password=secret"
        with pytest.raises(DatabaseLost, match="the database crawl at /nowhere cannot be opened") as refused:
            await SharedDatabase(conninfo, FakeClock(), silent).__aenter__()
        assert "secret" not in str(refused.value)

    run(story)


def test_without_psycopg_the_message_says_what_to_install() -> None:
    script = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from gossamer.base.errors import GossamerError\n"
        "from gossamer.store.state import postgres\n"
        "try:\n    postgres()\n"
        "except GossamerError as error:\n    print(error)\n"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "pip install gossamer[postgres]" in found.stdout


@pytest.fixture
def crew(conninfo: str, tmp_path: Path) -> Iterator[Callable[[str, float], "subprocess.Popen[bytes]"]]:
    """Starts crawlers in separate processes, and ends those that are left."""
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, seconds: float) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "tests.frontier.postgres_crawler", conninfo, name]
        command += [str(tmp_path / f"{name}.log"), str(seconds)]
        started.append(subprocess.Popen(command, cwd=Path(__file__).parents[2]))
        return started[-1]

    async def add_seed() -> None:
        clock = SystemClock()
        async with SharedDatabase(conninfo, clock, silent) as database:
            stay = Stay("seeder")
            rules = FrontierRules(postgres_crawler.POLITE, lambda _: True)
            async with PostgresFrontier(database, rules, clock, silent, stay) as frontier:
                await frontier.offer([seed("http://h0.test/0")])

    asyncio.run(add_seed())
    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()


def begin_together(folder: Path, crew: "list[subprocess.Popen[bytes]]") -> None:
    """Wait until all are ready, so that none finds the work done."""
    while len(list(folder.glob("*.ready"))) < len(crew):
        assert all(process.poll() is None for process in crew), "a crawler did not start"
        time.sleep(0.02)
    (folder / postgres_crawler.GO).touch()


def log_entries(folder: Path) -> list[tuple[str, Url, str, int, int]]:
    lines = [line.split() for log in sorted(folder.glob("*.log")) for line in log.read_text().splitlines()]
    return [(w[0], Url(w[1]), w[2], int(w[3]), int(w[4])) for w in lines if len(w) == 5]


def check_gaps(folder: Path) -> list[str]:
    """Check that no host had two visits at once, or too early; returns the visited pages, with repeats."""
    by_host: dict[str, list[tuple[int, int]]] = defaultdict(list)
    pages = []
    for what, url, kind, began_at, ended_at in log_entries(folder):
        if what == "done":
            by_host[url.host.name].append((began_at, ended_at))
            pages += [url.text] if kind == "page" else []
    gap = postgres_crawler.POLITE.delay_s * SECOND
    for visits in by_host.values():
        visits.sort()
        for (_, ended_at), (began_at, _) in pairwise(visits):
            assert began_at - ended_at >= gap, "too early, or two at once"
    return pages


ALL = postgres_crawler.HOSTS * postgres_crawler.PAGES


def test_crawlers_in_separate_processes_visit_every_page_once_and_politely(
    crew: Callable[..., Any], conninfo: str, tmp_path: Path
) -> None:
    processes = [crew(name, 300.0) for name in ("one", "two", "three")]
    begin_together(tmp_path, processes)
    assert [process.wait(400) for process in processes] == [0, 0, 0]
    pages = check_gaps(tmp_path)
    assert len(pages) == len(set(pages)) == ALL
    with closing(open_reader(conninfo, "")) as connection:
        kept = list(reports.ledger(connection))
    assert sum(one.broken for one in kept) == 0 and len(kept) == postgres_crawler.HOSTS
    assert all(one.least_gap_s and one.least_gap_s >= postgres_crawler.POLITE.delay_s for one in kept)
    assert len({log.name for log in tmp_path.glob("*.log") if log.stat().st_size}) == 3


def test_F_N1_a_crawler_that_is_killed_loses_nothing(crew: Callable[..., Any], tmp_path: Path) -> None:
    victim, other = crew("victim", 300.0), crew("other", 300.0)
    begin_together(tmp_path, [victim, other])
    log = tmp_path / "victim.log"
    while not log.exists() or log.read_text().count("done") < 40:
        assert victim.poll() is None, "it ended before it could be killed"
        time.sleep(0.02)
    os.kill(victim.pid, signal.SIGKILL)
    victim.wait()
    assert other.wait(400) == 0
    pages = check_gaps(tmp_path)
    out = [url.text for what, url, kind, _, _ in log_entries(tmp_path) if what == "out" and kind == "page"]
    assert set(out) == {
        f"http://h{h}.test/{n}" for h in range(postgres_crawler.HOSTS) for n in range(postgres_crawler.PAGES)
    }
    assert len(out) - ALL <= 8, "more pages were repeated than the victim had leased"
    assert len(pages) == len(set(pages))


def test_F_N2_a_crawler_that_is_stopped_and_continued_later_does_no_harm(
    crew: Callable[..., Any], conninfo: str, tmp_path: Path
) -> None:
    stopped, other = crew("stopped", 300.0), crew("other", 300.0)
    begin_together(tmp_path, [stopped, other])
    log = tmp_path / "stopped.log"
    while not log.exists() or log.read_text().count("done") < 20:
        assert stopped.poll() is None, "it ended before it could be stopped"
        time.sleep(0.02)
    os.kill(stopped.pid, signal.SIGSTOP)
    time.sleep(2 * postgres_crawler.LEASE_S)  # the server's clock cannot be faked for separate processes
    os.kill(stopped.pid, signal.SIGCONT)
    assert (stopped.wait(400), other.wait(400)) == (0, 0)
    pages = check_gaps(tmp_path)
    assert len(pages) == len(set(pages)) == ALL
    with closing(open_reader(conninfo, "")) as connection:
        assert sum(one.broken for one in reports.ledger(connection)) == 0
