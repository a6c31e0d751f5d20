"""What the end of a visit writes to disk: for its host, for its URL, and in the counters."""

import asyncio
import math
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.frontier.test_tables import ENDS

from gossamer.base.clock import SECOND
from gossamer.base.tell import silent
from gossamer.config.slices import Politeness
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.priority import LOWEST
from gossamer.frontier.rows import REASON_CODES
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.store.sqlite.database import Database, read_only
from gossamer.testing import FakeClock
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Settled, Visit, VisitKind

GAP = 2 * SECOND
POLITE = Politeness(delay_s=2.0, jitter=0.0, most_back_off=4.0, retire_failures=3, retire_span_s=1.0, times_took=10.0)
PAGES = [f"http://a.test/{number}" for number in range(6)]


@asynccontextmanager
async def opened(folder: Path, clock: FakeClock, delay_s: float | None = None) -> AsyncIterator[SqliteFrontier]:
    """One host with six pages, whose robots.txt was read."""
    async with (
        Database(folder / "state.db", clock, silent) as database,
        SqliteFrontier(database, FrontierRules(POLITE, lambda _: True), clock, silent) as frontier,
    ):
        await frontier.offer([Offer(Url(text), How.SEED) for text in PAGES])
        (robots,) = await take_next(frontier, clock)
        assert robots.kind is VisitKind.ROBOTS
        now = clock.now()
        entry = Robots(robots.origin, RobotsState.READ, now, now + 10**15, crawl_delay_s=delay_s)
        await frontier.settle([Settled(robots, Reason.FETCHED, now, robots=entry)])
        yield frontier


async def take_next(frontier: SqliteFrontier, clock: FakeClock) -> list[Visit]:
    while (next_at := await frontier.next_at()) is not None:
        clock.advance(max(0, next_at - clock.now()) / SECOND)
        if visits := await frontier.take(8):
            return visits
    raise AssertionError("the queue is empty")


def row(folder: Path, sql: str, *given: object) -> dict[str, Any]:
    connection = read_only(folder / "state.db")
    connection.row_factory = sqlite3.Row
    try:
        (found,) = connection.execute(sql, given).fetchall()
        return dict(found)
    finally:
        connection.close()


def host(folder: Path) -> dict[str, Any]:
    return row(folder, "SELECT * FROM hosts WHERE name = 'a.test'")


