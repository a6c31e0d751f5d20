"""The archive that a crawl writes to, opened: volumes on this machine, or segments in the storage of a cluster."""

import asyncio
from contextlib import AsyncExitStack

from gossamer.archive.catalogue import acknowledged, adopt
from gossamer.archive.compaction import tidy
from gossamer.archive.directories import reconcile_ends
from gossamer.archive.segments.files import ClusterFiles
from gossamer.archive.segments.writer import SegmentWriter
from gossamer.archive.volumes import Volumes
from gossamer.base.environment import Outside
from gossamer.base.tell import Tell
from gossamer.config.settings import Settings
from gossamer.crawler.commands import idle_frontier
from gossamer.crawler.copies import copies_kept
from gossamer.crawler.damage import refetch_lost_end
from gossamer.crawler.steps.group import GroupWriter, VolumeWriter
from gossamer.spool.frames import SpoolWriter
from gossamer.store.directory import Directory
from gossamer.store.service import ServiceLost
from gossamer.store.statements import StateWriter
from gossamer.workers.protocol import MIB

AGAIN_S = 1.0


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


async def wait_for_storage(files: ClusterFiles, stop: asyncio.Event, outside: Outside, tell: Tell) -> None:
    """Until the storage of the archive answers. Raises when it refuses us, or when it does not answer and the crawl is
    to stop."""
    is_away = False
    while True:
        try:
            await asyncio.to_thread(files.storage.check)
        except ServiceLost as lost:
            if stop.is_set():
                raise
            if not is_away:
                tell("storage.suspended", says=str(lost))
            is_away = True
            await outside.clock.sleep(AGAIN_S)
        else:
            if is_away:
                tell("storage.back", says="")
            return
