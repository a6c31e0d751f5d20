"""A crawl of a TinyWeb through the real frontier, archive, spool and reader processes; no indexer, no sockets."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from gossamer.archive.catalogue import Catalogue, acknowledged, adopt
from gossamer.archive.volumes import Volumes, room_left
from gossamer.base.clock import Clock, Instant, SystemClock
from gossamer.base.environment import seeded
from gossamer.base.files import DiskFiles, Files
from gossamer.base.processes import SystemProcesses
from gossamer.config.slices import Politeness, RobotsKeeping
from gossamer.crawler.journey import Crawl
from gossamer.crawler.pace import Pace
from gossamer.crawler.revisit import Revisits
from gossamer.crawler.settlement import Measures
from gossamer.crawler.steps.group import VolumeWriter
from gossamer.crawler.steps.rooms import Rooms
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.reports import every_end
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.reader.reading import job
from gossamer.recrawl.retry import Retry
from gossamer.rules.scope import Reach, judge, scope_of
from gossamer.spool.frames import SpoolWriter
from gossamer.store.directory import Directory
from gossamer.store.sqlite.database import Database
from gossamer.testing import TinyWeb
from gossamer.values.capture import Kept
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Allowed, Outcome
from gossamer.values.url import Url
from gossamer.values.visit import Visit
from gossamer.workers.pool import Pool
from gossamer.workers.protocol import Limits


@dataclass(slots=True)
class EventLog:
    """A Tell that records every event."""

    events: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    idle_at: Instant | None = None
    """When there was last nothing to take. Code that advances the clock waits for it, however long that takes."""

    def __call__(self, event: str, /, **facts: object) -> None:
        self.events.append((event, facts))

    def named(self, event: str) -> list[dict[str, object]]:
        return [facts for name, facts in self.events if name == event]


Told = EventLog  # the name that tests/cli imports


@dataclass(slots=True)
class Crawled:
    asked: list[str]
    ends: dict[str, str]
    kept: list[Kept]
    log: EventLog


class Watched(SqliteFrontier):
    """It notes when there was nothing left to take."""

    log: EventLog

    async def take(self, at_most: int) -> list[Visit]:
        now = self._clock.now()
        taken = await super().take(at_most)
        self.log.idle_at = None if taken else now
        return taken


async def crawl(
    root: Path,
    pages: Mapping[str, str | Outcome],
    seeds: list[str],
    files: Files | None = None,
    clock: Clock | None = None,
    pace: Pace | None = None,
    reach: Reach = Reach.HOST,
    low_water: int = 0,
    limits: Limits | None = None,
    stop: asyncio.Event | None = None,
    log: EventLog | None = None,
    web: TinyWeb | None = None,
    revisits: Revisits | None = None,
    is_paused: Callable[[], bool] = lambda: False,
    waits_for_readers: bool = False,
) -> Crawled:
    files, clock, log = files or DiskFiles(), clock or SystemClock(), log or EventLog()
    web = web or TinyWeb(pages, clock)
    async with AsyncExitStack() as opened:
        database = await opened.enter_async_context(Database(root / "state.db", clock, log))
        volumes = Volumes(files, root / "archive", clock, log)
        recovered = volumes.open(await acknowledged(database))
        await adopt(database, files, root / "archive", log)
        spool = SpoolWriter(files, root / "spool", log)
        spool.open(recovered.last_volume)
        scope = scope_of([(Url(seed), reach) for seed in seeds])
        rules = FrontierRules(
            Politeness(delay_s=0.0),
            lambda offer: isinstance(judge(offer.url, offer.depth, scope), Allowed),
        )
        frontier = Watched(database, rules, clock, log)
        frontier.log = log
        await opened.enter_async_context(frontier)
        readers = Pool(job, 1, limits or Limits(wall_s=60.0, cpu_s=60.0), SystemProcesses(), SystemClock(), log)
        await opened.enter_async_context(readers)
        await frontier.offer([Offer(Url(seed), How.SEED) for seed in seeds])
        rooms = Rooms(
            frontier=frontier,
            fetch=web.fetch,
            read=readers.ask,
            writer=VolumeWriter(volumes, spool),
            clock=clock,
            measures=Measures(seeded(1), Retry(base_s=0.01, cap_s=0.02, tries=2), RobotsKeeping(), revisits=revisits),
            tell=log,
            lag_s=lambda: 0.0,
            has_room=lambda: room_left(files, root, low_water),
            agent="Gossamer",
            pace=pace or Pace(),
            is_paused=is_paused,
            do_pages_wait=lambda: waits_for_readers and readers.waiting > 0,
        )
        await asyncio.wait_for(Crawl(rooms).run(stop or asyncio.Event()), 600)
        volumes.close()
        spool.close()
        ends = dict(await database.read(lambda connection: list(every_end(connection))))
    with Catalogue(Directory(root), DiskFiles()) as catalogue:
        return Crawled(web.asked, ends, list(catalogue.in_order()), log)


def page(*links: str, body: str = "words") -> str:
    anchors = "".join(f'<a href="{link}">to {link}</a> ' for link in links)
    return f"<html><head><title>A page</title></head><body><p>{body}</p>{anchors}</body></html>"
