"""An archive becomes smaller: volumes are rewritten without what goes, under the directory's lock."""

import asyncio
from contextlib import closing
from functools import partial

import msgspec

from gossamer.archive.catalogue import acknowledged, adopt
from gossamer.archive.compaction import Compaction, Deletions, Rewritten, retired, tidy
from gossamer.archive.volumes import Volumes
from gossamer.base.environment import Outside
from gossamer.base.tell import Says, Tell
from gossamer.collection.maintenance.rebuild import followed, mark_finished
from gossamer.config.slices import Retain
from gossamer.crawler.damage import noting_damage
from gossamer.monitor.supervisor import lock_views
from gossamer.store.directory import Directory, lock_directory
from gossamer.store.state import open_database, open_state
from gossamer.store.statements import StateWriter


class Compacted(msgspec.Struct, frozen=True):
    """What went, or would go."""

    records: int = 0
    freed_bytes: int = 0
    volumes: int = 0
    kept: int = 0
    """Records in the volumes that were rewritten; 0 for a dry run."""
    damaged: tuple[str, ...] = ()
    """In words: damage that was come by."""


def would_go(going: Deletions) -> Compacted:
    lengths = [length for gone in going.values() for length in gone.values()]
    return Compacted(len(lengths), sum(lengths), len(going))


def gone(rewritten: list[Rewritten]) -> Compacted:
    return Compacted(
        sum(one.dropped for one in rewritten),
        sum(one.freed_bytes for one in rewritten),
        len(rewritten),
        sum(one.kept for one in rewritten),
    )


def look_ahead(directory: Directory, retain: Retain, outside: Outside) -> Compacted:
    """What `compact` would drop now; beside a crawl too."""
    with closing(open_state(directory)) as state:
        return would_go(retired(state, retain, outside.clock.now()))


async def compact(
    directory: Directory, retain: Retain, agent: str, outside: Outside, tell: Tell, says: Says = lambda _: None
) -> Compacted:
    """REQUIRES: a collection is there. Raises DirectoryBusy while another writes to it."""
    damage: dict[str, None] = {}
    tell = noting_damage(tell, damage)
    lock = lock_directory(directory, outside, "compact")
    try:
        async with open_database(directory, outside.clock, tell) as database:
            await mended(directory, database, outside, tell)
            going = await database.read(partial(retired, retain=retain, now=outside.clock.now()))
            if not going:
                return Compacted(damaged=tuple(damage))
            (await lock_views(directory, outside, "compact")).release()
            await asyncio.to_thread(mark_finished, directory, outside)
            await followed(directory, agent, outside, says)  # a view must not look for a record that is elsewhere now
            done = gone(await compaction(directory, database, outside, tell).rewrite(going, says))
            return msgspec.structs.replace(done, damaged=tuple(damage))
    finally:
        lock.release()


def compaction(directory: Directory, database: StateWriter, outside: Outside, tell: Tell) -> Compaction:
    return Compaction(database, outside.files, directory.archive, directory.spool, outside.clock, tell)


async def mended(directory: Directory, database: StateWriter, outside: Outside, tell: Tell) -> None:
    """The archive as a crawl would find it: torn ends cut, and every whole record in the catalogue."""
    files = outside.files
    await tidy(database, files, directory.archive, tell)
    volumes = Volumes(files, directory.archive, outside.clock, tell)
    volumes.open(await acknowledged(database))
    await adopt(database, files, directory.archive, tell)
