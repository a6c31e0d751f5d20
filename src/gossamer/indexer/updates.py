"""Keep the views up to date with the spool: links, facts and words.

Views are made from the archive and can be rebuilt: each stores its position (volume and record) with what it has
committed. A kill at any instant only repeats work, because a page's entry is replaced as a whole, and never by one from
an older capture. A view that was deleted starts from the beginning, alone, while the others continue at the front.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import msgspec

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.errors import ArchiveDamaged, DatabaseLost, WorkerLost
from gossamer.base.tell import Tell
from gossamer.spool.codec import decode
from gossamer.spool.frames import Follower, SpooledRecord, SpoolPosition
from gossamer.values.capture import Place
from gossamer.values.messages import PageFacts
from gossamer.values.page import Reading

MOST_BYTES = 64 << 20
"""Of facts that wait for a commit: a page may have tens of thousands."""
AWAY_S = 1.0
"""How soon to look again for a database that is away."""
Reread = Callable[[Place], Awaitable[Reading | None]]
"""Reads a capture from the archive again; None when there is nothing for the views in it."""


class _Committed(Protocol):
    @property
    def position(self) -> bytes:
        """The position of the last commit that is on disk; empty when the view is new. It is lost with the view."""

    @property
    def is_busy(self) -> bool:
        """Whether the last commit is still in progress; the next one has to wait for it."""

    @property
    def waits_apart(self) -> bool:
        """Whether it is on a service, which may be gone for hours: while it is busy, the others continue without it."""

    @property
    def refused(self) -> Mapping[str, str]:
        """By URL, the pages of the last commit that it will never take, and why."""

    @property
    def trouble(self) -> str:
        """Since when its service has not answered, for people; empty while it answers."""

    def settle(self) -> None:
        """Wait until everything that was committed is on disk."""


class View(_Committed, Protocol):
    """Pages in one form. Real ones: `views.links.store.LinksWriter`, `GraphView`, `views.words.writer.IndexWriter`, and
    `views.words.opensearch.writer.ServiceWriter` for words and links."""

    @property
    def waiting(self) -> int:
        """Pages taken since the last commit."""

    def replace(self, readings: Sequence[Reading]) -> int:
        """Replace each page's entry, unless the view has the same or a newer capture; returns how many were taken."""

    @property
    def is_patient(self) -> bool:
        """Whether its pages may wait longer for a commit, because large commits are cheaper."""

    @property
    def is_full(self) -> bool:
        """Whether it has so much for the next commit that this should not wait."""

    def commit(self, position: bytes) -> None:
        """Store what was taken since the last time; it is done when `position` says so."""


class FactsKeeper(_Committed, Protocol):
    """Stores facts. Real ones: `views.facts.store.LocalFacts`, `indexer.graph_client.RemoteFacts`, which has another
    process do it, and `views.facts.server.writer.ServerFacts`."""

    def commit(self, position: bytes, pages: list[PageFacts]) -> None:
        """Replace each page's facts. It may return before they are on disk."""


class GraphView:
    """The graph as a view: facts wait for the commit, because the store takes many pages at once at half the cost."""

    is_patient = True

    def __init__(self, keeper: FactsKeeper) -> None:
        self._keeper = keeper
        self._pending: dict[str, PageFacts] = {}
        self._bytes = 0

    @property
    def position(self) -> bytes:
        return self._keeper.position

    @property
    def waiting(self) -> int:
        return len(self._pending)

    @property
    def is_full(self) -> bool:
        return self._bytes >= MOST_BYTES

    @property
    def is_busy(self) -> bool:
        return self._keeper.is_busy

    @property
    def waits_apart(self) -> bool:
        return self._keeper.waits_apart

    @property
    def refused(self) -> Mapping[str, str]:
        return self._keeper.refused

    @property
    def trouble(self) -> str:
        return self._keeper.trouble

    def replace(self, readings: Sequence[Reading]) -> int:
        """A page that asks not to be indexed is stored without facts, which keeps older captures out."""
        taken = 0
        for reading in readings:
            url = reading.page.url
            known = self._pending.get(url.text)  # the store compares with what it has
            if known is None or known.order < reading.order:
                facts, sources = (reading.facts, reading.sources) if reading.page.directives.may_index else (b"", b"")
                at, version = reading.fetched_at, reading.version
                self._pending[url.text] = PageFacts(url, facts, reading.capture_id, at, sources, version)
                self._bytes += len(facts) + len(sources)
                taken += 1
        return taken

    def commit(self, position: bytes) -> None:
        pages, self._pending, self._bytes = list(self._pending.values()), {}, 0
        self._keeper.commit(position, pages)

    def settle(self) -> None:
        self._keeper.settle()


