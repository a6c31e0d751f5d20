"""Background tasks of a crawl: judge refused URLs again, and bring revisits forward.

A refusal by an option, a seed's scope, rules.txt or a filter is not final. Digests of all of these are stored with the
collection. When a digest differs at the start of a crawl, or because rules or seeds change while it runs, the URLs
refused by it are queued again and judged when they are taken. URLs that the scope, rules or filters kept out were never
stored: they are offered again from the links of every page, from redirects, and from sitemaps, which are fetched again.
The digests are stored last, so a crash only repeats work. Memory use does not grow.

A page is revisited sooner when pages that it links to have changed. From time to time a sweep takes the pages found
changed, finds the pages of their hosts that link to them, and judges each of those by what the frontier remembers. It
requests nothing; while the links view is missing or behind, no revisit is brought forward.
"""

import asyncio
import hashlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Self, TypeVar

import msgspec

from gossamer.archive.catalogue import acknowledged
from gossamer.archive.volumes import ArchiveEnd
from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.environment import Outside
from gossamer.base.errors import DiskFull, GossamerError
from gossamer.base.tasks import Tasks, background
from gossamer.base.tell import Tell
from gossamer.config.settings import Settings
from gossamer.crawler.revisit import Revisits
from gossamer.crawler.settlement import MAPS
from gossamer.frontier.api import Frontier
from gossamer.frontier.known import depths_of
from gossamer.frontier.requeue import FIRST, HAD
from gossamer.frontier.rows import UrlKeys
from gossamer.frontier.selection import redirects_after
from gossamer.plugins.filters import GROUP
from gossamer.recrawl.change import is_older, is_to_be_looked_at, judged
from gossamer.rules.canonical import identity_of
from gossamer.rules.scope import Reach
from gossamer.spool.frames import SpoolPosition
from gossamer.store.directory import Directory
from gossamer.store.options import judge_by, judged_by
from gossamer.store.state import is_cluster
from gossamer.store.statements import StateWriter
from gossamer.store.trust import Code
from gossamer.store.work import backlog
from gossamer.values.history import Past, Reschedule, Why
from gossamer.values.link import How, Link, Offer
from gossamer.values.outcome import Reason
from gossamer.values.url import Url, url_of
from gossamer.values.visit import Selection
from gossamer.views.links.place import every_link_of, links_reader
from gossamer.views.links.reader import UNREADABLE, Links, LinksReader, Runs

OUTSIDE = frozenset({Reason.FILTER, Reason.SCOPE, Reason.FILTER_ERROR})
REFUSED_BY: Mapping[str, frozenset[Reason]] = {
    "addresses": frozenset({Reason.ADDRESS}),
    "contact": frozenset({Reason.CONTACT}),
    "types": frozenset({Reason.MEDIA_TYPE}),
    "tls": frozenset({Reason.TLS}),
    "protocols": frozenset({Reason.REDIRECT_OUT}),
    "robots": frozenset({Reason.ROBOTS}),
    "depth": OUTSIDE,
    "scope": OUTSIDE,
    "filters": OUTSIDE,
    "rules": OUTSIDE | {Reason.MEDIA_TYPE},
}
"""The outcomes of URLs refused by each of the digested values."""
KEEPS_OUT = frozenset({"depth", "scope", "filters", "rules"})
"""These refuse URLs before they are stored, too."""
OFFERED_AT_ONCE = 200
"""Pages whose links are offered in one transaction."""
REPORT_S = 2.0
LOOK_S = 0.1
PATIENCE_S = 20.0
"""How long the links view may take to catch up with what an earlier crawl has fetched."""
T = TypeVar("T")


def digests(settings: Settings, reaches: Sequence[tuple[Url, Reach]], rules_text: str, folder: Path) -> dict[str, str]:
    """Of all values that refusals depend on."""
    crawl, fetch = settings.crawl, settings.fetch
    values: dict[str, object] = {
        "addresses": sorted(fetch.allow_addresses),
        "contact": settings.contact is not None,
        "types": sorted((*fetch.types, *crawl.readers)),
        "tls": (fetch.tls, fetch.tls_authorities),
        "protocols": sorted(crawl.protocols),
        "robots": (settings.agent, settings.politeness.robots_refusal_disallows),
        "depth": crawl.max_depth,
        "scope": sorted((url.text, reach.value) for url, reach in reaches),
        "filters": [(name, Code(GROUP, name, folder).key()) for name in crawl.filters],
        "rules": rules_text,
    }
    return {name: hashlib.sha256(msgspec.json.encode(value)).hexdigest()[:32] for name, value in values.items()}


