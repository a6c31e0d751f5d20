"""The archive replayed into views: new ones beside the present ones, or the present ones brought up to date."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing
from functools import partial
from typing import NamedTuple

import msgspec

from gossamer.archive.catalogue import ArchivePlaces, may_be_page
from gossamer.archive.compaction import tidy
from gossamer.archive.reader import read_capture
from gossamer.base.environment import Outside
from gossamer.base.errors import ArchiveDamaged, GossamerError, WorkerLost
from gossamer.base.tasks import background
from gossamer.base.tell import Tell, silent
from gossamer.cli.steps import Working
from gossamer.collection.history.past import batches
from gossamer.collection.maintenance.generation import begin, origin_of, refuse_without_room, swap
from gossamer.config.settings import Settings
from gossamer.indexer.supervisor import become_the_one, indexer_running
from gossamer.indexer.updates import omissions
from gossamer.monitor.control import Control
from gossamer.plugins.code import reopened
from gossamer.spool.writer import SpoolWriter
from gossamer.store import captures, tallies
from gossamer.store.directory import Directory, lock_directory
from gossamer.store.options import config_of
from gossamer.store.state import open_database, open_state
from gossamer.store.statements import StateWriter
from gossamer.values.capture import Kept
from gossamer.values.messages import ReadDone, ReadJob, kept_at, parts_of
from gossamer.workers.jobs import asked_twice, job_for, reader_pool

SAYS = "reading the archive again"


class Rebuilt(NamedTuple):
    pages: int
    """Captures of pages that were read now."""
    is_resumed: bool = False
    """The views of an earlier run that was cut short were completed."""
    damage: tuple[str, ...] = ()
    """In words: records of the archive that could not be read, by this run or an earlier one that it has gone on
    with."""
    read_again: int = 0
    """Captures that no reader could read before, and that one has read now."""


async def build_again(
    directory: Directory,
    agent: str,
    outside: Outside,
    tell: Tell = silent,
    is_fresh: bool = False,
    discards_old: bool = False,
) -> Rebuilt:
    """New views beside the present ones, then one step from those to these. Cut short at any moment it leaves the one
    or the other, and is gone on with when it is asked for again, unless the archive was rewritten meanwhile."""
    lock = lock_directory(directory, outside, "rebuild")
    try:
        (await become_the_one(directory, outside, "rebuild")).release()  # an indexer may still be at the old views
        async with open_database(directory, outside.clock, silent) as database:
            await tidy(database, outside.files, directory.archive, silent)
            read_now = await read_again(directory, outside, database, tell)
        if discards_old:
            for path in directory.every_view():
                outside.files.remove(path)
        refuse_without_room(directory, outside)
        # Unfinished views may have passed by what could not be read until now.
        made = await replace_views(directory, agent, outside, tell, is_fresh or read_now > 0)
        return made._replace(read_again=read_now)
    finally:
        lock.release()


async def replace_views(
    directory: Directory, agent: str, outside: Outside, tell: Tell = silent, is_fresh: bool = False
) -> Rebuilt:
    """REQUIRES: the writer's lock, and no indexer at work."""
    making, is_resumed = begin(directory, origin_of(directory, agent, outside), outside.files, is_fresh)
    tell("rebuild.begun")
    mark_finished(making, outside)
    pages = await followed(making, agent, outside)
    left_out = omissions(making, outside.files)
    swap(making, outside, tell)
    return Rebuilt(pages, is_resumed, tuple([one.why for one in left_out]))


def mark_finished(directory: Directory, outside: Outside) -> None:
    """Nobody writes: the last volume is whole (or missing), and the views need not wait for more of it."""
    volumes = ArchivePlaces(outside.files, directory.archive, directory).known_volumes()
    SpoolWriter(outside.files, directory.spool, silent).open(volumes[-1] if volumes else None)


async def followed(directory: Directory, agent: str, outside: Outside) -> int:
    """Run the indexer until nothing is left to read, showing how far it is. Says how many pages it has read."""
    with closing(open_state(directory)) as state:
        total = tallies.counts(state).pages
    with Control(directory.control, outside.clock, mends=True) as control, Working(SAYS, outside.clock) as progress:
        async with indexer_running(directory, outside, silent, agent) as indexer:
            for is_last in (False, True):
                async with background(indexer.finish()) as finishing:
                    while not finishing.done():
                        await outside.clock.sleep(0.2)
                        progress.says(f"{SAYS}: {pages_by(control, indexer.pid):,} of {total:,} pages")
                if not (code := finishing.result()):
                    break
                if is_last:
                    raise GossamerError(f"the indexer ended with exit code {code}, see above; ask again to go on")
                indexer.start()  # a damaged view was removed, and is made again by the next one
        return pages_by(control, indexer.pid)


def pages_by(control: Control, pid: int | None) -> int:
    """What the indexer says of its work."""
    facts = next((one.facts for one in control.beats() if one.name == "indexer" and one.pid == pid), {})
    return int(str(facts.get("pages", 0)))


# What no reader could read when it was fetched is read again first.


async def read_again(directory: Directory, outside: Outside, database: StateWriter, tell: Tell) -> int:
    """Enter what they turn out to be in the catalogue; says how many could be read. REQUIRES: the writer's lock."""
    with closing(open_state(directory)) as state:
        waiting = captures.unread(state)
    if not waiting:
        return 0
    settings, count = config_of(directory.root).settings, 0
    async with reader_pool(settings, outside, tell, job_for(reopened(directory.root, outside.files))) as readers:
        for batch in batches(waiting, lambda kept: kept.size):
            found = await asyncio.gather(*(_read(one, directory, settings, outside, readers.call) for one in batch))
            done = [(kept, one) for kept, one in found if one is not None]
            entries = [kept for kept, _ in done]
            withdrawing = [kept for kept, one in done if one.reading and not one.is_page]
            await database.run(partial(captures.read_again, kept=entries, withdrawing=withdrawing))
            count += len(done)
    return count


async def _read(
    kept: Kept, directory: Directory, settings: Settings, outside: Outside, call: Callable[[bytes], Awaitable[bytes]]
) -> tuple[Kept, ReadDone | None]:
    """What the catalogue is to hold of it; it and None when it still cannot be read."""
    try:
        capture = await asyncio.to_thread(read_capture, outside.files, directory.archive, kept.place)
        if capture is None or not may_be_page(capture):
            return kept, None
        job = ReadJob(capture, "read", settings.crawl.keep, settings.agent)
        payload = b"".join(parts_of(job))
        done = msgspec.msgpack.decode(await asked_twice(lambda: call(payload)), type=ReadDone)
    except (WorkerLost, ArchiveDamaged):
        return kept, None
    return kept_at(kept.place, capture, done), done
