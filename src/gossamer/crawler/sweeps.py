"""Selective revisits (MISSION B3): pages come sooner because pages next to them have changed.

A task beside the crawl. Now and then it takes the pages that visits have found changed, finds in the links view which
pages of their hosts link to them, and judges each of those by what the frontier remembers. Nothing is asked of the web,
and nothing depends on it: while the links are not there, or behind, no page is hastened.
"""

import asyncio
import sqlite3
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.environment import Outside
from gossamer.base.errors import DirectoryUnusable, DiskFull
from gossamer.base.tasks import background
from gossamer.base.tell import Tell
from gossamer.config.settings import Settings
from gossamer.crawler.revisit import Returning
from gossamer.frontier.api import Frontier
from gossamer.recrawl.change import is_older, is_to_be_looked_at, judged
from gossamer.values.history import Past, Reschedule, Why
from gossamer.values.url import Url
from gossamer.views.links.reader import LinksReader, Runs

EVERY_S = 120.0
"""Between two sweeps while there is enough else to visit; when there is not, one follows as soon as a page changes."""
GLANCE_S = 5.0
MOST_CHANGED = 500
"""Changed pages whose neighbours one sweep looks at; the others wait for the next."""
MOST_LISTED = 5_000
"""Pages that lists say have changed, in one sweep."""
MOST_JUDGED = 400
"""Pages judged in one sweep."""
MOST_LINKS = 200
"""Links of a page that are looked at."""
MOST_WAITING = 20_000
AT_ONCE = 1_000
"""Pages asked of the frontier together; between two such questions it may take and settle."""

Around = Callable[[Sequence[Url]], Mapping[Url, Sequence[Url]]]
"""Of changed pages, the pages of their hosts that link to them, and where each of those leads within its host."""


def no_neighbours(_: Sequence[Url]) -> dict[Url, list[Url]]:
    """For `tree`, which looks downwards alone."""
    return {}


class Swept(NamedTuple):
    judged: int
    hastened: int


