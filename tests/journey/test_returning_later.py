"""Revisits of known pages when robots.txt, or this machine's clock, is changed."""

import asyncio
from pathlib import Path

import pytest
from tests.contract.test_scheduling import SteppedClock
from tests.journey.crawling import page
from tests.journey.test_returning import HOME, Changing, Says, crawl_for, spooled

from gossamer.base.clock import DAY, SECOND
from gossamer.testing import FakeClock

ROBOTS = HOME + "robots.txt"


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.crawler.pace.WAIT_S", 0.003)


def test_a_page_that_robots_txt_disallows_later_is_not_fetched_until_it_is_allowed_again(tmp_path: Path) -> None:
    def robots(day: int) -> str:
        return "User-agent: *\nDisallow: /x\n" if 10 <= day < 40 else "User-agent: *\nDisallow:\n"

    pages: dict[str, Says] = {
        ROBOTS: robots,
        HOME: lambda day: page("/x", body=f"home {day // 3}"),
        HOME + "x": lambda day: page(body=f"here {day // 3}"),
    }
    web = Changing(pages, FakeClock())
    done = asyncio.run(crawl_for(tmp_path, web, 90))
    days = web.days[HOME + "x"]
    assert len([day for day in days if day < 10]) > 2
    assert not [day for day in days if 12 <= day < 40], "a robots.txt is used for a day"
    assert [day for day in days if day >= 40], "it is fetched again when it is allowed"
    assert [day for day in web.days[HOME] if 12 <= day < 40], "other pages are fetched meanwhile"
    assert all(one.page.directives.may_index for one in spooled(tmp_path)), "it is not removed from the views"
    assert done.ends[HOME + "x"] in ("fetched", "unchanged")


@pytest.mark.parametrize("by_days", [-30, -1, 1, 30])
def test_F_P10_a_clock_that_is_set_between_two_crawls_causes_neither_a_burst_nor_a_standstill(
    tmp_path: Path, by_days: int
) -> None:
    clock = SteppedClock()
    pages: dict[str, Says] = {
        HOME: lambda day: page("/x", body=f"home {day // 2}"),
        HOME + "x": lambda day: page(body=f"here {day}"),
    }
    web = Changing(pages, clock)
    asyncio.run(crawl_for(tmp_path, web, 15))
    before = len(web.asked)
    clock.step(by_days * DAY / SECOND)
    asyncio.run(crawl_for(tmp_path, web, 20))
    later = [url for url in web.asked[before:] if url != ROBOTS]
    assert set(later) == {HOME, HOME + "x"} and len(later) <= 4 * 2 * 20
