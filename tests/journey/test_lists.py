"""Sitemaps and feeds over hours and days, on a clock that skips waits."""

import asyncio
import itertools
from pathlib import Path

from tests.cli.answers import article, feed, map_index, site_map
from tests.journey.whole_crawl import Answer, Web, WholeCrawl, crawl, in_dict, moved

from gossamer.config.settings import CrawlSettings, Settings
from gossamer.values.link import How

HOST = "http://a.test"
HOME = f"{HOST}/"
FEED = f"{HOST}/feed"
LINK = '<link rel="alternate" type="application/rss+xml" href="/feed">'
FOLLOW = Settings(crawl=CrawlSettings(feeds="follow"))
HOUR = 3600.0


def news(url: str, since_s: float) -> Answer:
    """A feed with one more item every hour, and an hour as its ttl."""
    if url == HOME:
        return Answer(article("home", head=LINK))
    if url == FEED:
        items = [f"{HOST}/item-{number}" for number in range(2 + int(since_s // HOUR))]
        return Answer(feed(*items), kind="application/rss+xml")
    return Answer(article(url.rpartition("/")[2])) if "/item-" in url else Answer("", 404)


def xml(text: str) -> Answer:
    return Answer(text, kind="application/xml")


def crawled(root: Path, web: Web, settings: Settings | None = None, until_s: float = 1e9, *look_up: str) -> WholeCrawl:
    return asyncio.run(crawl(root, web, [HOME], settings, until_s, look_up))


def test_M_C8_a_followed_feed_is_fetched_as_often_as_its_ttl_and_only_new_items_are_fetched(tmp_path: Path) -> None:
    found = crawled(tmp_path, news, FOLLOW, 3.5 * HOUR)
    at = [one.at_s for one in found.requests if one.url == FEED]
    assert len(at) == 5
    assert all(HOUR <= later - sooner < HOUR + 5 for sooner, later in itertools.pairwise(at))
    items = [one.url for one in found.requests if "/item-" in one.url]
    assert items == [f"{HOST}/item-{number}" for number in range(len(items))], "each once, as it appears"
    assert len(items) >= 5


def test_M_C8_a_feed_is_fetched_once_by_default_and_the_crawl_ends(tmp_path: Path) -> None:
    found = crawled(tmp_path, news, None, 1e9, FEED)
    assert found.times(FEED) == 1 and found.counts.queued == 0 and found.ended_s < 60
    assert found.known[FEED] is not None and found.known[FEED].due_at is None


def test_a_feed_with_a_ttl_of_0_is_fetched_every_quarter_of_an_hour(tmp_path: Path) -> None:
    def hasty(url: str, since_s: float) -> Answer:
        return Answer(feed(f"{HOST}/item-1", ttl=0), kind="text/xml") if url == FEED else news(url, since_s)

    at = [one.at_s for one in crawled(tmp_path, hasty, FOLLOW, 2 * HOUR).requests if one.url == FEED]
    assert all(later - sooner >= 900 for sooner, later in itertools.pairwise(at)) and len(at) > 3


def test_F_S6_a_feed_with_new_items_at_each_poll_adds_a_bounded_number_of_them(tmp_path: Path) -> None:
    def flood(url: str, since_s: float) -> Answer:
        if url == FEED:
            items = [f"{HOST}/item-{round(since_s)}-{number}" for number in range(2_000)]
            return Answer(feed(*items), kind="application/rss+xml")
        return news(url, since_s)

    found = crawled(tmp_path, flood, None, 1e9)
    assert len(found.requests) <= 203


def test_F_S2_indexes_that_list_each_other_are_fetched_once_and_not_deeper_than_two(tmp_path: Path) -> None:
    maps = [f"{HOST}/index-{number}.xml" for number in range(10)]
    pages = {
        f"{HOST}/robots.txt": Answer(f"Sitemap: {maps[0]}\n", kind="text/plain"),
        HOME: article("home"),
        f"{HOST}/orphan": article("orphan"),
        f"{HOST}/map.xml": xml(site_map(f"{HOST}/orphan")),
    }
    for number, one in enumerate(maps):
        pages[one] = xml(map_index(maps[(number + 1) % 10], one, maps[0], f"{HOST}/map.xml"))
    found = crawled(tmp_path, in_dict(pages))
    assert len(found.requests) == len({one.url for one in found.requests})
    assert {url for url in found.pages() if "index" in url} == set(maps[:2])
    assert f"{HOST}/orphan" in found.pages()


def test_a_sitemap_that_has_moved_is_read_at_its_new_url(tmp_path: Path) -> None:
    pages = {
        f"{HOST}/robots.txt": Answer(f"Sitemap: {HOST}/map.xml\n", kind="text/plain"),
        HOME: article("home"),
        f"{HOST}/map.xml": moved("/new.xml"),
        f"{HOST}/new.xml": xml(site_map(f"{HOST}/orphan")),
        f"{HOST}/orphan": article("orphan"),
    }
    found = crawled(tmp_path, in_dict(pages), None, 1e9, f"{HOST}/orphan", f"{HOST}/new.xml")
    orphan, new = found.known[f"{HOST}/orphan"], found.known[f"{HOST}/new.xml"]
    assert orphan is not None and orphan.how is How.SITEMAP
    assert new is not None and (new.how, new.hops) == (How.ROBOTS, 1)


def test_an_endless_chain_of_moved_sitemaps_ends(tmp_path: Path) -> None:
    def chain(url: str, _: float) -> Answer:
        if url.endswith("/robots.txt"):
            return Answer(f"Sitemap: {HOST}/map-0.xml\n", kind="text/plain")
        if "/map-" not in url:
            return Answer(article("home"))
        return moved(f"/map-{int(url.rpartition('-')[2].removesuffix('.xml')) + 1}.xml")

    found = crawled(tmp_path, chain, None, 1e9, f"{HOST}/map-10.xml")
    last = found.known[f"{HOST}/map-10.xml"]
    assert last is not None and last.reason == "too-many-redirects"
    assert len([url for url in found.pages() if "/map-" in url]) == 11
