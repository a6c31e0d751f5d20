"""`gossamer crawl`: from seeds until nothing is left to fetch."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import uvloop
from cyclopts import Parameter
from rich.console import Console

from gossamer.base.environment import Network, Outside, real_outside
from gossamer.base.errors import ConfigError
from gossamer.base.tasks import background
from gossamer.base.tell import CRASH_VARIABLE, Tell, crashing
from gossamer.base.tuning import KEPT_BY_CRAWLER, allow_open_files, keep_freed_memory, relax_garbage_collection
from gossamer.cli.crawl.progress import Face, JsonLines, face_for
from gossamer.cli.crawl.summary import STOPPED, CrawlEnd, summary, waiting_for_options
from gossamer.cli.flags import NewDir
from gossamer.cli.output import note
from gossamer.collection.changes import FetchedBy, fetch_again
from gossamer.collection.cluster.intake import WorkAdded, add_work
from gossamer.collection.directory import existing
from gossamer.config.settings import Settings
from gossamer.crawler.damage import EVENT as DAMAGE
from gossamer.crawler.heartbeat import (
    LOOK_S,
    Tally,
    crawl_report,
    crawler_pulse,
    note_index_positions,
    unless_suspended,
)
from gossamer.crawler.process import Crawling, open_crawl, refuse_wrong_views
from gossamer.crawler.seeds import admitted, checked_seeds
from gossamer.fetch.dns import real_network
from gossamer.monitor.control import BEAT_S
from gossamer.monitor.pulse import Pulse
from gossamer.plugins.settings import protocols_of
from gossamer.recrawl.policies import DEFAULT as POLICY
from gossamer.store.address import shown
from gossamer.store.directory import DEFAULT, Directory, lock_directory, refuse_lost_state
from gossamer.store.options import config_of, keep_options, withheld_in_words
from gossamer.store.state import choose_database, is_cluster, is_node
from gossamer.values.format import as_json as json_text
from gossamer.values.format import counted
from gossamer.values.outcome import HELD
from gossamer.values.url import Url
from gossamer.values.visit import Selection

LEAST_ROOM = 16 << 20
"""Bytes free on the disk that a clean end needs."""


def crawl(
    *seeds: Annotated[str, Parameter(help="Seed URLs. Without https:// or http://, https is assumed.")],
    dir: NewDir = DEFAULT,
    delay: Annotated[float | None, Parameter(help="Minimum seconds between two requests to one host.")] = None,
    max_pages: Annotated[
        int | None, Parameter(help="Stop when the collection holds this many pages, even with --forever.")
    ] = None,
    max_depth: Annotated[int | None, Parameter(help="Follow links at most this many steps from a seed.")] = None,
    scope: Annotated[
        Literal["prefix", "host", "domain", "any"] | None,
        Parameter(help="How far links are followed: the seed's folder, host, registrable domain, or anywhere."),
    ] = None,
    keep: Annotated[
        Literal["all", "structured"] | None, Parameter(help="Keep every page, or only those with structured data.")
    ] = None,
    forever: Annotated[
        bool, Parameter(help="Revisit pages as they are expected to change; the crawl does not end.", negative=())
    ] = False,
    allow_address: Annotated[
        tuple[str, ...],
        Parameter(help="Allow private addresses in this range, such as 10.1.0.0/16, ::1 or fd00::/8."),
    ] = (),
    contact: Annotated[
        str | None, Parameter(help="A URL or email address where site owners can reach you; sent with every request.")
    ] = None,
    config: Annotated[
        Path | None, Parameter(help="Settings file; gossamer.toml in the data directory if not given.")
    ] = None,
    database: Annotated[str | None, Parameter(help="Keep the crawl's state in this PostgreSQL database.")] = None,
    again: Annotated[
        tuple[str, ...],
        Parameter(help="Fetch this URL again, or `all` that were fetched; politely, as always."),
    ] = (),
    json: Annotated[bool, Parameter(help="Print a JSON line for each event; for a fetch, once it is on disk.")] = False,
) -> int:
    flags = {
        "politeness.delay_s": delay,
        "crawl.max_pages": max_pages,
        "crawl.max_depth": max_depth,
        "crawl.scope": scope,
        "crawl.keep": keep,
        "crawl.revisit": revisit_policy(config, dir) if forever else None,
        "fetch.allow_addresses": list(allow_address) or None,
        "contact": contact,
        "frontier.database": database,
    }
    directory = Directory(dir)
    refuse_beside_cluster(directory, config, database)
    loaded = config_of(dir, config, flags)
    settings = loaded.settings
    refuse_other_views(config, settings, directory)
    note(*withheld_in_words(loaded.withheld, dir))
    protocols_of(settings.crawl.protocols, dir)  # their schemes must be known before seeds are checked
    urls = checked_seeds(seeds)
    refuse_no_seeds(directory, urls)
    is_for_nodes = is_cluster(directory) and not is_node(directory)
    is_queued = again and fetch_again(existing(dir), real_outside(), again, note) is FetchedBy.RUNNING_CRAWL
    if is_for_nodes:
        return add_to_cluster(directory, settings, urls, flags, real_outside(), is_done=bool(again), json=json)
    return 0 if is_queued else uvloop.run(crawl_and_report(directory, settings, urls, real_outside(), json, flags))


def refuse_no_seeds(directory: Directory, seeds: Sequence[Url]) -> None:
    """Raises ConfigError for a first crawl without seeds; DirectoryUnusable for one that has lost its state."""
    refuse_lost_state(directory)
    if not seeds and not directory.is_begun:
        raise ConfigError("give at least one seed URL: gossamer crawl https://example.org/")


def refuse_beside_cluster(directory: Directory, config: Path | None, database: str | None) -> None:
    """Raises ConfigError for settings that a cluster has in its database alone; DirectoryUnusable if there is none."""
    if not is_cluster(directory):
        return
    existing(directory.root)
    if config is not None:
        raise ConfigError(
            "a cluster has its settings in its database, and --config has no effect there: "
            f"gossamer cluster settings {shown(directory.root)} set NAME VALUE"
        )
    if database is not None:
        raise ConfigError("--database names where the state of a directory is; a cluster has its own: leave it out")


def add_to_cluster(
    directory: Directory,
    settings: Settings,
    seeds: Sequence[Url],
    flags: Mapping[str, object],
    outside: Outside,
    *,
    is_done: bool,
    json: bool,
) -> int:
    """Raises ConfigError if there is nothing to add, and nothing `is_done` yet."""
    address = shown(directory.root)
    if not seeds and all(value is None for value in flags.values()):
        if is_done:
            return 0
        raise ConfigError(
            f"nodes crawl a cluster: gossamer node {address}. To give it work: gossamer crawl URL --dir {address}"
        )
    added = uvloop.run(added_to_cluster(directory, settings, seeds, flags, outside))
    print(json_text(added) if json else added_in_words(added, address))
    return 0


async def added_to_cluster(
    directory: Directory, settings: Settings, seeds: Sequence[Url], flags: Mapping[str, object], outside: Outside
) -> WorkAdded:
    accepted, left_out = await admitted(seeds, settings, real_network(outside).resolver)
    note(*(f"rejected: {words}" for words in left_out))
    return await add_work(directory, settings, accepted, flags, outside)


def added_in_words(added: WorkAdded, address: str) -> str:
    lines = []
    if added.settings:
        lines.append(f"settings changed: {', '.join(added.settings)}")
    if added.seeds:
        lines.append(f"{counted(added.seeds, 'seed')} added, {added.new:,} of them new; {added.waiting:,} URLs wait")
    if added.crawlers:
        lines.append(
            f"{counted(added.crawlers, 'crawler')} of the cluster at work: see gossamer status --dir {address}"
        )
    else:
        lines.append(f"No node crawls this cluster now. Start one: gossamer node {address}")
    return "\n".join(lines)


def refuse_other_views(config: Path | None, settings: Settings, directory: Directory) -> None:
    """Raises ConfigError if a settings file of the user places the views elsewhere than later commands look."""
    if config is not None and settings.views != config_of(directory.root).settings.views:
        raise ConfigError(
            f"{config.name} sets [views], which searches need too: set it in {directory.config}, or as a variable"
        )


def revisit_policy(config: Path | None, dir: Path) -> str:
    """The policy of the settings, or the default one if they say "no"."""
    given = config_of(dir, config).settings.crawl.revisit
    return given if given != "no" else POLICY


async def crawl_and_report(
    directory: Directory,
    settings: Settings,
    seeds: Sequence[Url],
    outside: Outside,
    as_json: bool,
    flags: Mapping[str, object],
) -> int:
    """A crawl with a summary and an exit code. Its flags are stored in the collection."""
    network, stop, console = real_network(outside), asyncio.Event(), Console(stderr=True)
    accepted, left_out = await admitted(seeds, settings, network.resolver)
    for words in left_out:
        console.print(f"rejected: {words}", highlight=False, markup=False, soft_wrap=True)
    await keep_options(directory, settings.frontier.database, flags, outside, has_seeds=bool(seeds))
    tally = Tally(outside.clock)
    face = face_for(tally, as_json, stop.set)
    ended = await crawl_to_end(directory, settings, accepted, network, outside, face, tally, stop, signals=True)
    if isinstance(face, JsonLines):
        report_end(face, tally, ended)
        if face.is_gone:
            raise BrokenPipeError
    else:
        console.print(summary(tally, ended, str(directory.root)), highlight=False)
    return ended.exit_code(tally)


def report_end(face: Face, tally: Tally, ended: CrawlEnd) -> None:
    """The last JSON line: a summary for programs."""
    counts = ended.counts
    facts = {
        "stopped": ended.was_stopped,
        "fetched": tally.fetched,
        "facts": tally.facts,
        "seconds": round(tally.elapsed_s(), 3),
        "pages": counts.pages,
        "known": counts.known,
        "queued": counts.queued,
        "outcomes": counts.by_reason,
        "waiting": [msgspec.structs.asdict(one) for one in waiting_for_options(ended.held, ended.allowed)],
        "troubles": {url: reason.value for url, reason in tally.troubles.items()},
    }
    face.heard("crawl.ended", facts)


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
) -> CrawlEnd:
    """Everything `gossamer crawl` does apart from its arguments and summary."""
    stop = stop or asyncio.Event()
    tally = tally or Tally(outside.clock)
    tell = crashing(listener(tally, face), os.environ.get(CRASH_VARIABLE))
    lock = lock_directory(directory, outside, "crawl")
    try:
        if signals:
            catch_signals(stop, face.close)
        choose_database(directory, settings.frontier.database, outside.files)
        await refuse_wrong_views(directory, settings, outside)
        async with open_crawl(directory, settings, seeds, network, outside, tell, stop) as crawling:
            tally.counted(await crawling.frontier.counts(), 0.0)
            keep_freed_memory(KEPT_BY_CRAWLER)
            allow_open_files()
            relax_garbage_collection()
            pulse = crawler_pulse(crawling, directory, outside)
            async with background(send_heartbeats(crawling, tally, face, pulse, outside, stop)) as beating:
                # If it ends by itself, stop: without it the crawl would wait forever.
                beating.add_done_callback(lambda ended: None if ended.cancelled() else stop.set())
                await crawling.crawl.run(stop)
                await wait_for_space(directory, outside, stop)
                was_stopped = stop.is_set()
            counts = await crawling.frontier.counts()
            are_held = not HELD.isdisjoint(counts.by_reason)
            held = await crawling.frontier.ended(Selection(HELD)) if are_held else ()
            tally.counted(counts, 0.0)
            crawling.control.beat("crawler", outside.processes.own_pid(), {"state": "ended"})
    finally:
        face.close()
        lock.release()
    return CrawlEnd(was_stopped, counts, settings.crawl.max_pages, tuple(held), settings.fetch.allow_addresses)


async def wait_for_space(directory: Directory, outside: Outside, stop: asyncio.Event) -> None:
    """Wait until the disk has room for the last commits of a clean end. A crawl that is to stop does not wait."""
    while not stop.is_set() and outside.files.room(directory.root) < LEAST_ROOM:
        await outside.clock.sleep(BEAT_S)


def listener(tally: Tally, face: Face) -> Tell:
    def tell(event: str, /, **facts: object) -> None:
        if event == "visit.settled":
            tally.settled(facts)
        elif event == DAMAGE:
            tally.found_damage = True
        with contextlib.suppress(OSError):
            face.heard(event, facts)

    return tell


def catch_signals(stop: asyncio.Event, release: Callable[[], None] = lambda: None) -> None:
    """The first signal requests a clean stop; the second ends the process at once, which loses nothing acknowledged.

    `release` gives the terminal back before that.
    """
    loop = asyncio.get_running_loop()

    def stop_or_exit() -> None:
        if stop.is_set():
            release()
            os._exit(STOPPED)
        stop.set()
        print("stopping: finishing fetches in progress (Ctrl-C again to stop immediately)", file=sys.stderr, flush=True)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop_or_exit)


async def send_heartbeats(
    crawling: Crawling, tally: Tally, face: Face, pulse: Pulse, outside: Outside, stop: asyncio.Event
) -> None:
    """Send a heartbeat once a second, and at once when the crawl is paused or continues. More often, apply commands,
    read the progress of the indexer and refresh the display."""
    due_s, was_paused = 0.0, False
    with pulse.beating():
        while not crawling.indexer.given_up:
            await unless_suspended(crawling.steering.run_commands(), crawling)
            await note_index_positions(crawling)
            is_paused = crawling.steering.is_paused()
            if pulse.clock.elapsed_s() >= due_s or is_paused is not was_paused:
                if is_paused is not was_paused:
                    crawling.crawl.wake()
                was_paused = is_paused
                due_s = pulse.clock.elapsed_s() + BEAT_S - LOOK_S / 2
                report = await crawl_report(crawling, tally, outside)
                await asyncio.to_thread(pulse.beat, report, crawling.readers.pids, crawling.readers.barriers)
            with contextlib.suppress(OSError):  # the terminal may be gone; the crawl continues
                face.beat()
            await pulse.clock.sleep(LOOK_S)
    stop.set()
