"""A crawl whose readers are overloaded."""

import asyncio
from pathlib import Path

from tests.journey.crawling import crawl, page

from gossamer.base.clock import SystemClock
from gossamer.crawler.journey import REST_S

HOSTS = 40


class PauseClock(SystemClock):
    def __init__(self) -> None:
        self.pauses: list[float] = []

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        super().pause(seconds)


def test_it_pauses_while_pages_wait_for_a_reader_and_loses_none_of_them(tmp_path: Path) -> None:
    clock = PauseClock()
    seeds = [f"http://h{number}.test/" for number in range(HOSTS)]
    pages = {f"{seed}{name}": page("/a", "/b") for seed in seeds for name in ("", "a", "b")}
    done = asyncio.run(crawl(tmp_path, pages, seeds, clock=clock, waits_for_readers=True))
    assert {str(kept.url) for kept in done.kept if kept.is_page} == set(pages)
    assert set(clock.pauses) == {REST_S}
