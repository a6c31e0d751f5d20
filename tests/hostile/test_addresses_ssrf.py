"""The matrix of FAULTS D2, D3, D6, D7 and D10: every forbidden address through every entry, and none is connected to.

Two witnesses: the dialer, which records every call and refuses what is not in the plan, and an audit hook of the
interpreter, which sees every connection and every query to the system's resolver, from any code.
"""

import ast
import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from tests.hostile.harness import Guarded, Recording, Witness
from tests.hostile.special import ADDRESSES, CODES, LOOPBACKS, NO_ADDRESSES, TARGETS
from tests.journey import crawling

import gossamer
from gossamer.base.clock import SystemClock
from gossamer.base.environment import AddressPlan, Network, made_up_address
from gossamer.base.errors import QueryRefused
from gossamer.base.tell import silent
from gossamer.config.slices import Fetch, RobotsKeeping
from gossamer.fetch.answer import entry_of
from gossamer.fetch.client import Client
from gossamer.fetch.pool import Connections
from gossamer.parse.feeds import parse_feed
from gossamer.parse.sitemaps import parse_sitemap
from gossamer.reader.reading import read
from gossamer.rules.robots import parse
from gossamer.rules.scope import Reach
from gossamer.values.capture import Capture
from gossamer.values.outcome import Fetched, Moved, Reason, Refused
from gossamer.values.url import Url, url_of
from gossamer.values.visit import Visit, VisitKind
from gossamer.views.facts.query_text import inspect

SETTINGS = Fetch(contact="https://example.org/bot", timeout_s=60.0)
GOOD = "http://good.test"
HTML = "text/html"
XML = "application/xml"