class Rejudgement:
    """Queues refused URLs again when what refused them has changed. One runs at a time; `soon` starts one in the
    background. REQUIRES: `present` is called on the crawl's own task."""

    def __init__(
        self,
        frontier: Frontier,
        database: StateWriter,
        directory: Directory,
        present: Callable[[], dict[str, str]],
        clock: Clock,
        tell: Tell,
    ) -> None:
        self._frontier, self._database, self._directory = frontier, database, directory
        self._present, self._clock, self._tell = present, clock, tell
        self._turn = asyncio.Lock()
        self._tasks = Tasks(tell)
        self._reported_s = clock.elapsed_s()

    async def __aenter__(self) -> Self:
        if is_cluster(self._directory):  # whose links are on a service: the crawl does not wait for it
            self.soon()
        else:
            await self.run()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def soon(self) -> None:
        self._tasks.begin(self._in_background())

    async def _in_background(self) -> None:
        with suppress(GossamerError, OSError):  # such as a full disk: the next crawl does it when it starts
            await self.run()

    async def close(self) -> None:
        """The next crawl does the rest when it starts."""
        await self._tasks.close()

    async def run(self) -> None:
        async with self._turn:
            now = self._present()
            before = await self._database.read(judged_by)
            changed = {name for name, digest in now.items() if before.get(name) != digest}
            if not changed:
                return
            self._reported_s = self._clock.elapsed_s()
            reasons = frozenset().union(*(REFUSED_BY[name] for name in changed))
            are_any = not reasons.isdisjoint((await self._frontier.counts()).by_reason)
            waiting = await self._frontier.requeue(Selection(reasons)) if are_any else 0
            is_whole, offered = True, 0
            if changed & KEEPS_OUT & before.keys():  # an older version stored none: nothing says that they changed
                is_whole = await self._caught_up()
                offered = await self._offer_again()
            if waiting or offered:
                self._tell("options.changed", changed=sorted(changed), waiting=waiting, offered=offered)
            done = now if is_whole else {name: now[name] for name in now.keys() - KEEPS_OUT}
            await self._database.run(lambda connection: judge_by(connection, done))

    async def _offer_again(self) -> int:
        """Every link, redirect and sitemap that may have been kept out. Returns how many URLs were new."""
        known = (await self._frontier.counts()).known
        pages = 0
        async for batch in _batches(every_link_of(self._directory, self._clock), OFFERED_AT_ONCE):
            await self._offer_links(batch)
            pages += len(batch)
            self._progress(pages)
        await self._offer_redirects()
        await self._frontier.requeue(Selection(HAD, hows=frozenset(MAPS)))
        return (await self._frontier.counts()).known - known

    async def _offer_links(self, batch: Sequence[tuple[str, tuple[Link, ...]]]) -> None:
        urls = [url_of(text) for text, _ in batch]
        sources = [(url, links) for url, (_, links) in zip(urls, batch, strict=True) if url is not None]
        asked = [url for url, _ in sources]
        depths = await self._database.read(lambda connection: depths_of(connection, asked, UrlKeys(identity_of)))
        offers = [
            Offer(link.url, How.LINK, url.id, depth + 1)
            for (url, links), depth in zip(sources, depths, strict=True)
            if depth is not None
            for link in links
            if link.may_follow
        ]
        await self._frontier.offer(offers, {url.id: url for url in asked})

    async def _offer_redirects(self) -> None:
        after: tuple[int, int, int] | None = (FIRST, FIRST, FIRST)
        while after is not None:
            found, after = await self._database.read(partial(redirects_after, after=after))
            offers = [
                Offer(to, one.how if one.how in MAPS else How.REDIRECT, one.url.id, one.depth, one.hops + 1)
                for one in found
                if (to := url_of(one.to)) is not None
            ]
            await self._frontier.offer(offers, {one.url.id: one.url for one in found})

    async def _caught_up(self) -> bool:
        """Whether the links view has every fetched page: after a crash the indexer needs a while."""
        end, give_up_s = await acknowledged(self._database), self._clock.elapsed_s() + PATIENCE_S
        while end is not None:
            if await self._has_all_until(end):
                return True
            if self._clock.elapsed_s() > give_up_s:
                return False
            await self._clock.sleep(LOOK_S)
        return True

    async def _has_all_until(self, end: ArchiveEnd) -> bool:
        if is_cluster(self._directory):
            return all(one.records == 0 for one in await self._database.read(backlog) if one.view == "links")
        at = await asyncio.to_thread(_position, self._directory.links)
        return (at.volume, at.number) >= (end.volume, end.count)

    def _progress(self, pages: int) -> None:
        if self._clock.elapsed_s() - self._reported_s >= REPORT_S:
            self._reported_s = self._clock.elapsed_s()
            self._tell("options.rejudging", pages=pages)


