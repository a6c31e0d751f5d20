"""What a collection holds and how it is: the answer of `gossamer status`."""

import asyncio
from contextlib import closing
from dataclasses import dataclass

from gossamer.base.environment import Outside
from gossamer.base.errors import WorkerLost
from gossamer.base.tell import silent
from gossamer.collection.maintenance.compact import Compacted, look_ahead
from gossamer.collection.maintenance.view_check import ViewFault, unusable
from gossamer.collection.system import Watch
from gossamer.config.settings import Settings
from gossamer.config.slices import retain_of
from gossamer.monitor.control import Control, at_work
from gossamer.monitor.hints import Hint
from gossamer.store import damage, forgotten, tallies
from gossamer.store.damage import MarkCounts
from gossamer.store.directory import Directory
from gossamer.store.state import open_state
from gossamer.values.visit import Counts
from gossamer.workers.pool import Pool
from gossamer.workers.protocol import Barriers, Limits, echo

MOST_LOOKED_THROUGH = 200_000
"""Captures; a second's work."""


@dataclass(frozen=True, slots=True)
class CollectionStatus:
    counts: Counts
    damaged: MarkCounts
    forgetting: list[str]
    """Names whose erasure was interrupted."""
    views: list[ViewFault]
    """Those that cannot be used."""
    droppable: Compacted | None
    """What the retention set would delete now; None: all is kept, or there is too much to look through."""
    processes: list[dict[str, object]]
    hints: tuple[Hint, ...]
    sandbox: Barriers | None
    """The barriers of a worker started now; None: none could be started."""


def status_of(directory: Directory, settings: Settings, outside: Outside) -> CollectionStatus:
    with closing(open_state(directory)) as state:
        counts, marks = tallies.counts(state), damage.counts(state)
        forgetting = [one.name for one in forgotten.every(state) if one.done_at is None]
    retain = retain_of(settings.archive.retain)
    is_countable = retain.kind != "all" and counts.captures <= MOST_LOOKED_THROUGH
    with Control(directory.control, outside.clock) as control:
        return CollectionStatus(
            counts=counts,
            damaged=marks,
            forgetting=forgetting,
            views=list(unusable(directory, outside, counts.pages)),
            droppable=look_ahead(directory, retain, outside) if is_countable else None,
            processes=at_work(control.beats(), outside),
            hints=Watch(directory, settings, outside, control).system().hints,
            sandbox=asyncio.run(barriers_here(outside)),
        )


async def barriers_here(outside: Outside) -> Barriers | None:
    async with Pool(echo, 1, Limits(), outside.processes, outside.clock, silent) as pool:
        try:
            await pool.call(b"")
        except WorkerLost:
            return None
        return pool.barriers
