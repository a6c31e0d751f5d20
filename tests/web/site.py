"""A real collection, made once (the demonstration web, crawled, and hostile pages, imported), and its web site."""

import asyncio
import http.client
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from selectolax.lexbor import LexborHTMLParser
from tests.web.hostile_pages import write_warc

from gossamer.base.clock import SystemClock
from gossamer.base.environment import Network, real_outside
from gossamer.cli.crawl.crawl import crawl_to_end
from gossamer.cli.crawl.demo import settings_for
from gossamer.cli.serve import server_url, web_server
from gossamer.cli.upkeep.import_ import import_archives
from gossamer.collection import changes, vocabulary
from gossamer.config.settings import WebSettings
from gossamer.demo.server import DemoServer
from gossamer.demo.web import DemoWeb, address_plan
from gossamer.store.directory import Directory
from gossamer.values.url import Url
from gossamer.web.entities import known as entity_known
from gossamer.web.page import history as page_history
from gossamer.web.page import known as page_known

WEB = DemoWeb(seed=1, hosts=8, pages=48, profile_name="quick", trap_pages=2)
SPARQL_S = 2.0
"""The time limit for runaway queries. All others have more time than a busy machine needs."""
LONG_S = 120.0
PATIENCE = (
    (page_history, "PATIENCE_S"),
    (page_history, "COMPARING_S"),
    (page_known, "PATIENCE_S"),
    (entity_known, "PATIENCE_S"),
    (vocabulary, "MOMENT_S"),
    (changes, "SEEDS_PATIENCE_S"),
)
"""The times after which a page is shown without its slow parts: raised here, as the machine may only be busy."""
OURS = re.compile(r"/static/(vendor/)?[a-z_-]+(\.min)?\.js")


class Silent:
    """A display that shows nothing."""

    def heard(self, event: str, facts: dict[str, object]) -> None: ...

    def beat(self) -> None: ...

    def close(self) -> None: ...


def make_collection(root: Path) -> Directory:
    """Made by the first call in a run; later calls return the same."""
    directory = Directory(root / "collection")
    if root.is_dir():
        return directory
    root.mkdir()
    warc = write_warc(root / "hostile.warc.gz")
    asyncio.run(crawl_and_import(directory, warc))
    return directory


async def crawl_and_import(directory: Directory, warc: Path) -> None:
    outside = real_outside()
    settings = settings_for(0)
    politeness = replace(settings.politeness, delay_s=0.02, times_took=1.0, robots_retry_s=0.1)
    settings = replace(settings, politeness=politeness, retry=replace(settings.retry, base_s=0.1, cap_s=0.2))
    settings = replace(settings, readers=replace(settings.readers, count=1, wall_s=60.0))
    async with DemoServer(WEB, SystemClock()) as server:
        plan = address_plan(WEB, server.port)
        seeds = [Url(text) for text in WEB.seeds]
        await crawl_to_end(directory, settings, seeds, Network(plan, plan), outside, Silent())
    imported = await import_archives(directory, (warc,), settings, outside)
    assert imported.pages > 5 and not imported.set_aside


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def page(self) -> LexborHTMLParser:
        assert self.headers["content-type"].startswith("text/html")
        return LexborHTMLParser(self.text)


@dataclass(frozen=True)
class Site:
    """The web site, requested over a real socket."""

    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self,
        target: str,
        method: str = "GET",
        body: bytes | None = None,
        accept: str = "text/html",
        headers: Mapping[str, str] | None = None,
        timeout_s: float = LONG_S,
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        try:
            connection.request(method, target, body, {"Accept": accept, **(headers or {})})
            answer = connection.getresponse()
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def sparql(self, query: str, accept: str = "application/sparql-results+json", **more: str) -> Answer:
        return self.ask("/sparql?" + urlencode({"query": query, **more}), accept=accept)


@contextmanager
def serving(
    directory: Directory,
    sparql_s: float = LONG_S,
    wrap: Callable[[Any], Any] = lambda app: app,
    names: tuple[str, ...] = (),
    behind_tls: bool = False,
) -> Iterator[Site]:
    """`wrap`: puts another application around the site."""
    started = threading.Event()
    started_server: list[Any] = []

    async def serve() -> None:
        web = WebSettings(port=0, sparql_s=sparql_s, names=names, behind_tls=behind_tls)
        settings = replace(settings_for(0), web=web)
        async with web_server(directory, settings, real_outside(), ("harbour", "type:Recipe")) as server:
            server.config.app = wrap(server.config.app)
            running = asyncio.ensure_future(server.serve())
            await server_url(server, running)
            started_server.extend([server, server.servers[0].sockets[0].getsockname()[1]])
            started.set()
            await running

    for module, name in PATIENCE:
        setattr(module, name, LONG_S)
    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="the site")
    thread.start()
    assert started.wait(LONG_S), "the site did not start"
    try:
        yield Site(started_server[1])
    finally:
        started_server[0].should_exit = True
        thread.join(LONG_S)


def trouble_in(page: LexborHTMLParser) -> list[str]:
    """Elements, attributes and links that can do harm, and that only a text from the web could have put there."""
    wrong = []
    for node in page.css("*"):
        attributes = node.attributes
        wrong += [
            f"{node.tag} has {name}" for name in attributes if name.startswith("on") or name in ("style", "srcdoc")
        ]
        if node.tag in ("iframe", "object", "embed", "base", "svg", "math", "template", "style", "frame"):
            wrong.append(f"there is a {node.tag}")
        if node.tag == "script" and (not OURS.fullmatch(attributes.get("src") or "") or node.text().strip()):
            wrong.append(f"a script: {node.html}")
        for name in ("href", "src", "action", "formaction"):
            value = attributes.get(name) or "/"
            if not value.startswith(("/", "#", "http://", "https://")) or value.startswith(("//", "/\\")):
                wrong.append(f"{node.tag} leads to {value[:80]}")
    return wrong
