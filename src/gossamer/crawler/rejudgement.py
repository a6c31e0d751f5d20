"""Refusals that depended on options are judged again when these have changed: no missing option settles a URL for good.

What refusals are judged by (options, seeds, rules.txt, filters) is stored as digests with the collection. When a crawl
starts, or its rules or seeds change while it runs, and a digest differs, the URLs that were refused by it wait again
and are judged when their turn comes; nothing is asked of a host for that but its robots.txt. What the scope, rules and
filters kept out was never stored: it is offered again from the links of every page, redirects, and sitemaps, which are
read again. The digests are stored last, so a crash only repeats work. Memory stays flat.
"""

import asyncio
import hashlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Self, TypeVar

import msgspec

from gossamer.archive.catalogue import acknowledged
from gossamer.base.clock import Clock
from gossamer.base.errors import DirectoryUnusable, GossamerError
from gossamer.base.tasks import Tasks
from gossamer.base.tell import Tell
from gossamer.config.settings import Settings
from gossamer.crawler.settlement import MAPS
from gossamer.frontier.api import Frontier
from gossamer.frontier.known import depths_of
from gossamer.frontier.requeue import FIRST, HAD
from gossamer.frontier.sqlite.requeue import Redirect, redirects_after
from gossamer.plugins.filters import GROUP
from gossamer.rules.canonical import identity_of
from gossamer.rules.scope import Reach
from gossamer.spool.follower import SpoolPosition
from gossamer.store.given import judge_by, judged_by
from gossamer.store.statements import State, StateWriter
from gossamer.store.trust import Code
from gossamer.values.link import How, Link, Offer
from gossamer.values.outcome import Reason
from gossamer.values.url import Url, url_of
from gossamer.values.visit import Selection
from gossamer.views.links.reader import LinksReader, every_link

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
"""What URLs are refused by, and how they end then."""
KEEPS_OUT = frozenset({"depth", "scope", "filters", "rules"})
"""What also refuses URLs before they are stored."""
AT_ONCE = 200
"""Pages whose links are offered in one transaction."""
TELL_S = 2.0
LOOK_S = 0.1
PATIENCE_S = 20.0
"""How long the links view may take to catch up with what an earlier crawl has fetched."""
T = TypeVar("T")


def digests(settings: Settings, reaches: Sequence[tuple[Url, Reach]], rules_text: str, folder: Path) -> dict[str, str]:
    """What refusals are judged by now."""
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
    """REQUIRES: `present` is called on the crawl's own task. One runs at a time; `soon` starts it beside the crawl."""

    def __init__(
        self,
        frontier: Frontier,
        database: StateWriter,
        links: Callable[[], Path],
        present: Callable[[], dict[str, str]],
        clock: Clock,
        tell: Tell,
    ) -> None:
        self._frontier, self._database, self._links = frontier, database, links
        self._present, self._clock, self._tell = present, clock, tell
        self._turn = asyncio.Lock()
        self._tasks = Tasks(tell)
        self._told_s = clock.elapsed_s()

    async def __aenter__(self) -> Self:
        await self.run()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def soon(self) -> None:
        self._tasks.begin(self._beside())

    async def _beside(self) -> None:
        with suppress(GossamerError, OSError):  # a full disk, say: it is done when the next crawl starts
            await self.run()

    async def close(self) -> None:
        """What is left over is done when the next crawl starts."""
        await self._tasks.close()

    async def run(self) -> None:
        async with self._turn:
            now = self._present()
            before = await self._database.read(judged_by)
            changed = {name for name, digest in now.items() if before.get(name) != digest}
            if not changed:
                return
            self._told_s = self._clock.elapsed_s()
            reasons = frozenset().union(*(REFUSED_BY[name] for name in changed))
            waiting = await self._frontier.requeue(Selection(reasons)) if await self._are_any(reasons) else 0
            is_whole, offered = True, 0
            if changed & KEEPS_OUT & before.keys():  # an older version stored none: nothing says that they changed
                is_whole = await self._caught_up()
                offered = await self._offer_again()
            if waiting or offered:
                self._tell("options.changed", changed=sorted(changed), waiting=waiting, offered=offered)
            done = now if is_whole else {name: now[name] for name in now.keys() - KEEPS_OUT}
            await self._database.run(lambda connection: judge_by(connection, done))

    async def _are_any(self, reasons: frozenset[Reason]) -> bool:
        return not reasons.isdisjoint((await self._frontier.counts()).by_reason)

    async def _offer_again(self) -> int:
        """Every link, redirect and sitemap that an earlier judgement may have kept out; says how many were new."""
        known = (await self._frontier.counts()).known
        pages = 0
        async for batch in _batches(every_link(self._links()), AT_ONCE):
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
        depths = await self._database.read(lambda connection: depths_of(connection, asked, identity_of))
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
            found, after = await self._database.read(_redirects(after))
            offers = [
                Offer(to, one.how if one.how in MAPS else How.REDIRECT, one.url.id, one.depth, one.hops + 1)
                for one in found
                if (to := url_of(one.to)) is not None
            ]
            await self._frontier.offer(offers, {one.url.id: one.url for one in found})

    async def _caught_up(self) -> bool:
        """Whether the links view holds all that was fetched: after a crash the indexer needs a while for that."""
        end, give_up_s = await acknowledged(self._database), self._clock.elapsed_s() + PATIENCE_S
        while end is not None:
            at = await asyncio.to_thread(_position, self._links())
            if (at.volume, at.number) >= (end.volume, end.count):
                return True
            if self._clock.elapsed_s() > give_up_s:
                return False
            await self._clock.sleep(LOOK_S)
        return True

    def _progress(self, pages: int) -> None:
        if self._clock.elapsed_s() - self._told_s >= TELL_S:
            self._told_s = self._clock.elapsed_s()
            self._tell("options.rejudging", pages=pages)


def _redirects(
    after: tuple[int, int, int],
) -> Callable[[State], tuple[list[Redirect], tuple[int, int, int] | None]]:
    return lambda connection: redirects_after(connection, after)


def _position(links: Path) -> SpoolPosition:
    """How far the links view has come; the beginning when there is none."""
    reader = LinksReader(links)
    try:
        reader.open()
        return msgspec.json.decode(reader.position(), type=SpoolPosition)
    except (DirectoryUnusable, msgspec.DecodeError, sqlite3.Error):
        return SpoolPosition()
    finally:
        reader.close()


async def _batches(found: Iterable[T], size: int) -> AsyncIterator[list[T]]:
    """Read on a thread, so many at a time."""
    source: Iterator[T] = iter(found)
    while batch := await asyncio.to_thread(lambda: list(islice(source, size))):
        yield batch
