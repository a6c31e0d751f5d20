"""The disks of the archive during a crawl.

Whether there is room, and copies of volumes that are missing.

Copies are made again in a thread of its own, at a bounded rate. Nothing waits for it.
"""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress

from gossamer.archive.repair import CopyRepair
from gossamer.archive.segments.files import ClusterFiles
from gossamer.archive.storage import ArchiveFiles
from gossamer.archive.volumes import room_left
from gossamer.base.clock import Clock
from gossamer.base.errors import GossamerError
from gossamer.base.files import Files
from gossamer.base.tasks import background
from gossamer.base.tell import Tell
from gossamer.base.tuning import lower_own_thread_priority
from gossamer.config.settings import Settings
from gossamer.store.directory import Directory
from gossamer.store.disks import located
from gossamer.workers.protocol import MIB

EVERY_S = 5.0
NICENESS = 10
BYTES_S = 32 << 20
"""Read and written, for repairs."""
NODE_BYTES = 16 << 20
"""What a node of a cluster needs on the disk with its scratch folder."""
AWAY_S = 600.0
"""A directory that was there and is away may be back soon: copies are made elsewhere only after this time."""


class _Stopped(Exception):
    """The crawl ends."""


def has_room(directory: Directory, settings: Settings, files: Files) -> bool:
    """On the disk of the collection, and on one of the archive's if those are others."""
    if isinstance(files, ClusterFiles):
        return room_left(files, directory.root, NODE_BYTES)  # what has no room for segments says so itself
    folders = [directory.root, *([directory.archive] if isinstance(files, ArchiveFiles) else [])]
    return all(room_left(files, folder, settings.archive.low_water_mib * MIB) for folder in folders)


class CopyKeeper:
    """Looks after the copies until it is stopped."""

    def __init__(self, files: ArchiveFiles, clock: Clock, tell: Tell, away_s: float = AWAY_S) -> None:
        self._files, self._clock, self._tell, self._away_s = files, clock, tell, away_s
        self.stopped = asyncio.Event()
        self._away: dict[str, float] = {}
        """Since when each directory is away."""

    async def run(self) -> None:
        """In a thread of its own, whose priority does not matter to those that write what was fetched."""
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, "copies", lower_own_thread_priority, (NICENESS,)) as thread:
            while not self.stopped.is_set():
                with suppress(_Stopped):
                    await loop.run_in_executor(thread, self.look)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.stopped.wait(), EVERY_S)

    def look(self) -> None:
        """Bring the copies closer to what they should be. It takes as long as its rate demands."""
        try:
            self._note_disks()
            now_s = self._clock.elapsed_s()
            is_soon_back = any(now_s - since_s < self._away_s for since_s in self._away.values())
            CopyRepair(self._files, self._tell, self._paced).run(may_copy=not is_soon_back)
        except (OSError, GossamerError) as error:  # tried again; `gossamer status` says what is missing
            self._tell("copy.unmade", why=str(error))

    def _note_disks(self) -> None:
        self._files.refresh()
        record, there = self._files.record, set(self._files.folders)
        for path in record.used() if record is not None else ():
            is_there = located(self._files.folder, path) in there
            if is_there and self._away.pop(path, None) is not None:
                self._tell("disk.back", directory=path)
            elif not is_there and path not in self._away:
                self._away[path] = self._clock.elapsed_s()
                self._tell("disk.away", directory=path)

    def _paced(self, amount: int) -> None:
        if self.stopped.is_set():
            raise _Stopped
        self._clock.pause(amount / BYTES_S)


@asynccontextmanager
async def copies_kept(files: Files, clock: Clock, tell: Tell) -> AsyncIterator[None]:
    """During the block, if the archive is on several disks."""
    if not isinstance(files, ArchiveFiles):
        yield
        return
    keeper = CopyKeeper(files, clock, tell)
    async with background(keeper.run()) as running:
        try:
            yield
        finally:
            keeper.stopped.set()
            await asyncio.wait([running])
