"""FAULTS S1 to S6: sitemaps and feeds with wrong data, expanding content, cycles or URLs of other hosts."""

import subprocess
import sys
import zlib

import pytest

from gossamer.base.clock import SECOND, from_words, in_words
from gossamer.parse.feeds import MOST_ITEMS, parse_feed
from gossamer.parse.sitemaps import LARGEST, MOST_ENTRIES, MOST_NEW, SOONEST_S, listing_of, parse_sitemap
from gossamer.values.link import How
from gossamer.values.messages import Listing
from gossamer.values.url import Url, url_of

AT = Url("https://victim.test/sitemap.xml")
NOW = from_words("2024-06-01T00:00:00Z")
MIB = 1024 * 1024


def listing(body: bytes, url: Url = AT, how: How = How.ROBOTS, nesting: int | None = None) -> Listing:
    found = listing_of(body, url, "application/xml", how, NOW, nesting)
    assert found is not None
    return found


def urlset(*places: str) -> bytes:
    return f"<urlset>{''.join(f'<url><loc>{place}</loc></url>' for place in places)}</urlset>".encode()


def packed(unit: bytes, times: int, head: bytes = b"<urlset>") -> bytes:
    deflater = zlib.compressobj(6, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    pieces = [deflater.compress(head), *(deflater.compress(unit * 1024) for _ in range(times // 1024))]
    return b"".join([*pieces, deflater.flush()])


def test_F_S1_the_first_50_000_urls_are_used() -> None:
    found = parse_sitemap(urlset(*(f"https://victim.test/{n}" for n in range(MOST_ENTRIES + 1))), AT)
    assert len(found.entries) == MOST_ENTRIES and "too-many-entries" in found.flags
    assert found.entries[-1].url.text.endswith(f"/{MOST_ENTRIES - 1}")
    lines = "\n".join(f"https://victim.test/{n}" for n in range(MOST_ENTRIES + 1)).encode()
    found = parse_sitemap(lines, AT)
    assert len(found.entries) == MOST_ENTRIES and found.flags == ("too-many-entries",)


BOMBS = {
    "blanks": b"packed(b' ', 64 * MIB)",
    "elements": b"packed(b'<a/>', 14 * MIB)",
    "one-url-without-end": b"packed(b'<url><loc>http://a.test/</loc></url>', 1500 * 1024)",
    "one-entry-without-end": b"packed(b'<i><loc>http://a.test/b</loc></i>', 1700 * 1024, b'<urlset><url>')",
}


@pytest.mark.parametrize("name", BOMBS)
def test_F_S1_a_packed_bomb_is_cut_at_50_mib_and_memory_stays_bounded(name: str) -> None:
    """In a process of its own, to measure its memory: a reader's limit is 512 MiB."""
    script = (
        "from pathlib import Path\nfrom tests.hostile.test_listings import *\n"
        f"bomb = {BOMBS[name].decode()}\n"
        "found = parse_sitemap(bomb, AT)\n"
        "peak = Path('/proc/self/status').read_text().partition('VmHWM:')[2].split()[0]\n"  # rusage has its parent's
        "print(','.join(found.flags), int(peak) // 1024)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300)
    flags, grown = done.stdout.split()
    assert "too-large" in flags and int(grown) < 400, done.stdout


def test_F_S1_a_sitemap_that_is_too_large_when_unpacked_is_read_up_to_the_limit() -> None:
    body = b"<urlset><url><loc>https://victim.test/a</loc></url>" + b" " * LARGEST
    found = parse_sitemap(body, AT)
    assert "too-large" in found.flags and len(found.entries) == 1


def index(*places: str) -> bytes:
    maps = "".join(f"<sitemap><loc>{place}</loc></sitemap>" for place in places)
    return f"<sitemapindex>{maps}</sitemapindex>".encode()


def followed(web: dict[str, bytes], start: str) -> list[str]:
    """Sitemaps in the order in which a crawl requests them: each once, as in the frontier."""
    seen, waiting, requested = {start}, [(start, How.ROBOTS, 0)], []
    while waiting:
        place, how, nesting = waiting.pop(0)
        requested.append(place)
        found = listing_of(web[place], Url(place), "application/xml", how, NOW, nesting)
        if found is None or found.kind != "index":
            continue
        for one in found.entries:
            if one.url.text not in seen:
                seen.add(one.url.text)
                waiting.append((one.url.text, How.MAP, nesting + 1))
    return requested


def test_F_S2_an_index_that_lists_itself_is_requested_once() -> None:
    start = AT.text
    assert followed({start: index(start, start)}, start) == [start]
    assert listing(index(start)).entries == ()


def test_F_S2_two_indexes_that_list_each_other_are_requested_once_each() -> None:
    a, b = "https://victim.test/a.xml", "https://victim.test/b.xml"
    assert followed({a: index(b), b: index(a)}, a) == [a, b]


def test_F_S2_indexes_are_followed_two_deep() -> None:
    chain = [f"https://victim.test/{n}.xml" for n in range(10)]
    web = {one: index(following) for one, following in zip(chain, [*chain[1:], AT.text], strict=True)}
    assert followed(web, chain[0]) == chain[:3]
    deepest = listing(index(AT.text), Url(chain[2]), How.MAP, nesting=2)
    assert deepest.entries == () and "index-too-deep" in deepest.flags


def test_F_S2_without_a_nesting_count_an_index_in_an_index_is_not_followed() -> None:
    assert listing(index("https://victim.test/b.xml"), how=How.MAP).entries == ()
    assert len(listing(index("https://victim.test/b.xml"), how=How.SEED).entries) == 1


def test_F_S3_urls_of_other_hosts_are_marked_and_other_schemes_dropped() -> None:
    places = ("https://victim.test/a", "https://other.test/b", "http://10.0.0.1/admin", "file:///etc/passwd")
    found = listing(urlset(*places, "https://www.victim.test/c", "https://victim.test:8443/d"))
    assert [(one.url.text, one.is_foreign) for one in found.entries] == [
        ("https://victim.test/a", False),
        ("https://other.test/b", True),
        ("http://10.0.0.1/admin", True),
        ("https://www.victim.test/c", True),
        ("https://victim.test:8443/d", True),
    ]
    maps = listing(index("https://other.test/m.xml", "https://victim.test/m.xml"))
    assert [one.is_foreign for one in maps.entries] == [True, False]


def test_F_S4_false_dates_and_priorities_change_nothing() -> None:
    def entry(number: int, fields: str) -> str:
        return f"<url><loc>https://victim.test/{number}</loc>{fields}</url>"

    cases = (
        "<lastmod>9999-12-31</lastmod><priority>1e9</priority><changefreq>always</changefreq>",
        "<lastmod>junk</lastmod><priority>Infinity</priority><changefreq>every minute</changefreq>",
        "<lastmod>-1</lastmod><priority>-1e9</priority><changefreq></changefreq>",
        "",
    )
    found = listing(f"<urlset>{''.join(entry(n, case) for n, case in enumerate(cases))}</urlset>".encode())
    assert [(one.hint, one.changed_at) for one in found.entries] == [(0, None)] * 4
    assert [one.every_s for one in found.entries] == [3600.0, None, None, None]  # at least an hour


def test_F_S4_a_sitemap_whose_pages_are_all_urgent_has_no_urgent_page() -> None:
    body = urlset(*(f"https://victim.test/{n}" for n in range(50))).replace(
        b"</loc>", b"</loc><priority>1.0</priority><changefreq>always</changefreq>"
    )
    assert {one.hint for one in listing(body).entries} == {0}


XXE = (
    '<!DOCTYPE urlset [<!ENTITY x SYSTEM "file:///etc/hostname">]>',
    '<!DOCTYPE urlset [<!ENTITY % p SYSTEM "http://victim.test/evil.dtd"> %p; <!ENTITY x "&p;">]>',
    '<!DOCTYPE urlset SYSTEM "http://victim.test/evil.dtd">',
    '<!DOCTYPE urlset [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;"><!ENTITY x "&b;&b;&b;&b;&b;&b;">]>',
)


@pytest.mark.parametrize("declared", XXE)
def test_F_S5_no_entity_is_resolved(declared: str) -> None:
    body = f'<?xml version="1.0"?>{declared}<urlset><url><loc>https://victim.test/a</loc></url>'
    body += "<url><loc>https://victim.test/&x;</loc></url><url><loc>&x;</loc></url></urlset>"
    found = parse_sitemap(body.encode(), AT)
    assert found.entries[0].url.text == "https://victim.test/a"
    assert len(found.entries) == 2 and found.entries[1].url.text == "https://victim.test/&x;"
    feed = parse_feed(f"{declared}<rss><item><title>&x;</title><link>/a</link></item></rss>".encode(), AT)
    assert [item.url and item.url.text for item in feed.entries] == ["https://victim.test/a"]
    assert feed.entries[0].title in ("&x;", "")


def test_F_S5_a_file_with_expanding_entities_is_not_read() -> None:
    body = f'<!DOCTYPE a [<!ENTITY a "{"x" * 1000}">]><urlset>{"&a;" * 100_000}</urlset>'
    assert parse_sitemap(body.encode(), AT).entries == ()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_F_S5_utf_16_is_read(encoding: str) -> None:
    body = '<?xml version="1.0" encoding="utf-16"?>' + urlset("https://victim.test/é").decode()
    found = parse_sitemap(body.encode(encoding), AT)
    assert [entry.url.text for entry in found.entries] == ["https://victim.test/%C3%A9"]


def test_F_S5_a_line_of_ten_megabytes_is_not_a_url() -> None:
    line = "https://victim.test/" + "a" * (10 * MIB)
    assert parse_sitemap(urlset(line), AT).entries == ()
    text = parse_sitemap(f"{line}\nhttps://victim.test/b".encode(), AT)
    assert [entry.url.text for entry in text.entries] == ["https://victim.test/b"]


@pytest.mark.parametrize(
    "body",
    [
        b"<urlset>" + b"&" * (4 * MIB),
        b"<urlset>" + b"<![CDATA[" * MIB + b"&",
        b"<!DOCTYPE a [" * 250_000 + b"<urlset>&",
        b"<urlset>" + b"<?xml " * MIB,
        b" " * (8 * MIB) + b"<urlset",
        b"<urlset " + b" ".join(b'a%d="1"' % n for n in range(200_000)) + b"/>",
        b"<urlset>" + b"<url>" * 100_000,
        b"<!--" * MIB,
    ],
    ids=["ampersands", "cdata", "doctypes", "declarations", "blanks", "attributes", "nesting", "comments"],
)
def test_F_S5_files_with_very_many_odd_constructs_are_read_to_an_end(body: bytes) -> None:
    assert parse_sitemap(body, AT).entries == ()
    listing_of(body, AT, "application/xml", How.LINK, NOW)
    parse_feed(body.replace(b"urlset", b"rss").replace(b"url>", b"item>"), AT, has_words=False)


def feed_of(count: int, poll: int) -> bytes:
    items = "".join(
        f"<item><guid isPermaLink='false'>{poll}-{n}</guid><link>/{n}</link>"
        "<title>&lt;script>alert(1)&lt;/script>T</title></item>"
        for n in range(count)
    )
    return f"<rss><channel><ttl>0</ttl>{items}</channel></rss>".encode()


def test_F_S6_an_endless_feed_is_bounded() -> None:
    body = feed_of(100_000, 0)
    assert len(parse_feed(body, AT, has_words=False).entries) == MOST_ITEMS
    found = listing(body, how=How.FEED)
    assert len(found.entries) == MOST_NEW and found.again_s == SOONEST_S
    assert {"too-many-items", "items-left-out"} <= set(found.flags)


def test_F_S6_new_ids_for_old_pages_are_not_new_pages() -> None:
    polls = [listing(feed_of(50, poll), how=How.FEED) for poll in range(5)]
    assert len({one.url for poll in polls for one in poll.entries}) == 50
    twice = b"<rss>" + b"<item><guid>a</guid><link>/a</link></item>" * 3 + b"</rss>"
    assert len(listing(twice, how=How.FEED).entries) == 1


def test_F_S6_the_newest_items_are_used() -> None:
    items = "".join(
        f"<entry><link href='/{n}'/><updated>{in_past(n)}</updated></entry>" for n in reversed(range(MOST_NEW * 2))
    )
    found = listing(f"<feed>{items}</feed>".encode(), how=How.FEED)
    assert {one.url.text for one in found.entries} == {f"https://victim.test/{n}" for n in range(MOST_NEW)}


def in_past(hours: int) -> str:
    return in_words(NOW - (hours + 1) * 3600 * SECOND)


def test_F_S6_script_in_a_title_is_text() -> None:
    feed = parse_feed(feed_of(1, 0), AT)
    assert feed.entries[0].title == "T"
    unclosed = parse_feed(b"<rss><item><title>&lt;img src=x onerror=alert(1)></title></item></rss>", AT)
    assert url_of(unclosed.entries[0].title) is None and len(unclosed.entries) == 1