@pytest.mark.parametrize(("reason", "marks"), [(Reason(word), marks) for word, marks in ENDS.items()])
def test_each_reason_updates_the_host_as_it_should(tmp_path: Path, reason: Reason, marks: str) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(tmp_path, clock) as frontier:
            before = host(tmp_path)
            (page,) = await take_next(frontier, clock)
            begun = clock.now()
            clock.advance(3)
            done_at = clock.now()
            clock.advance(0.25)
            await frontier.settle([Settled(page, reason, done_at, detail="why", took_s=0.5)])
            after = host(tmp_path)
        is_untouched = "U" in marks
        gap = GAP if is_untouched else max(GAP, 5 * SECOND) * (2 if "T" in marks else 1)
        assert after["gap"] == gap
        assert after["next_at"] == (begun if is_untouched else done_at + gap)
        assert after["troubles"] == (1 if "T" in marks else 0)
        assert (after["failing"], after["failing_since"]) == ((1, done_at) if "D" in marks else (0, None))
        assert after["visits"] - before["visits"] == (0 if is_untouched else 1)
        assert after["spent"] - before["spent"] == (0 if is_untouched else SECOND // 2)
        assert after["left_at"] == (before["left_at"] if is_untouched else done_at)
        assert after["rests"] - before["rests"] == (0 if is_untouched else 1)
        assert after["rested"] - before["rested"] == (0 if is_untouched else begun - before["left_at"])
        assert after["least_gap"] == (before["least_gap"] if is_untouched else GAP)
        assert (after["broken"], after["queued"], after["leased"]) == (0, 5, 0)
        end = row(tmp_path, "SELECT * FROM ends")
        assert (end["reason"], end["detail"], end["settled_at"], end["due_at"]) == (
            REASON_CODES[reason], "why", done_at, None,
        )  # fmt: skip
        assert end["failures"] == (1 if "F" in marks else 0)

    asyncio.run(story())


def test_the_counters_are_updated_by_every_visit(tmp_path: Path) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(tmp_path, clock) as frontier:
            counts = await frontier.counts()
            assert (counts.known, counts.queued, counts.settled, counts.leased, counts.hosts) == (6, 6, 0, 0, 1)
            (page,) = await take_next(frontier, clock)
            assert (await frontier.counts()).leased == 1
            due_at = clock.now() + 60 * SECOND
            await frontier.settle([Settled(page, Reason.TIMEOUT, clock.now(), due_at=due_at)])
            counts = await frontier.counts()
            assert (counts.queued, counts.settled, counts.leased, counts.by_reason) == (6, 0, 0, {"timeout": 1})
            clock.advance(61)
            for expected in ({"timeout": 1, "fetched": 1}, {"fetched": 2}):
                (page,) = await take_next(frontier, clock)
                await frontier.settle([Settled(page, Reason.FETCHED, clock.now())])
                counts = await frontier.counts()
                assert {reason: many for reason, many in counts.by_reason.items() if many} in (expected, {"fetched": 1})
            for _ in range(4):
                (page,) = await take_next(frontier, clock)
                await frontier.settle([Settled(page, Reason.FETCHED, clock.now())])
            counts = await frontier.counts()
            assert (counts.known, counts.queued, counts.settled) == (6, 0, 6)
            assert {reason: many for reason, many in counts.by_reason.items() if many} == {"fetched": 6}

    asyncio.run(story())


@pytest.mark.parametrize(("asked", "gap"), [(None, 2.0), (1.0, 2.0), (7.0, 7.0), (0.0, 2.0), (-1.0, 2.0), (90.0, 30.0)])
def test_a_crawl_delay_in_robots_txt_is_the_gap_of_its_host_from_then_on(
    tmp_path: Path, asked: float | None, gap: float
) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(tmp_path, clock, asked) as frontier:
            found = host(tmp_path)
            assert found["crawl_delay_s"] == (asked if asked and asked > 0 else None)
            assert (found["gap"], found["next_at"]) == (math.ceil(gap * SECOND), clock.now() + math.ceil(gap * SECOND))
            (page,) = await take_next(frontier, clock)
            await frontier.settle([Settled(page, Reason.FETCHED, clock.now())])
            assert host(tmp_path)["next_at"] == clock.now() + math.ceil(gap * SECOND)

    asyncio.run(story())


def test_troubles_add_up_are_halved_by_success_and_retire_a_host_in_the_end(tmp_path: Path) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(tmp_path, clock) as frontier:
            for reason, troubles, gap_s, failing in (
                (Reason.TIMEOUT, 1, 4, 1),
                (Reason.SLOW_DOWN, 2, 8, 0),
                (Reason.CONNECT, 3, 8, 1),
                (Reason.DNS, 1, 4, 2),
            ):
                (page,) = await take_next(frontier, clock)
                await frontier.settle([Settled(page, reason, clock.now())])
                found = host(tmp_path)
                assert (found["troubles"], found["gap"], found["failing"]) == (troubles, gap_s * SECOND, failing), (
                    reason
                )
                assert found["retired_at"] is None
            (page,) = await take_next(frontier, clock)
            await frontier.settle([Settled(page, Reason.SERVER_ERROR, clock.now(), host_wait_s=5.0)])
            found = host(tmp_path)
            assert (found["failing"], found["retired_at"]) == (3, clock.now())
            assert found["retired_why"] == "the server responded with an error (5xx), 3 times in a row"
            assert found["next_at"] == clock.now() + found["gap"] + 5 * SECOND
            assert await frontier.take(8) == []

    asyncio.run(story())


@pytest.mark.parametrize(
    ("reason", "priority", "is_last"),
    [(Reason.TIMEOUT, 6, False), (Reason.UNFINISHED, LOWEST, True), (Reason.TOO_SLOW, LOWEST, True)],
)
def test_a_page_to_retry_keeps_its_place_or_goes_to_the_end_of_the_queue(
    tmp_path: Path, reason: Reason, priority: int, is_last: bool
) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(tmp_path, clock) as frontier:
            (page,) = await take_next(frontier, clock)
            due_at = clock.now() + 60 * SECOND
            await frontier.settle([Settled(page, reason, clock.now(), due_at=due_at)])
            found = row(tmp_path, "SELECT * FROM queue WHERE later_at > 0")
            rest = row(tmp_path, "SELECT min(sequence) AS first, max(sequence) AS last FROM queue WHERE later_at = 0")
            assert (found["later_at"], found["priority"]) == (due_at, priority)
            assert found["sequence"] > rest["last"] if is_last else found["sequence"] < rest["first"]
            assert row(tmp_path, "SELECT * FROM ends")["due_at"] == due_at == host(tmp_path)["later_at"]
            paths = []
            for _ in range(5):
                (other,) = await take_next(frontier, clock)
                paths.append(other.url.path)
                await frontier.settle([Settled(other, Reason.FETCHED, clock.now())])
            assert page.url.path not in paths and paths == sorted(paths)
            (again,) = await take_next(frontier, clock)
            assert (again.url, again.failures, clock.now()) == (page.url, 1, due_at)

    asyncio.run(story())


def test_the_last_ten_failures_of_a_url_are_kept(tmp_path: Path) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(tmp_path, clock) as frontier:
            url = Url(PAGES[0])
            for number in range(14):
                while True:
                    (page,) = await take_next(frontier, clock)
                    if page.url == url:
                        break
                    await frontier.settle([Settled(page, Reason.FETCHED, clock.now())])
                due_at = clock.now() + SECOND
                await frontier.settle([Settled(page, Reason.TLS, clock.now(), detail=str(number), due_at=due_at)])
            failures = await frontier.failures(url)
            assert [one.detail for one in failures] == [str(number) for number in range(12, 2, -1)]
            assert {one.reason for one in failures} == {Reason.TLS}

    asyncio.run(story())
