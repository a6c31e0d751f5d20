"""The archive that a crawl writes to: volumes on this machine, or segments of a cluster.

A crawl on a cluster waits for that storage, and for the indexers of all nodes.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from gossamer.archive.catalogue import acknowledged, adopt
from gossamer.archive.compaction import tidy
from gossamer.archive.directories import reconcile_ends
from gossamer.archive.segments.files import ClusterFiles
from gossamer.archive.segments.writer import SegmentWriter
from gossamer.archive.volumes import Volumes
from gossamer.base.clock import Clock
from gossamer.base.environment import Outside
from gossamer.base.tasks import background
from gossamer.base.tell import Tell
from gossamer.config.settings import Settings
from gossamer.crawler.commands import idle_frontier
from gossamer.crawler.copies import copies_kept
from gossamer.crawler.damage import refetch_lost_end
from gossamer.crawler.steps.group import GroupWriter, VolumeWriter
from gossamer.spool.frames import SpoolWriter
from gossamer.store import work
from gossamer.store.directory import Directory
from gossamer.store.statements import StateWriter
from gossamer.store.work import ViewWork
from gossamer.values.format import counted
from gossamer.workers.protocol import MIB

LOOK_S = 2.0
TOO_FAR = float("inf")


async def open_archive(
    opened: AsyncExitStack,
    directory: Directory,
    settings: Settings,
    database: StateWriter,
    outside: Outside,
    tell: Tell,
) -> GroupWriter:
    """The archive and the readings, repaired after an unclean stop. Closed with the stack.

    In a cluster nothing is to be repaired: what was not settled is removed by upkeep, some time later."""
    files = outside.files
    if isinstance(files, ClusterFiles):
        return SegmentWriter(database, files.storage, outside.clock, tell)
    volumes = Volumes(files, directory.archive, outside.clock, tell, settings.archive.volume_mib * MIB)
    await tidy(database, files, directory.archive, tell)
    end = await acknowledged(database)
    reconcile_ends(files, end, tell)
    recovered = volumes.open(end)
    if recovered.damaged:
        async with idle_frontier(database, settings, outside) as frontier:
            await refetch_lost_end(database, frontier, files, directory.archive, outside.clock.now())
    await adopt(database, files, directory.archive, tell)
    spool = SpoolWriter(files, directory.spool, tell)
    spool.open(recovered.last_volume)
    opened.callback(volumes.close)
    opened.callback(spool.close)
    await opened.enter_async_context(copies_kept(files, outside.clock, tell))
    return VolumeWriter(volumes, spool)


class ClusterBacklog:
    """What each view still has to take, looked up every few seconds."""

    def __init__(self, database: StateWriter, clock: Clock, most_pages: int) -> None:
        """`most_pages`: fetching pauses while a view has more."""
        self._database, self._clock, self._most = database, clock, most_pages
        self._views: dict[str, ViewWork] = {}
        self._looked_s = 0.0

    async def look(self) -> None:
        found = await self._database.read(work.backlog)
        self._views, self._looked_s = {one.view: one for one in found}, self._clock.elapsed_s()

    def lag_s(self, view: str) -> float:
        """How long its oldest page has been waiting."""
        found = self._views.get(view)
        return found.age_s + self._clock.elapsed_s() - self._looked_s if found is not None and found.records else 0.0

    def hold_s(self) -> float:
        """For the pace of the crawl: infinite while a view is too far behind."""
        return TOO_FAR if self.says else 0.0

    @property
    def says(self) -> str:
        """What the crawl waits for, in words; empty: for nothing."""
        for view, found in self._views.items():
            if found.records > self._most:
                return (
                    f"waiting for the indexers: the view {view} has {counted(found.records, 'page')} still to take "
                    f"(views.backlog = {self._most:,})"
                )
        return ""


@asynccontextmanager
async def followed_backlog(
    backlog: ClusterBacklog | None, clock: Clock, wake: Callable[[], None]
) -> AsyncIterator[None]:
    """During the block it is kept up to date. `wake` is called when the crawl may continue. None: it is no cluster."""
    if backlog is None:
        yield
        return

    async def follow() -> None:
        while True:
            was_held = bool(backlog.says)
            await backlog.look()
            if was_held and not backlog.says:
                wake()
            await clock.sleep(LOOK_S)

    async with background(follow()) as following:
        try:
            yield
        finally:
            following.cancel()
            await asyncio.wait([following])
