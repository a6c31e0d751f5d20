"""What is particular to the frontier on SQLite: ids that collide, failures in the middle, costs that stay constant."""

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gossamer.base.clock import SECOND
from gossamer.base.errors import DiskFull
from gossamer.base.tell import silent
from gossamer.config.slices import Politeness
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.rows import UrlKeys
from gossamer.frontier.sqlite import leases
from gossamer.frontier.sqlite.frontier import DEFAULT_SIEVE, SqliteFrontier
from gossamer.frontier.sqlite.hosts import Rulebook
from gossamer.frontier.sqlite.sieve import Sieve
from gossamer.store.sqlite.database import Database, migrate, migrations, read_only
from gossamer.store.statements import load
from gossamer.store.tallies import counts
from gossamer.testing import FakeClock
from gossamer.values.capture import Kept, Place
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots, RobotsRule, RobotsState
from gossamer.values.url import Url, id_of
from gossamer.values.visit import Settled, Visit, VisitKind


@asynccontextmanager
async def opened(
    folder: Path, clock: FakeClock, tell: Any = silent, **more: Any
) -> AsyncIterator[tuple[SqliteFrontier, Database]]:
    async with Database(folder / "state.db", clock, silent) as database:
        sieve = more.pop("sieve", DEFAULT_SIEVE)
        rules = FrontierRules(**{"politeness": Politeness(delay_s=1.0), "may_enter": lambda _: True, **more})
        async with SqliteFrontier(database, rules, clock, tell, sieve) as frontier:
            yield frontier, database


def seeds(*texts: str) -> list[Offer]:
    return [Offer(Url(text), How.SEED) for text in texts]


def settled(visit: Visit, clock: FakeClock, **more: Any) -> Settled:
    now = clock.now()
    if visit.kind is VisitKind.ROBOTS:
        more = {"robots": Robots(visit.origin, RobotsState.READ, now, now + 10**15)}
    return Settled(visit, more.pop("reason", Reason.FETCHED), now, **more)


async def crawl(frontier: SqliteFrontier, clock: FakeClock, links: Callable[[Visit], tuple[Offer, ...]]) -> list[str]:
    """Crawl until nothing is left; returns the pages in the order of their visits."""
    pages: list[str] = []
    while (next_at := await frontier.next_at()) is not None:
        clock.advance(max(0, next_at - clock.now()) / SECOND)
        visits = await frontier.take(64)
        pages += [visit.url.text for visit in visits if visit.kind is VisitKind.PAGE]
        await frontier.settle([settled(visit, clock, offers=links(visit)) for visit in visits])
    return pages


def test_urls_and_hosts_with_the_same_hash_are_distinguished_by_their_text(tmp_path: Path) -> None:
    texts = [f"https://a.test/{number}" for number in range(30)]

    async def story() -> None:
        clock = FakeClock()
        async with opened(tmp_path, clock, keys=UrlKeys(url_id=lambda text: id_of(text) % 3)) as (frontier, _):
            assert await frontier.offer(seeds(*texts[:20])) == 20
            await frontier.offer(seeds(*texts))
            assert (await frontier.counts()).known == 30
            again = tuple(seeds(*texts))
            assert sorted(await crawl(frontier, clock, lambda _: again)) == sorted(texts)
            assert (await frontier.counts()).settled == 30
            for text in texts:
                found = await frontier.known(Url(text))
                assert found is not None and found.url.text == text and found.reason is Reason.FETCHED
            assert await frontier.known(Url("https://a.test/none")) is None
            assert await frontier.known(Url("https://none.test/")) is None

    asyncio.run(story())


def test_a_host_whose_id_is_taken_gets_the_next_one_and_its_own_rules(tmp_path: Path) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(tmp_path, clock) as (frontier, database):
            squat = "INSERT INTO hosts (id, name) VALUES (?, 'squatter.test')"
            await database.run(lambda connection: connection.execute(squat, (Url("https://a.test/").host.id,)))
            await frontier.offer(seeds("https://a.test/1"))
            (visit,) = await frontier.take(5)
            assert visit.url.text == "https://a.test/robots.txt"
            await frontier.settle([settled(visit, clock)])
            clock.advance(1)
            (page,) = await frontier.take(5)
            assert page.robots is not None and page.robots.origin == "https://a.test"

    asyncio.run(story())


