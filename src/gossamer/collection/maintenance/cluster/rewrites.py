"""Objects of a cluster's archive, rewritten without records that have left the catalogue.

    rewrite.stored     the new object is complete, and not in the catalogue yet
    rewrite.switched   one transaction: its segments are in the catalogue instead of the old ones
    rewrite.removed    the old object is deleted, without a grace period

What a crash leaves is continued by the next run (`store/rewrites.py`), which first deletes what is in no use.
"""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

import msgspec

from gossamer.archive.segments.composition import Composition, LaidSegment, PickedRecords
from gossamer.archive.segments.files import ClusterFiles
from gossamer.archive.segments.joins import SegmentDamaged
from gossamer.archive.segments.storage import ObjectStorage, pieces_of, readings_key, segment_key
from gossamer.archive.volumes import volume_name
from gossamer.base.clock import in_words
from gossamer.base.environment import Outside
from gossamer.base.errors import GossamerError
from gossamer.base.tell import Says, Tell
from gossamer.collection.maintenance.compact import Compacted
from gossamer.store import captures
from gossamer.store.directory import Directory
from gossamer.store.rewrites import (
    Replacement,
    begin_object,
    condemned_objects,
    drop_condemned,
    next_rewrite,
    replace_object,
    rewrites_left,
)
from gossamer.store.segments import StoredSegment, alone, next_number, segments_in
from gossamer.store.state import open_state
from gossamer.store.statements import State, StateWriter

POLL_S = 0.5
JOB = "change"
"""The lock under which nodes join and remove objects."""


class _MovedMeanwhile(GossamerError):
    """Its transaction is given up."""


class _Plan(msgspec.Struct, frozen=True):
    """How one object is rewritten."""

    old: str
    parts: list[StoredSegment | PickedRecords]
    emptied: list[str]
    stale: set[str]
    dropped: int
    """Records."""
    size: int


class ObjectRewriting:
    """REQUIRES: `outside` has the files of the cluster."""

    def __init__(self, directory: Directory, database: StateWriter, outside: Outside, tell: Tell) -> None:
        self._directory, self._database, self._outside, self._tell = directory, database, outside, tell
        self._files = cluster_files(outside)
        self._unsound: set[str] = set()
        """Segments that do not have their digests: record by record they can still be copied."""

    async def run(self, says: Says) -> Compacted:
        """Until nothing is left to rewrite. One process at a time does this, and no node joins objects meanwhile."""
        done = Compacted()
        with ExitStack() as held:
            state = open_state(self._directory)
            held.callback(state.close)
            while not held.enter_context(alone(state, JOB)):
                says("waiting for a node that joins objects of the archive")
                await self._outside.clock.sleep(POLL_S)
            await self._remove_condemned()
            while (found := await self._database.read(next_rewrite)) is not None:
                segments, objects = await self._database.read(rewrites_left)
                says(f"rewriting the archive: {segments:,} segments in {objects:,} objects left")
                made = await self._rewritten(*found)
                if made is not None:
                    done = Compacted(
                        done.records + made.records,
                        done.freed_bytes + made.freed_bytes,
                        done.volumes + made.volumes,
                        done.kept + made.kept,
                    )
                await self._remove_condemned()
        return done

    async def _rewritten(self, old: str, stale: set[str]) -> Compacted | None:
        """None: something was moved meanwhile, or is damaged, and it is to be tried again."""
        for name in stale:  # they can be made again
            await asyncio.to_thread(self._storage.remove, readings_key(name))
        plan = await self._database.run(partial(self._planned, old, stale))
        making = Composition(self._storage, partial(self._pieces, plan.old), self._outside.clock.now())
        name = ""
        if plan.parts:
            try:
                name = await self._stored(making, plan)
            except SegmentDamaged as damage:
                if damage.segment.name in self._unsound:
                    raise
                self._unsound.add(damage.segment.name)
                return None
        self._tell("rewrite.stored", object=name)
        replacement = _replacement(plan, name, making.laid, making.size)
        try:
            await self._database.run(partial(_switched, made=replacement))
        except _MovedMeanwhile:
            return None
        self._tell("rewrite.switched", object=name)
        kept = sum(len(moved) for _, _, moved in replacement.rewritten)
        return Compacted(plan.dropped, plan.size - making.size, len(stale), kept)

    async def _stored(self, making: Composition, plan: _Plan) -> str:
        number = await self._database.run(next_number)
        name = volume_name(number, in_words(self._outside.clock.now()))
        await self._database.run(partial(begin_object, name=name))
        await asyncio.to_thread(making.put, name, plan.parts)
        return name

    def _planned(self, old: str, stale: set[str], state: State) -> _Plan:
        parts, emptied, dropped, size = list[StoredSegment | PickedRecords](), list[str](), 0, 0
        for segment in segments_in(state, old):
            size += segment.size
            if segment.name not in stale and segment.name not in self._unsound:
                parts.append(segment)
                continue
            records = captures.records_in(state, segment.name)
            dropped += segment.records - 1 - len(records)
            if records:
                new = volume_name(next_number(state), in_words(self._outside.clock.now()))
                parts.append(PickedRecords(new, segment.name, records))
            else:
                emptied.append(segment.name)
        return _Plan(old, parts, emptied, stale, dropped, size)

    def _pieces(self, old: str, volume: str, start: int, stop: int) -> Iterator[bytes]:
        segment = self._files.segment(volume, is_fresh=True)
        if segment is None or segment.object != old:
            raise GossamerError(f"{volume} was moved meanwhile: run this again")
        return pieces_of(self._storage, segment_key(old), segment.base + start, stop - start)

    async def _remove_condemned(self) -> None:
        for name in await self._database.read(condemned_objects):
            await asyncio.to_thread(self._storage.remove, segment_key(name))
            await self._database.run(partial(drop_condemned, name=name))
            self._tell("rewrite.removed", object=name)

    @property
    def _storage(self) -> ObjectStorage:
        return self._files.storage


def cluster_files(outside: Outside) -> ClusterFiles:
    """REQUIRES: `outside` has the files of a cluster."""
    if not isinstance(outside.files, ClusterFiles):
        raise TypeError("these are not the files of a cluster")
    return outside.files


def _replacement(plan: _Plan, name: str, laid: list[LaidSegment], size: int) -> Replacement:
    whole = [one.segment for one in laid if one.volume == one.segment.name]
    rewritten = [(one.volume, one.segment, one.moved) for one in laid if one.volume != one.segment.name]
    return Replacement(plan.old, name, size, whole, rewritten, plan.emptied)


def _switched(state: State, made: Replacement) -> None:
    if not replace_object(state, made):
        raise _MovedMeanwhile(f"{made.old} was moved meanwhile")