class Neighbours:
    """The links view, opened for each question: it may be made anew under us."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._runs = Runs()

    def __call__(self, changed: Sequence[Url]) -> dict[Url, list[Url]]:
        reader = LinksReader(self._path, self._runs)
        try:
            reader.open()
            return self._around(reader, changed)
        except (DirectoryUnusable, sqlite3.Error):
            return {}
        finally:
            reader.close()

    def _around(self, reader: LinksReader, changed: Sequence[Url]) -> dict[Url, list[Url]]:
        sources: dict[Url, None] = {}
        for url, (incoming, _) in zip(changed, reader.about_all(changed), strict=True):
            sources |= dict.fromkeys([one for one in incoming.sources if one.host == url.host and one != url])
            if len(sources) >= MOST_JUDGED:
                break
        return {
            source: [link.url for link in reader.outgoing(source) if link.url.host == source.host][:MOST_LINKS]
            for source in list(sources)[:MOST_JUDGED]
        }


class Hastening:
    """REQUIRES: one sweep at a time."""

    def __init__(
        self,
        frontier: Frontier,
        returning: Returning,
        around: Around,
        clock: Clock,
        tell: Tell,
        by_links: bool = True,
    ) -> None:
        """`by_links`: whether the change of a page is a reason for those next to it; what lists say always is."""
        self._by_links = by_links
        self._frontier, self._returning, self._around = frontier, returning, around
        self._clock, self._tell = clock, tell
        self._changed: deque[Url] = deque(maxlen=MOST_WAITING)
        self._below: deque[Url] = deque(maxlen=MOST_WAITING)
        self._listed: deque[tuple[Url, Instant]] = deque(maxlen=MOST_WAITING)

    async def has_work(self) -> bool:
        """Whether visits have found something that a sweep would look at."""
        async with self._returning.turn:
            news = self._returning.news()
        if self._by_links:
            self._changed.extend(news.changed)
            self._below.extend(news.below)
        self._listed.extend(news.listed)
        return bool(self._changed or self._below or self._listed)

    async def sweep(self) -> Swept:
        """Bounded: what is left over is looked at by the next."""
        if not await self.has_work():
            return Swept(0, 0)
        below = [self._below.popleft() for _ in range(min(MOST_CHANGED, len(self._below)))]
        changed = [self._changed.popleft() for _ in range(min(MOST_CHANGED, len(self._changed)))]
        listed = [self._listed.popleft() for _ in range(min(MOST_LISTED, len(self._listed)))]
        sooner = [*await self._called_from_above(below), *await self._called_by_lists(listed)]
        judged_pages, called = await self._called_by_links(changed)
        judged_pages += len(below) + len(listed)
        sooner += called
        hastened = 0
        for start in range(0, len(sooner), AT_ONCE):
            hastened += await self._frontier.hasten(sooner[start : start + AT_ONCE])
        self._tell("links.swept", changed=len(changed), judged=judged_pages, hastened=hastened)
        return Swept(judged_pages, hastened)

    async def _called_from_above(self, below: Sequence[Url]) -> list[Reschedule]:
        now, pasts = self._clock.now(), await self._pasts(below)
        async with self._returning.turn:
            return [
                Reschedule(url, self._returning.sooner(url, past, now), Why.LINKS)
                for url, past in pasts.items()
                if is_to_be_looked_at(past, now)
            ]

    async def _called_by_lists(self, listed: Sequence[tuple[Url, Instant]]) -> list[Reschedule]:
        dates = dict(listed)
        now, pasts = self._clock.now(), await self._pasts(dates)
        async with self._returning.turn:
            return [
                Reschedule(url, self._returning.sooner(url, past, now), Why.LISTED)
                for url, past in pasts.items()
                if is_older(past, dates[url], now)
            ]

    async def _called_by_links(self, changed: Sequence[Url]) -> tuple[int, list[Reschedule]]:
        around = await asyncio.to_thread(self._around, changed) if changed else {}
        pasts = await self._pasts([*around, *(link for links in around.values() for link in links)])
        now, sooner = self._clock.now(), []
        async with self._returning.turn:
            for url, links in around.items():
                if (past := pasts.get(url)) is None:
                    continue
                linked = [pasts[link] for link in dict.fromkeys(links) if link in pasts and link != url]
                found = judged(past, linked, now)
                if found.look is not None:
                    due_at = self._returning.sooner(url, past, now) if found.is_called else None
                    sooner.append(Reschedule(url, due_at, Why.LINKS, found.look, found.threshold))
        return len(around), sooner

    async def _pasts(self, urls: Iterable[Url]) -> dict[Url, Past]:
        asked = list(dict.fromkeys(urls))
        found: dict[Url, Past] = {}
        for start in range(0, len(asked), AT_ONCE):
            some = asked[start : start + AT_ONCE]
            pasts = await self._frontier.pasts(some)
            found |= {url: past for url, past in zip(some, pasts, strict=True) if past is not None}
        return found


@asynccontextmanager
async def coming_back(
    returning: Returning | None, settings: Settings, frontier: Frontier, links: Path, outside: Outside, tell: Tell
) -> AsyncIterator[None]:
    """Pages that were fetched before wait again, and the days of the budget are as full as they are planned already.
    While it is open pages come sooner because of others, where that is wanted."""
    if returning is None:
        yield
        return
    await frontier.recall()
    returning.expect(await frontier.plans())
    if settings.crawl.revisit == "uniform":
        yield
        return
    around = Neighbours(links) if settings.crawl.revisit != "tree" else no_neighbours
    work = Hastening(frontier, returning, around, outside.dates, tell, settings.crawl.revisit_links)
    async with hastening(work, frontier, outside.dates):
        yield


@asynccontextmanager
async def hastening(work: Hastening, frontier: Frontier, clock: Clock) -> AsyncIterator[None]:
    """While it is open, sweeps are made: each few minutes, and when the crawl has nothing due."""
    async with background(_now_and_then(work, frontier, clock)):
        yield


async def _now_and_then(work: Hastening, frontier: Frontier, clock: Clock) -> None:
    swept_s = clock.elapsed_s()
    while True:
        await clock.sleep(GLANCE_S)
        if not await work.has_work():
            continue
        next_at = await frontier.next_at()
        is_idle = next_at is None or next_at > clock.now() + round(GLANCE_S * SECOND)
        if is_idle or clock.elapsed_s() - swept_s >= EVERY_S:
            with suppress(DiskFull):  # the crawl says so itself; the pages come when their time comes
                await work.sweep()
            swept_s = clock.elapsed_s()
