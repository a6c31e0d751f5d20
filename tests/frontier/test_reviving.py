"""The same command again, after the problem was fixed."""

import asyncio
from pathlib import Path

import pytest

from gossamer.base.tell import silent
from gossamer.config.slices import Politeness
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.store.sqlite.database import Database
from gossamer.testing import FakeClock
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Settled, Visit, VisitKind

SEED = Url("http://one.test/")


def missing(visit: Visit, clock: FakeClock) -> Robots:
    return Robots(visit.origin, RobotsState.MISSING, clock.now(), clock.now() + 10**12)


async def visit_and_start_again(path: Path, reason: Reason) -> list[Visit]:
    """One run that ends with `reason`, and what a second run takes first."""
    clock = FakeClock()
    async with Database(path, clock, silent) as database:
        async with SqliteFrontier(
            database, FrontierRules(Politeness(delay_s=0), lambda _: True), clock, silent
        ) as frontier:
            await frontier.offer([Offer(SEED, How.SEED)])
            (robots,) = await frontier.take(1)
            await frontier.settle([Settled(robots, Reason.GONE, clock.now(), robots=missing(robots, clock))])
            clock.advance(1)
            (visit,) = await frontier.take(1)
            await frontier.settle([Settled(visit, reason, clock.now())])
            assert await frontier.next_at() is None
        clock.advance(60)
        async with SqliteFrontier(
            database, FrontierRules(Politeness(delay_s=0), lambda _: True), clock, silent
        ) as frontier:
            await frontier.offer([Offer(SEED, How.SEED)])
            await frontier.revive([SEED])
            counts = await frontier.counts()
            assert counts.known == counts.queued + counts.settled == 1
            taken = await frontier.take(1)
            if taken and taken[0].kind is VisitKind.ROBOTS:
                await frontier.settle([Settled(taken[0], Reason.GONE, clock.now(), robots=missing(taken[0], clock))])
                clock.advance(1)
                taken = await frontier.take(1)
            if taken:
                await frontier.settle([Settled(taken[0], Reason.FETCHED, clock.now())])
                assert (await frontier.counts()).by_reason == {"fetched": 1}
            return taken


@pytest.mark.parametrize("reason", [Reason.CONNECT, Reason.DNS, Reason.CONTACT, Reason.ADDRESS, Reason.TLS])
def test_a_seed_that_failed_is_visited_by_the_next_run(tmp_path: Path, reason: Reason) -> None:
    (visit,) = asyncio.run(visit_and_start_again(tmp_path / "state.db", reason))
    assert visit.url == SEED and visit.failures == 0


@pytest.mark.parametrize("reason", [Reason.FETCHED, Reason.GONE, Reason.ROBOTS])
def test_a_seed_that_got_a_final_answer_is_not_visited_again(tmp_path: Path, reason: Reason) -> None:
    assert asyncio.run(visit_and_start_again(tmp_path / "state.db", reason)) == []


def test_a_frontier_reports_whether_it_was_closed_cleanly(tmp_path: Path) -> None:
    was_clean: list[object] = []

    def tell(event: str, **facts: object) -> None:
        if event == "frontier.opened":
            was_clean.append(facts["was_clean"])

    async def story() -> None:
        clock = FakeClock()
        async with Database(tmp_path / "state.db", clock, silent) as database:
            for is_closed in (True, False, True):
                frontier = SqliteFrontier(database, FrontierRules(Politeness(delay_s=0), lambda _: True), clock, tell)
                await frontier.open()
                if is_closed:
                    await frontier.close()

    asyncio.run(story())
    assert was_clean == [True, True, False], "a new frontier is clean; one that was not closed is not"
