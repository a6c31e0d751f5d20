"""`gossamer rebuild`: make the views again from the archive, which is the truth."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, NamedTuple

from cyclopts import Parameter
from rich.console import Console

from gossamer.app import crash
from gossamer.app.config import FILE_NAME, load
from gossamer.app.damage import DAMAGED, MOST_NAMED, tell_damage
from gossamer.app.directory import DEFAULT, Directory, existing, lock_directory
from gossamer.app.generation import begin, origin_of, refuse_without_room, swap
from gossamer.app.indexing import become_the_one, indexer_running
from gossamer.app.lost_state import LOST, restore_state
from gossamer.app.omission import omissions
from gossamer.app.outside import Outside, real_outside
from gossamer.app.saying import counted
from gossamer.app.seeding import checked_seeds
from gossamer.app.settings import Settings
from gossamer.app.working import Working
from gossamer.archive.compaction import tidy
from gossamer.archive.places import ArchivePlaces
from gossamer.errors import GossamerError
from gossamer.monitor.control import Control
from gossamer.spool.spool import SpoolWriter
from gossamer.store import tallies
from gossamer.store.database import Database, read_only
from gossamer.values.tell import Tell, silent

SAYS = "reading the archive again"


class Rebuilt(NamedTuple):
    pages: int
    """Captures of pages that were read now."""
    is_resumed: bool = False
    """The views of an earlier run that was cut short were completed."""
    damaged: int = 0
    """Records of the archive that could not be read, by this run or an earlier one that it has gone on with."""
    damage: tuple[str, ...] = ()
    """The first of them, in words."""


def rebuild(
    *,
    dir: Annotated[Path, Parameter(help="The collection's data directory.")] = DEFAULT,
    fresh: Annotated[bool, Parameter(help="Do not go on with a rebuild that was cut short: begin anew.")] = False,
    discard_old: Annotated[
        bool, Parameter(help="Delete the present views first, where there is no room for both.")
    ] = False,
    state: Annotated[bool, Parameter(help="Make a lost or damaged state.db again, and leave the views alone.")] = False,
    seed: Annotated[tuple[str, ...], Parameter(help="With --state: where the crawl started, if that was lost.")] = (),
) -> int:
    settings = load(dir / FILE_NAME, os.environ, {}).settings
    if state:
        return _state_again(Directory(dir), settings, seed)
    agent = settings.agent
    tell = crash.crashing(silent, os.environ.get(crash.VARIABLE))
    made = asyncio.run(build_again(existing(dir), agent, real_outside(), tell, fresh, discard_old))
    resumed = ", going on where the last rebuild was cut short" if made.is_resumed else ""
    says = f"search, facts and links are made again, from {made.pages:,} captures of pages{resumed}"
    for line in [*damage_told(made, dir), says]:
        Console(stderr=True).print(line, highlight=False, markup=False, soft_wrap=True)
    return DAMAGED if made.damaged else 0


def damage_told(made: Rebuilt, dir: Path) -> list[str]:
    lines = [f"damaged: {words}" for words in made.damage]
    if made.damaged:
        records = counted(made.damaged, "record")
        lines.append(f"{records} of the archive damaged and left out; `gossamer verify --dir {dir}` says what to do")
    return lines


def _state_again(directory: Directory, settings: Settings, starts: Sequence[str]) -> int:
    outside, console = real_outside(), Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    tell = crash.crashing(silent, os.environ.get(crash.VARIABLE))
    with Working("reading the archive", outside.clock) as progress:

        def says(words: str) -> None:
            progress.says(words)
            tell("state.progress")

        made = asyncio.run(restore_state(directory, settings, checked_seeds(starts), outside, says))
    console.print(
        f"state.db is made again: {made.captures:,} captures, {made.pages:,} pages, {made.known:,} addresses known, "
        f"{made.queued:,} of them waiting, {made.seeds:,} seeds"
    )
    if made.set_aside:
        console.print(f"the damaged one is kept as {directory.root / made.set_aside}")
    for words in made.missing:
        console.print(f"not found: {words}")
    console.print("not in any archive, and gone: " + "; ".join(LOST))
    return tell_damage(made.damaged, directory.root)


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
    return Rebuilt(pages, is_resumed, len(left_out), tuple([one.why for one in left_out[:MOST_NAMED]]))


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
            finishing = asyncio.ensure_future(indexer.finish())
            while not finishing.done():
                await outside.clock.sleep(0.2)
                progress.says(f"{SAYS}: {pages_by(control, indexer.pid):,} of {total:,} pages")
            if code := await finishing:
                raise GossamerError(f"the indexer ended with exit code {code}, see above; ask again to go on")
        return pages_by(control, indexer.pid)


def pages_by(control: Control, pid: int | None) -> int:
    """What the indexer says of its work."""
    facts = next((one.facts for one in control.beats() if one.name == "indexer" and one.pid == pid), {})
    return int(str(facts.get("pages", 0)))