def _position(links: Path) -> SpoolPosition:
    """The position of the links view; the beginning if there is none."""
    reader = LinksReader(links)
    try:
        reader.open()
        return msgspec.json.decode(reader.position(), type=SpoolPosition)
    except (msgspec.DecodeError, *UNREADABLE):
        return SpoolPosition()
    finally:
        reader.close()


async def _batches(found: Iterable[T], size: int) -> AsyncIterator[list[T]]:
    """Read on a thread, so many at a time."""
    source: Iterator[T] = iter(found)
    while batch := await asyncio.to_thread(lambda: list(islice(source, size))):
        yield batch


EVERY_S = 120.0
"""Between two sweeps while other pages are due; a crawl with nothing due sweeps as soon as a page changes."""
GLANCE_S = 5.0
MOST_CHANGED = 500
"""Changed pages that one sweep handles; the others wait for the next."""
MOST_LISTED = 5_000
"""Pages that sitemaps and feeds report as changed, in one sweep."""
MOST_JUDGED = 400
"""Pages judged in one sweep."""
MOST_LINKS = 200
"""Links of one page that are considered."""
MOST_WAITING = 20_000
AT_ONCE = 1_000
"""Pages read from the frontier at a time; between two reads it may take and settle."""

Around = Callable[[Sequence[Url]], Mapping[Url, Sequence[Url]]]
"""For changed pages: the pages of their hosts that link to them, each with its links within its host."""


def no_neighbours(_: Sequence[Url]) -> dict[Url, list[Url]]:
    """For `tree`, which only looks at the pages below."""
    return {}


class Swept(NamedTuple):
    judged: int
    brought_forward: int


class Neighbours:
    """The links view, opened for each query: it may be replaced meanwhile."""

    def __init__(self, links: Callable[[], Links]) -> None:
        """`links`: makes a reader of them, not open yet."""
        self._links = links

    def __call__(self, changed: Sequence[Url]) -> dict[Url, list[Url]]:
        reader = self._links()
        try:
            reader.open()
            return self._around(reader, changed)
        except UNREADABLE:
            return {}
        finally:
            reader.close()

    def _around(self, reader: Links, changed: Sequence[Url]) -> dict[Url, list[Url]]:
        sources: dict[Url, None] = {}
        for url, (incoming, _) in zip(changed, reader.about_all(changed), strict=True):
            sources |= dict.fromkeys([one for one in incoming.sources if one.host == url.host and one != url])
            if len(sources) >= MOST_JUDGED:
                break
        return {
            source: [link.url for link in reader.outgoing(source) if link.url.host == source.host][:MOST_LINKS]
            for source in list(sources)[:MOST_JUDGED]
        }


