"""FAULTS H16: a host that asks to wait is left alone, loses no page, and is crawled normally when it recovers."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from gossamer.base.clock import SECOND, Instant
from gossamer.base.environment import seeded
from gossamer.base.tell import silent
from gossamer.config.slices import Politeness
from gossamer.fetch.answer import ResponseHead, outcome_of
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.recrawl.retry import Retry, next_due
from gossamer.store.sqlite.database import Database
from gossamer.testing import FakeClock
from gossamer.values.capture import Capture
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Failed, Outcome, Reason, reason_of
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Settled, Visit, VisitKind

DAY_S = 86_400.0
Says = Callable[[float], tuple[int, str | None]]
"""Seconds since the start -> the status, and the value of Retry-After."""


class Request(NamedTuple):
    at_s: float
    url: str
    status: int


def answer(visit: Visit, status: int, retry_after: str | None, now: Instant) -> Outcome:
    fields = () if retry_after is None else (("Retry-After", retry_after),)
    capture = Capture(visit.url, now, status, "", fields, b"")
    return outcome_of(capture, ResponseHead(CIMultiDictProxy(CIMultiDict(fields))), (), now)


async def crawl(folder: Path, says: Says, pages: int, retry: Retry, longest_s: float) -> list[Request]:
    clock, chance, seen = FakeClock(), seeded(16), []
    started = clock.now()
    async with Database(folder / "state.db", clock, silent) as database:
        frontier = SqliteFrontier(database, FrontierRules(Politeness(delay_s=1.0), lambda _: True), clock, silent)
        async with frontier:
            await frontier.offer([Offer(Url(f"http://site.test/{n}"), How.SEED) for n in range(pages)])
            while (next_at := await frontier.next_at()) is not None:
                clock.advance(max(0, next_at - clock.now()) / SECOND)
                since_s = (clock.now() - started) / SECOND
                assert since_s < longest_s, "the crawl does not end"
                done = []
                for visit in await frontier.take(16):
                    now = clock.now()
                    if visit.kind is VisitKind.ROBOTS:
                        entry = Robots(visit.origin, RobotsState.MISSING, now, now + 10**15)
                        done.append(Settled(visit, reason_of(answer(visit, 404, None, now)), now, robots=entry))
                        continue
                    status, retry_after = says(since_s)
                    outcome = answer(visit, status, retry_after, now)
                    seen.append(Request(since_s, visit.url.text, status))
                    reason = reason_of(outcome)
                    done.append(
                        Settled(
                            visit,
                            reason,
                            now,
                            due_at=next_due(visit.failures, reason, now, chance.random(), retry),
                            host_wait_s=outcome.wait_s if isinstance(outcome, Failed) else None,
                        )
                    )
                await frontier.settle(done)
    return seen


def crawled(folder: Path, says: Says, pages: int = 6, tries: int = 50, longest_s: float = 30 * DAY_S) -> list[Request]:
    return asyncio.run(crawl(folder, says, pages, Retry(tries=tries), longest_s))


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("retry_after", "wait_s"),
    [
        ("0", 1.0),
        ("5", 5.0),
        ("3600", 3600.0),
        ("Tue, 14 Nov 2023 22:33:20 GMT", 1190.0),
        ("1000000000000", DAY_S),
        ("junk", 1.0),
        (None, 1.0),
    ],
)
def test_F_H16_after_a_429_or_503_the_whole_host_waits_as_long_as_it_asked_a_day_at_most(
    tmp_path, status, retry_after, wait_s
):
    answers = iter([(status, retry_after)])
    seen = crawled(tmp_path, lambda since_s: next(answers, (200, None)))
    assert seen[0].status == status
    waited_s = seen[1].at_s - seen[0].at_s
    assert wait_s <= waited_s <= max(2 * wait_s, 60.0)
    assert {one.url for one in seen if one.status == 200} == {f"http://site.test/{n}" for n in range(6)}


@pytest.mark.parametrize("status", [500, 502, 503, 504, 429])
def test_F_H16_an_hour_of_errors_loses_no_page_gets_few_requests_and_recovers(tmp_path, status):
    seen = crawled(tmp_path, lambda since_s: (status, None) if since_s < 3600 else (200, None))
    failing = [one for one in seen if one.status == status]
    fine = [one for one in seen if one.status == 200]
    assert {one.url for one in fine} == {f"http://site.test/{n}" for n in range(6)}
    assert len(failing) < 3600 / 4, "requests become less and less frequent"
    gaps = [later.at_s - earlier.at_s for earlier, later in zip(fine[-3:], fine[-2:], strict=False)]
    assert fine[0].at_s < 3600 + 2 * 3600 and min(gaps) < 3600, "it recovers"


def test_F_H16_the_wait_outlives_a_restart(tmp_path):
    clock = FakeClock()

    @asynccontextmanager
    async def opened() -> AsyncIterator[SqliteFrontier]:
        async with (
            Database(tmp_path / "state.db", clock, silent) as database,
            SqliteFrontier(database, FrontierRules(Politeness(delay_s=1.0), lambda _: True), clock, silent) as frontier,
        ):
            yield frontier

    async def ask_to_wait(frontier: SqliteFrontier) -> None:
        await frontier.offer([Offer(Url(f"http://site.test/{n}"), How.SEED) for n in range(2)])
        (robots,) = await frontier.take(4)
        now = clock.now()
        entry = Robots(robots.origin, RobotsState.MISSING, now, now + 10**15)
        await frontier.settle([Settled(robots, Reason.GONE, now, robots=entry)])
        clock.advance(2)
        (visit,) = await frontier.take(4)
        now = clock.now()
        outcome = answer(visit, 503, "1800", now)
        assert isinstance(outcome, Failed)
        await frontier.settle([Settled(visit, outcome.reason, now, due_at=now + SECOND, host_wait_s=outcome.wait_s)])

    async def run() -> list[Visit]:
        async with opened() as frontier:
            await ask_to_wait(frontier)
        async with opened() as frontier:
            clock.advance(1700)
            assert await frontier.take(4) == []
            clock.advance(200)
            return await frontier.take(4)

    assert len(asyncio.run(run())) == 1