@dataclass(frozen=True, slots=True)
class IndexerTuning:
    batch: int = 256  # frames read at a time
    commit_s: float = 1.75  # words wait at most this long for a commit; longer means fewer merges
    patient_least_s: float = 6.0  # facts and links wait this long while there are few pages ...
    patient_most_s: float = 30.0  # ... and, a second more for every 500 pages, at most this long ...
    patient_pages: int = 7_200  # ... and at most so many pages: each commit of facts is one more file to merge
    patient_took_s: float = 0.3  # ... or as many as take this long to commit, since words wait meanwhile
    poll_s: float = 0.2  # how often it looks for new frames after less than a batch
    publish_s: float = 0.25  # how often the position and lag are published
    drain_s: float = 5.0  # how long a clean stop continues to read what is already spooled
    reread_at_once: int = 16  # lost readings that are made again at one time


@dataclass(frozen=True, slots=True)
class ReadingSource:
    """The spool, and the archive for the readings that the spool has lost."""

    follower: Callable[[], Follower]
    """Makes a new follower of the spool."""
    reread: Reread


@dataclass(frozen=True, slots=True)
class IndexerProcess:
    """The process around the views: what they report to it, and what they ask of it."""

    publish: Callable[[dict[str, object]], None]
    """Takes the positions and the lag of the views."""
    is_checkpoint_wanted: Callable[[], bool] = lambda: False
    checkpoint: Callable[[], object] = lambda: None
    """Called when one is wanted and at the end, on a thread of its own."""


@dataclass(slots=True)
class _Group:
    """Views at the same position, which share a follower."""

    follower: Follower
    position: SpoolPosition
    views: dict[str, View]
    committed_at: Instant
    waiting_since: Instant | None = None
    """When the oldest page that waits for a commit was taken, except for readings made again. Fetch times do not help:
    an imported page is years old, and a demonstration has its own calendar."""
    behind_since: Instant | None = None
    """Since when all batches have been full: more is waiting than was read."""