class Lure:
    """A web server whose pages all link to the targets; robots.txt of `robots-CODE-N.test` redirects to target N."""

    def __init__(self, targets: tuple[str, ...]) -> None:
        self.targets = targets
        self.pages = {
            "/": (HTML, page_of(targets)),
            "/sitemap.xml": (XML, sitemap_of(targets)),
            "/index.xml": (XML, sitemap_index_of(targets)),
            "/feed.xml": ("application/rss+xml", feed_of(targets)),
            "/context": (HTML, contexts_of(targets)),
            "/robots.txt": ("text/plain", robots_of(targets)),
        }

    async def serve(self, read: asyncio.StreamReader, write: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await read.readuntil(b"\r\n\r\n")
                write.write(self.answer(request.split(b" ", 2)[1].decode(), request))
                await write.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            write.close()

    def answer(self, path: str, request: bytes) -> bytes:
        host = request.partition(b"Host: ")[2].partition(b"\r\n")[0].decode()
        if path == "/robots.txt" and host.startswith("robots-"):
            _, code, number = host.removesuffix(".test").split("-")
            return redirect(int(code), self.targets[int(number)])
        if path.startswith("/go/"):
            _, _, code, number = path.split("/")
            return redirect(int(code), self.targets[int(number)])
        if path.startswith("/hop/"):  # "/hop/3/7": seven more redirects to itself, then 10.0.0.3
            _, _, chain, left = path.split("/")
            return redirect(301, f"/hop/{chain}/{int(left) - 1}" if int(left) else f"http://10.0.0.{chain}/")
        if path.startswith("/refresh/"):
            target = self.targets[int(path.rpartition("/")[2])]
            return whole(HTML, refreshing(target), f"Refresh: 0; url={target}\r\nLink: <{target}>; rel=canonical\r\n")
        if path not in self.pages:
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        return whole(*self.pages[path])


def whole(media_type: str, text: str, fields: str = "") -> bytes:
    body = text.encode()
    return (
        f"HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\n{fields}Content-Length: {len(body)}\r\n\r\n".encode() + body
    )


def redirect(code: int, target: str) -> bytes:
    return f"HTTP/1.1 {code} Go\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode()


def page_of(targets: tuple[str, ...]) -> str:
    links = "".join(f'<a href="{target}x">x</a><iframe src="{target}f"></iframe>' for target in targets)
    own = "".join(
        f'<a href="/refresh/{number}">r</a><a href="/go/{CODES[number % 5]}/{number}">g</a>'
        for number in range(len(targets))
    )
    hosts = "".join(f'<a href="http://robots-301-{number}.test/">h</a>' for number in range(len(targets)))
    feed = '<link rel="alternate" type="application/rss+xml" href="/feed.xml"><a href="/context">c</a>'
    return f"<html><head>{feed}</head><body>{links}{own}{hosts}</body></html>"


def refreshing(target: str) -> str:
    return (
        f'<html><head><meta http-equiv="refresh" content="0; url={target}"><link rel="canonical" href="{target}">'
        f'<link rel="icon" href="{target}icon"><link rel="alternate" href="{target}a"></head><body>'
        f'<img src="{target}i"><script src="{target}s"></script><object data="{target}o"></object></body></html>'
    )


def contexts_of(targets: tuple[str, ...]) -> str:
    linked = {target: json.dumps({"@context": [target, {"@import": target}], "name": "x"}) for target in targets}
    blocks = "".join(
        f'<script type="application/ld+json">{linked[target]}</script>'
        f'<div vocab="{target}" profile="{target}" itemscope itemtype="{target}"><p property="name">x</p></div>'
        for target in targets
    )
    return f"<html><head><title>x</title></head><body>{blocks}</body></html>"


def sitemap_of(targets: tuple[str, ...]) -> str:
    rows = "".join(f"<url><loc>{escape(target)}</loc></url>" for target in targets)
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</urlset>'


def sitemap_index_of(targets: tuple[str, ...]) -> str:
    rows = "".join(f"<sitemap><loc>{escape(target)}</loc></sitemap>" for target in targets)
    return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</sitemapindex>'


def feed_of(targets: tuple[str, ...]) -> str:
    items = "".join(
        f'<item><title>x</title><link>{target}</link><enclosure url="{target}e" type="text/html"/></item>'
        for target in map(escape, targets)
    )
    return f'<rss version="2.0"><channel><title>x</title>{items}</channel></rss>'


def robots_of(targets: tuple[str, ...]) -> str:
    lines = "".join(f"Sitemap: {target}\n" for target in targets)
    return f"User-agent: *\nAllow: /\nSitemap: {GOOD}/sitemap.xml\nSitemap: {GOOD}/index.xml\n{lines}"


class World:
    def __init__(self, client: Client, plan: Recording, lure: Lure, port: int) -> None:
        self.client, self.plan, self.lure, self.port = client, plan, lure, port

    async def capture(self, path: str, kind: VisitKind = VisitKind.PAGE) -> Capture:
        outcome = await self.client.fetch(_url(GOOD + path), kind)
        assert isinstance(outcome, Fetched)
        return outcome.capture


def _url(text: str) -> Url:
    url = url_of(text)
    assert url is not None
    return url


def _urls(texts: list[str]) -> list[Url]:
    return [_url(text) for text in texts]


Found = Callable[[World], Awaitable[list[Url]]]


async def seeds(world: World) -> list[Url]:
    return _urls(list(world.lure.targets))


async def links(world: World) -> list[Url]:
    found = read(await world.capture("/")).page.links
    return [link.url for link in found if link.url.host.name != "good.test" and link.url.path == "/x"]


async def frames(world: World) -> list[Url]:
    found = read(await world.capture("/")).page.links
    return [link.url for link in found if link.url.path == "/f"]


async def refreshes(world: World) -> list[Url]:
    """Meta refresh, the Refresh and Link header fields, canonical, icon, image, script, object."""
    found: list[Url] = []
    for number in range(len(world.lure.targets)):
        page = read(await world.capture(f"/refresh/{number}")).page
        assert page.canonical is not None
        found += [page.canonical, *[link.url for link in page.links]]
    return found


async def sitemaps(world: World) -> list[Url]:
    listed = parse_sitemap((await world.capture("/sitemap.xml")).body, _url(GOOD + "/sitemap.xml"))
    index = parse_sitemap((await world.capture("/index.xml")).body, _url(GOOD + "/index.xml"))
    return [*[entry.url for entry in listed.entries], *[entry.url for entry in index.maps]]


async def named_sitemaps(world: World) -> list[Url]:
    named = parse((await world.capture("/robots.txt", VisitKind.ROBOTS)).body, "Gossamer").sitemaps
    return [url for text in named if (url := url_of(text)) is not None and url.host.name != "good.test"]


async def feeds(world: World) -> list[Url]:
    feed = parse_feed((await world.capture("/feed.xml")).body, _url(GOOD + "/feed.xml"))
    listed = [item.url for item in feed.entries if item.url is not None]
    enclosed = [link.href for item in feed.entries for link in item.links if link.rel == "enclosure"]
    return [*listed, *_urls(enclosed)]


ENTRIES: dict[str, Found] = {
    "seed": seeds,
    "link": links,
    "frame": frames,
    "refresh, canonical, icon": refreshes,
    "sitemap": sitemaps,
    "sitemap in robots.txt": named_sitemaps,
    "feed item": feeds,
}
ALL = {_url(target).host.name for target in TARGETS}


def in_the_world(act: Callable[[World], Awaitable[None]], targets: tuple[str, ...] = TARGETS) -> None:
    """Run `act`, and check that nothing but the server of the lure was connected to."""

    async def run() -> None:
        lure = Lure(targets)
        async with await asyncio.start_server(lure.serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            names = [f"robots-{code}-{number}.test" for code in CODES for number in range(len(targets))]
            plan = Recording(AddressPlan({name: {80: port} for name in ("good.test", *names)}))
            async with Client(Connections(SETTINGS, Network(plan, plan), SystemClock(), silent)) as client:
                with Witness() as witness:
                    await act(World(client, plan, lure, port))
                assert set(witness.connected) <= {("127.0.0.1", port)}
                assert witness.resolved == []
                assert {address for address, _ in plan.dialled} <= {made_up_address(n) for n in range(len(names) + 1)}

    asyncio.run(run())


async def all_refused(world: World, found: list[Url]) -> None:
    assert {url.host.name for url in found} == ALL, "every target came through this entry"
    for kind in (VisitKind.PAGE, VisitKind.ROBOTS):
        before = len(world.plan.dialled)
        outcomes = [await world.client.fetch(url, kind) for url in found]
        assert all(isinstance(one, Refused) and one.reason is Reason.ADDRESS for one in outcomes)
        assert len(world.plan.dialled) == before


def test_the_matrix_has_the_documented_size():
    assert len(set(ADDRESSES)) >= 45 and len(set(LOOPBACKS)) == 16 and len(CODES) == 5
    assert len(ENTRIES) + len(("redirect", "robots redirect", "context", "SPARQL")) >= 8


@pytest.mark.parametrize("name", ENTRIES)
def test_F_D2_D3_no_entry_leads_to_a_forbidden_address(name):
    through: list[Url] = []

    async def act(world: World) -> None:
        through.extend(await ENTRIES[name](world))
        await all_refused(world, through)

    in_the_world(act)
    assert len(through) >= len(ALL)


@pytest.mark.parametrize("code", CODES)
def test_F_D6_no_redirect_leads_to_a_forbidden_address(code):
    async def act(world: World) -> None:
        outcomes = [await world.client.fetch(_url(f"{GOOD}/go/{code}/{n}")) for n in range(len(world.lure.targets))]
        moved = [outcome for outcome in outcomes if isinstance(outcome, Moved)]
        assert len(moved) == len(world.lure.targets)
        assert all(outcome.capture.status == code for outcome in moved), "each hop is archived"
        await all_refused(world, [outcome.to for outcome in moved])

    in_the_world(act)


@pytest.mark.parametrize("code", CODES)
def test_F_D6_no_redirect_of_a_robots_txt_leads_to_a_forbidden_address(code):
    async def act(world: World) -> None:
        asked: list[Url] = []
        for number in range(len(world.lure.targets)):
            url = _url(f"http://robots-{code}-{number}.test/robots.txt")
            outcome = await world.client.fetch(url, VisitKind.ROBOTS)
            entry = entry_of(Visit(url, VisitKind.ROBOTS, 0), outcome, None, 0, RobotsKeeping())
            assert entry.ask is not None
            asked.append(entry.ask)
        await all_refused(world, asked)

    in_the_world(act)


@pytest.mark.parametrize("target", NO_ADDRESSES)
def test_F_D7_a_url_of_another_scheme_is_rejected_at_every_entry(target):
    async def act(world: World) -> None:
        assert url_of(target) is None
        for code in CODES:
            outcome = await world.client.fetch(_url(f"{GOOD}/go/{code}/0"))
            assert isinstance(outcome, Refused) and outcome.reason is Reason.REDIRECT_OUT
        for path in ("/", "/refresh/0"):
            found = {link.url.host.name for link in read(await world.capture(path)).page.links}
            assert {name for name in found if not name.endswith(".test")} == set()
        assert {url.host.name for url in await sitemaps(world) + await named_sitemaps(world)} <= {"good.test"}

    in_the_world(act, (target,))


def test_F_D10_a_remote_context_or_vocabulary_is_never_fetched():
    async def act(world: World) -> None:
        capture = await world.capture("/context")
        before = len(world.plan.dialled)
        reading = read(capture)
        assert reading.page.title == "x"
        assert len(world.plan.dialled) == before
        assert gossamer.extract(capture.body, f"{GOOD}/context", HTML) is not None

    in_the_world(act)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * {{ SERVICE <{0}> {{ ?s ?p ?o }} }}",
        "SELECT * {{ SERVICE SILENT <{0}> {{ ?s ?p ?o }} }}",
        "LOAD <{0}>",
        "LOAD SILENT <{0}> INTO GRAPH <x:g>",
    ],
)
def test_F_D10_a_query_reaches_no_server(query):
    with Witness() as witness:
        for target in TARGETS:
            with pytest.raises(QueryRefused):
                inspect(query.format(target))
    assert witness.connected == [] and witness.resolved == []


