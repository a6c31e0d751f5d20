"""Feeds: links, ids, dates and titles in each dialect. The public corpus is in tests/conformance."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.clock import from_words
from gossamer.parse.feeds import Feed, is_json_feed, parse_feed, parse_json_feed
from gossamer.parse.html.links import links_of
from gossamer.parse.html.tree import parse_html, scan_html
from gossamer.values.url import Url

AT = Url("https://example.org/blog/feed")
JAN = from_words("2024-01-02T03:04:05Z")


def read(body: str) -> Feed:
    return parse_feed(body.encode(), AT, "application/xml; charset=utf-8")


RSS = """<rss version="2.0"><channel><title>A blog</title><link>https://example.org/blog/</link><ttl>90</ttl>
<item><title>One &amp;amp; all</title><link>one</link><guid isPermaLink="false">g1</guid>
<pubDate>Tue, 02 Jan 2024 03:04:05 GMT</pubDate>
<description>&lt;p&gt;Some &lt;b&gt;words&lt;/b&gt;&lt;/p&gt;</description>
<enclosure url="/one.mp3" length="7" type="audio/mpeg"/></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:base="/blog/"><title type="html">A &lt;i>blog&lt;/i></title>
<link rel="self" href="feed"/><link href="./"/>
<entry><id>tag:example.org,2024:1</id><title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">One &amp; <b>all</b>
</div></title><link rel="enclosure" href="one.mp3"/><link href="one"/><published>2024-01-02T03:04:05Z</published>
<updated>2024-01-02T03:04:05Z</updated></entry></feed>"""
RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:sy="http://purl.org/rss/1.0/modules/syndication/">
<channel rdf:about="x"><title>A blog</title><sy:updatePeriod>daily</sy:updatePeriod>
<sy:updateFrequency>4</sy:updateFrequency>
</channel><item rdf:about="https://example.org/blog/one"><title>One &amp; all</title>
<link>https://example.org/blog/one</link><dc:date>2024-01-02T03:04:05Z</dc:date></item></rdf:RDF>"""
CDF = """<CHANNEL HREF="https://example.org/blog/"><TITLE>A blog</TITLE>
<ITEM HREF="https://example.org/blog/one" LASTMOD="2024-01-02T03:04:05Z">
<TITLE>One &amp; all</TITLE></ITEM></CHANNEL>"""


@pytest.mark.parametrize(("kind", "body"), [("rss", RSS), ("atom", ATOM), ("rss", RDF), ("cdf", CDF)])
def test_every_dialect_gives_the_same_entries(kind: str, body: str) -> None:
    feed = read(body)
    (item,) = feed.entries
    assert (feed.kind, feed.title) == (kind, "A blog")
    assert item.url == Url("https://example.org/blog/one") and item.title == "One & all"
    assert JAN in (item.published_at, item.updated_at)


def test_the_time_to_live_of_a_feed_is_read() -> None:
    assert (read(RSS).ttl_s, read(RDF).ttl_s, read(ATOM).ttl_s) == (5400.0, 21_600.0, None)
    assert read(RSS.replace("90", "soon")).ttl_s is None


def test_enclosures_are_links_but_never_the_url_of_the_entry() -> None:
    (item,) = read(RSS).entries
    assert [(link.rel, link.href) for link in item.links] == [
        ("alternate", "https://example.org/blog/one"),
        ("enclosure", "https://example.org/one.mp3"),
    ]
    assert item.id == "g1"


def test_a_guid_is_a_link_unless_it_is_marked_otherwise() -> None:
    assert read("<rss><item><guid>https://example.org/x</guid></item></rss>").entries[0].url is not None
    no = '<rss><item><guid isPermaLink="false">https://example.org/x</guid></item></rss>'
    assert read(no).entries[0].url is None


def test_scripts_are_removed_from_titles() -> None:
    item = "<item><title>&lt;script>alert(1)&lt;/script>Safe &lt;b onclick='x'>words&lt;/b></title></item>"
    assert read(f"<rss>{item}</rss>").entries[0].title == "Safe words"
    plain = '<feed xmlns="http://www.w3.org/2005/Atom"><title type="text">1 &lt; 2 &lt;b></title></feed>'
    assert read(plain).title == "1 < 2 <b>"


def test_a_json_feed_is_read() -> None:
    content = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "A blog",
        "items": [
            {"id": 7, "url": "one", "title": "One", "date_published": "2024-01-02T03:04:05Z", "attachments": [{}, 3]},
            "junk",
            {"id": True},
        ],
    }
    body = json.dumps(content).encode()
    assert is_json_feed(body)
    feed = parse_json_feed(body, AT)
    assert feed.kind == "json" and [item.id for item in feed.entries] == ["7", ""]
    assert feed.entries[0].url == Url("https://example.org/blog/one") and feed.entries[0].published_at == JAN


@pytest.mark.parametrize("body", [b"[1]", b"{}", b'{"version": 1}', b"{" * 5000, b'{"version"', b"\xff{", b"nothing"])
def test_other_json_is_not_a_feed(body: bytes) -> None:
    assert parse_json_feed(body, AT).kind == ""
    assert parse_feed(body, AT).kind == ""


def test_titles_can_be_left_out() -> None:
    feed = parse_feed(RSS.encode(), AT, has_words=False)
    assert feed.entries[0].url is not None and feed.entries[0].title == "" == feed.title


def test_feeds_are_found_by_link_elements_in_head_and_body() -> None:
    page = b"""<html><head><link rel="alternate" type="application/rss+xml" href="/rss">
    <link rel="ALTERNATE home" type="application/atom+xml; charset=utf-8" href="atom">
    <link rel="alternate" type="application/feed+json" href="f.json"><link rel="alternate" hreflang="de" href="/de">
    <link rel="stylesheet alternate" type="application/rss+xml" href="/no">
    <link rel="alternate" type="text/html" href="x">
    </head><body><a href="/a">a</a><link rel="alternate" type="application/rss+xml" href="/late"></body></html>"""
    page_tree = scan_html(parse_html(page).tree)
    urls = {link.url.text for link in links_of(page_tree, AT).links}
    assert urls >= {"https://example.org/rss", "https://example.org/blog/atom", "https://example.org/blog/f.json"}
    assert "https://example.org/no" not in urls
    assert "https://example.org/late" in urls


@given(st.binary(max_size=200))
def test_no_bytes_make_it_raise(noise: bytes) -> None:
    assert parse_json_feed(noise, AT).kind in ("", "json")
    assert all(item.url is None or item.url.scheme in ("http", "https") for item in parse_feed(noise, AT).entries)
    whole = parse_feed(b"<rss><item><title>a</title><link>b</link>" + noise + b"</item></rss>", AT)
    assert whole.kind == "rss" and whole.entries, "items before the noise are read"
    assert parse_feed(b"<feed>&x;<entry><title type='html'>" + noise + b"</title></entry>", AT).kind == "atom"


def test_lone_surrogates_and_broken_bytes_are_replaced() -> None:
    body = b"<rss><item><title>&#xD800;a&#57343;\xed\xa0\x80b&#55203;</title><link>/x</link></item></rss>"
    (item,) = parse_feed(body, AT, "text/xml; charset=utf-8").entries
    assert item.url == Url("https://example.org/x")
    assert item.title.replace("\ufffd", "") == "ab\ud7a3"
