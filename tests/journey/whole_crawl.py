"""A whole crawl on a clock that skips every wait: real frontier, archive, spool, readers and rules, with the settings
that a user would have; only the web is a function."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from multidict import CIMultiDict, CIMultiDictProxy
from tests.journey.crawling import EventLog

from gossamer.archive.catalogue import acknowledged, adopt
from gossamer.archive.volumes import Volumes
from gossamer.base.clock import SECOND, Instant, SystemClock
from gossamer.base.environment import Outside, seeded
from gossamer.base.files import DiskFiles
from gossamer.base.processes import SystemProcesses
from gossamer.config.settings import Settings
from gossamer.config.slices import budget, politeness
from gossamer.crawler.admission import open_admission
from gossamer.crawler.journey import Crawl
from gossamer.crawler.process import measures, pace
from gossamer.crawler.steps.group import VolumeWriter
from gossamer.crawler.steps.rooms import Rooms
from gossamer.fetch.answer import ResponseHead, outcome_of
from gossamer.frontier.api import FrontierRules, KnownState
from gossamer.frontier.rows import UrlKeys
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.reader.reading import job
from gossamer.rules.canonical import identity_of
from gossamer.rules.learned.traps import template_of
from gossamer.spool.frames import SpoolWriter
from gossamer.store.directory import Directory
from gossamer.store.sqlite.database import Database
from gossamer.testing import FakeClock
from gossamer.values.capture import Capture
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Failed, Gone, Outcome, Reason
from gossamer.values.url import Url
from gossamer.values.visit import Counts, VisitKind
from gossamer.workers.pool import Pool
from gossamer.workers.protocol import Limits


@dataclass(frozen=True, slots=True)
class Answer:
    body: str | bytes = ""
    status: int = 200
    kind: str = "text/html; charset=utf-8"
    fields: tuple[tuple[str, str], ...] = ()


Web = Callable[[str, float], Answer | None]
"""A URL, and the seconds since the crawl started -> the response; None: no connection."""


def in_dict(pages: Mapping[str, Answer | str]) -> Web:
    def answers(url: str, _: float) -> Answer:
        found = pages.get(url, Answer("no such page", 404))
        return Answer(found) if isinstance(found, str) else found

    return answers


def moved(to: str) -> Answer:
    return Answer("", 301, fields=(("Location", to),))


@dataclass(frozen=True, slots=True)
class Request:
    at_s: float
    url: str


@dataclass(slots=True)
class WholeCrawl:
    """The results of a whole crawl."""

    requests: list[Request] = field(default_factory=list)
    known: dict[str, KnownState | None] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)
    log: EventLog = field(default_factory=EventLog)
    ended_s: float = 0.0

    def times(self, url: str) -> int:
        return sum(1 for one in self.requests if one.url == url)

    def pages(self) -> set[str]:
        return {one.url for one in self.requests if not one.url.endswith("/robots.txt")}


class SkipsWaits(SqliteFrontier):
    """With no fetch in progress, it sets the clock to the next instant at which something is due."""

    async def next_at(self) -> Instant | None:
        at = await super().next_at()
        clock = self._clock
        if at is not None and not self._leases and at > clock.now():
            assert isinstance(clock, FakeClock)
            clock.advance((at - clock.now()) / SECOND)
        return at


async def crawl(
    root: Path,
    web: Web,
    seeds: list[str],
    settings: Settings | None = None,
    until_s: float = 7 * 86_400.0,
    look_up: tuple[str, ...] = (),
) -> WholeCrawl:
    """Crawl until nothing is left, or the clock has passed `until_s`."""
    clock, settings, found, directory = FakeClock(), settings or Settings(), WholeCrawl(), Directory(root)
    started, stop, files = clock.now(), asyncio.Event(), DiskFiles()
    outside = Outside(clock, seeded(1), files, SystemProcesses())
    starts = [Url(seed) for seed in seeds]

    async def fetch(url: Url, kind: VisitKind = VisitKind.PAGE, depth: int = 0, **_: object) -> Outcome:
        since_s = (clock.now() - started) / SECOND
        found.requests.append(Request(since_s, url.text))
        if since_s > until_s:
            stop.set()
        answer = web(url.text, since_s)
        return outcome(url, answer, clock.now())

    async with AsyncExitStack() as opened:
        database = await opened.enter_async_context(Database(directory.state, clock, found.log))
        volumes = Volumes(files, directory.archive, clock, found.log)
        recovered = volumes.open(await acknowledged(database))
        await adopt(database, files, directory.archive, found.log)
        spool = SpoolWriter(files, directory.spool, found.log)
        spool.open(recovered.last_volume)
        ruling = await open_admission(directory, settings, starts, database, outside, found.log)
        frontier = SkipsWaits(
            database,
            FrontierRules(
                politeness(settings),
                ruling.may_enter,
                ruling.nudge,
                UrlKeys(identity_of),
                template_of=lambda text: template_of(Url(text)),
                judge_template=ruling.is_trap,
                budget=budget(settings),
                chance=outside.chance,
            ),
            clock,
            found.log,
        )
        await opened.enter_async_context(frontier)
        readers = await opened.enter_async_context(
            Pool(job, 1, Limits(wall_s=60.0, cpu_s=60.0), SystemProcesses(), SystemClock(), found.log)
        )
        await frontier.offer([Offer(start, How.SEED) for start in starts])
        rooms = Rooms(
            frontier=frontier,
            fetch=fetch,
            read=readers.ask,
            writer=VolumeWriter(volumes, spool),
            clock=clock,
            measures=measures(settings, outside),
            tell=found.log,
            lag_s=lambda: 0.0,
            has_room=lambda: True,
            agent="Gossamer",
            pace=pace(settings),
            judge=ruling.judge,
            learn=ruling.learn,
            missed=ruling.learning.missed,
        )
        await asyncio.wait_for(Crawl(rooms).run(stop), 600)
        volumes.close()
        spool.close()
        for url in look_up:
            found.known[url] = await frontier.known(Url(url))
        found.counts = await frontier.counts()
        found.ended_s = (clock.now() - started) / SECOND
    return found


def outcome(url: Url, answer: Answer | None, now: Instant) -> Outcome:
    if answer is None:
        return Failed(Reason.CONNECT, "connection refused")
    body = answer.body.encode() if isinstance(answer.body, str) else answer.body
    fields = (("Content-Type", answer.kind), ("Content-Length", str(len(body))), *answer.fields)
    capture = Capture(url, now, answer.status, "", fields, body, "20.0.0.1")
    if answer.status in (404, 410):
        return Gone(capture)
    return outcome_of(capture, ResponseHead(CIMultiDictProxy(CIMultiDict(fields))), (), now)


def page(title: str, *links: str, words: str = "", head: str = "") -> str:
    anchors = " ".join(f'<a href="{link}">to {link}</a>' for link in links)
    return f"<html><head><title>{title}</title>{head}</head><body><h1>{title}</h1><p>{words}</p>{anchors}</body></html>"
