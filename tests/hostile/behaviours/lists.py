"""S1 to S6: sitemaps and feeds with wrong data, expanding content, or cycles."""

import asyncio
import gzip
from collections.abc import Callable

from tests.hostile.behaviour import DOMAIN, Behaviour, Request, Write, add, page, whole

XML = b"Content-Type: application/xml\r\n"
RSS = b"Content-Type: application/rss+xml\r\n"
GZIP = b"Content-Type: application/gzip\r\n"
Make = Callable[[str, Request], bytes]
"""Makes the list, for an origin and a request."""


def urlset(*places: str) -> bytes:
    return f"<urlset>{''.join(f'<url><loc>{place}</loc></url>' for place in places)}</urlset>".encode()


def index(*places: str) -> bytes:
    listed = "".join(f"<sitemap><loc>{place}</loc></sitemap>" for place in places)
    return f"<sitemapindex>{listed}</sitemapindex>".encode()


def lists(name: str, make: Make, says: str, fields: bytes = XML) -> None:
    """A site whose robots.txt names a sitemap and whose pages name it as a feed; `make` makes what is under /map."""
    origin = f"http://{name.lower()}.{DOMAIN}"

    async def act(write: Write, request: Request) -> None:
        if request.target == "/robots.txt":
            write.write(whole(f"Sitemap: {origin}/map\n".encode(), b"Content-Type: text/plain\r\n"))
        elif request.target.startswith("/map"):
            write.write(whole(await asyncio.to_thread(make, origin, request), fields))
        else:
            feed = '<link rel=alternate type="application/rss+xml" href="/map">'
            write.write(page(f"Page {request.target}", body=f"listed {request.target}", head=feed))
        await write.drain()

    act.__doc__ = says
    add(Behaviour(name, act, is_site=True))


def _number(request: Request) -> int:
    return int("0" + "".join(filter(str.isdecimal, request.target)))


lists("S1-many-entries", lambda at, _: urlset(*(f"{at}/x?{n}" for n in range(60_000))), "60,000 URLs")
lists("S1-49-megabytes", lambda at, _: urlset(f"{at}/a").replace(b"</urlset>", b"<!-- x -->" * 4_900_000), "49 MB")
lists(
    "S1-bomb",
    lambda at, _: gzip.compress(b"<urlset>" + b"<url><loc>http://a.test/</loc></url>" * 3_000_000),
    "108 MB of entries in gzip",
    GZIP,
)
lists("S1-blank-bomb", lambda at, _: gzip.compress(b"<urlset>" + b" " * (128 << 20)), "128 MiB of blanks in gzip", GZIP)
lists("S2-itself", lambda at, _: index(f"{at}/map", f"{at}/map?1"), "an index that lists itself")
lists("S2-deeper", lambda at, request: index(f"{at}/map{_number(request) + 1}"), "an index in an index, without end")
lists(
    "S2-wider",
    lambda at, request: index(*(f"{at}/map{_number(request)}{n}" for n in range(10))),
    "an index of ten indexes of ten indexes",
)
lists(
    "S2-endless", lambda at, request: urlset(*(f"{at}/p{request.times}-{n}" for n in range(20))), "new pages each time"
)
lists(
    "S3-elsewhere",
    lambda at, _: urlset("http://10.0.0.1/", "http://127.0.0.1/", "file:///etc/passwd", "http://169.254.169.254/x"),
    "a sitemap of private IP addresses",
)
lists("S3-index-elsewhere", lambda at, _: index("http://10.0.0.1/map", "http://localhost/map"), "private sitemaps")
lists(
    "S4-urgent",
    lambda at, _: urlset(*(f"{at}/u{n}" for n in range(10))).replace(
        b"</loc>", b"</loc><lastmod>9999-12-31</lastmod><priority>1e9</priority><changefreq>always</changefreq>"
    ),
    "every page changes always and was changed in 9999",
)
lists(
    "S5-entities",
    lambda at, _: b'<!DOCTYPE urlset [<!ENTITY x SYSTEM "file:///etc/hostname">]>' + urlset(f"{at}/&x;"),
    "an external entity",
)
lists(
    "S5-laughs",
    lambda at, _: f'<!DOCTYPE a [<!ENTITY a "{"x" * 1000}">]><urlset>{"&a;" * 100_000}</urlset>'.encode(),
    "entities that expand",
)
lists("S5-utf16", lambda at, _: urlset(f"{at}/é").decode().encode("utf-16"), "a sitemap in UTF-16")
lists("S5-long-line", lambda at, _: urlset(f"{at}/" + "a" * 10_000_000), "a URL of 10 MB")
lists("S5-nesting", lambda at, _: b"<urlset>" + b"<url>" * 100_000, "100,000 elements deep")
lists("S5-ampersands", lambda at, _: b"<urlset>" + b"&" * 4_000_000, "four million ampersands")


def feed(at: str, request: Request, items: int) -> bytes:
    return b"<rss><channel>" + b"".join(
        b"<item><guid>%d-%d</guid><title>&lt;script>x</title><link>%s/i%d</link></item>"
        % (request.times, n, at.encode(), n % 20)
        for n in range(items)
    )


lists("S6-million-items", lambda at, request: feed(at, request, 200_000), "a feed of 200,000 items", RSS)
lists("S6-new-each-time", lambda at, request: feed(at, request, 20), "new ids at each poll", RSS)
lists(
    "S6-enclosures",
    lambda at, request: feed(at, request, 5).replace(b"</item>", b"<enclosure url='http://10.0.0.1/x.mp3'/></item>"),
    "enclosures at private IP addresses",
    RSS,
)
