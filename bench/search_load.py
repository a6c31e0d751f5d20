"""The search page under load: a real server gets requests over loopback at a steady rate, also during a crawl.

    python -m bench.search_load --pages 100000 --rate 100 --seconds 30 [--crawl 50] [--runaway] [--keep DIR]

Half of the searches request the page, half JSON, with all facets, entities and snippets; with every fifth comes a
prefix, for suggestions. Time counts from the instant a request was due, so waiting for a server that is behind is
included. `--crawl 50` runs a real crawl of the benchmark web into the same collection, 50 hosts with a second between
visits; it needs nginx. `--runaway` sends a SPARQL query that never ends, and reports the searches before, during and
after it separately.
"""

import argparse
import asyncio
import contextlib
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

import psutil
import uvloop

from bench.collection import PageMaker, build, make_state
from bench.crawl import the_web
from bench.nginx import serving
from bench.web import PORT, Size
from gossamer.base.environment import AddressPlan, Network, real_outside
from gossamer.cli.crawl.crawl import crawl_to_end
from gossamer.config.settings import CrawlSettings, PolitenessSettings, Settings
from gossamer.store import tallies
from gossamer.store.directory import Directory
from gossamer.store.sqlite.database import read_only
from gossamer.values.url import Url

CONNECTIONS = 32
PAGES_PER_HOST = 240
BEGIN_S = 5.0
"""What a crawl needs to start."""
WARM_UP_S = 20.0
"""A server and a crawl that have just been started have caches to fill and files to merge; what is measured is the
steady state."""
UP_S = 30.0
"""By then the searchers are running."""
RUNAWAY = "SELECT (COUNT(*) AS ?n) WHERE { GRAPH ?a { ?s ?p ?o } GRAPH ?b { ?t ?q ?r } GRAPH ?c { ?u ?v ?w } }"
TOOK = re.compile(rb'"took_s": ?([0-9.e-]+)')
"""The client shares the cores with the server, so it parses no more of a response than it needs."""
SPARQL_S = 10.0
"""The default of web.sparql_s."""


@dataclass(slots=True)
class Seen:
    """The responses, by kind of request: milliseconds from when it was due."""

    took: dict[str, list[float]] = field(default_factory=dict)
    at_server: list[float] = field(default_factory=list)
    """What the server reports for each search request, from its arrival to its response."""
    within: list[float] = field(default_factory=list)
    """What it reports for the search itself."""
    searches: list[tuple[float, float]] = field(default_factory=list)
    """When each search was due, and its milliseconds."""
    failed: int = 0
    bytes_in: int = 0


