"""Sitemaps in all formats."""

import gzip

from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.clock import from_words
from gossamer.parse.sitemaps import SitemapEntry, parse_sitemap
from gossamer.parse.sniff import is_sitemap
from gossamer.values.url import Url

AT = Url("https://example.org/maps/sitemap.xml")
SPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def urls_in(body: str | bytes, content_type: str | None = None) -> list[str]:
    given = body.encode() if isinstance(body, str) else body
    return [entry.url.text for entry in parse_sitemap(given, AT, content_type).entries]


def urlset(inside: str, space: str = SPACE) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {space}>{inside}</urlset>'


def test_all_fields_of_an_entry_are_read() -> None:
    body = urlset(
        "<url><loc> https://example.org/a?b=1&amp;c=2 </loc><lastmod>2024-05-06T07:08:09+02:00</lastmod>"
        "<changefreq>Weekly</changefreq><priority>0.8</priority></url>"
    )
    found = parse_sitemap(body.encode(), AT)
    (entry,) = found.entries
    assert found.kind == "urlset" and entry.url.text == "https://example.org/a?b=1&c=2"
    assert entry.changed_at == from_words("2024-05-06T05:08:09Z")
    assert (entry.changefreq, entry.priority) == ("weekly", 0.8)


def test_invalid_fields_are_dropped_and_the_url_is_kept() -> None:
    (entry,) = parse_sitemap(
        urlset(
            "<url><loc>https://example.org/a</loc><lastmod>yesterday</lastmod><changefreq>often</changefreq>"
            "<priority>1e9</priority></url>"
        ).encode(),
        AT,
    ).entries
    assert (entry.changed_at, entry.changefreq, entry.priority) == (None, "", None)


def test_namespaces_may_be_missing_wrong_or_prefixed() -> None:
    one = "<url><loc>https://example.org/a</loc></url>"
    prefixed = '<s:urlset xmlns:s="urn:x"><s:url><s:loc>https://example.org/a</s:loc></s:url></s:urlset>'
    for body in (urlset(one, ""), urlset(one, 'xmlns="http://www.google.com/schemas/sitemap/0.84"'), prefixed):
        assert urls_in(body) == ["https://example.org/a"], body
        assert is_sitemap(body.encode())


def test_an_index_lists_sitemaps() -> None:
    body = (
        f"<sitemapindex {SPACE}><sitemap><loc>https://example.org/1.xml.gz</loc><lastmod>2024-01-02</lastmod></sitemap>"
        "<sitemap><loc>https://example.org/2.xml</loc></sitemap></sitemapindex>"
    )
    found = parse_sitemap(body.encode(), AT)
    assert found.kind == "index" and not found.entries
    assert [(one.url.text, one.changed_at) for one in found.maps] == [
        ("https://example.org/1.xml.gz", from_words("2024-01-02T00:00:00Z")),
        ("https://example.org/2.xml", None),
    ]


def test_a_text_sitemap_has_one_url_per_line_with_or_without_a_mark() -> None:
    text = "https://example.org/a\r\n\r\nhttps://example.org/b\nftp://example.org/c\nnot a url\n"
    wanted = ["https://example.org/a", "https://example.org/b"]
    assert urls_in(text) == urls_in("\ufeff" + text) == urls_in(text.encode("utf-16")) == wanted
    assert parse_sitemap(b"Dear reader,\nthis is a letter.\n", AT).kind == ""


def test_a_compressed_sitemap_is_decompressed() -> None:
    body = urlset("<url><loc>https://example.org/a</loc></url>")
    assert urls_in(gzip.compress(body.encode())) == ["https://example.org/a"]
    assert urls_in(gzip.compress(b"https://example.org/a\n")) == ["https://example.org/a"]


def test_feeds_may_be_used_as_sitemaps() -> None:
    rss = "<rss><channel><item><link>https://example.org/a</link></item></channel></rss>"
    found = parse_sitemap(rss.encode(), AT)
    assert found.kind == "feed" and found.entries[0].url.text == "https://example.org/a"


def test_extensions_with_any_prefix_are_skipped() -> None:
    body = urlset(
        "<url><loc>https://example.org/a</loc>"
        "<i:image><i:loc>https://example.org/a.png</i:loc></i:image>"
        "<v:video><v:content_loc>https://example.org/a.mp4</v:content_loc></v:video>"
        "<n:news><n:publication><n:name>Times</n:name><n:language>en</n:language></n:publication>"
        "<n:publication_date>2024-01-02</n:publication_date><n:title>All &amp; more</n:title></n:news>"
        '<x:link rel="alternate" hreflang="de" href="https://example.org/de"/><m:mobile/></url>',
        f'{SPACE} xmlns:i="urn:i" xmlns:v="urn:v" xmlns:n="urn:n" xmlns:x="urn:x"',
    )
    (entry,) = parse_sitemap(body.encode(), AT).entries
    assert entry == SitemapEntry(Url("https://example.org/a"))


def test_broken_xml_is_read_up_to_its_end() -> None:
    whole = "<url><loc>https://example.org/a</loc></url>"
    assert urls_in(f"<urlset>{whole}<url><loc>https://example.org/b</loc>") == [
        "https://example.org/a",
        "https://example.org/b",
    ]
    assert urls_in(f"  \n{whole}".replace("<url>", "<urlset><url>", 1)) == ["https://example.org/a"]
    assert urls_in("<urlset><url><loc>https://example.org/?a=1&b=2</loc></url></urlset>") == [
        "https://example.org/?a=1&b=2"
    ]


def test_a_truncated_url_is_ignored() -> None:
    whole = "<url><loc>https://example.org/a</loc></url>"
    assert urls_in(f"<urlset>{whole}<url><loc>https://example.org/half-of-a-url") == ["https://example.org/a"]


def test_each_url_is_listed_once_and_only_http_urls() -> None:
    urls = (
        "https://example.org/a",
        "https://example.org/a#top",
        "ftp://example.org/",
        "javascript:x",
        "/rooted",
        "no",
    )
    body = urlset("".join(f"<url><loc>{url}</loc></url>" for url in urls))
    assert urls_in(body) == ["https://example.org/a", "https://example.org/rooted"]


def test_a_strict_reader_accepts_only_urls_in_the_folder_of_the_sitemap() -> None:
    body = urlset(
        "<url><loc>https://example.org/maps/a</loc></url><url><loc>https://example.org/b</loc></url>"
    ).encode()
    assert len(parse_sitemap(body, AT).entries) == 2
    assert [one.url.text for one in parse_sitemap(body, AT, is_strict=True).entries] == ["https://example.org/maps/a"]
    by_query = Url("https://example.org/index.php?route=maps/all")
    assert len(parse_sitemap(body, by_query, is_strict=True).entries) == 2


def test_other_xml_is_not_a_sitemap() -> None:
    for body in (b"<svg/>", b"<rss/>", b"", b"\xff\xfe", b"<html><body>404</body></html>", b"<urlsets/>"):
        assert not is_sitemap(body)
    assert parse_sitemap(b"<html><body>not found</body></html>", AT).flags == ("not-a-sitemap",)


@given(st.binary(max_size=300))
def test_no_bytes_make_it_raise(noise: bytes) -> None:
    for found in (parse_sitemap(noise, AT), parse_sitemap(b"\x1f\x8b" + noise, AT)):
        assert all(one.url.scheme in ("http", "https") for one in found.entries)
    begun = b"<urlset><url><loc>https://example.org/a</loc></url><url>"
    found = parse_sitemap(begun + noise + b"</url></urlset>", AT)
    assert found.entries[0].url.text == "https://example.org/a", "entries before the noise are read"