class RevisitSweeps:
    """Brings revisits forward. REQUIRES: one sweep at a time."""

    def __init__(
        self,
        frontier: Frontier,
        revisits: Revisits,
        around: Around,
        clock: Clock,
        tell: Tell,
        by_links: bool = True,
    ) -> None:
        """`by_links`: whether a changed page brings forward those that link to it. Sitemaps and feeds always do."""
        self._by_links = by_links
        self._frontier, self._revisits, self._around = frontier, revisits, around
        self._clock, self._tell = clock, tell
        self._changed: deque[Url] = deque(maxlen=MOST_WAITING)
        self._below: deque[Url] = deque(maxlen=MOST_WAITING)
        self._listed: deque[tuple[Url, Instant]] = deque(maxlen=MOST_WAITING)

    async def has_work(self) -> bool:
        """Whether recent fetches have found something for a sweep."""
        async with self._revisits.turn:
            news = self._revisits.news()
        if self._by_links:
            self._changed.extend(news.changed)
            self._below.extend(news.below)
        self._listed.extend(news.listed)
        return bool(self._changed or self._below or self._listed)

    async def sweep(self) -> Swept:
        """Bounded: the next sweep handles the rest."""
        if not await self.has_work():
            return Swept(0, 0)
        below = [self._below.popleft() for _ in range(min(MOST_CHANGED, len(self._below)))]
        changed = [self._changed.popleft() for _ in range(min(MOST_CHANGED, len(self._changed)))]
        listed = [self._listed.popleft() for _ in range(min(MOST_LISTED, len(self._listed)))]
        found = [*await self._by_parents(below), *await self._by_lists(listed)]
        judged_pages, called = await self._by_neighbours(changed)
        judged_pages += len(below) + len(listed)
        found += called
        brought_forward = 0
        for start in range(0, len(found), AT_ONCE):
            brought_forward += await self._frontier.reschedule(found[start : start + AT_ONCE])
        self._tell("links.swept", changed=len(changed), judged=judged_pages, rescheduled=brought_forward)
        return Swept(judged_pages, brought_forward)

    async def _by_parents(self, below: Sequence[Url]) -> list[Reschedule]:
        now, pasts = self._clock.now(), await self._pasts(below)
        async with self._revisits.turn:
            return [
                Reschedule(url, self._revisits.earliest(url, past, now), Why.LINKS)
                for url, past in pasts.items()
                if is_to_be_looked_at(past, now)
            ]

    async def _by_lists(self, listed: Sequence[tuple[Url, Instant]]) -> list[Reschedule]:
        dates = dict(listed)
        now, pasts = self._clock.now(), await self._pasts(dates)
        async with self._revisits.turn:
            return [
                Reschedule(url, self._revisits.earliest(url, past, now), Why.LISTED)
                for url, past in pasts.items()
                if is_older(past, dates[url], now)
            ]

    async def _by_neighbours(self, changed: Sequence[Url]) -> tuple[int, list[Reschedule]]:
        around = await asyncio.to_thread(self._around, changed) if changed else {}
        pasts = await self._pasts([*around, *(link for links in around.values() for link in links)])
        now, forward = self._clock.now(), []
        async with self._revisits.turn:
            for url, links in around.items():
                if (past := pasts.get(url)) is None:
                    continue
                linked = [pasts[link] for link in dict.fromkeys(links) if link in pasts and link != url]
                found = judged(past, linked, now)
                if found.link_check is not None:
                    due_at = self._revisits.earliest(url, past, now) if found.is_called else None
                    forward.append(Reschedule(url, due_at, Why.LINKS, found.link_check, found.threshold))
        return len(around), forward

    async def _pasts(self, urls: Iterable[Url]) -> dict[Url, Past]:
        asked = list(dict.fromkeys(urls))
        found: dict[Url, Past] = {}
        for start in range(0, len(asked), AT_ONCE):
            some = asked[start : start + AT_ONCE]
            pasts = await self._frontier.pasts(some)
            found |= {url: past for url, past in zip(some, pasts, strict=True) if past is not None}
        return found


@asynccontextmanager
async def revisit_sweeps(
    revisits: Revisits | None,
    settings: Settings,
    frontier: Frontier,
    directory: Directory,
    outside: Outside,
    tell: Tell,
) -> AsyncIterator[None]:
    """Queue the pages that were fetched before, and count what is planned for each day against the budget. While it is
    open, pages are brought forward because of others, if the policy does that."""
    if revisits is None:
        yield
        return
    await frontier.recall()
    revisits.expect(await frontier.plans())
    if settings.crawl.revisit == "uniform":
        yield
        return
    links = partial(links_reader, directory, outside.clock, Runs())
    around = Neighbours(links) if settings.crawl.revisit != "tree" else no_neighbours
    work = RevisitSweeps(frontier, revisits, around, outside.dates, tell, settings.crawl.revisit_links)
    async with sweeping(work, frontier, outside.dates):
        yield


@asynccontextmanager
async def sweeping(work: RevisitSweeps, frontier: Frontier, clock: Clock) -> AsyncIterator[None]:
    """While it is open, sweep every few minutes, and when the crawl has nothing due."""
    async with background(_sweep_at_intervals(work, frontier, clock)):
        yield


async def _sweep_at_intervals(work: RevisitSweeps, frontier: Frontier, clock: Clock) -> None:
    swept_s = clock.elapsed_s()
    while True:
        await clock.sleep(GLANCE_S)
        if not await work.has_work():
            continue
        next_at = await frontier.next_at()
        is_idle = next_at is None or next_at > clock.now() + round(GLANCE_S * SECOND)
        if is_idle or clock.elapsed_s() - swept_s >= EVERY_S:
            with suppress(DiskFull):  # the crawl reports that itself; the pages are due later anyway
                await work.sweep()
            swept_s = clock.elapsed_s()
