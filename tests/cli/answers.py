"""A small web on loopback with configurable responses: statuses, header fields and types."""

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.cli.site import HELD_S, closed, opened_gate

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Says:
    body: str | bytes = ""
    status: int = 200
    kind: str = HTML
    fields: tuple[tuple[str, str], ...] = ()
    is_endless: bool = False
    """Its body is repeated until the connection is closed."""


Answer = str | Says
Answers = Mapping[str, Answer] | Callable[[str], Answer | None]


def to(url: str) -> Says:
    return Says("", 301, fields=(("Location", url),))


@dataclass(slots=True)
class Web:
    """One host. A missing page is a plain 404. Every request is recorded with its time."""

    answers: Answers = field(default_factory=dict)
    wait_s: float = 0.0
    address: str = "127.0.0.1"
    port: int = 0
    hits: list[str] = field(default_factory=list)
    moments: list[float] = field(default_factory=list)
    is_open: threading.Event = field(default_factory=opened_gate)
    is_over: threading.Event = field(default_factory=threading.Event)

    @property
    def root(self) -> str:
        return f"http://{self.name}/"

    @property
    def name(self) -> str:
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"

    def asked(self, path: str) -> int:
        return self.hits.count(path)

    def answer(self, path: str) -> Says:
        found = self.answers(path) if callable(self.answers) else self.answers.get(path)
        if found is None:
            return Says("no such page", 404)
        return Says(found) if isinstance(found, str) else found

    @contextmanager
    def serving(self) -> Iterator["Web"]:
        web = self

        class Answering(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                web.hits.append(self.path)
                web.moments.append(time.monotonic())
                if self.path != "/robots.txt":
                    time.sleep(web.wait_s)
                    web.is_open.wait(HELD_S)
                says = web.answer(self.path)
                body = says.body.encode() if isinstance(says.body, str) else says.body
                length = ("Connection", "close") if says.is_endless else ("Content-Length", str(len(body)))
                self.send_response(says.status)
                for name, value in (("Content-Type", says.kind), length, *says.fields):
                    self.send_header(name, value)
                self.end_headers()
                with suppress(ConnectionError):  # the crawl closed the connection, or needed the head only
                    self.wfile.write(body)
                    while says.is_endless and not web.is_over.wait(0.05):
                        self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        class Listening(ThreadingHTTPServer):
            address_family = socket.AF_INET6 if ":" in web.address else socket.AF_INET

        server = Listening((web.address, 0), Answering)
        self.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield self
        finally:
            self.is_open.set()
            self.is_over.set()
            server.shutdown()
            thread.join()
            server.server_close()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Responses wait meanwhile, so that a crawl of many pages cannot end."""
        with closed(self.is_open):
            yield


def article(title: str, *links: str, head: str = "") -> str:
    """A page with words that no other title has."""
    words = " ".join(f"{title}-{number}" for number in range(60))
    anchors = " ".join(f'<a href="{link}">to {link}</a>' for link in links)
    return (
        f'<html lang="en"><head><title>{title}</title>{head}</head>'
        f"<body><main><h1>{title}</h1><p>{words}</p>{anchors}</main></body></html>"
    )


def plain(*lines: str) -> Says:
    return Says("\n".join(lines) + "\n", kind="text/plain")


def site_map(*locations: str) -> str:
    urls = "".join(f"<url><loc>{one}</loc></url>" for one in locations)
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'


def map_index(*locations: str) -> str:
    maps = "".join(f"<sitemap><loc>{one}</loc></sitemap>" for one in locations)
    return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{maps}</sitemapindex>'


def feed(*links: str, ttl: int = 60) -> str:
    items = "".join(f"<item><title>{one}</title><link>{one}</link><guid>{one}</guid></item>" for one in links)
    return f'<rss version="2.0"><channel><title>News</title><ttl>{ttl}</ttl>{items}</channel></rss>'
