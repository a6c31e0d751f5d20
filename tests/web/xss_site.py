"""A collection crawled from sites that put every payload of `xss_payloads` into every place a site can put a text.

Places (FAULTS W1): title, snippet, URL, host, link text, description, author, image, feed item, file name, RDF
literals and IRIs, header fields and reason phrases, redirects, errors, and what processes report. The program sends no
mail, so there is no subject line.
"""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

from tests.web.site import Silent
from tests.web.xss_payloads import PAYLOADS

from gossamer.base.environment import AddressPlan, Network, real_outside
from gossamer.cli.crawl.crawl import crawl_to_end
from gossamer.cli.crawl.demo import settings_for
from gossamer.monitor.sqlite_control import SqliteControl
from gossamer.store.directory import Directory
from gossamer.values.url import Url, url_of

WORD = "bramblefinch"
"""On every page of these sites."""
HOSTS = tuple(f"{name}.hostile.test" for name in ("script", "onerror", "javascript", "svg-onload", "alert-1"))

ODD = ("fail", "gone", "move")


def payload_url(number: int) -> Url:
    """URL of the page of a payload, with the payload as the file name and in the query."""
    raw, host = PAYLOADS[number], HOSTS[number % len(HOSTS)]
    verbatim = url_of(f"http://{host}/p/{number}/{raw.replace('#', '')}?q={raw.replace('#', '')}")
    encoded = f"http://{host}/p/{number}/{quote(raw, safe='')}"
    url = verbatim if verbatim is not None and verbatim.path.startswith(f"/p/{number}/") else url_of(encoded)
    assert url is not None
    return url


def odd_urls() -> list[Url]:
    """URLs that are answered with an error, or with a redirect to a payload."""
    return [Url(f"http://{kind}.hostile.test/{kind}/{number}") for kind in ODD for number in range(0, 100, 12)]


def page(number: int) -> str:
    raw, other = PAYLOADS[number], (number + 1) % len(PAYLOADS)
    shown = escape(raw)
    own = " ".join(f"{stem}{number * 7919 % 9973 + place}" for place, stem in enumerate(("reed", "sedge", "rush") * 30))
    facts = {
        "@context": {"@vocab": "http://schema.org/", "image": {"@type": "@id"}, "knows": {"@type": "@id"}},
        "@type": ["Person", f"http://types.test/{raw}"],
        "@id": raw if ":" in raw[:12] else f"http://entities.test/{number}/{raw}",
        "name": raw,
        "image": [raw, f"javascript:{number}", f"http://images.test/{raw}"],
        "author": {"@type": "Person", "name": raw},
        "description": {"@value": raw, "@language": "en"},
        "knows": [f"http://entities.test/{other}", raw],
        f"http://properties.test/{raw}": {"@value": raw, "@type": f"http://datatypes.test/{raw}"},
    }
    block = json.dumps(facts).replace("</", "<\\/").replace("<!--", "<\\u0021--")
    return f"""<!doctype html><html lang="en"><head><title>{shown}</title>
<meta name="description" content="{shown}"><meta name="author" content="{shown}">
<meta property="og:title" content="{shown}"><meta property="og:image" content="{shown}">
<script type="application/ld+json">{block}</script></head>
<body><main vocab="http://schema.org/" typeof="Thing" resource="{shown}"><h1 property="name">{shown}</h1>
<p>The {WORD} of the number {number} said: {shown}, and went on to say it for as long as anybody would listen.</p>
<p>{own}</p>
<p><b>{shown}</b> <img src="{shown}" alt="{shown}"> <a property="url" href="{shown}">{shown}</a></p>
<a href="{escape(payload_url(other).text)}">{shown}</a>
<div>{raw}</div></main></body></html>"""


def feed() -> str:
    items = "".join(
        f"<item><title>{escape(escape(raw))}</title><link>{escape(payload_url(number).text)}</link>"
        f"<author>{escape(raw)}</author></item>"
        for number, raw in enumerate(PAYLOADS)
    )
    text = "".join(character for character in items if character >= " " or character in "\n\t")
    return f'<?xml version="1.0"?><rss version="2.0"><channel><title>{WORD} feed</title>{text}</channel></rss>'


class Hostile(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        _, kind, *rest = [*self.path.partition("?")[0].split("/"), ""]
        number = int(rest[0]) if rest and rest[0].isdigit() else 0
        raw = "".join(one for one in PAYLOADS[number] if " " <= one <= "~")
        match kind:
            case "p":
                self._say(200, raw, "text/html; charset=utf-8", page(number))
            case "feed":
                self._say(200, raw, "application/rss+xml", feed())
            case "fail":
                self._say(403, raw, f"text/html; x={raw}", raw)
            case "move":
                self._say(302, raw, "text/html", "", raw)
            case _:
                self._say(404, raw, raw, raw)

    def _say(self, status: int, raw: str, kind: str, text: str, to: str | None = None) -> None:
        body = text.encode("utf-8", "replace")
        self.send_response(status, raw)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Disposition", f'inline; filename="{raw}"')
        self.send_header("X-Odd", raw)
        self.send_header("Content-Length", str(len(body)))
        if to is not None:
            self.send_header("Location", to)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@contextmanager
def hostile_server() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    thread = threading.Thread(target=server.serve_forever, name="hostile sites")
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()


def make_hostile_collection(root: Path) -> Directory:
    directory, outside = Directory(root / "collection"), real_outside()
    root.mkdir()
    settings = settings_for(0)
    quick = replace(settings.politeness, delay_s=0.005, times_took=1.0, robots_retry_s=0.1)
    settings = replace(settings, politeness=quick, retry=replace(settings.retry, base_s=0.05, cap_s=0.05, tries=2))
    settings = replace(settings, crawl=replace(settings.crawl, max_depth=0))
    seeds = [payload_url(number) for number in range(len(PAYLOADS))] + odd_urls() + [Url(f"http://{HOSTS[1]}/feed")]
    with hostile_server() as port:
        plan = AddressPlan({name: {80: port} for name in (*HOSTS, *[f"{kind}.hostile.test" for kind in ODD])})
        asyncio.run(crawl_to_end(directory, settings, seeds, Network(plan, plan), outside, Silent()))
    with SqliteControl(directory.control, outside.clock) as control:
        for raw in PAYLOADS[::10]:
            control.beat(f"reader {raw}"[:100], 1, {"state": raw, raw: raw, "lag_s": 1.0})
    return directory
