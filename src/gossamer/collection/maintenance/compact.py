"""Compaction of the archive.

Volumes are rewritten without the records to drop, under the directory's lock.
"""

import asyncio
from contextlib import closing
from functools import partial

import msgspec

from gossamer.archive.catalogue import acknowledged, adopt
from gossamer.archive.compaction import Compaction, Deletions, Rewritten, retired, tidy
from gossamer.archive.directories import reconcile_ends, refuse_away
from gossamer.archive.volumes import Volumes
from gossamer.base.environment import Outside
from gossamer.base.tell import Says, Tell, unheard
from gossamer.collection.directory import locked
from gossamer.collection.maintenance.rebuild import followed, mark_finished
from gossamer.config.slices import Retain
from gossamer.crawler.damage import noting_damage
from gossamer.monitor.supervisor import lock_views
from gossamer.store.directory import Directory
from gossamer.store.state import open_database, open_state
from gossamer.store.statements import StateWriter


class Compacted(msgspec.Struct, frozen=True):
    """What was dropped, or would be."""

    records: int = 0
    freed_bytes: int = 0
    volumes: int = 0
    kept: int = 0
    """Records in the volumes that were rewritten; 0 for a dry run."""
    damaged: tuple[str, ...] = ()
    """In words: damage that was found."""


def planned(deletions: Deletions) -> Compacted:
    lengths = [length for records in deletions.values() for length in records.values()]
    return Compacted(len(lengths), sum(lengths), len(deletions))


def compacted(rewritten: list[Rewritten]) -> Compacted:
    dropped, freed_bytes = sum(one.dropped for one in rewritten), sum(one.freed_bytes for one in rewritten)
    return Compacted(dropped, freed_bytes, len(rewritten), sum(one.kept for one in rewritten))


def compaction_plan(directory: Directory, retain: Retain, outside: Outside) -> Compacted:
    """What `compact` would drop now; also while a crawl runs."""
    with closing(open_state(directory)) as state:
        return planned(retired(state, retain, outside.clock.now()))


async def compact(
    directory: Directory, retain: Retain, agent: str, outside: Outside, tell: Tell, says: Says = unheard
) -> Compacted:
    """REQUIRES: the collection exists. Raises DirectoryBusy while another process writes to it."""
    damage: dict[str, None] = {}
    tell = noting_damage(tell, damage)
    with locked(directory, outside, "compact"):
        async with open_database(directory, outside.clock, tell) as database:
            await repair_archive(directory, database, outside, tell)
            going = await database.read(partial(retired, retain=retain, now=outside.clock.now()))
            if not going:
                return Compacted(damaged=tuple(damage))
            refuse_away(outside.files, directory.archive, going)
            (await lock_views(directory, outside, "compact")).release()
            await asyncio.to_thread(mark_finished, directory, outside)
            await followed(directory, agent, outside, says)  # a view must not look for a record that is elsewhere now
            done = compacted(await compaction(directory, database, outside, tell).rewrite(going, says))
            return msgspec.structs.replace(done, damaged=tuple(damage))


def compaction(directory: Directory, database: StateWriter, outside: Outside, tell: Tell) -> Compaction:
    return Compaction(database, outside.files, directory.archive, directory.spool, outside.clock, tell)


async def repair_archive(directory: Directory, database: StateWriter, outside: Outside, tell: Tell) -> None:
    """As a crawl does at its start: torn ends are cut, and every intact record is added to the catalogue."""
    files = outside.files
    await tidy(database, files, directory.archive, tell)
    volumes, end = Volumes(files, directory.archive, outside.clock, tell), await acknowledged(database)
    reconcile_ends(files, end, tell)
    volumes.open(end)
    await adopt(database, files, directory.archive, tell)
