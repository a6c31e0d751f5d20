"""Large pages read while other processes are busy: none may be lost to a limit that counts the CPU time of others.

    python -m bench.readers --pages 8 --busy 6

Each page costs a reader some 3 CPU-seconds and is on a host of its own, on loopback; the busy processes only spin.
The crawl is a real one, with all its processes. It fails unless every page was read, with its facts.
"""

import argparse
import asyncio
import multiprocessing
import os
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import uvloop

from gossamer.base.environment import AddressPlan, Network, real_outside
from gossamer.cli.crawl.crawl import crawl_to_end
from gossamer.config.settings import PolitenessSettings, Settings
from gossamer.crawler.heartbeat import Tally
from gossamer.store.directory import Directory
from gossamer.values.url import Url

ITEM = (
    b'<p itemscope itemtype="https://schema.org/Person"><a itemprop="url" href="#%d">more</a><b itemprop="name">%d</b>'
)
ITEMS = 60_000


def large_page() -> bytes:
    return b"<!DOCTYPE html><title>Large</title>" + b"".join([ITEM % (number, number) for number in range(ITEMS)])


@dataclass
class ResultsDisplay:
    """Collects the outcomes of the pages."""

    ends: list[tuple[str, int]] = field(default_factory=list)
    """The outcome and the number of facts of each page."""
    lost: list[str] = field(default_factory=list)

    def heard(self, event: str, facts: Mapping[str, object]) -> None:
        if event == "visit.settled" and facts["kind"] == "page":
            self.ends.append((str(facts["outcome"]), int(str(facts["facts"]))))
            print(f"{facts['url']}: {facts['outcome']}, {facts['facts']} facts", flush=True)
        elif event == "reader.lost":
            self.lost.append(str(facts["why"]))

    def beat(self) -> None: ...
    def close(self) -> None: ...


async def serve(body: bytes, started: "asyncio.Future[int]") -> None:
    async def answer(read: asyncio.StreamReader, write: asyncio.StreamWriter) -> None:
        try:
            while True:
                target = (await read.readuntil(b"\r\n\r\n")).split(b" ", 2)[1]
                sent = b"" if target == b"/robots.txt" else body
                kind = b"text/plain" if target == b"/robots.txt" else b"text/html"
                write.write(b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n" % (kind, len(sent)))
                write.write(sent)
                await write.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            write.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        started.set_result(server.sockets[0].getsockname()[1])
        await server.serve_forever()


async def crawled(pages: int, root: Path, display: ResultsDisplay) -> None:
    started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(serve(large_page(), started))
    port = await started
    names = [f"h{number}.test" for number in range(pages)]
    plan = AddressPlan({name: {80: port} for name in names})
    settings = replace(
        Settings(contact="https://example.org/bot"),
        politeness=PolitenessSettings(delay_s=0.05, times_took=1.0, apart_s=0.0, per_address=256),
    )
    outside = real_outside()
    seeds = [Url(f"http://{name}/") for name in names]
    network = Network(plan, plan)
    await crawl_to_end(Directory(root), settings, seeds, network, outside, display, Tally(outside.clock))
    serving.cancel()


def spin() -> None:
    parent = os.getppid()
    while os.getppid() == parent:
        pass


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.readers")
    parser.add_argument("--pages", type=int, default=8)
    parser.add_argument("--busy", type=int, default=6, help="processes that spin meanwhile")
    given = parser.parse_args()
    display = ResultsDisplay()
    with ExitStack() as ending, tempfile.TemporaryDirectory() as work:
        for _ in range(given.busy):
            process = multiprocessing.get_context("spawn").Process(target=spin)
            process.start()
            ending.callback(process.kill)
        began_s = time.monotonic()
        uvloop.run(crawled(given.pages, Path(work) / "data", display))
        took_s = time.monotonic() - began_s
    read = sum(1 for outcome, facts in display.ends if outcome == "fetched" and facts)
    print(f"{read} of {given.pages} pages read in {took_s:.0f} s with {given.busy} busy processes, load ", end="")
    print(f"{os.getloadavg()[0]:.1f}; readers lost: {display.lost or 'none'}")
    return 0 if read == given.pages else 1


if __name__ == "__main__":
    raise SystemExit(main())