def test_what_is_stored_about_a_url_explains_why_it_is_known(tmp_path: Path) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(tmp_path, clock) as (frontier, _):
            await frontier.offer([Offer(Url("https://a.test/1"), How.REDIRECT, 77, 4, 2)])
            (robots,) = await frontier.take(1)
            await frontier.settle([settled(robots, clock)])
            clock.advance(1)
            (page,) = await frontier.take(1)
            due_at = clock.now() + 99 * SECOND
            await frontier.settle([settled(page, clock, reason=Reason.TIMEOUT, detail="after 30 s", due_at=due_at)])
            found = await frontier.known(page.url)
            assert found is not None
            assert (found.how, found.source_id, found.depth, found.hops) == (How.REDIRECT, 77, 4, 2)
            assert (found.reason, found.detail, found.failures) == (Reason.TIMEOUT, "after 30 s", 1)
            assert (found.settled_at, found.due_at, found.is_queued) == (clock.now(), due_at, True)

    asyncio.run(story())


def test_captures_are_acknowledged_with_their_visits_and_counted_for_all_readers(tmp_path: Path) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(tmp_path, clock) as (frontier, _):
            await frontier.offer(seeds("https://a.test/1"))
            (robots,) = await frontier.take(1)
            kept = Kept(1, robots.url, clock.now(), Place("v", 1, 0, 9), 200, "text/plain", b"d" * 32, 3, False)
            done = settled(robots, clock)
            await frontier.settle([Settled(done.visit, done.reason, done.done_at, robots=done.robots, kept=kept)])
            reader = read_only(tmp_path / "state.db")
            numbers = counts(reader)
            reader.close()
            assert (numbers.captures, numbers.pages, numbers.hosts, numbers.queued) == (1, 0, 1, 1)
            assert numbers == await frontier.counts()

    asyncio.run(story())


def test_F_P5_a_settle_that_finds_the_disk_full_can_be_repeated(tmp_path: Path) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(tmp_path, clock) as (frontier, database):
            await frontier.offer(seeds("https://a.test/1"))
            (robots,) = await frontier.take(1)
            await frontier.settle([settled(robots, clock)])
            clock.advance(1)
            (page,) = await frontier.take(1)
            links = tuple(seeds(*(f"https://a.test/{'long' * 500}/{number}" for number in range(300))))
            done = settled(page, clock, offers=links)
            await database.read(lambda connection: connection.execute("PRAGMA max_page_count = 50"))
            with pytest.raises(DiskFull):
                await frontier.settle([done])
            await database.read(lambda connection: connection.execute("PRAGMA max_page_count = 1000000"))
            await frontier.settle([done])
            clock.advance(2)
            assert len(await frontier.take(1)) == 1
            assert (await frontier.counts()).known == 301

    asyncio.run(story())


def test_durable_steps_are_reported_after_they_happened(tmp_path: Path) -> None:
    async def story() -> list[str]:
        clock, events = FakeClock(), []
        tell = lambda event, /, **facts: events.append(event)  # noqa: E731
        async with opened(tmp_path, clock, tell) as (frontier, _):
            await frontier.offer(seeds("https://a.test/1"))
            visits = await frontier.take(1)
            await frontier.settle([settled(visit, clock) for visit in visits])
        return events

    expected = ["frontier.opened", "frontier.merged", "frontier.taken", "frontier.settled", "frontier.closed"]
    assert asyncio.run(story()) == expected


def test_F_P10_a_clock_set_back_between_runs_neither_blocks_a_host_nor_frees_it(tmp_path: Path) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(tmp_path, clock) as (frontier, _):
            await frontier.offer(seeds("https://a.test/1"))
            (robots,) = await frontier.take(1)
            await frontier.settle([settled(robots, clock)])
        clock.advance(-86_400)
        async with opened(tmp_path, clock) as (frontier, _):
            assert await frontier.take(1) == []
            clock.advance(1)
            assert len(await frontier.take(1)) == 1

    asyncio.run(story())


def test_rules_in_memory_are_bounded_and_read_back_from_disk(tmp_path: Path) -> None:
    async def story() -> None:
        async with Database(tmp_path / "state.db", FakeClock(), silent) as database:
            book = Rulebook(most_rules=100)
            rules = tuple(RobotsRule(False, f"/{number}", number) for number in range(30))
            entries = {n: Robots(f"https://h{n}.test", RobotsState.READ, 1, 2, rules) for n in range(20)}

            def work(connection: sqlite3.Connection) -> None:
                for number, robots in entries.items():
                    book.keep(connection, number, 1, robots)
                    book.remember(number, 1, robots)
                assert len(book._cache._held) == 3
                assert {n: book.entry(connection, n, 1) for n in entries} == entries
                assert book.entry(connection, 5, 0) is None

            await database.run(work)

    asyncio.run(story())