class Views:
    """Follows the spool for its views. One for each data directory, in the indexer process.

    REQUIRES: the views are open.
    """

    def __init__(
        self,
        views: Mapping[str, View],
        source: ReadingSource,
        process: IndexerProcess,
        clock: Clock,
        tell: Tell,
        settings: IndexerTuning,
    ) -> None:
        self._views, self._source, self._process = dict(views), source, process
        self._clock, self._tell, self._settings = clock, tell, settings
        self._groups: list[_Group] = []
        self._published_at: Instant = 0
        self._committed_at: dict[str, Instant] = {}
        self._page_s: dict[str, float] = {}  # what a page took in a view's last commit
        self._pages = 0

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop`; then read what is already spooled, for a while, commit it, and make a checkpoint."""
        async with asyncio.TaskGroup() as tasks:
            checkpoint: asyncio.Task[object] | None = None
            while not stop.is_set():
                has_found = await turn_if_known(self.turn, self._clock, self._tell)
                if not (has_found and any(group.behind_since is not None for group in self._groups)):
                    await self._clock.sleep(self._settings.poll_s)
                if self._clock.now() - self._published_at < self._settings.publish_s * SECOND:
                    continue
                self._publish_state()
                is_idle = (checkpoint is None or checkpoint.done()) and not any(
                    view.is_busy for view in self._views.values()
                )
                if is_idle and self._process.is_checkpoint_wanted():
                    self._commit_all()
                    checkpoint = tasks.create_task(asyncio.to_thread(self._process.checkpoint))
        until = self._clock.elapsed_s() + self._settings.drain_s
        with suppress(DatabaseLost):  # the next indexer continues from the last commit
            while self._clock.elapsed_s() < until:
                if not await self.turn():
                    if not any(map(_is_apart, self._views.values())):
                        break
                    self._publish_state()
                    await self._clock.sleep(self._settings.poll_s)
        self.commit()
        await asyncio.to_thread(self._process.checkpoint)

    async def turn(self) -> bool:
        """One batch for each group, and a commit when it is due. Whether there was anything to read."""
        self._gather_groups()
        self._part_groups()
        front = max((group.position for group in self._groups), default=SpoolPosition())
        found = [await self._take(group, front) for group in self._groups if not self._is_stuck(group)]
        for group in self._groups:
            if self._clock.now() - group.committed_at >= self._settings.commit_s * SECOND:
                self._commit(group)
        return any(found)

    def commit(self) -> None:
        """Commit everything that was taken, and wait until it is on disk."""
        for view in self._views.values():
            view.settle()
        self._commit_all()
        for view in self._views.values():
            view.settle()
        for group in self._groups:
            self._discard(group)
        self._publish_state()

    def _commit_all(self) -> None:
        for group in self._groups:
            self._commit(group, is_last=True)

    @property
    def lag_s(self) -> float:
        """How long the oldest page that was read from the spool has waited for a commit, or how long there has been
        more in the spool than could be read. The crawler knows since when pages wait there (`Backlog`)."""
        now = self._clock.now()
        since = [at for group in self._groups for at in (group.waiting_since, group.behind_since) if at is not None]
        return max(0.0, (now - min(since, default=now)) / SECOND)

    def _gather_groups(self) -> None:
        """Views at one position continue together; a view that lags has its own follower."""
        grouped = {name for group in self._groups for name in group.views}
        for name, view in self._views.items():
            if name not in grouped and not _is_apart(view):  # a service that has never answered has no position yet
                position = position_in(view.position)
                self._groups.append(_Group(self._source.follower(), position, {name: view}, self._clock.now()))
        stuck = [group for group in self._groups if self._is_stuck(group)]
        merged: dict[SpoolPosition, _Group] = {}
        for group in self._groups:
            if group in stuck:
                continue
            first = merged.setdefault(group.position, group)
            if first is not group:
                self._commit(first, is_last=True)
                self._commit(group, is_last=True)
                first.views |= group.views
        self._groups = [*merged.values(), *stuck]

    def _part_groups(self) -> None:
        """A view that is on a service and may take no more gets a group of its own, which reads nothing until the
        service has answered."""
        for group in list(self._groups):
            for name, view in list(group.views.items()):
                if len(group.views) > 1 and self._is_laden(view):
                    del group.views[name]
                    own = _Group(self._source.follower(), group.position, {name: view}, group.committed_at)
                    own.waiting_since = group.waiting_since
                    self._groups.append(own)

    def _is_stuck(self, group: _Group) -> bool:
        return len(group.views) == 1 and all(map(self._is_laden, group.views.values()))

    def _is_laden(self, view: View) -> bool:
        """Whether it must take no more pages until its commit is done."""
        is_much = view.is_full or (view.is_patient and view.waiting >= self._settings.patient_pages)
        return is_much and _is_apart(view)

    async def _take(self, group: _Group, front: SpoolPosition) -> bool:
        frames = group.follower.follow(group.position, self._settings.batch)
        if frames and group.position < front:  # do not overtake the group at the front: join it
            frames = [frame for frame in frames if frame.after <= front]
            if not frames:  # the last record of the front is gone
                group.position = front
                return True
        now, is_full = self._clock.now(), len(frames) == self._settings.batch
        group.behind_since = (group.behind_since or now) if is_full else None
        if not frames:
            return False
        fresh, again = await self._readings(frames)
        if fresh and group.waiting_since is None:
            group.waiting_since = now
        readings = newest_of([*fresh, *again])
        for view in group.views.values():
            view.replace(readings)
        self._pages += len(readings)
        group.position = frames[-1].after
        return True

    async def _readings(self, frames: Sequence[SpooledRecord]) -> tuple[list[Reading], list[Reading]]:
        """Those that were spooled, and those that had to be made again."""
        decoded = [(frame.place, reading_in(frame.reading)) for frame in frames if frame.reading != b""]
        lost = [place for place, reading in decoded if reading is None]
        again: list[Reading | None] = []
        for start in range(0, len(lost), self._settings.reread_at_once):
            some = lost[start : start + self._settings.reread_at_once]
            again += await asyncio.gather(*map(self._read_again, some))
        return [one for _, one in decoded if one is not None], [one for one in again if one is not None]

    async def _read_again(self, place: Place) -> Reading | None:
        try:
            return await self._source.reread(place)
        except (WorkerLost, ArchiveDamaged) as trouble:
            self._tell("views.unread", volume=place.volume, number=place.number, because=str(trouble))
            return None

    def _commit(self, group: _Group, is_last: bool = False) -> None:
        """Commit the views that are due: words, and only the first of the patient ones, so that words never wait for
        all of them; when `is_last`, all. The next commit is due from the start of this one."""
        began_at = self._clock.now()
        for name, view in sorted(group.views.items(), key=lambda one: (one[1].is_patient, self._last(one[0]))):
            if not _is_apart(view) and (is_last or self._is_due(name, view)):
                self._committed_at[name] = self._clock.now()
                if position_in(view.position) != group.position:
                    self._commit_one(name, view, group.position)
                if view.is_patient and not is_last:
                    break
        if not any(view.is_busy and not view.is_patient for view in group.views.values()):
            group.waiting_since = None
        group.committed_at = began_at
        self._discard(group)

    def _discard(self, group: _Group) -> None:
        group.follower.discard_before([position_in(view.position) for view in self._views.values()])

    def _commit_one(self, name: str, view: View, at: SpoolPosition) -> None:
        view.settle()
        began_s, pages = self._clock.elapsed_s(), view.waiting
        view.commit(msgspec.json.encode(at))
        self._tell("views.positioned", view=name, volume=at.volume, number=at.number)
        if pages:
            self._page_s[name] = (self._clock.elapsed_s() - began_s) / pages

    def _is_due(self, name: str, view: View) -> bool:
        """A busy view is waited for only when it must not take more pages."""
        if not view.is_patient:
            return not view.is_busy
        if view.is_full or view.waiting >= self._settings.patient_pages:
            return True
        if view.is_busy:
            return False
        if view.waiting * self._page_s.get(name, 0.0) >= self._settings.patient_took_s:
            return True
        patience_s = self._settings.patient_least_s + self._pages / 500
        return self._clock.now() - self._last(name) >= min(patience_s, self._settings.patient_most_s) * SECOND

    def _last(self, name: str) -> Instant:
        """When the view was last committed; before that, when this was first called."""
        return self._committed_at.setdefault(name, self._clock.now())

    def _publish_state(self) -> None:
        self._published_at = self._clock.now()
        positions = {name: position_in(view.position) for name, view in self._views.items()}
        front = max((group.position for group in self._groups), default=SpoolPosition())
        self._process.publish(
            {
                "positions": {name: [at.volume, at.number] for name, at in positions.items()},
                "lag_s": round(self.lag_s, 3),
                "waiting": sum(view.waiting for view in self._views.values()),
                "pages": self._pages,
                "rebuilding": sorted(name for group in self._groups if group.position < front for name in group.views),
            }
        )


async def turn_if_known(turn: Callable[[], Awaitable[bool]], clock: Clock, tell: Tell) -> bool:
    """A turn; while the database that knows the archive is away, nothing is read, and the next turn tries again."""
    try:
        return await turn()
    except DatabaseLost as lost:
        tell("views.suspended", because=str(lost))
        await clock.sleep(AWAY_S)
        return False


def _is_apart(view: View) -> bool:
    """Whether the others continue without it: it waits for a service."""
    return view.waits_apart and view.is_busy


def position_in(kept: bytes) -> SpoolPosition:
    """The beginning, when nothing valid was kept."""
    try:
        return msgspec.json.decode(kept, type=SpoolPosition) if kept else SpoolPosition()
    except msgspec.DecodeError:
        return SpoolPosition()


def newest_of(readings: Sequence[Reading]) -> list[Reading]:
    """The newest of each page, in order of their first appearance."""
    newest: dict[str, Reading] = {}
    for reading in readings:
        known = newest.get(reading.page.url.text)
        if known is None or reading.order >= known.order:
            newest[reading.page.url.text] = reading
    return list(newest.values())


def reading_in(reading: bytes | None) -> Reading | None:
    """None where it is missing or cannot be decoded."""
    try:
        return None if reading is None else decode(reading)
    except ValueError:  # written by another version, or damaged: the archive has it
        return None
