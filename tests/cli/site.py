"""A small web on loopback, the real program as a user starts it, and the contents of its views."""

import io
import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.views.digests import facts_digest, links_digest

from gossamer.cli import main as cli
from gossamer.store.directory import Directory
from gossamer.views.facts.sources import SOURCES
from gossamer.views.facts.store import opened
from gossamer.views.words.searcher import Searcher

OPEN = ("--allow-address", "127.0.0.0/8")
QUICK = (*OPEN, "--delay", "0.02")
PATIENCE_S = 300.0
"""A busy machine may take long; a test that waits for an event that comes in the end loses nothing."""
HELD_S = 20.0
"""Less than the timeout of a fetch."""


def opened_gate() -> threading.Event:
    gate = threading.Event()
    gate.set()
    return gate


@contextmanager
def closed(gate: threading.Event) -> Iterator[None]:
    gate.clear()
    try:
        yield
    finally:
        gate.set()


@dataclass(slots=True)
class Site:
    """Pages by path; a missing page is a 404. Every request is recorded."""

    pages: Mapping[str, str]
    wait_s: float = 0.0
    port: int = 0
    hits: list[str] = field(default_factory=list)
    is_open: threading.Event = field(default_factory=opened_gate)

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def pages_hit(self) -> list[str]:
        return [path for path in self.hits if path != "/robots.txt"]

    @contextmanager
    def serving(self) -> Iterator["Site"]:
        site = self

        class Answers(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                site.hits.append(self.path)
                if self.path != "/robots.txt":
                    time.sleep(site.wait_s)
                    site.is_open.wait(HELD_S)
                text = site.pages.get(self.path)
                body = (text if text is not None else "no such page").encode()
                kind = "text/plain" if self.path.endswith(".txt") else "text/html; charset=utf-8"
                self.send_response(200 if text is not None else 404)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with suppress(ConnectionError):  # the crawl closed the connection
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield self
        finally:
            self.is_open.set()
            server.shutdown()
            thread.join()
            server.server_close()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Responses wait meanwhile, so that a crawl of many pages cannot end."""
        with closed(self.is_open):
            yield


def page(title: str, body: str, *links: str, facts: str = "") -> str:
    anchors = " ".join(f'<a href="{link}">to {link}</a>' for link in links)
    return (
        f'<html lang="en"><head><title>{title}</title>{facts}</head>'
        f"<body><main><h1>{title}</h1><p>{body}</p>{anchors}</main></body></html>"
    )


def person(name: str) -> str:
    about = {"@context": "https://schema.org", "@type": "Person", "name": name, "jobTitle": "keeper"}
    return f'<script type="application/ld+json">{json.dumps(about)}</script>'


def harbour(people: int = 4) -> dict[str, str]:
    """A start page, people with facts, a folder without facts, a page that robots.txt disallows, and a dead link."""
    names = [f"/people/{number}" for number in range(people)]
    docs = ["/docs/", "/docs/ropes", "/docs/knots"]
    pages = {
        "/robots.txt": "User-agent: *\nDisallow: /private/\n",
        "/": page("Harbour", "Tropical fish swim near the lighthouse.", *names, *docs, "/private/x", "/dead"),
        "/docs/": page("Documents", "All that is written down.", "/docs/ropes", "/docs/knots", "/"),
        "/docs/ropes": page("Ropes", "Hemp and nylon ropes for every boat.", "/docs/knots"),
        "/docs/knots": page("Knots", "The bowline is the king of knots.", "/docs/"),
        "/private/x": page("Private", "This page must not be read."),
    }
    for number, name in enumerate(names):
        pages[name] = page(
            f"Keeper {number}", f"Keeper number {number} lights lamps.", "/", facts=person(f"Ada {number}")
        )
    return pages


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "gossamer", *map(str, words)]


def plain_environment(**more: str) -> dict[str, str]:
    """Without the settings of the person who runs the tests; one reader without haste, and a wide terminal."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    return (
        kept
        | {"COLUMNS": "200", "NO_COLOR": "1", "GOSSAMER_READERS_COUNT": "1", "GOSSAMER_READERS_WALL_S": "60"}
        | {"GOSSAMER_POLITENESS_TIMES_TOOK": "1"}  # a busy machine answers slowly, which must not lengthen gaps
        | more
    )


ASKING = frozenset(("config", "freshness", "hosts", "plan", "politeness", "rules", "status", "verify", "why"))
"""Commands that only report, or send a command to a crawl; other commands are tested in processes of their own."""


def gossamer(*words: object, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run the real program to its end. It never prints a traceback."""
    if words[0] in ASKING and not variables:
        return in_this_process(*words)
    done = subprocess.run(
        command(*words),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=plain_environment(**variables),
        stdin=subprocess.DEVNULL,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def in_this_process(*words: object) -> "subprocess.CompletedProcess[str]":
    """Run the program's `main`."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(out), redirect_stderr(err):
        patched.setattr("sys.argv", ["gossamer", *map(str, words)])
        for name in [name for name in os.environ if name.startswith("GOSSAMER_")]:
            patched.delenv(name)
        for name, value in plain_environment().items():
            patched.setenv(name, value)
        try:
            cli.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
    return subprocess.CompletedProcess([*map(str, words)], code, out.getvalue(), err.getvalue())


def started(*words: object, **variables: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command(*words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=plain_environment(**variables),
        stdin=subprocess.DEVNULL,
    )


def wait_until(is_so: Callable[[], bool], why: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < until, why
        time.sleep(0.02)


def is_prompt(took_s: float, limit_s: float) -> bool:
    """Within the limit on an idle machine, within ten times the limit on a busy one."""
    return took_s <= limit_s or (os.getloadavg()[0] > 1.0 and took_s <= 10 * limit_s)


def json_lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


@dataclass(frozen=True, slots=True)
class Held:
    """The contents of the views, for comparison."""

    facts: str
    sources: frozenset[tuple[int, int, bytes]]
    links: str
    cards: frozenset[str]
    words: frozenset[str]


def held(root: Path) -> Held:
    """REQUIRES: no process writes to the collection."""
    directory = Directory(root)
    return Held(
        facts_digest(opened(directory.graph)),
        sources(directory),
        links_digest(directory.links),
        frozenset(map(repr, cards(root))),
        words(root),
    )


def sources(directory: Directory) -> frozenset[tuple[int, int, bytes]]:
    with closing(sqlite3.connect(directory.graph / SOURCES)) as held:
        return frozenset(held.execute("SELECT id, capture, record FROM records"))


def cards(root: Path) -> list[object]:
    searcher = Searcher(Directory(root).index)
    searcher.open()
    try:
        return list(searcher.cards())
    finally:
        searcher.close()


def words(root: Path) -> frozenset[str]:
    """Every word of every page in the index, and what the index stores about the page."""
    searcher = Searcher(Directory(root).index)
    searcher.open()
    try:
        urls = [card.url for card in searcher.cards()]
        return frozenset(repr((url, searcher.words(url), searcher.stored(url))) for url in urls)
    finally:
        searcher.close()


def searchable(root: Path) -> set[str]:
    return {card.url.text for card in cards(root)}  # type: ignore[attr-defined]