MAY_SCAN = {"hosts_rested", "hosts_shifted", "hosts_returned", "backs_dissolved", "queue_shifted"}
"""Statements used at start-up and after rare failures, which may read every host."""


def test_no_statement_scans_a_whole_table(tmp_path: Path) -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection, migrations(), tmp_path)
    statements = {**load("gossamer.frontier.sqlite"), **load("gossamer.frontier.sqlite", "sieve.sql")}
    connection.execute(statements["incoming_table"])
    large = re.compile(r"SCAN (hosts|addresses|ends|queue|heaps|robots|errands|a|e|q)\b(?!.*INDEX hosts_front)")
    scanning = set()
    for name, statement in statements.items():
        numbered = [int(number) for number in re.findall(r"\?(\d+)", statement)]
        amount = max(numbered) if numbered else statement.count("?")
        plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}", [None] * amount).fetchall()
        if any(large.match(step[3]) for step in plan):
            scanning.add(name)
    connection.close()
    assert scanning == MAY_SCAN


class StepCounter:
    """Counts the work of the database: hundreds of virtual machine steps, not seconds."""

    def __init__(self) -> None:
        self.steps = 0

    def step(self) -> int:
        self.steps += 1
        return 0


def test_the_cost_of_a_visit_does_not_grow_with_the_number_of_known_urls(tmp_path: Path) -> None:
    """With a thousand URLs and with twenty thousand, a visit takes the same few steps of the database."""
    hosts = 20

    def pages(a_host: int) -> list[Offer]:
        return seeds(*(f"https://h{host}.test/{n}" for host in range(hosts) for n in range(a_host)))

    def links(visit: Visit) -> tuple[Offer, ...]:
        texts = [f"https://{visit.url.host.name}/{n}" for n in range(36)]
        texts += [f"{visit.url.text}/{n}" for n in range(4)] if visit.kind is VisitKind.PAGE else []
        return tuple(Offer(Url(text), How.LINK, None, 9) for text in texts)

    async def story() -> list[float]:
        clock, counter, costs = FakeClock(), StepCounter(), []
        async with opened(tmp_path, clock, sieve=Sieve(journal_most=500)) as (frontier, database):
            await database.read(lambda connection: connection.set_progress_handler(counter.step, 100))
            for a_host in (50, 1000):
                await frontier.offer(pages(a_host))
                before, visits = counter.steps, 0
                for _ in range(20):
                    clock.advance(1)
                    taken = await frontier.take(hosts)
                    visits += len(taken)
                    await frontier.settle([settled(visit, clock, offers=links(visit)) for visit in taken])
                costs.append((counter.steps - before) / visits)
            assert (await frontier.counts()).known > hosts * 1000
        return costs

    early, late = asyncio.run(story())
    assert late < early * 1.25


def test_F_P10_the_wait_before_a_stop_counts_even_when_the_clock_was_set_back(tmp_path: Path) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(tmp_path, clock) as (frontier, _):
            await frontier.offer(seeds("http://a.test/1", "http://a.test/2"))
            for _ in range(2):
                (visit,) = await frontier.take(1)
                await frontier.settle([settled(visit, clock)])
                clock.advance(3600)
        async with opened(tmp_path, FakeClock(clock.now() - 7200 * SECOND)) as (frontier, _):
            (last,) = await frontier.take(1)
            assert last.url.text == "http://a.test/2", (
                "an hour has passed since the last visit, no matter what the clock says"
            )

    asyncio.run(story())


def test_no_host_gets_a_back_queue_when_the_limit_is_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "MOST_BACKS", 2)

    async def story() -> None:
        clock = FakeClock()
        async with opened(tmp_path, clock) as (frontier, _):
            await frontier.offer(seeds("http://a.test/", "http://b.test/"))
            assert len(await frontier.take(2)) == 2
            await frontier.offer(seeds("http://c.test/"))
            clock.advance(60)
            assert await frontier.take(5) == []
            monkeypatch.setattr(leases, "MOST_BACKS", 3)
            assert [visit.url.text for visit in await frontier.take(5)] == ["http://c.test/robots.txt"]

    asyncio.run(story())
