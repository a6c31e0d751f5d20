"""The archive replayed into views: new ones beside the present ones, or the present ones brought up to date."""

import asyncio
from contextlib import closing
from typing import NamedTuple

from gossamer.archive.compaction import tidy
from gossamer.archive.places import ArchivePlaces
from gossamer.base.environment import Outside
from gossamer.base.errors import GossamerError
from gossamer.base.tell import Tell, silent
from gossamer.cli.steps import Working
from gossamer.collection.maintenance.generation import begin, origin_of, refuse_without_room, swap
from gossamer.indexer.omissions import omissions
from gossamer.indexer.supervisor import become_the_one, indexer_running
from gossamer.monitor.control import Control
from gossamer.spool.writer import SpoolWriter
from gossamer.store import tallies
from gossamer.store.directory import Directory, lock_directory
from gossamer.store.sqlite.database import Database, read_only

SAYS = "reading the archive again"


class Rebuilt(NamedTuple):
    pages: int
    """Captures of pages that were read now."""
    is_resumed: bool = False
    """The views of an earlier run that was cut short were completed."""
    damage: tuple[str, ...] = ()
    """In words: records of the archive that could not be read, by this run or an earlier one that it has gone on
    with."""


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
        async with Database(directory.state, outside.clock, silent) as database:
            await tidy(database, outside.files, directory.archive, silent)
        if discards_old:
            for path in directory.every_view():
                outside.files.remove(path)
        refuse_without_room(directory, outside)
        return await replace_views(directory, agent, outside, tell, is_fresh)
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
    volumes = ArchivePlaces(outside.files, directory.archive, directory.state).known_volumes()
    SpoolWriter(outside.files, directory.spool, silent).open(volumes[-1] if volumes else None)


async def followed(directory: Directory, agent: str, outside: Outside) -> int:
    """Run the indexer until nothing is left to read, showing how far it is. Says how many pages it has read."""
    with closing(read_only(directory.state)) as state:
        total = tallies.counts(state).pages
    with Control(directory.control, outside.clock, mends=True) as control, Working(SAYS, outside.clock) as progress:
        async with indexer_running(directory, outside, silent, agent) as indexer:
            for is_last in (False, True):
                finishing = asyncio.ensure_future(indexer.finish())
                while not finishing.done():
                    await outside.clock.sleep(0.2)
                    progress.says(f"{SAYS}: {pages_by(control, indexer.pid):,} of {total:,} pages")
                if not (code := await finishing):
                    break
                if is_last:
                    raise GossamerError(f"the indexer ended with exit code {code}, see above; ask again to go on")
                indexer.start()  # a damaged view was removed, and is made again by the next one
        return pages_by(control, indexer.pid)


def pages_by(control: Control, pid: int | None) -> int:
    """What the indexer says of its work."""
    facts = next((one.facts for one in control.beats() if one.name == "indexer" and one.pid == pid), {})
    return int(str(facts.get("pages", 0)))
