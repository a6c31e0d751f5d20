"""The steps from seed to spool, for one page and for many."""

import asyncio
from pathlib import Path

from tests.journey.crawling import EventLog, crawl, page

from gossamer.archive.reader import read_capture
from gossamer.base.clock import SystemClock
from gossamer.base.files import DiskFiles
from gossamer.crawler.journey import within_chain
from gossamer.crawler.pace import Pace
from gossamer.rules.scope import Reach
from gossamer.testing import FaultyFiles, TinyWeb
from gossamer.values.outcome import Failed, Moved, Reason
from gossamer.values.url import Url
from gossamer.values.visit import Visit, VisitKind
from gossamer.workers.protocol import Limits

HOME = "http://one.test/"


def test_links_are_followed_and_every_response_is_archived(tmp_path: Path) -> None:
    pages = {HOME: page("/a", "/b", "/gone"), HOME + "a": page("/"), HOME + "b": page("/a")}
    done = asyncio.run(crawl(tmp_path, pages, [HOME]))
    assert done.asked[0] == HOME + "robots.txt"
    assert sorted(done.asked[1:]) == sorted([HOME, HOME + "a", HOME + "b", HOME + "gone"])
    assert done.ends == {HOME: "fetched", HOME + "a": "fetched", HOME + "b": "fetched", HOME + "gone": "gone"}
    assert {kept.url.text for kept in done.kept} == set(done.asked)
    assert sum(kept.is_page for kept in done.kept) == 3


def test_a_page_that_robots_txt_disallows_is_never_requested(tmp_path: Path) -> None:
    pages = {
        HOME + "robots.txt": "User-agent: *\nDisallow: /private\n",
        HOME: page("/private/x", "/open"),
        HOME + "open": page(),
    }
    done = asyncio.run(crawl(tmp_path, pages, [HOME]))
    assert HOME + "private/x" not in done.asked
    assert done.ends[HOME + "private/x"] == "robots"


def test_a_redirect_is_a_new_url_that_is_checked_against_the_rules(tmp_path: Path) -> None:
    clock = SystemClock()
    web = TinyWeb({}, clock)
    pages = {
        HOME: page("/old", "/away"),
        HOME + "old": web.moved(HOME + "old", HOME + "new"),
        HOME + "new": page(),
        HOME + "away": web.moved(HOME + "away", "http://elsewhere.test/"),
    }
    done = asyncio.run(crawl(tmp_path, pages, [HOME]))
    assert done.ends[HOME + "old"] == "moved" and done.ends[HOME + "new"] == "fetched"
    assert not any("elsewhere" in url for url in done.asked), "out of scope, also by a redirect"


def test_a_chain_of_redirects_ends_at_ten(tmp_path: Path) -> None:
    web = TinyWeb({}, SystemClock())
    hops = {f"{HOME}{n}": web.moved(f"{HOME}{n}", f"{HOME}{n + 1}") for n in range(30)}
    done = asyncio.run(crawl(tmp_path, hops, [HOME + "0"]))
    assert done.ends[HOME + "10"] == "too-many-redirects"
    assert HOME + "11" not in done.asked
    visit = Visit(Url(HOME), VisitKind.PAGE, 0, hops=10)
    moved = hops[HOME + "1"]
    assert isinstance(moved, Moved)
    assert isinstance(within_chain(visit, moved), Failed)


def test_max_pages_ends_the_crawl_and_the_other_urls_stay_queued(tmp_path: Path) -> None:
    pages = {HOME: page(*[f"/{n}" for n in range(50)]), **{f"{HOME}{n}": page() for n in range(50)}}
    done = asyncio.run(crawl(tmp_path, pages, [HOME], pace=Pace(max_pages=7)))
    assert sum(end == "fetched" for end in done.ends.values()) == 7
    more = asyncio.run(crawl(tmp_path, pages, [HOME], pace=Pace(max_pages=20)))
    assert sum(end == "fetched" for end in more.ends.values()) == 20
    assert not set(done.asked[1:]) & set(more.asked), "a fetched page is not fetched again"


def test_keep_structured_archives_no_body_of_pages_without_facts(tmp_path: Path) -> None:
    markup = '<div vocab="http://schema.org/" typeof="Person"><span property="name">Ada</span></div>'
    pages = {HOME: page("/plain", body=markup), HOME + "plain": page("/further"), HOME + "further": page(body=markup)}
    done = asyncio.run(crawl(tmp_path, pages, [HOME], pace=Pace(keep="structured")))
    assert done.ends[HOME + "further"] == "fetched", "links of a page that is not kept are followed"
    by_url = {kept.url.text: kept for kept in done.kept}
    assert by_url[HOME].is_page and not by_url[HOME + "plain"].is_page
    assert read_capture(DiskFiles(), tmp_path / "archive", by_url[HOME + "plain"].place) is None
    capture = read_capture(DiskFiles(), tmp_path / "archive", by_url[HOME].place)
    assert capture is not None and markup.encode() in capture.body


def test_F_P5_a_full_disk_pauses_the_crawl_and_it_continues_by_itself(tmp_path: Path) -> None:
    pages = {HOME: page(*[f"/{n}" for n in range(30)]), **{f"{HOME}{n}": page(body="x" * 2000) for n in range(30)}}
    files = FaultyFiles(DiskFiles(), room_bytes=4000)
    log = EventLog()

    async def with_help() -> object:
        async with asyncio.TaskGroup() as tasks:
            crawling = tasks.create_task(crawl(tmp_path, pages, [HOME], files=files, log=log, pace=Pace(group=4)))
            while not log.named("disk.full"):
                await asyncio.sleep(0.01)
            settled = len(log.named("visit.settled"))
            await asyncio.sleep(0.1)
            assert len(log.named("visit.settled")) == settled, "nothing is acknowledged while the disk is full"
            files.grow(10_000_000)
        return crawling.result()

    done = asyncio.run(with_help())
    assert sum(end == "fetched" for end in done.ends.values()) == 31  # type: ignore[attr-defined]
    for kept in done.kept:  # type: ignore[attr-defined]
        assert read_capture(DiskFiles(), tmp_path / "archive", kept.place) is not None


def test_F_P5_a_nearly_full_disk_pauses_the_crawl_before_it_is_full(tmp_path: Path) -> None:
    pages = {HOME: page("/a"), HOME + "a": page()}
    files = FaultyFiles(DiskFiles(), room_bytes=50_000)
    log, stop = EventLog(), asyncio.Event()

    async def until_it_waits() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(
                crawl(tmp_path, pages, [HOME], files=files, log=log, low_water=100_000, stop=stop, reach=Reach.HOST)
            )
            while not log.named("disk.low"):
                await asyncio.sleep(0.01)
            assert not log.named("frontier.taken")
            stop.set()

    asyncio.run(until_it_waits())
    assert log.named("visit.settled") == []


def test_F_M7_a_page_that_kills_its_reader_affects_no_other_page(tmp_path: Path) -> None:
    deep = "<html><body>" + "<a href='/x'>" * 3 + "<table>" * 60_000
    pages = {HOME: page("/storm", "/calm"), HOME + "storm": deep, HOME + "calm": page()}
    limits = Limits(wall_s=2.0, cpu_s=2.0)
    done = asyncio.run(crawl(tmp_path, pages, [HOME], limits=limits))
    assert done.ends[HOME + "calm"] == "fetched"
    assert done.ends[HOME + "storm"] in {Reason.FETCHED, Reason.READ_TIMEOUT}, "read partly, or given up"
    assert any(kept.url.text == HOME + "storm" for kept in done.kept), "archived even if it could not be read"
