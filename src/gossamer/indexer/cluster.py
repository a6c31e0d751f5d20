"""Keep the views of a cluster up to date: any number of indexers share the rows of the table `work`.

Each view has rows of its own and continues alone: one whose service is away keeps what it was given, up to a limit, and
takes no more, while the others continue. A row is deleted once its view has the pages for good. Nothing depends on who
leases a row, because views replace a page by version: at worst something is done twice.

Failures differ. A record that cannot be read, or a page that a view refuses, counts against its row, which is
set aside after three times. A view that refuses everything is tried again with fewer segments, and a row counts as the
reason only if the view then takes another one.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.errors import DatabaseLost, GossamerError
from gossamer.base.tell import Tell
from gossamer.indexer.segments import SegmentReader
from gossamer.indexer.updates import IndexerProcess, View, turn_if_known
from gossamer.store import forgotten
from gossamer.store.forgotten import NOTHING, Forgotten
from gossamer.store.statements import State, StateWriter
from gossamer.store.work import LEASE_S, SegmentCapture, WorkRow, catalogued, fail, finish, lease, release, renew
from gossamer.values.format import error_in_words
from gossamer.values.page import Reading
from gossamer.views.facts.origins import PageOrigins, origins_in, put_origins

FACTS = "facts"
"""The view whose pages have origins in the database too."""


@dataclass(frozen=True, slots=True)
class ClusterTuning:
    segments: int = 64  # rows of a view leased at a time ...
    records: int = 2_000  # ... with about so many records
    read_at_once: int = 8  # segments
    commit_s: float = 1.75  # words wait at most this long for a commit
    patient_s: float = 6.0  # facts and links this long ...
    patient_pages: int = 2_000  # ... and at most so many pages
    most_waiting: int = 2_000  # pages that a view which is busy may have besides
    poll_s: float = 0.5  # how often it looks for new rows when there are none
    busy_poll_s: float = 0.05  # how often it looks whether a commit is done
    publish_s: float = 0.25
    renew_s: float = LEASE_S / 3
    stuck_s: float = LEASE_S  # rows in a commit that takes longer may be done by others too
    pause_s: float = 2.0  # after a view has refused everything; twice as long each time
    longest_pause_s: float = 60.0
    stop_s: float = 10.0  # how long a clean stop waits for commits


class Handed(NamedTuple):
    """A row whose pages a view was given."""

    row: WorkRow
    since: Instant
    failures: dict[int, str]
    """By record number: what could not be read, and why."""
    numbers: dict[str, int]
    """By URL, the record."""
    origins: list[PageOrigins]


@dataclass(slots=True)
class _Lane:
    """One view and its rows."""

    name: str
    view: View
    segments: int
    taken: list[Handed] = field(default_factory=list)
    """For the next commit."""
    committing: list[Handed] = field(default_factory=list)
    taken_at: Instant = 0
    """When the first of those was taken."""
    committed_at: Instant = 0
    """When the commit in progress began."""
    paused_until: Instant = 0
    pauses: int = 0
    trouble: str = ""
    suspects: dict[int, tuple[WorkRow, str]] = field(default_factory=dict)
    """Rows that were alone in a commit that failed."""

    @property
    def rows(self) -> list[WorkRow]:
        return [one.row for one in (*self.taken, *self.committing)]


@dataclass(frozen=True, slots=True)
class ClusterSource:
    """Where the work and the readings of a cluster are."""

    database: StateWriter
    readings: SegmentReader
    by: str
    """The name under which this indexer leases rows."""


class ClusterViews:
    """The views of one indexer of a cluster. REQUIRES: they are open."""

    def __init__(
        self,
        views: Mapping[str, View],
        source: ClusterSource,
        process: IndexerProcess,
        clock: Clock,
        tell: Tell,
        settings: ClusterTuning,
    ) -> None:
        self._lanes = [_Lane(name, view, settings.segments) for name, view in views.items()]
        self._source, self._process, self._settings = source, process, settings
        self._clock, self._tell = clock, tell
        self._pages = 0
        self._renewed_at = self._published_at = self._looked_at = 0
        self._stray: list[WorkRow] = []
        """Leased, but not needed: others may have them."""

    @property
    def trouble(self) -> str:
        """What the views wait for, for people."""
        found = [lane.view.trouble or lane.trouble for lane in self._lanes]
        return "; ".join(dict.fromkeys(one for one in (self._source.database.trouble, *found) if one))

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop`; then wait a moment for what was committed, and give the other rows back."""
        try:
            while not stop.is_set():
                has_found = await turn_if_known(self.turn, self._clock, self._tell)
                if self._clock.now() - self._published_at >= self._settings.publish_s * SECOND:
                    self._publish_state()
                    if self._process.is_checkpoint_wanted():
                        self._hurry()
                if not has_found:
                    is_waiting = any(lane.taken or lane.committing for lane in self._lanes)
                    await self._clock.sleep(self._settings.busy_poll_s if is_waiting else self._settings.poll_s)
            await self._finish_all()
        finally:
            await self._give_back()

    async def turn(self) -> bool:
        """Finish commits, begin those that are due, and take more. Whether there was anything to take."""
        for lane in self._lanes:
            await self._settle(lane)
            if self._is_due(lane):
                self._commit(lane)
        await self._renew()
        ready = [lane for lane in self._lanes if self._may_take(lane)]
        now = self._clock.now()
        if not ready or now < self._looked_at:
            return False
        found = await self._take(ready)
        self._lanes.append(self._lanes.pop(0))  # the next one takes its oldest rows first
        if not found:
            self._looked_at = now + int(self._settings.poll_s * SECOND)
        return found

    # Commits.

    def _hurry(self) -> None:
        """A reader wants to see what was taken."""
        for lane in self._lanes:
            lane.taken_at = 0
        self._process.checkpoint()

    def _is_due(self, lane: _Lane) -> bool:
        now, view = self._clock.now(), lane.view
        if not lane.taken or view.is_busy or lane.committing or now < lane.paused_until:
            return False
        if view.is_full or view.waiting >= self._settings.patient_pages or not view.waiting:
            return True
        patience_s = self._settings.patient_s if view.is_patient else self._settings.commit_s
        return lane.segments < self._settings.segments or now - lane.taken_at >= patience_s * SECOND

    def _commit(self, lane: _Lane) -> None:
        lane.committing, lane.taken = lane.taken, []
        lane.committed_at = self._clock.now()
        lane.view.commit(b"")

    async def _settle(self, lane: _Lane) -> None:
        """If a commit is done, its rows are."""
        if not lane.committing or lane.view.is_busy:
            return
        done, lane.committing = lane.committing, []
        try:
            lane.view.settle()
        except GossamerError as trouble:
            await self._pause(lane, done, str(trouble))
            return
        suspects, lane.suspects = lane.suspects, {}
        lane.pauses, lane.trouble = 0, ""
        lane.segments = min(self._settings.segments, 8 * lane.segments)
        refused = dict(lane.view.refused)
        failed = [(row, row.first, row.beyond, why) for row, why in suspects.values()]
        whole = []
        for one in done:
            bad = one.failures | {one.numbers[url]: why for url, why in refused.items() if url in one.numbers}
            if bad:
                failed.append((one.row, min(bad), max(bad) + 1, next(iter(bad.values()))))
            else:
                whole.append(one.row)
        await self._write_off(whole, failed, [origin for one in done for origin in one.origins])
        self._tell("views.stored", view=lane.name, segments=len(whole))

    async def _write_off(
        self,
        done: Sequence[WorkRow],
        failed: Sequence[tuple[WorkRow, int, int, str]],
        origins: Sequence[PageOrigins] = (),
    ) -> None:
        def write(state: State) -> tuple[list[bool], list[str]]:
            put_origins(state, origins)
            by = self._source.by
            return [fail(state, by, row, first, beyond, why) for row, first, beyond, why in failed], finish(state, done)

        are_aside, finished = await self._source.database.run(write)
        for (row, first, beyond, why), is_aside in zip(failed, are_aside, strict=True):
            event = "views.set-aside" if is_aside else "views.failed"
            self._tell(event, view=row.view, volume=row.volume, first=first, beyond=beyond, because=why)
        await asyncio.gather(*(asyncio.to_thread(self._discard, volume) for volume in finished))

    def _discard(self, volume: str) -> None:
        """At worst an object of readings is left behind."""
        try:
            self._source.readings.discard(volume)
        except (GossamerError, OSError) as trouble:
            self._tell("views.undiscarded", volume=volume, because=error_in_words(trouble))

    async def _pause(self, lane: _Lane, done: Sequence[Handed], why: str) -> None:
        """The view refuses everything, or one of these rows does that to it."""
        settings = self._settings
        pause_s = min(settings.pause_s * 2**lane.pauses, settings.longest_pause_s)
        lane.paused_until = self._clock.now() + int(pause_s * SECOND)
        lane.pauses, lane.trouble = min(lane.pauses + 1, 10), why
        self._tell("views.refused", view=lane.name, segments=len(done), because=why)
        if len(done) == 1 and len(lane.suspects) < settings.segments:
            lane.suspects[done[0].row.id] = done[0].row, why
        lane.segments = max(1, min(lane.segments, len(done)) // 8)
        ids = [one.row.id for one in done]
        await self._source.database.run(lambda state: release(state, self._source.by, ids, pause_s))

    # New rows.

    def _may_take(self, lane: _Lane) -> bool:
        if self._clock.now() < lane.paused_until or lane.view.is_full:
            return False
        if lane.segments < self._settings.segments and (lane.taken or lane.committing):
            return False
        return lane.view.waiting < self._settings.most_waiting and len(lane.taken) < 4 * self._settings.segments

    async def _take(self, ready: Sequence[_Lane]) -> bool:
        wanted = {lane.name: lane.segments for lane in ready}
        lanes = {lane.name: lane for lane in ready}

        def look(state: State) -> tuple[list[WorkRow], dict[str, list[SegmentCapture]], Forgotten]:
            rows = lease(state, self._source.by, wanted, self._settings.records)
            return (rows, catalogued(state, rows), forgotten.block(state)) if rows else ([], {}, NOTHING)

        rows, captures, block = await self._source.database.run(look)
        self._stray += rows
        since = self._clock.now()
        groups: dict[tuple[str, bool], list[WorkRow]] = {}
        for row in rows:
            groups.setdefault((row.volume, row.is_rebuild), []).append(row)
        ordered = list(groups.items())
        for start in range(0, len(ordered), self._settings.read_at_once):
            some = ordered[start : start + self._settings.read_at_once]
            some = [(key, [row for row in rows if self._has_room(lanes[row.view])]) for key, rows in some]
            await asyncio.gather(
                *(self._read(rows, captures[key[0]], block, lanes, since) for key, rows in some if rows)
            )
        if self._stray:
            stray, self._stray = self._stray, []
            await self._source.database.run(lambda state: release(state, self._source.by, [row.id for row in stray]))
        return bool(rows)

    def _has_room(self, lane: _Lane) -> bool:
        """One that is full is committed at once, if its last commit is done."""
        if lane.view.is_full and not lane.committing and not lane.view.is_busy:
            self._commit(lane)
        return not lane.view.is_full

    async def _read(
        self,
        rows: Sequence[WorkRow],
        captures: Iterable[SegmentCapture],
        block: Forgotten,
        lanes: Mapping[str, _Lane],
        since: Instant,
    ) -> None:
        """One segment, for all views that have a row of it."""
        first, beyond = min(row.first for row in rows), max(row.beyond for row in rows)
        wanted = [one for one in captures if first <= one.place.number < beyond]
        try:
            found = await self._source.readings.read(rows[0].volume, wanted, rows[0].is_rebuild, block)
        except DatabaseLost:
            raise
        except (GossamerError, OSError) as trouble:
            self._stray = [row for row in self._stray if row not in rows]
            await self._write_off([], [(row, row.first, row.beyond, error_in_words(trouble)) for row in rows])
            return
        self._pages += len(found.readings)
        for row in rows:
            self._stray.remove(row)
            own = {number: one for number, one in found.readings.items() if row.first <= number < row.beyond}
            failures = {number: why for number, why in found.failures.items() if row.first <= number < row.beyond}
            self._hand(lanes[row.view], row, own, failures, since)

    def _hand(
        self, lane: _Lane, row: WorkRow, readings: Mapping[int, Reading], failures: dict[int, str], since: Instant
    ) -> None:
        given = list(readings.values())
        lane.view.replace(given)
        numbers = {one.page.url.text: number for number, one in readings.items()}
        origins = [origins_in(one) for one in given] if lane.name == FACTS else []
        if not lane.taken:
            lane.taken_at = self._clock.now()
        lane.taken.append(Handed(row, since, failures, numbers, origins))

    # Leases.

    async def _renew(self) -> None:
        """Rows in a commit that hangs are given back, in case only this node cannot reach the service."""
        now = self._clock.now()
        if now - self._renewed_at < self._settings.renew_s * SECOND:
            return
        self._renewed_at = now
        stuck = [lane for lane in self._lanes if lane.committing and self._is_stuck(lane, now)]
        hung = [one.row.id for lane in stuck for one in lane.committing]
        held = [row.id for lane in self._lanes for row in lane.rows if row.id not in set(hung)]

        def write(state: State) -> None:
            renew(state, self._source.by, held)
            release(state, self._source.by, hung)

        if held or hung:
            await self._source.database.run(write)

    def _is_stuck(self, lane: _Lane, now: Instant) -> bool:
        return now - lane.committed_at > self._settings.stuck_s * SECOND

    async def _finish_all(self) -> None:
        """Commit what was taken, and wait for it a moment."""
        until = self._clock.elapsed_s() + self._settings.stop_s
        while any(lane.taken or lane.committing for lane in self._lanes) and self._clock.elapsed_s() < until:
            for lane in self._lanes:
                await self._settle(lane)
                if lane.taken and not lane.committing and not lane.view.is_busy:
                    self._commit(lane)
            await self._clock.sleep(self._settings.busy_poll_s)
        self._publish_state()

    async def _give_back(self) -> None:
        """Without a word if the database is away: the leases run out."""
        ids = [row.id for lane in self._lanes for row in lane.rows] + [row.id for row in self._stray]
        try:
            await self._source.database.run(lambda state: release(state, self._source.by, ids))
        except GossamerError as lost:
            self._tell("views.suspended", because=str(lost))

    # What it reports.

    @property
    def lag_s(self) -> float:
        """How long the oldest page in hand has waited since it was settled."""
        now = self._clock.now()
        held = [one for lane in self._lanes for one in (*lane.taken, *lane.committing) if not one.row.is_rebuild]
        return max((one.row.age_s + max(0, now - one.since) / SECOND for one in held), default=0.0)

    def _publish_state(self) -> None:
        self._published_at = self._clock.now()
        rebuilding = {row.view for lane in self._lanes for row in lane.rows if row.is_rebuild}
        self._process.publish(
            {
                "positions": {},
                "lag_s": round(self.lag_s, 3),
                "waiting": sum(lane.view.waiting for lane in self._lanes),
                "pages": self._pages,
                "rebuilding": sorted(rebuilding),
            }
        )
