"""`gossamer crawl`: from seeds until nothing is left to fetch."""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import uvloop
from cyclopts import Parameter
from rich.console import Console

from gossamer.app import crash
from gossamer.app.assemble import Crawling, lock_directory, open_crawl
from gossamer.app.config import FILE_NAME, load
from gossamer.app.directory import DEFAULT, Directory
from gossamer.app.outside import Network, Outside, real_network, real_outside
from gossamer.app.progress import Face, Tally, face_for, summary
from gossamer.app.settings import Settings
from gossamer.errors import ConfigError
from gossamer.values.tell import Tell
from gossamer.values.url import Url, url_of

BEAT_S = 0.5


@dataclass(slots=True)
class Ended:
    """How a crawl ended, for the exit code and the summary."""

    was_stopped: bool = False


def crawl(
    *seeds: str,
    dir: Annotated[Path, Parameter(help="The collection's data directory; made when it is not there.")] = DEFAULT,
    delay: Annotated[float | None, Parameter(help="Least seconds between two visits to one host.")] = None,
    max_pages: Annotated[int | None, Parameter(help="Stop when the collection holds this many pages.")] = None,
    max_depth: Annotated[int | None, Parameter(help="Follow links at most this many steps from a seed.")] = None,
    scope: Annotated[
        Literal["prefix", "host", "domain", "any"] | None,
        Parameter(help="How far links are followed: the seed's folder, host, registrable domain, or anywhere."),
    ] = None,
    keep: Annotated[
        Literal["all", "structured"] | None, Parameter(help="Keep every page, or only those with structured data.")
    ] = None,
    allow_address: Annotated[
        tuple[str, ...], Parameter(help="Open a private address range, such as 10.1.0.0/16, and nothing else.")
    ] = (),
    contact: Annotated[
        str | None, Parameter(help="A page or mail address where site owners reach you; sent with every request.")
    ] = None,
    config: Annotated[
        Path | None, Parameter(help="Settings file; gossamer.toml in the data directory if not given.")
    ] = None,
    json: Annotated[
        bool, Parameter(negative="", help="One JSON object a line, each written once its visit is on disk.")
    ] = False,
) -> int:
    """Crawl from SEEDS, politely, until nothing is left to fetch. The same command goes on where it was stopped.

    robots.txt is always obeyed. Ctrl-C once stops cleanly, twice at once; nothing acknowledged is lost either way.

    Examples:

    gossamer crawl https://example.org/ --dir example --contact you@example.org

    gossamer crawl http://10.1.2.3/ --dir intranet --allow-address 10.1.0.0/16
    """
    flags = {
        "politeness.delay_s": delay,
        "crawl.max_pages": max_pages,
        "crawl.max_depth": max_depth,
        "crawl.scope": scope,
        "crawl.keep": keep,
        "fetch.allow_addresses": list(allow_address) or None,
        "contact": contact,
    }
    directory = Directory(dir)
    settings = load(config or dir / FILE_NAME, os.environ, flags).settings
    outside = real_outside()
    addresses = checked_seeds(seeds)
    if not addresses and not directory.state.is_file():
        raise ConfigError("name at least one address to begin with: gossamer crawl https://example.org/")
    tally = Tally(outside.clock)
    ended = uvloop.run(
        crawl_to_end(
            directory, settings, addresses, real_network(outside), outside, face_for(tally, json), tally, signals=True
        )
    )
    if not json:
        Console(stderr=True).print(summary(tally, "Stopped" if ended.was_stopped else "Finished", str(dir)))
    return 130 if ended.was_stopped else 0


def checked_seeds(texts: Sequence[str]) -> list[Url]:
    found = []
    for text in texts:
        url = url_of(text if "://" in text else f"https://{text}")
        if url is None:
            raise ConfigError(f"{text!r} is not an http or https address")
        found.append(url)
    return found


async def crawl_to_end(
    directory: Directory,
    settings: Settings,
    seeds: Sequence[Url],
    network: Network,
    outside: Outside,
    face: Face,
    tally: Tally | None = None,
    stop: asyncio.Event | None = None,
    signals: bool = False,
) -> Ended:
    """Everything `gossamer crawl` does but its arguments and its summary."""
    stop = stop or asyncio.Event()
    tally = tally or Tally(outside.clock)
    tell = crash.crashing(listener(tally, face), os.environ.get(crash.VARIABLE))
    lock = lock_directory(directory, outside, "crawl")
    try:
        if signals:
            catch_signals(stop)
        async with open_crawl(directory, settings, seeds, network, outside, tell) as crawling:
            beating = asyncio.ensure_future(beat_for_ever(crawling, tally, face, outside))
            try:
                await crawling.crawl.run(stop)
            finally:
                beating.cancel()
            tally.counted(await crawling.frontier.counts(), 0.0)
            crawling.control.beat("crawler", outside.processes.own_pid(), {"state": "ended"})
    finally:
        face.close()
        lock.release()
    return Ended(stop.is_set())


def listener(tally: Tally, face: Face) -> Tell:
    def tell(event: str, /, **facts: object) -> None:
        if event == "visit.settled":
            tally.settled(facts)
        face.heard(event, facts)

    return tell


def catch_signals(stop: asyncio.Event) -> None:
    """The first asks for a clean stop; the second ends the process at once, which is as safe as a crash: quite."""
    loop = asyncio.get_running_loop()

    def asked() -> None:
        if stop.is_set():
            os._exit(130)
        stop.set()
        print("stopping: finishing what is under way (Ctrl-C again to stop at once)", file=sys.stderr)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, asked)


async def beat_for_ever(crawling: Crawling, tally: Tally, face: Face, outside: Outside) -> None:
    """Say how we are, hear how far the indexer is, and refresh what the person sees."""
    pid = outside.processes.own_pid()
    while True:
        counts = await crawling.frontier.counts()
        for beat in crawling.control.beats():
            if beat.name == "indexer" and isinstance(positions := beat.facts.get("positions"), dict):
                crawling.backlog.passed(*min((volume, number) for volume, number in positions.values()))
        tally.counted(counts, crawling.backlog.lag_s())
        facts = {"pages": tally.pages, "rate": round(tally.rate(), 1), "queued": counts.queued, "errors": tally.errors}
        crawling.control.beat("crawler", pid, facts)
        face.beat()
        await outside.clock.sleep(BEAT_S)
