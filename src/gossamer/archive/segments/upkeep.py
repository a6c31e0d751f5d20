"""The background work on a cluster's archive: one node at a time does each job.

joining    small objects become large ones
removal    what was stored and never acknowledged, what was joined, and readings that no view waits for
checking   each object is compared with the digests of its segments; copies in our own directories are made again
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from itertools import islice

import msgspec

from gossamer.archive.reader import PART
from gossamer.archive.repair import CopyRepair, copies_in, copies_in_one
from gossamer.archive.segments.files import ClusterFiles
from gossamer.archive.segments.joins import Join, JoinRules, damage_of
from gossamer.archive.segments.storage import (
    READINGS,
    SEGMENTS,
    DirectoryObjects,
    ObjectStorage,
    readings_key,
    segment_key,
)
from gossamer.base.clock import SECOND, Clock, from_words
from gossamer.base.environment import Outside
from gossamer.base.errors import GossamerError
from gossamer.base.tell import Tell
from gossamer.base.tuning import lower_own_thread_priority
from gossamer.config.settings import Settings
from gossamer.spool.frames import SUFFIX
from gossamer.store import segments
from gossamer.store.directory import Directory
from gossamer.store.state import open_state
from gossamer.store.statements import State

EVERY_S = 60.0
HOUR_S = 3600.0
NICENESS = 10
BYTES_S = 32 << 20
"""Read, for joining and for checking."""
AT_ONCE = 1000
_MOMENT = re.compile(r"gossamer-\d{8}-(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:-c\d+)?\.warc\.gz")


LOCKS = {"change": ("remove", "join"), "check": ("check",)}
"""Jobs by lock: a join may use a name again whose object was removed, so never at the same time."""


class Graces(msgspec.Struct, frozen=True):
    """How long objects may be needed although nothing says so."""

    retired_s: float = HOUR_S
    """Objects that were joined: a reader may hold their place."""
    unsettled_s: float = HOUR_S
    """Segments whose node has not settled them: it may be slow, or wait for the database."""
    unknown_s: float = HOUR_S
    """Objects that the database does not know."""
    check_every_s: float = 30 * 24 * HOUR_S


class _Stopped(Exception):
    """The node ends."""


class Upkeep:
    """Its jobs, each to its end. In a thread of its own."""

    def __init__(
        self, directory: Directory, files: ClusterFiles, joins: JoinRules, clock: Clock, tell: Tell,
        graces: Graces | None = None,
    ) -> None:  # fmt: skip
        self._directory, self._files, self._joins, self._clock, self._tell = directory, files, joins, clock, tell
        self._graces = graces or Graces()
        self.is_stopping: Callable[[], bool] = lambda: False

    def run(self) -> None:
        """Every job that no other node does just now. A job that fails is reported, and tried the next time."""
        for lock, jobs in LOCKS.items():
            try:
                with closing(open_state(self._directory)) as state, segments.alone(state, lock) as is_ours:
                    for name in jobs if is_ours else ():
                        getattr(self, name)(state)
            except (GossamerError, OSError) as trouble:
                self._tell("upkeep.failed", job=lock, why=str(trouble))

    def join(self, state: State) -> int:
        return Join(state, self._storage, self._joins, self._paced, self._tell).run()

    def remove(self, state: State) -> int:
        """Returns how many objects were deleted. What is deleted was given up at least one grace period before, so a
        node that still wants to use its name has been refused since."""
        graces, removed = self._graces, 0
        for name in segments.drop_unsettled(state, graces.unsettled_s):
            self._tell("segment.given_up", object=name)
        for name in self._unknown(state):
            segments.give_up_name(state, name)
            self._tell("segment.given_up", object=name)
        while names := segments.outdated_objects(state, graces.retired_s, AT_ONCE):
            for name in names:
                self._paced(0)
                self._storage.remove(segment_key(name))
                self._storage.remove(readings_key(name))
                segments.drop_object(state, name)
                self._tell("object.removed", object=name)
            removed += len(names)
        self._remove_readings(state)
        return removed

    def check(self, state: State) -> None:
        """Every object that was not checked for long; first the copies, where the storage is ours."""
        storage = self._storage
        if isinstance(storage, DirectoryObjects):
            self._make_copies(storage)
        for name in segments.objects_to_check(state, self._graces.check_every_s, AT_ONCE):
            if isinstance(storage, DirectoryObjects):
                self._repair(storage, name)
            found = segments.segments_in(state, name)
            damage = [f"{one.name}: {why}" for one in found if (why := damage_of(storage, one, self._paced))]
            segments.note_checked(state, name, "; ".join(damage))
            for why in damage:
                self._tell("object.damaged", object=name, why=why)

    @property
    def _storage(self) -> ObjectStorage:
        return self._files.storage

    def _unknown(self, state: State) -> Iterator[str]:
        """Objects that are old enough and of which the database knows nothing: their writer died before it said so."""
        for some in _batches(self._storage.names(SEGMENTS), AT_ONCE):
            old = [name for name in some if self._age_s(name) > self._graces.unknown_s]
            for name in old:
                if name.endswith(PART):
                    self._storage.remove(segment_key(name))
            yield from segments.unknown_objects(state, [name for name in old if not name.endswith(PART)])

    def _remove_readings(self, state: State) -> None:
        """Indexers delete the readings of a segment that every view has; here those that they left behind."""
        for name in list(self._storage.names(READINGS)):
            volume = name.removesuffix(SUFFIX)
            if self._age_s(volume) > self._graces.unknown_s and not segments.is_awaited(state, volume):
                self._storage.remove(readings_key(volume))
                self._tell("readings.removed", volume=volume)

    def _age_s(self, name: str) -> float:
        """By the clock of the node that chose the name: with a wrong one a name is given up too early, and its
        writer takes another."""
        moment = _MOMENT.fullmatch(name.removesuffix(PART))
        if moment is None:
            return 0.0
        year, month, day, hour, minute, second = moment.groups()
        return (self._clock.now() - from_words(f"{year}-{month}-{day}T{hour}:{minute}:{second}Z")) / SECOND

    def _make_copies(self, storage: DirectoryObjects) -> None:
        """Copies that are missing, on disks that are there."""
        repair = CopyRepair(storage.files, self._tell, self._paced)
        storage.files.erase()
        for at in copies_in(storage.files):
            repair.settle(at, moves=False, is_deep=False)

    def _repair(self, storage: DirectoryObjects, name: str) -> None:
        """Damaged copies, from good ones."""
        for at in copies_in_one(storage.files, name):
            CopyRepair(storage.files, self._tell, self._paced).settle(at, moves=False, is_deep=True)

    def _paced(self, amount: int) -> None:
        if self.is_stopping():
            raise _Stopped
        if amount:
            self._clock.pause(amount / BYTES_S)


async def keep(directory: Directory, settings: Settings, outside: Outside, tell: Tell, stop: asyncio.Event) -> None:
    """Look after the archive of the cluster until `stop`. Every node may: only one does each job. REQUIRES: `outside`
    has the files of the cluster."""
    if not isinstance(outside.files, ClusterFiles):
        raise ValueError("not the files of a cluster")
    rules = JoinRules(settings.archive.volume_mib << 20)
    upkeep = Upkeep(directory, outside.files, rules, outside.clock, tell)
    upkeep.is_stopping = stop.is_set
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1, "upkeep", lower_own_thread_priority, (NICENESS,)) as thread:
        while not stop.is_set():
            with suppress(_Stopped):
                await loop.run_in_executor(thread, upkeep.run)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), EVERY_S)


def _batches(names: Iterable[str], most: int) -> Iterator[list[str]]:
    waiting = iter(names)
    while some := list(islice(waiting, most)):
        yield some
