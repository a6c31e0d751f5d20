"""All public sitemap examples, with the results that their suites expect."""

import json

import pytest
from tests.conformance.suites import HOME

from gossamer.base.clock import SECOND, from_words
from gossamer.parse.sitemaps import Sitemap, parse_sitemap
from gossamer.values.url import url_of

SUITE = HOME / "sitemaps"
CASES = SUITE / "crawler-commons" / "inline_cases.json"
FILES = {
    "crawler-commons/atom.xml": ("feed", 1),
    "crawler-commons/do-not-visit.txt": ("text", 1),
    "crawler-commons/extension/hebdenbridgetimes-articles-sitemap.xml": ("urlset", 74),
    "crawler-commons/extension/pagemaps-sitemap.xml": ("urlset", 2),
    "crawler-commons/extension/shinpaideshou-news-sitemap.xml": ("urlset", 3),
    "crawler-commons/extension/sitemap-images.xml": ("urlset", 1),
    "crawler-commons/extension/sitemap-links.xml": ("urlset", 3),
    "crawler-commons/extension/sitemap-mobile.xml": ("urlset", 3),
    "crawler-commons/extension/sitemap-news.xml": ("urlset", 2),
    "crawler-commons/extension/sitemap-videos-tvshow.xml": ("urlset", 1),
    "crawler-commons/extension/sitemap-videos.xml": ("urlset", 3),
    "crawler-commons/rss/feed.rss": ("feed", 4),
    "crawler-commons/rss/xmlRss_pubDate.xml": ("feed", 7),
    "crawler-commons/sitemap-with-bom.txt": ("text", 2),
    "crawler-commons/sitemap.badns.xml": ("urlset", 2),
    "crawler-commons/sitemap.index.xml": ("index", 15),
    "crawler-commons/sitemap.ns.xml": ("urlset", 2),
    "crawler-commons/sitemap.txt": ("text", 2),
    "crawler-commons/sitemap.txt.gz": ("text", 5),
    "crawler-commons/xmlSitemap.gz": ("urlset", 5),
    "usp/atom0.3.xml": ("feed", 2),
    "usp/atom1.0.xml": ("feed", 2),
    "usp/google-image.xml": ("urlset", 2),
    "usp/google-news.xml": ("urlset", 2),
    "usp/hreflang.xml": ("urlset", 2),
    "usp/plaintext.txt": ("text", 2),
    "usp/robots.txt": ("", 0),
    "usp/rss2.0.xml": ("feed", 2),
    "usp/simple-index.xml": ("index", 2),
    "usp/simple-urlset.xml": ("urlset", 2),
}
UNSTATED = {"testUnclosedSitemapIndexFile": (0, 3), "testStripUnicodeWhiteSpace": (0, 2), "testWalkSiteMap": (0, 0)}
"""Entries and maps of cases whose rows have no count: counted by hand."""
PUB_DATE = 1_483_619_690
"""In seconds; each item of xmlRss_pubDate.xml is one second later than the one before."""

pytestmark = pytest.mark.skipif(not SUITE.is_dir(), reason="the sitemaps are not here; set GOSSAMER_CONFORMANCE")


def read(body: bytes, at: str, is_strict: bool = False) -> Sitemap:
    url = url_of(at)
    assert url is not None
    return parse_sitemap(body, url, is_strict=is_strict)


def test_every_file_of_the_suite_is_listed() -> None:
    files = {path.relative_to(SUITE).as_posix() for path in SUITE.rglob("*") if path.is_file()}
    assert files - {"README.md", "crawler-commons/inline_cases.json"} == FILES.keys()


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_completely(name: str) -> None:
    found = read((SUITE / name).read_bytes(), f"http://www.example.com/{name}")
    assert (found.kind, len(found.entries) + len(found.maps)) == FILES[name]


def cases() -> list[dict[str, object]]:
    return json.loads(CASES.read_text()) if CASES.is_file() else []


@pytest.mark.parametrize("row", cases(), ids=lambda row: str(row["name"]))
def test_an_inline_case_passes(row: dict[str, object]) -> None:
    """A strict count is checked with the strict parser; a case for both parsers is checked with both."""
    body, url = str(row["body"]).encode(), str(row["sitemap_url"])
    found = read(body, url)
    if row["name"] == "testLenientParser":
        assert len(read(body, url, is_strict=True).entries) == row["url_count"] == 0
        assert len(found.entries) == 1
    elif "url_count" in row:
        assert len(found.entries) == row["url_count"]
    elif "index_count" in row:
        assert len(found.maps) == row["index_count"]
    elif str(row["name"]) in UNSTATED:
        assert (len(found.entries), len(found.maps)) == UNSTATED[str(row["name"])]
    assert not any("hostname" in entry.url.text for entry in found.entries)


def test_the_fields_of_the_examples_are_correct() -> None:
    packed = read((SUITE / "crawler-commons/xmlSitemap.gz").read_bytes(), "http://www.example.com/xmlSitemap.gz")
    first = packed.entries[0]
    assert (first.url.text, first.changefreq, first.priority) == ("http://www.example.com/", "monthly", 0.8)
    assert first.changed_at == from_words("2005-01-01T00:00:00Z")


def test_dates_of_the_rss_example_are_read_in_all_their_forms() -> None:
    """The suite wants no date where the time zone is missing; we assume UTC."""
    found = read((SUITE / "crawler-commons/rss/xmlRss_pubDate.xml").read_bytes(), "http://www.example.com/rss.xml")
    moments = [entry.changed_at for entry in found.entries]
    assert moments[:4] == [(PUB_DATE + n) * SECOND for n in (1, 2, 3, 4)]
    assert moments[5:] == [None, None]


def test_the_second_of_three_maps_in_one_element_has_no_date() -> None:
    (row,) = [row for row in cases() if row["name"] == "testUnclosedSitemapIndexFile"]
    _, second, third = read(str(row["body"]).encode(), str(row["sitemap_url"])).maps
    assert second.changed_at is None and third.changed_at == from_words("2005-11-02T19:24:18Z")