class Client:
    """A connection that is kept open."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, target: str) -> tuple[int, bytes, float]:
        """The status, the body, and the milliseconds that the server reports, waiting included."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port, limit=1 << 20)
        reader, writer = self._streams
        writer.write(f"GET {target} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\nAccept: */*\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        lowered = head.lower()
        length = re.search(rb"content-length: (\d+)", lowered)
        body = await (reader.readexactly(int(length[1])) if length else chunks(reader))
        if b"connection: close" in lowered:
            self.close()
        timing = re.search(rb"server-timing: search;dur=([\d.]+)", lowered)
        return int(head.split(b" ", 2)[1]), body, float(timing[1]) if timing else 0.0

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def chunks(reader: asyncio.StreamReader) -> bytes:
    """A body of unknown length (RFC 9112, 7.1)."""
    body = b""
    while size := int((await reader.readuntil(b"\r\n")).strip(), 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)
    return body


def requests(rate: int, seconds: float, seed: int = 7) -> list[tuple[float, str, str]]:
    """When each is due, its kind, and its target."""
    maker, draw = PageMaker(), random.Random(seed)
    due: list[tuple[float, str, str]] = []
    for number in range(int(rate * seconds)):
        kind, path = (("page", "/"), ("json", "/search.json"))[number % 2]
        due.append((number / rate, kind, f"{path}?q={quote(maker.query(draw))}"))
        if number % 5 == 0:
            due.append(((number + 0.5) / rate, "suggest", f"/suggest.json?q={quote(maker.prefix(draw))}"))
    return due


async def load(host: str, port: int, due_requests: Sequence[tuple[float, str, str]], seen: Seen) -> float:
    """Send the requests; returns the seconds it took in all."""
    loop = asyncio.get_running_loop()
    idle: asyncio.Queue[Client] = asyncio.Queue()
    for _ in range(CONNECTIONS):
        idle.put_nowait(Client(host, port))
    began = loop.time()

    async def one(due: float, kind: str, target: str) -> None:
        client = await idle.get()
        try:
            status, body, within_ms = await client.get(target)
            took_ms = 1000 * (loop.time() - due)
            seen.took.setdefault(kind, []).append(took_ms)
            if kind != "suggest":
                seen.searches.append((due, took_ms))
                seen.at_server.append(within_ms)
            seen.failed += status != 200
            seen.bytes_in += len(body)
            if kind == "json" and (search_s := TOOK.search(body)):
                seen.within.append(1000 * float(search_s[1]))
        except (OSError, asyncio.IncompleteReadError):
            seen.failed += 1
            client.close()
        finally:
            idle.put_nowait(client)

    async with asyncio.TaskGroup() as crew:
        for at, kind, target in due_requests:
            await asyncio.sleep(max(0.0, began + at - loop.time()))
            crew.create_task(one(began + at, kind, target))
    took = loop.time() - began
    while not idle.empty():
        idle.get_nowait().close()
    return took


async def run_away(host: str, port: int, after_s: float) -> tuple[float, float, int]:
    """When a query that never ends began and was stopped, and the status of its response."""
    loop = asyncio.get_running_loop()
    await asyncio.sleep(after_s)
    client = Client(host, port)
    began = loop.time()
    status, body, _ = await client.get(f"/sparql?query={quote(RUNAWAY)}")
    client.close()
    print(f"the response to the runaway query: {body.decode(errors='replace').strip()[:200]}")
    return began, loop.time(), status


@contextlib.contextmanager
def server(root: Path) -> Iterator[tuple[psutil.Process, str, int]]:
    command = [sys.executable, "-m", "gossamer", "serve", "--dir", str(root), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            found = re.search(r"http://\S+", child.stdout.readline())
            if found is None:
                sys.exit("the server did not start")
            address = urlsplit(found[0])
            yield psutil.Process(child.pid), str(address.hostname), address.port or 80
        finally:
            child.terminate()
            child.wait(10)


@contextlib.contextmanager
def crawling(root: Path, rate: int, work: Path) -> Iterator[psutil.Process | None]:
    if not rate:
        yield None
        return
    web, manifest = the_web(Size(hosts=rate, pages=rate * PAGES_PER_HOST))
    seeds = work / "seeds.txt"
    seeds.write_text("\n".join(host.start for host in manifest.hosts))
    command = [sys.executable, "-m", "bench.search_load", "--crawl-side", str(seeds), "--keep", str(root)]
    with serving(web, work / "nginx", PORT), subprocess.Popen(command) as child:
        try:
            time.sleep(BEGIN_S)
            if child.poll() is not None:
                sys.exit("the crawl ended immediately: it was complete, or was refused; use a new --keep")
            yield psutil.Process(child.pid)
        finally:
            child.terminate()
            child.wait(60)


class Quiet:
    """A display that shows nothing."""

    def heard(self, event: str, facts: dict[str, object]) -> None: ...

    def beat(self) -> None: ...

    def close(self) -> None: ...


def crawl_side(seeds_file: Path, root: Path) -> None:
    """The crawl, in a process of its own: each host once a second."""
    seeds = [Url(line) for line in seeds_file.read_text().split()]
    plan = AddressPlan({seed.hostname: {PORT: PORT} for seed in seeds})
    settings = Settings(
        contact="https://bench.test/",
        crawl=CrawlSettings(scope="host"),
        politeness=PolitenessSettings(delay_s=0.95, times_took=0.0),
    )
    outside = real_outside()
    asyncio.run(crawl_to_end(Directory(root), settings, seeds, Network(plan, plan), outside, Quiet()))


def fetched_in(root: Path) -> int:
    with contextlib.closing(read_only(Directory(root).state)) as state:
        return tallies.counts(state).captures


def cpu_of(process: psutil.Process | None, has_children: bool = True) -> float:
    """CPU seconds of it and its living children: searchers and SPARQL workers, readers and indexer."""
    if process is None or not process.is_running():
        return 0.0
    used = 0.0
    for one in (process, *(process.children(recursive=True) if has_children else ())):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = one.cpu_times()
            used += times.user + times.system
    return used


def used_by(web: psutil.Process, crawl: psutil.Process | None) -> tuple[float, float, float]:
    """CPU seconds of the web process alone, of it and its children, and of the crawl."""
    return cpu_of(web, has_children=False), cpu_of(web), cpu_of(crawl)


def print_quantiles(name: str, took: list[float]) -> None:
    if not took:
        return
    took.sort()
    at = [took[min(len(took) - 1, int(share * len(took)))] for share in (0.5, 0.9, 0.99)]
    print(f"{name:28} {len(took):6}   p50 {at[0]:6.1f} ms   p90 {at[1]:6.1f} ms   p99 {at[2]:6.1f} ms", flush=True)


async def warm_up(host: str, port: int, rate: int, web: psutil.Process) -> None:
    """The first search starts the searchers, which answer the others."""
    await load(host, port, requests(1, 1.0), Seen())
    async with asyncio.timeout(UP_S):
        while not searchers_of(web):  # noqa: ASYNC110 - these are processes of the server
            await asyncio.sleep(0.2)
    await load(host, port, requests(rate, WARM_UP_S, seed=8), Seen())


def searchers_of(web: psutil.Process) -> int:
    return sum("gossamer.web.search.answer" in " ".join(child.cmdline()) for child in web.children())


async def measured(host: str, port: int, given: argparse.Namespace, seen: Seen) -> float:
    if not given.runaway:
        return await load(host, port, requests(given.rate, given.seconds), seen)
    async with asyncio.TaskGroup() as crew:
        away = crew.create_task(run_away(host, port, given.seconds / 3))
        took = await load(host, port, requests(given.rate, given.seconds), seen)
    began, ended, status = away.result()
    print(f"the runaway query was ended after {ended - began:.1f} s (limit {SPARQL_S:.0f} s) with status {status}")
    print_quantiles("searches before it", [ms for due, ms in seen.searches if due < began])
    print_quantiles("searches during it", [ms for due, ms in seen.searches if began <= due < ended])
    print_quantiles("searches after it", [ms for due, ms in seen.searches if due >= ended])
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--keep", type=Path, help="build there, or use what was built there")
    parser.add_argument("--rate", type=int, default=100, help="searches per second")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--crawl", type=int, default=0, help="pages per second that a crawl fetches meanwhile")
    parser.add_argument("--runaway", action="store_true", help="with a SPARQL query that never ends")
    parser.add_argument("--crawl-side", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.crawl_side:
        crawl_side(given.crawl_side, given.keep)
        return
    with tempfile.TemporaryDirectory() as scratch:
        root = given.keep or Path(scratch) / "collection"
        if not (root / "index").is_dir():
            build(root, given.pages)
        asyncio.run(make_state(Directory(root)))  # one that was built earlier may have an older schema
        seen = Seen()
        with server(root) as (web, host, port), crawling(root, given.crawl, Path(scratch)) as crawl:
            uvloop.run(warm_up(host, port, given.rate, web))
            before, fetched, began = used_by(web, crawl), fetched_in(root), time.perf_counter()
            took_s = uvloop.run(measured(host, port, given, seen))
            used, passed_s = used_by(web, crawl), time.perf_counter() - began
            crawled = (fetched_in(root) - fetched) / passed_s
        show(given, seen, took_s, [(now - then) / passed_s for now, then in zip(used, before, strict=True)])
        print(f"the crawl fetched {crawled:.1f} pages per second meanwhile" if given.crawl else "without a crawl")


def show(given: argparse.Namespace, seen: Seen, took_s: float, used: Sequence[float]) -> None:
    searches = len(seen.took.get("page", ())) + len(seen.took.get("json", ()))
    print_quantiles("searches, from when due", [*seen.took["page"], *seen.took["json"]])
    print_quantiles("  as pages", seen.took["page"])
    print_quantiles("  as JSON", seen.took["json"])
    print_quantiles("  at the server", seen.at_server)
    print_quantiles("  the search in it", seen.within)
    print_quantiles("suggestions", seen.took["suggest"])
    print(
        f"{searches / took_s:.1f} searches/s of {given.rate}/s sent, {seen.failed} failed, "
        f"{seen.bytes_in / max(1, searches) / 1000:.0f} kB each; CPU: web {used[1]:.2f}, crawl {used[2]:.2f} "
        f"of {os.cpu_count()} cores, {1000 * used[1] * took_s / max(1, searches):.1f} ms per search, "
        f"{1000 * used[0] * took_s / max(1, searches):.1f} of them in the web process itself"
    )


if __name__ == "__main__":
    main()
