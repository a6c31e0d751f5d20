"""How the crawler stands: what it tells the monitor, and what it hears from the indexer."""

import asyncio

import msgspec

from gossamer.base.clock import SECOND, Instant
from gossamer.base.environment import Outside
from gossamer.base.errors import DiskFull
from gossamer.collection.why.waits import awaited_in_words
from gossamer.crawler.process import Crawling
from gossamer.crawler.tally import Tally
from gossamer.monitor.machine import ThisMachine
from gossamer.monitor.pulse import ProcessReport, Pulse
from gossamer.store.directory import Directory

READER = "reader"
IDLE_S = 2.0
"""A crawl that has nothing to do for so long says what it waits for."""


def crawler_pulse(crawling: Crawling, directory: Directory, outside: Outside) -> Pulse:
    pid, machine = outside.processes.own_pid(), ThisMachine(directory.root)
    return Pulse("crawler", pid, crawling.control, machine, outside.clock, READER)


async def hear_indexer(crawling: Crawling) -> None:
    """How far the views are: the crawl waits for the words."""
    for beat in await asyncio.to_thread(crawling.control.beats):
        if beat.name == "indexer" and isinstance(positions := beat.facts.get("positions"), dict):
            if crawling.words.passed(*positions["words"]):
                crawling.crawl.wake()
            crawling.facts.passed(*positions["facts"])


async def our_standing(crawling: Crawling, tally: Tally, outside: Outside) -> ProcessReport:
    """Counted once a second; `tally` learns of it too. On a full disk even counting may fail: then the figures are
    those of the last time."""
    in_flight, rests_s, is_counted, awaited = 0, 0.0, True, None
    try:
        counts = await crawling.frontier.counts()
        next_at = None if counts.leased else await crawling.frontier.next_at()
        rests_s = 0.0 if next_at is None else _until_s(next_at, outside)
        in_flight = counts.leased
        awaited = await crawling.frontier.awaited() if rests_s >= IDLE_S else None
        tally.waits = awaited_in_words(awaited, _until_s(awaited.until_at, outside)) if awaited is not None else ""
        tally.counted(counts, crawling.words.lag_s(), rests_s, crawling.facts.lag_s())
    except DiskFull:
        is_counted = False
    figures = tally.figures() | {
        "queued": tally.queued,
        "in_flight": in_flight,
        "words_lag_s": round(crawling.words.lag_s(), 1),
        "facts_lag_s": round(crawling.facts.lag_s(), 1),
        "jobs_waiting": crawling.readers.waiting,
        "rests_s": round(rests_s, 1),
    }
    is_paused, low_disk = crawling.steering.is_paused(), crawling.crawl.waits_for_room or not is_counted
    facts: dict[str, object] = {
        "pages": tally.pages,
        "rate": figures["pages_s"],
        "queued": tally.queued,
        "failed": tally.failed,
        "lag_s": figures["words_lag_s"],
        "paused": is_paused,
        "low_disk": low_disk,
    }
    if awaited is not None and not is_paused:
        facts["waits"] = {"says": tally.waits, **msgspec.to_builtins(awaited)}
    return ProcessReport(figures, "paused" if is_paused else "waits for disk" if low_disk else "", facts)


def _until_s(at: Instant, outside: Outside) -> float:
    """By the clock on the wall, also where days are short."""
    return outside.lasting_s(max(0.0, (at - outside.dates.now()) / SECOND))
