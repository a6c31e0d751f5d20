"""How many fetches may be in progress."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.journey.crawling import crawl, page

from gossamer.base.clock import SystemClock
from gossamer.crawler.pace import Pace, room_for
from gossamer.testing import TinyWeb
from gossamer.values.outcome import Outcome
from gossamer.values.url import Url


@pytest.mark.parametrize(
    ("flying", "slow", "room"),
    [(0, 0, 8), (5, 0, 3), (8, 0, 0), (8, 3, 3), (8, 8, 8), (16, 16, 8), (31, 31, 1), (32, 32, 0), (40, 40, 0)],
)
def test_F_X8_slow_fetches_leave_their_places_to_others_within_bounds(flying: int, slow: int, room: int) -> None:
    assert room_for(Pace(at_once=8), flying, 0, slow) == room


def test_the_limit_on_pages_includes_fetches_in_progress() -> None:
    assert room_for(Pace(at_once=8, max_pages=10), 3, 6, 8) == 1
    assert room_for(Pace(at_once=8, max_pages=10), 4, 6, 8) == 0


class FastClock(SystemClock):
    """A fetch counts as slow after a tenth of the time."""

    def elapsed_s(self) -> float:
        return 10 * super().elapsed_s()


class SilentWeb(TinyWeb):
    """Silent hosts answer only after all other pages have been fetched."""

    until = asyncio.Event()

    async def fetch(self, url: Url, *more: Any, **rest: Any) -> Outcome:
        if url.host.name.startswith("silent"):
            await self.until.wait()
        outcome = await super().fetch(url, *more, **rest)
        if url.text == "http://good.test/last":
            self.until.set()
        return outcome


def test_F_X8_silent_hosts_do_not_keep_the_places_of_others(tmp_path: Path) -> None:
    silent = [f"http://silent{number}.test/" for number in range(5)]
    good = {"http://good.test/": page("/next"), "http://good.test/next": page("/last"), "http://good.test/last": page()}
    pages = {url: page() for url in silent} | good

    async def run() -> None:
        clock = FastClock()
        web = SilentWeb(pages, clock)
        web.until = asyncio.Event()
        seeds = [*silent, "http://good.test/"]
        done = await crawl(tmp_path, pages, seeds, clock=clock, pace=Pace(at_once=2), web=web)
        assert {done.ends[url] for url in pages} == {"fetched"}

    asyncio.run(run())
