"""What an idle crawl is waiting for."""

import asyncio
from pathlib import Path

from tests.contract.test_frontier import entry, seed, settled, take_page

from gossamer.base.clock import SECOND
from gossamer.base.tell import silent
from gossamer.config.slices import Politeness
from gossamer.crawler.heartbeat import awaited_in_words
from gossamer.frontier.api import Awaited, FrontierRules
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.store.sqlite.database import Database
from gossamer.testing import FakeClock
from gossamer.values.outcome import Reason
from gossamer.values.robots import RobotsState

PAGE = "https://a.test/1"


def test_each_kind_of_wait_has_its_url_end_and_reason(tmp_path: Path) -> None:
    async def story() -> None:
        clock = FakeClock()
        polite = Politeness(delay_s=10.0, jitter=0.0)
        async with (
            Database(tmp_path / "state.db", clock, silent) as database,
            SqliteFrontier(database, FrontierRules(polite, lambda _: True), clock, silent) as frontier,
        ):
            assert await frontier.awaited() is None
            await frontier.offer([seed(PAGE)])
            (robots,) = await frontier.take(1)
            shut = entry(robots.origin, clock.now(), RobotsState.UNREACHABLE, 60, failures=1, trouble="status 500")
            await frontier.settle([settled(robots, clock, Reason.FETCHED, robots=shut)])
            until = clock.now() + 60 * SECOND
            assert await frontier.awaited() == Awaited("robots", "https://a.test/robots.txt", until, "status 500")
            clock.advance(60)
            (robots,) = await frontier.take(1)
            await frontier.settle([settled(robots, clock)])
            assert await frontier.awaited() == Awaited("gap", PAGE, clock.now() + 10 * SECOND)
            clock.advance(10)
            page = await take_page(frontier, clock)
            due_at = clock.now() + 300 * SECOND
            await frontier.settle([settled(page, clock, Reason.SERVER_ERROR, detail="status 500", due_at=due_at)])
            assert await frontier.awaited() == Awaited("retry", PAGE, due_at, "server-error (status 500)")
            clock.advance(300)
            page = await take_page(frontier, clock)
            due_at = clock.now() + 86_400 * SECOND
            await frontier.settle([settled(page, clock, due_at=due_at)])
            assert await frontier.awaited() == Awaited("revisit", PAGE, due_at)

    asyncio.run(story())


def test_a_wait_is_described_in_one_sentence() -> None:
    def sentence(what: str, why: str = "") -> str:
        return awaited_in_words(Awaited(what, PAGE, 0, why), 58.0)  # type: ignore[arg-type]

    assert sentence("retry", "server-error (status 500)") == f"waiting 58 s to retry {PAGE}: server-error (status 500)"
    assert sentence("robots") == f"waiting 58 s to request {PAGE} again"
    assert sentence("revisit").startswith(f"waiting 58 s to revisit {PAGE}")
    for what in ("back-off", "gap"):
        assert sentence(what).startswith(f"waiting 58 s to fetch {PAGE}")
