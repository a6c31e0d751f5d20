"""Sitemaps and feeds in a real crawl: the pages they list are fetched, but they are not search results themselves."""

import gzip
import json
from pathlib import Path

import pytest
from tests.cli.answers import Says, Web, article, feed, map_index, plain, site_map
from tests.cli.site import QUICK, gossamer, searchable

XML = "application/xml"


def crawled(root: Path, *words: object, **variables: str) -> None:
    done = gossamer("crawl", *words, "--dir", root, *QUICK, **variables)
    assert done.returncode == 0, done.stderr
    polite = gossamer("politeness", "--dir", root)
    assert polite.returncode == 0, polite.stdout + polite.stderr


def why(root: Path, url: str) -> str:
    return gossamer("why", url, "--dir", root).stdout


def way(root: Path, url: str) -> list[tuple[str, str]]:
    answer = json.loads(gossamer("why", url, "--dir", root, "--json").stdout)
    return [(step["how"], step["url"]) for step in answer["way"]]


def test_M_C5_orphans_are_fetched_from_every_kind_of_sitemap_that_robots_txt_names(tmp_path: Path) -> None:
    web = Web()
    with web.serving():
        root = web.root
        web.answers = {
            "/robots.txt": plain(
                *[f"Sitemap: {root}{one}" for one in ("plain.xml", "packed.xml.gz", "index.xml", "list.txt")],
                "User-agent: *",
                "Disallow: /secret",
            ),
            "/": article("home"),
            "/plain.xml": Says(site_map(root + "in-plain", root + "secret", "http://127.0.0.9:1/else"), kind=XML),
            "/packed.xml.gz": Says(gzip.compress(site_map(root + "in-packed").encode()), kind="application/gzip"),
            "/index.xml": Says(map_index(root + "one.xml", root + "two.xml", root + "index.xml"), kind=XML),
            "/one.xml": Says(site_map(root + "in-one"), kind="text/xml"),
            "/two.xml": Says(site_map(root + "in-two"), kind=XML),
            "/list.txt": plain(root + "in-list"),
        } | {f"/in-{one}": article(f"in-{one}") for one in ("plain", "packed", "one", "two", "list")}
        crawled(tmp_path / "c", root)
        orphans = {root + f"in-{one}" for one in ("plain", "packed", "one", "two", "list")}
        assert searchable(tmp_path / "c") == {root, *orphans}, "and no sitemap"
        assert len(web.hits) == len(set(web.hits)) and "/secret" not in web.hits
        listed = why(tmp_path / "c", root + "in-two")
        assert f"listed in the sitemap {root}two.xml, 1 link from the seed" in listed
        assert f"which was named in the sitemap index {root}index.xml" in listed
        assert way(tmp_path / "c", root + "in-two")[:3] == [
            ("sitemap", root + "in-two"),
            ("map", root + "two.xml"),
            ("robots", root + "index.xml"),
        ]
        assert "stored, not searchable" in why(tmp_path / "c", root + "plain.xml")
        assert "it was never found, or it was rejected" in why(tmp_path / "c", "http://127.0.0.9:1/else")


@pytest.mark.parametrize("is_named", [False, True])
def test_F_S3_an_entry_of_another_host_needs_that_hosts_robots_txt_to_name_the_sitemap(
    tmp_path: Path, is_named: bool
) -> None:
    one, other = Web(), Web()
    with one.serving(), other.serving():
        one.answers = {
            "/robots.txt": plain(f"Sitemap: {one.root}map.xml"),
            "/": article("one"),
            "/map.xml": Says(site_map(other.root + "orphan", one.root + "own"), kind=XML),
            "/own": article("own"),
        }
        other.answers = {
            "/robots.txt": plain(f"Sitemap: {one.root}map.xml" if is_named else "User-agent: *"),
            "/": article("other"),
            "/orphan": article("orphan"),
        }
        crawled(tmp_path / "c", other.root)  # its robots.txt is known from here on
        crawled(tmp_path / "c", one.root)
        assert other.asked("/orphan") == is_named and one.asked("/own") == 1


def test_F_S3_a_sitemap_on_another_host_that_robots_txt_names_is_read_in_every_scope(tmp_path: Path) -> None:
    site, store = Web(), Web()
    with site.serving(), store.serving():
        site.answers = {
            "/robots.txt": plain(f"Sitemap: {store.root}map.xml", f"Sitemap: {store.root}index.xml"),
            "/": article("home"),
            "/orphan": article("orphan"),
            "/deeper": article("deeper"),
        }
        store.answers = {
            "/map.xml": Says(site_map(site.root + "orphan", store.root + "page"), kind=XML),
            "/index.xml": Says(map_index(store.root + "part.xml"), kind=XML),
            "/part.xml": Says(site_map(site.root + "deeper"), kind=XML),
            "/page": article("page"),
        }
        crawled(tmp_path / "c", site.root, "--scope", "host")
        assert site.asked("/orphan") == site.asked("/deeper") == 1
        assert set(store.hits) == {"/robots.txt", "/map.xml", "/index.xml", "/part.xml"}, "no page of that host"