DIALLING = {"create_connection", "open_connection", "sock_connect", "start_connection", "connect_ex", "getaddrinfo",
            "gethostbyname", "create_datagram_endpoint", "sock_sendto", "urlopen", "ClientSession"}  # fmt: skip
MAY_DIAL = {
    "fetch/pool.py": {"create_connection", "start_connection"},
    "fetch/dns.py": {"getaddrinfo"},
    "indexer/process.py": {"open_connection"},  # over the socket it inherited from the crawler
}


def test_F_D10_only_the_guarded_client_makes_connections():
    root = Path(gossamer.__file__).parent
    found: dict[str, set[str]] = {}
    for path in sorted(root.rglob("*.py")):
        used = {node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}
        if used & DIALLING:
            found[str(path.relative_to(root))] = used & DIALLING
    assert found == MAY_DIAL


def test_F_D10_a_whole_crawl_of_the_lure_dials_nothing_outside_the_plan(tmp_path, monkeypatch):
    async def act(world: World) -> None:
        guarded = Guarded(world.client)
        monkeypatch.setattr(crawling, "TinyWeb", lambda pages, clock: guarded)
        starts = [f"{GOOD}/", *[_url(target).text for target in world.lure.targets]]
        crawled = await crawling.crawl(tmp_path, {}, starts, reach=Reach.ANY)
        hosts = {_url(text).host.name for text in guarded.asked}
        assert hosts >= ALL, "every target was requested"
        assert f"{GOOD}/context" in guarded.asked and f"{GOOD}/refresh/0" in guarded.asked
        kept = {kept.url.host.name for kept in crawled.kept}
        assert kept.isdisjoint(ALL) and "good.test" in kept
        ends = {end for text, end in crawled.ends.items() if _url(text).host.name in ALL}
        assert ends <= {"address", "robots-unreachable"}

    in_the_world(act)


def test_F_D6_a_forbidden_address_is_refused_at_any_hop_and_the_chain_is_archived(tmp_path, monkeypatch):
    async def act(world: World) -> None:
        guarded = Guarded(world.client)
        monkeypatch.setattr(crawling, "TinyWeb", lambda pages, clock: guarded)
        starts = [f"{GOOD}/hop/{hops}/{hops - 1}" for hops in range(1, 12)]
        crawled = await crawling.crawl(tmp_path, {}, starts, reach=Reach.ANY)
        kept = [kept.url.text for kept in crawled.kept if "/hop/" in kept.url.text]
        for hops in range(1, 11):
            assert len([text for text in kept if f"/hop/{hops}/" in text]) == hops
            assert crawled.ends[f"http://10.0.0.{hops}/"] in ("address", "robots-unreachable")
        assert crawled.ends[f"{GOOD}/hop/11/0"] == "too-many-redirects"
        assert "http://10.0.0.11/" not in crawled.ends

    in_the_world(act)
