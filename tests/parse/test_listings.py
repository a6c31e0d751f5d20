"""Sitemaps and feeds as lists of URLs for a crawl."""

import gzip

import pytest

from gossamer.base.clock import SECOND, from_words
from gossamer.parse.sitemaps import LATEST_S, SOONEST_S, USUAL_S, listing_of
from gossamer.values.link import How
from gossamer.values.messages import Listing
from gossamer.values.url import Url

AT = Url("https://example.org/sitemap.xml")
NOW = from_words("2024-06-01T00:00:00Z")


def listing(body: str | bytes, how: How = How.LINK, content_type: str | None = "application/xml") -> Listing | None:
    return listing_of(body.encode() if isinstance(body, str) else body, AT, content_type, how, NOW)


def urlset(*priorities: str) -> str:
    rows = [
        f"<url><loc>https://example.org/{number}</loc>{f'<priority>{one}</priority>' if one else ''}</url>"
        for number, one in enumerate(priorities)
    ]
    return f"<urlset>{''.join(rows)}</urlset>"


def hints(*priorities: str) -> list[int]:
    found = listing(urlset(*priorities))
    assert found is not None and found.kind == "sitemap" and found.again_s is None
    return [one.hint for one in found.entries]


def test_a_priority_is_relative_to_the_others_of_its_sitemap() -> None:
    assert hints("1.0", "1.0", "1.0") == [0, 0, 0]
    assert hints("", "", "0.5") == [0, 0, 0]
    high, low = hints("1.0", "0.0")
    assert (high, low) == (-2, 2)
    assert all(-2 <= hint <= 2 for hint in hints("1e9", "-4", "nan", "1", "0"))


def test_other_documents_are_not_lists() -> None:
    for body in ("<svg/>", "<html><body><p>words</p></body></html>", "words", "", "{}", "<?xml version='1.0'?>"):
        assert listing(body) is None, body
    assert listing("https://example.org/a\n", content_type="text/plain") is None
    assert listing(urlset(""), content_type="image/png") is None


def test_plain_text_and_gzip_are_read_if_announced_as_a_sitemap() -> None:
    found = listing("https://example.org/a\n", How.ROBOTS, "text/plain")
    assert found is not None and [one.url.text for one in found.entries] == ["https://example.org/a"]
    packed = listing(gzip.compress(urlset("").encode()), How.MAP, "application/gzip")
    assert packed is not None and len(packed.entries) == 1
    assert listing("<html>no such file</html>", How.ROBOTS, "text/html") is None


def test_a_list_given_as_a_seed_is_read() -> None:
    text = "\ufeffhttps://example.org/a\nhttps://example.org/b\n"
    for body, label in ((text.encode(), "text/plain"), (gzip.compress(text.encode()), "application/gzip")):
        found = listing(body, How.SEED, label)
        assert found is not None and len(found.entries) == 2
    assert listing("See https://example.org/a\nand more", How.SEED, "text/plain") is None
    assert listing(gzip.compress(b"\0" * 600), How.SEED, "application/gzip") is None


@pytest.mark.parametrize("content_type", ["text/html", "text/plain", None, "text/xml; charset=utf-8"])
def test_a_sitemap_with_a_wrong_content_type_is_read(content_type: str | None) -> None:
    assert listing(urlset(""), content_type=content_type) is not None


def test_a_feed_is_fetched_again_within_bounds() -> None:
    intervals = {"": USUAL_S, "0": SOONEST_S, "1": SOONEST_S, "120": 7200.0, "999999999": LATEST_S}
    for ttl, again_s in intervals.items():
        found = listing(f"<rss><channel><ttl>{ttl}</ttl></channel></rss>")
        assert found is not None and (found.kind, found.again_s) == ("feed", again_s)


def test_recent_items_have_a_higher_priority_than_old_ones() -> None:
    dates = ("2024-05-31T12:00:00Z", "2024-05-28", "2024-01-01", "2001-01-01", "")
    items = "".join(f"<item><link>/{n}</link><pubDate>{date}</pubDate></item>" for n, date in enumerate(dates))
    found = listing(f"<rss>{items}</rss>")
    assert found is not None and [one.hint for one in found.entries] == [-2, -1, 0, 1, 0]


def test_a_json_feed_is_a_list_too() -> None:
    body = '{"version": "https://jsonfeed.org/version/1", "items": [{"id": "1", "url": "/a"}]}'
    found = listing(body, content_type="application/feed+json")
    assert found is not None and found.kind == "feed" and found.entries[0].id == "1"


def test_the_change_frequency_is_passed_on_as_a_hint() -> None:
    found = listing("<urlset><url><loc>https://example.org/a</loc><changefreq>always</changefreq></url></urlset>")
    assert found is not None and found.entries[0].every_s == 3600.0


def test_a_list_in_utf_16_is_recognised_by_its_first_element() -> None:
    found = listing(urlset("").encode("utf-16"))
    assert found is not None and found.kind == "sitemap"


def test_a_change_in_the_future_is_ignored() -> None:
    rows = "".join(
        f"<url><loc>https://example.org/{n}</loc><lastmod>{date}</lastmod></url>"
        for n, date in enumerate(("9999-12-31", "2024-06-01T12:00:00Z", "2024-05-01", "1901-01-01"))
    )
    found = listing(f"<urlset>{rows}</urlset>")
    assert found is not None
    assert [one.changed_at for one in found.entries] == [None, NOW, NOW - 31 * 86_400 * SECOND, None]