def test_F_S3_entries_of_another_host_are_fetched_once_its_robots_txt_names_the_sitemap(
    tmp_path: Path,
) -> None:
    one, other = Web(), Web()
    with one.serving(), other.serving():
        one.answers = {
            "/robots.txt": plain(f"Sitemap: {one.root}map.xml"),
            "/": article("one"),
            "/map.xml": Says(site_map(other.root + "orphan"), kind=XML),
        }
        other.answers = {
            "/robots.txt": plain(f"Sitemap: {one.root}map.xml"),
            "/": article("other"),
            "/orphan": article("orphan"),
        }
        crawled(tmp_path / "c", one.root)
        assert not other.hits
        crawled(tmp_path / "c", other.root)
        assert other.asked("/orphan") == 1
        assert one.asked("/map.xml") in (2, 3), "a new seed may cause it to be read once more"


def test_with_a_prefix_the_sitemap_at_the_root_is_read_and_only_pages_inside_are_fetched(tmp_path: Path) -> None:
    web = Web()
    with web.serving():
        web.answers = {
            "/robots.txt": plain(f"Sitemap: {web.root}map.xml"),
            "/docs/": article("docs"),
            "/docs/inside": article("inside"),
            "/outside": article("outside"),
            "/map.xml": Says(site_map(web.root + "docs/inside", web.root + "outside"), kind=XML),
        }
        crawled(tmp_path / "c", web.root + "docs/", "--scope", "prefix")
        assert set(web.hits) == {"/robots.txt", "/map.xml", "/docs/", "/docs/inside"}
        assert "scope rejects it" in why(tmp_path / "c", web.root + "outside")
        assert "scope accepts it" in why(tmp_path / "c", web.root + "map.xml")


def test_sitemaps_can_be_switched_off(tmp_path: Path) -> None:
    web = Web()
    with web.serving():
        web.answers = {
            "/robots.txt": plain(f"Sitemap: {web.root}map.xml"),
            "/": article("home"),
            "/map.xml": Says(site_map(web.root + "orphan"), kind=XML),
        }
        crawled(tmp_path / "c", web.root, GOSSAMER_CRAWL_SITEMAPS="false")
        assert web.hits == ["/robots.txt", "/"]


def test_a_page_that_robots_txt_names_as_a_sitemap_is_subject_to_scope_and_rules(tmp_path: Path) -> None:
    """Otherwise any site could add pages that the user excluded."""
    web = Web()
    with web.serving():
        web.answers = {
            "/robots.txt": plain(*[f"Sitemap: {web.root}{one}" for one in ("advert", "docs/ruled-out", "docs/fine")]),
            "/docs/": article("docs"),
            "/advert": article("advert", "/docs/from-advert"),
            "/docs/ruled-out": article("ruled-out", "/docs/from-ruled-out"),
            "/docs/fine": article("fine", "/docs/from-fine"),
            "/docs/from-fine": article("from-fine"),
        }
        assert gossamer("rules", "add", 'exclude path ~ "ruled-out"', "--dir", tmp_path / "c").returncode == 0
        crawled(tmp_path / "c", web.root + "docs/", "--scope", "prefix")
        fine = {"docs/", "docs/fine", "docs/from-fine"}
        assert searchable(tmp_path / "c") == {web.root + one for one in fine}
        assert "/docs/from-advert" not in web.hits and "/docs/from-ruled-out" not in web.hits
        assert gossamer("rebuild", "--dir", tmp_path / "c").returncode == 0
        assert searchable(tmp_path / "c") == {web.root + one for one in fine}


def test_the_items_of_a_feed_that_a_page_names_are_fetched_and_the_crawl_ends(tmp_path: Path) -> None:
    web = Web()
    with web.serving():
        link = '<link rel="alternate" type="application/rss+xml" href="/feed">'
        web.answers = {
            "/": article("home", head=link),
            "/feed": Says(feed(web.root + "item-1", web.root + "item-2", "http://127.0.0.9:1/x"), kind="text/xml"),
            "/item-1": article("item-1"),
            "/item-2": article("item-2"),
        }
        crawled(tmp_path / "c", web.root)
        assert sorted(web.hits) == ["/", "/feed", "/item-1", "/item-2", "/robots.txt"]
        assert {web.root, web.root + "item-1", web.root + "item-2"} <= searchable(tmp_path / "c")
        reasons = why(tmp_path / "c", web.root + "item-2")
        assert f"an entry of the feed {web.root}feed, 2 links from the seed" in reasons
        assert f"which was linked from {web.root}" in reasons


def test_a_seed_may_be_a_sitemap_or_a_feed(tmp_path: Path) -> None:
    web = Web()
    with web.serving():
        web.answers = {
            "/map.txt": plain(web.root + "in-map"),
            "/feed": Says(feed(web.root + "in-feed"), kind="application/rss+xml"),
            "/in-map": article("in-map"),
            "/in-feed": article("in-feed"),
        }
        crawled(tmp_path / "c", web.root + "map.txt", web.root + "feed")
        assert {"/in-map", "/in-feed"} <= set(web.hits)
