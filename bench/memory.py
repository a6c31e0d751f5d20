"""Memory of the crawler process while many hosts send their largest bodies at once.

    python -m bench.memory --hosts 120 --mib 16             # pages
    python -m bench.memory --hosts 60 --mib 49 --sitemaps   # sitemaps

Every host has a robots.txt and one large body, generated while it is sent, by a server on loopback. The crawl is a real
one, with all its processes. It prints the peak of the crawler's resident memory, sampled every 20 ms, and how the
visits ended; it fails if a body was not sent completely or the peak is above --most MiB.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import uvloop

from gossamer.base.environment import AddressPlan, Network, real_outside
from gossamer.cli.crawl.crawl import crawl_to_end
from gossamer.config.settings import CrawlSettings, FetchSettings, PolitenessSettings, Settings
from gossamer.crawler.heartbeat import Tally
from gossamer.store.directory import Directory
from gossamer.values.url import Url

MIB = 1 << 20
PIECE = 64 * 1024
SAMPLE_S = 0.02


@dataclass(frozen=True, slots=True)
class MemoryRun:
    """The parameters of a run."""

    hosts: int
    size: int
    is_sitemap: bool
    memory_mib: int = 256


def page(size: int) -> Iterator[bytes]:
    """A page of paragraphs, about `size` bytes long."""
    yield b"<!DOCTYPE html><html><head><title>Large</title></head><body>"
    sent, number = 0, 0
    while sent < size - PIECE - 100:
        piece = b"".join([b"<p>paragraph %d is about rivers and bridges.</p>\n" % (number + n) for n in range(1000)])
        number += 1000
        sent += len(piece)
        yield piece
    yield b"</body></html>"


def sitemap(host: str, size: int) -> Iterator[bytes]:
    """URLs so long that 50,000 of them, the most a sitemap may have, reach the size."""
    count = min(50_000, size // 200)
    filling = b"x" * max(1, size // count - 60 - len(host))
    yield b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    for start in range(0, count, 100):
        yield b"".join(
            [b"<url><loc>http://%s/%d/%s</loc></url>" % (host.encode(), n, filling) for n in range(start, start + 100)]
        )
    yield b"</urlset>"


class Hosts:
    """Serves all hosts, on one port."""

    def __init__(self, spec: MemoryRun) -> None:
        self._spec = spec
        self.whole = 0
        """How many large bodies were sent completely."""

    async def serve(self, read: asyncio.StreamReader, write: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await read.readuntil(b"\r\n\r\n")).decode("latin-1")
                target = head.split(" ", 2)[1]
                host = head.split("Host: ", 1)[1].split("\r\n", 1)[0]
                await self._answer(write, host, target)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            write.close()

    async def _answer(self, write: asyncio.StreamWriter, host: str, target: str) -> None:
        spec = self._spec
        if target == "/robots.txt":
            rules = f"User-agent: *\nDisallow: /0\nSitemap: http://{host}/map.xml\n" if spec.is_sitemap else "\n"
            rules = rules.replace("Disallow: /0", "\n".join(f"Disallow: /{n}" for n in range(10)))
            self._whole(write, "text/plain", rules.encode())
        elif target == "/map.xml" or (target == "/" and not spec.is_sitemap):
            kind = "application/xml" if spec.is_sitemap else "text/html"
            write.write(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
            for piece in sitemap(host, spec.size) if spec.is_sitemap else page(spec.size):
                write.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                await write.drain()
            write.write(b"0\r\n\r\n")
            self.whole += 1
        else:
            self._whole(write, "text/html", b"<title>Small</title><p>small")
        await write.drain()

    def _whole(self, write: asyncio.StreamWriter, kind: str, body: bytes) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        write.write(head.encode() + body)


class Quiet:
    """Shows nothing."""

    def heard(self, event: str, facts: Mapping[str, object]) -> None: ...
    def beat(self) -> None: ...
    def close(self) -> None: ...


def sampled(pid: int, stop: threading.Event, peaks: list[int]) -> None:
    process = psutil.Process(pid)
    while not stop.wait(SAMPLE_S):
        try:
            peaks.append(process.memory_info().rss)
        except psutil.NoSuchProcess:
            return


def crawl(spec: MemoryRun, root: Path, port: int) -> dict[str, object]:
    """Runs in a process of its own, which does nothing else."""
    names = [f"h{number}.test" for number in range(spec.hosts)]
    plan = AddressPlan({name: {80: port} for name in names})
    settings = replace(
        Settings(contact="https://example.org/bot"),
        crawl=CrawlSettings(max_depth=0 if spec.is_sitemap else None),  # URLs in sitemaps are offered and not visited
        politeness=PolitenessSettings(delay_s=0.05, times_took=1.0, apart_s=0.0, per_address=256),
        fetch=FetchSettings(memory_mib=spec.memory_mib),
    )
    outside = real_outside()
    tally = Tally(outside.clock)
    seeds = [Url(f"http://{name}/") for name in names]
    ended = uvloop.run(crawl_to_end(Directory(root), settings, seeds, Network(plan, plan), outside, Quiet(), tally))
    return {"pages": ended.counts.pages, "outcomes": ended.counts.by_reason, "known": ended.counts.known}


async def measured(spec: MemoryRun, root: Path) -> tuple[dict[str, object], int, float, int]:
    """The crawl's results, its peak in bytes, the seconds it took, and how many large bodies were sent completely."""
    hosts, peaks, stop = Hosts(spec), [0], threading.Event()
    async with await asyncio.start_server(hosts.serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        given = json.dumps([spec.hosts, spec.size, spec.is_sitemap, spec.memory_mib])
        command = [sys.executable, "-m", "bench.memory", "--crawl", given, str(root), str(port)]
        began_s = time.monotonic()
        child = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        watch = threading.Thread(target=sampled, args=(child.pid, stop, peaks))
        watch.start()
        output, _ = await child.communicate()
        stop.set()
        watch.join()
        if child.returncode:
            sys.exit(f"the crawl ended with exit code {child.returncode}")
    return json.loads(output.splitlines()[-1]), max(peaks), time.monotonic() - began_s, hosts.whole


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", type=int, default=120)
    parser.add_argument("--mib", type=float, default=16)
    parser.add_argument("--sitemaps", action="store_true")
    parser.add_argument("--budget", type=int, default=256)
    parser.add_argument("--most", type=int, default=512)
    parser.add_argument("--crawl", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.crawl:
        spec = MemoryRun(*json.loads(given.crawl[0]))
        print(json.dumps(crawl(spec, Path(given.crawl[1]), int(given.crawl[2]))))
        return
    spec = MemoryRun(given.hosts, int(given.mib * MIB), given.sitemaps, given.budget)
    with tempfile.TemporaryDirectory() as work:
        results, peak, took_s, whole = asyncio.run(measured(spec, Path(work)))
    load = os.getloadavg()[0]
    print(f"{spec.hosts} hosts, {given.mib:g} MiB each: {results}")
    print(f"peak of the crawler {peak / MIB:.0f} MiB, {took_s:.0f} s, {whole} sent completely, load {load:.1f}")
    if peak > given.most * MIB or whole < spec.hosts:
        sys.exit("missed")


if __name__ == "__main__":
    main()
