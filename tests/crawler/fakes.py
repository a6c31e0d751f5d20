"""A collection with a real frontier, filled by a script on a fake clock, for `why`, `hosts` and `politeness`."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from gossamer.base.clock import SECOND
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.config.settings import Settings
from gossamer.config.slices import politeness
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.rules.learned.traps import template_of
from gossamer.rules.scope import Reach, judge, scope_of
from gossamer.store.directory import Directory
from gossamer.store.options import put_seeds
from gossamer.store.sqlite.database import Database
from gossamer.testing import FakeClock
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Allowed, Reason
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Settled, Visit, VisitKind

SEED = Url("https://a.test/")


class Story:
    """Simulated fetches: `page` and `robots` take the next visit and settle it."""

    def __init__(self, frontier: SqliteFrontier, clock: FakeClock) -> None:
        self.frontier = frontier
        self.clock = clock

    async def take(self) -> Visit:
        for _ in range(100):
            if visits := await self.frontier.take(1):
                return visits[0]
            next_at = await self.frontier.next_at()
            assert next_at is not None, "no URL is waiting"
            self.clock.advance(max(0.001, (next_at - self.clock.now()) / SECOND))
        raise AssertionError("no visit can be taken")

    async def robots(self, state: RobotsState = RobotsState.READ, for_s: float = 86_400.0, **more: Any) -> Visit:
        visit = await self.take()
        assert visit.kind is VisitKind.ROBOTS, visit
        now = self.clock.now()
        until = now + round(for_s * SECOND)
        read_at = now if state is RobotsState.READ else None
        entry = Robots(visit.origin, state, now, until, read_at=read_at, **more)
        await self.frontier.settle([Settled(visit, Reason.FETCHED, now, robots=entry)])
        return visit

    async def page(self, reason: Reason = Reason.FETCHED, links: tuple[str, ...] = (), **more: Any) -> Visit:
        visit = await self.take()
        assert visit.kind is VisitKind.PAGE, visit
        how = How.REDIRECT if reason is Reason.MOVED else How.LINK
        depth = visit.depth + (how is How.LINK)
        offers = tuple(Offer(Url(link), how, visit.url.id, depth) for link in links)
        await self.frontier.settle([Settled(visit, reason, self.clock.now(), offers=offers, **more)])
        return visit


def make(
    root: Path,
    script: Callable[[Story], Awaitable[None]],
    clock: FakeClock | None = None,
    starts: tuple[Url, ...] = (SEED,),
    reach: Reach = Reach.HOST,
) -> tuple[Directory, FakeClock]:
    """A data directory after the script has run in it."""
    directory, clock = Directory(root), clock or FakeClock()
    for folder in directory.folders():
        DiskFiles().make_folder(folder)
    asyncio.run(_run(directory, clock, script, starts, reach))
    return directory, clock


async def _run(
    directory: Directory,
    clock: FakeClock,
    script: Callable[[Story], Awaitable[None]],
    starts: tuple[Url, ...],
    reach: Reach,
) -> None:
    scope = scope_of([(start, reach) for start in starts])
    async with Database(directory.state, clock, silent) as database:
        await database.run(lambda connection: put_seeds(connection, starts, reach))
        frontier = SqliteFrontier(
            database,
            FrontierRules(
                politeness(Settings()),
                lambda offer: isinstance(judge(offer.url, offer.depth, scope), Allowed),
                template_of=lambda text: template_of(Url(text)),
            ),
            clock,
            silent,
        )
        async with frontier:
            await frontier.offer([Offer(start, How.SEED) for start in starts])
            await script(Story(frontier, clock))
