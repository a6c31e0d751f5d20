"""One page's journey, seed to spool: the only file that knows the order of the rooms.

    take -> robots? -> fetch -> read (and compress, in a worker) -> archive + spool -> settle

Captures are written in groups: the archive volume and the spool are synced, then one transaction settles the group.
That transaction is the acknowledgement. A crash before it only repeats work.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import compress, takewhile
from typing import TypeVar

import msgspec

from gossamer.base.clock import SECOND
from gossamer.base.errors import DiskFull
from gossamer.base.tasks import background
from gossamer.base.tell import Tell
from gossamer.crawler.pace import Hold, hold_of, room_for, sleep_s
from gossamer.crawler.revisit import indexed_once
from gossamer.crawler.settlement import MAPS, Followed, Outages, settled
from gossamer.crawler.steps.group import captured, first_group, size_of
from gossamer.crawler.steps.rooms import Rooms, in_reader
from gossamer.frontier.api import LeaseLost
from gossamer.rules.robots import judge
from gossamer.store.segments import SegmentLost
from gossamer.store.service import ServiceLost, ServiceRefused
from gossamer.values.link import How
from gossamer.values.messages import ReadJob, Task
from gossamer.values.outcome import Denied, Failed, Fetched, Gone, Moved, Outcome, Reason, Refused, capture_of
from gossamer.values.robots import RobotsState
from gossamer.values.visit import Settled, Visit, VisitKind

T = TypeVar("T")
MOST_REDIRECTS = 10
SLOW_S = 2.0
"""A fetch that takes longer no longer counts against `crawl.at_once`."""
GROUP_LOOK_S = 0.25
"""How often a group that waits for more looks whether others wait for it."""
SHORTEST_S = 0.001
"""Not worth a wait; by a clock that only moves when all wait, a rest of rounding errors would never end."""
REST_S = 0.004
"""Shorter than a reader needs for the jobs it was given in advance, so that none idles meanwhile."""


async def follow(visit: Visit, rooms: Rooms, arrived: Callable[[], None] = lambda: None) -> Followed:
    """Fetch and read one URL. Errors of the web are values; raises LeaseLost when another crawler has taken over.

    `arrived` is called as soon as the body is there. A large body is dropped once a reader has made its record. A URL
    named as a sitemap is fetched without the rules for pages; if it is a page, they decide whether it is kept.
    """

    def check_lease() -> None:
        if not rooms.frontier.holds(visit):
            raise LeaseLost([visit.url])

    outcome = refusal(visit) or rooms.judge(visit) or await rooms.fetch(*request_of(visit), before_sending=check_lease)
    outcome = within_chain(visit, outcome)
    done_at = rooms.clock.now()
    capture = capture_of(outcome)
    if capture is None:
        return Followed(visit, outcome, done_at)
    arrived()
    original = visit.past.original(visit.url.text) if visit.past is not None else None
    task = task_for(visit, outcome)
    is_revisited = rooms.measures.revisits is not None
    job = ReadJob(capture, task, rooms.pace.keep, rooms.agent, visit.how, original, is_revisited)
    done, lost, cpu_s = await in_reader(job, rooms)
    if len(capture.body) > rooms.budget.share:
        del job
        capture = msgspec.structs.replace(capture, body=b"")
        outcome = msgspec.structs.replace(outcome, capture=capture)
        if done.listing is None:  # the entries of a list take as much memory again until they are settled
            rooms.budget.body_done(visit.url.host.name)
    if task == "read":
        rooms.costs.note(visit.url.host.name, cpu_s)
    if visit.how in MAPS and done.is_page and rooms.judge(msgspec.structs.replace(visit, how=How.LINK)) is not None:
        done = msgspec.structs.replace(done, reading=b"", is_page=False, links=(), signs=None)
    return Followed(visit, outcome, done_at, done, lost, cpu_s=cpu_s)


def learning(followed: Followed, rooms: Rooms) -> Followed:
    """With what the page teaches about its host. An error page with status 200 is not indexed."""
    if isinstance(followed.outcome, Gone) and followed.visit.kind is VisitKind.PAGE:
        rooms.missed(followed.visit.url)
    read = followed.read
    if read is None or read.signs is None or not isinstance(followed.outcome, Fetched) or not brings_news(followed):
        return followed
    learned = rooms.learn(followed.visit, read)
    if learned is not None and followed.visit.past is not None:  # its yield was counted when it was new
        learned = msgspec.structs.replace(learned, yielded=None, mirror=None)
    if learned is not None and learned.no_page:
        read = msgspec.structs.replace(read, reading=b"", is_page=False)
    return msgspec.structs.replace(followed, read=read, learned=learned)


def brings_news(followed: Followed) -> bool:
    """Whether its text has changed, or is new: nothing is learnt about a host from the same page twice."""
    past, read = followed.visit.past, followed.read
    if past is None or read is None or read.prints is None:
        return True
    return read.prints.text != past.prints.text


def request_of(visit: Visit) -> tuple[object, ...]:
    """The arguments of `Rooms.fetch`."""
    kind = VisitKind.LIST if visit.how in MAPS and visit.kind is VisitKind.PAGE else visit.kind
    validators = visit.past.validators if visit.past is not None else None
    return (visit.url, kind, visit.depth, validators) if validators else (visit.url, kind, visit.depth)


def refusal(visit: Visit) -> Refused | None:
    """What robots.txt says when the URL is taken."""
    if visit.kind is VisitKind.ROBOTS or visit.robots is None:
        return None
    if visit.robots.state is RobotsState.UNREACHABLE:
        return Refused(Reason.ROBOTS_UNREACHABLE)
    verdict = judge(visit.url, visit.robots)
    return Refused(Reason.ROBOTS, verdict.rule) if isinstance(verdict, Denied) else None


def within_chain(visit: Visit, outcome: Outcome) -> Outcome:
    if isinstance(outcome, Moved) and visit.kind is VisitKind.PAGE and visit.hops >= MOST_REDIRECTS:
        return Failed(Reason.TOO_MANY_REDIRECTS, f"after {visit.hops} redirects, on to {outcome.to}", outcome.capture)
    return outcome


def task_for(visit: Visit, outcome: Outcome) -> Task:
    if not isinstance(outcome, Fetched):
        return "store"
    return "robots" if visit.kind is VisitKind.ROBOTS else "read"


@dataclass(slots=True)
class Crawl:
    """Takes URLs while there is room for them, and settles what was fetched in groups."""

    rooms: Rooms
    _in_flight: int = 0
    """Taken and not settled."""
    _pages: int = 0
    _begun: dict[int, float] = field(default_factory=dict)
    """When each fetch in progress began, the oldest first."""
    _unsettled: list[Followed] = field(default_factory=list)
    _unsettled_bytes: int = 0
    _group_changed: asyncio.Event = field(default_factory=asyncio.Event)
    _freed: asyncio.Event = field(default_factory=asyncio.Event)
    _fetched: asyncio.Event = field(default_factory=asyncio.Event)
    _ended: bool = False
    _waits_for_room: bool = False
    _outages: Outages = field(default_factory=Outages)
    _give_up_at: float | None = None
    """Until when a clean stop waits for a full disk."""
    _writing: int = 0
    """Pages of the group that is being written."""
    _is_hungry: bool = False
    """More could be fetched if more hosts were free."""
    _away: str = ""
    """Why the storage of the archive cannot be written."""

    @property
    def waits_for_room(self) -> bool:
        """Whether the disk is too full to take more."""
        return self._waits_for_room

    @property
    def waits_for_storage(self) -> str:
        """Why the storage of the archive cannot be written now, in words; empty: it can."""
        return self._away

    def note_pages(self, pages: int) -> None:
        """So many pages are in the collection; others add to it too."""
        self._pages = pages

    async def run(self, stop: asyncio.Event) -> None:
        """Until nothing is left to fetch, `max_pages` is reached, or `stop` is set; fetches in flight are settled."""
        self._pages = (await self.rooms.frontier.counts()).pages
        if (revisits := self.rooms.measures.revisits) is not None:
            revisits.set_pages(self._pages)
        async with asyncio.TaskGroup() as crew:
            crew.create_task(self._settle_groups())
            crew.create_task(self._rest_while_pages_wait())
            visits: set[asyncio.Task[None]] = set()
            await self._take_until(stop, crew, visits)
            self._give_up_at = self.rooms.clock.elapsed_s() + self.rooms.pace.drain_s if stop.is_set() else None
            await self._drain(visits)
            self._ended = True
            self._group_changed.set()
            self._fetched.set()

    async def _take_until(self, stop: asyncio.Event, crew: asyncio.TaskGroup, visits: set[asyncio.Task[None]]) -> None:
        while not stop.is_set():
            wanted, hold = self._wanted(), self._held()
            taken = await self._take(wanted) if wanted and hold is None else []
            for visit in taken:
                self._in_flight += 1
                task = crew.create_task(self._visit(visit))
                visits.add(task)
                task.add_done_callback(visits.discard)
            if not taken and await self._is_over():
                return
            self._note_hunger(hold is None and len(taken) < wanted)
            if len(taken) < wanted or wanted == 0:
                await self._wait(stop, hold)

    def _note_hunger(self, is_hungry: bool) -> None:
        if is_hungry and not self._is_hungry:
            self._group_changed.set()  # it need not wait for more
        self._is_hungry = is_hungry

    async def _take(self, wanted: int) -> list[Visit]:
        """Leases are written before any connection is opened, so on a full disk nothing is taken."""
        try:
            taken = await self.rooms.frontier.take(wanted)
        except DiskFull as trouble:
            self._note_room(False, str(trouble))
            return []
        self._note_room(True)
        return taken

    def _wanted(self) -> int:
        before_s = self.rooms.clock.elapsed_s() - SLOW_S
        slow = sum(1 for _ in takewhile(lambda begun_s: begun_s < before_s, self._begun.values()))
        read = len(self._unsettled) + self._writing
        return room_for(self.rooms.pace, self._in_flight, self._pages, slow, read)

    def _held(self) -> Hold | None:
        rooms = self.rooms
        if self._away:
            return Hold.STORAGE
        hold = hold_of(rooms.is_paused(), rooms.lag_s(), rooms.pace)
        if hold is not None or rooms.has_room():
            return hold
        self._note_room(False)
        return Hold.DISK

    def _note_room(self, has_room: bool, detail: str = "") -> None:
        """Report it when it changes, not at each check."""
        if self._waits_for_room == has_room:
            self._waits_for_room = not has_room
            self.rooms.tell("disk.roomy" if has_room else "disk.low", detail=detail)

    async def _is_over(self) -> bool:
        """Whether nothing is left. A paused crawl never ends by itself: seeds may still be added to it."""
        if self._in_flight or self.rooms.is_paused() or self.rooms.pace.is_endless:
            return False
        limit = self.rooms.pace.max_pages
        if limit is not None and self._pages >= limit:
            return True
        try:
            return await self.rooms.frontier.next_at() is None
        except DiskFull:  # even reading may need room
            return False

    def wake(self) -> None:
        """Look again whether more can be taken: the crawl was resumed, or the index has caught up."""
        self._freed.set()

    async def _wait(self, stop: asyncio.Event, hold: Hold | None) -> None:
        """Until a fetch is settled, a host is ready again, `wake` is called, or a moment has passed."""
        self._freed.clear()
        seconds = sleep_s(hold, await self._next_in_s() if hold is None else None)
        async with background(self._freed.wait()) as freed, background(stop.wait()) as stopped:
            await asyncio.wait([freed, stopped], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)

    async def _next_in_s(self) -> float | None:
        """None: nothing can be taken before a fetch is settled, or the disk has room."""
        try:
            next_at = await self.rooms.frontier.next_at()
        except DiskFull as trouble:
            self._note_room(False, str(trouble))
            return None
        if next_at is None or self._waits_for_room or not self._wanted():
            return None
        return (next_at - self.rooms.clock.now()) / SECOND

    async def _visit(self, visit: Visit) -> None:
        self._begun[id(visit)] = self.rooms.clock.elapsed_s()
        try:
            followed = learning(await follow(visit, self.rooms, self._fetched.set), self.rooms)
        except LeaseLost as lost:
            self.rooms.tell("lease.lost", why=str(lost))
            self._release([visit])
            self._group_changed.set()  # the rest may be a whole group now
            return
        finally:
            del self._begun[id(visit)]
        revisits = self.rooms.measures.revisits
        indexed = indexed_once(followed.end) if revisits is None else revisits.indexed(followed.end)
        followed = msgspec.structs.replace(followed, read=indexed)
        retry = self.rooms.measures.retry
        if self._outages.is_down(visit, followed.outcome, followed.done_at, retry):
            followed = msgspec.structs.replace(followed, is_host_down=True)
        self._unsettled.append(followed)
        self._unsettled_bytes += size_of(followed)
        if len(self._unsettled) == 1 or self._is_full():
            self._group_changed.set()  # others change nothing: the group's age has a timer
        if self.rooms.pace.frees_read:
            self._freed.set()

    def _release(self, visits: Sequence[Visit]) -> None:
        """These fetches are over: make room for others."""
        self._in_flight -= len(visits)
        for visit in visits:
            self.rooms.budget.release(visit.url.host.name)
        self._freed.set()

    async def _rest_while_pages_wait(self) -> None:
        """While pages wait for a reader, handle events in batches: that saves a tenth of this process's CPU time, which
        otherwise goes to caches that the readers have filled. See decision 20."""
        while not self._ended:
            await self._fetched.wait()
            self._fetched.clear()
            while self.rooms.do_pages_wait() and not self._ended:
                self.rooms.clock.pause(REST_S)
                await self.rooms.clock.sleep(0)

    async def _drain(self, visits: set[asyncio.Task[None]]) -> None:
        """Let fetches in flight finish within `drain_s`; the others are repeated after the restart."""
        if visits:
            _, late = await asyncio.wait(set(visits), timeout=self.rooms.pace.drain_s)
            for task in late:
                task.cancel()

    async def _settle_groups(self) -> None:
        """The one task that writes: settles a group at its size, its age, or when nothing else is in flight."""
        pace = self.rooms.pace
        while not (self._ended and not self._unsettled):
            await self._group_changed.wait()
            self._group_changed.clear()
            opened = self.rooms.clock.elapsed_s()
            while self._unsettled and not self._is_full() and not self._ended:
                patience_s = pace.hungry_wait_s if self._is_hungry else pace.group_wait_s
                left = patience_s - (self.rooms.clock.elapsed_s() - opened)
                if left < SHORTEST_S:
                    break
                await self._changes(min(left, GROUP_LOOK_S))
            if group := first_group(self._unsettled, pace):
                del self._unsettled[: len(group)]
                self._unsettled_bytes -= sum(map(size_of, group))
                self._writing = len(group)
                await self._settle(group)
                self._writing = 0
            if self._unsettled:
                self._group_changed.set()

    def _is_full(self) -> bool:
        """Whether the group has all it may have, or is what the rest waits for."""
        pace, waiting = self.rooms.pace, self._unsettled
        if len(waiting) >= min(pace.group, self._in_flight - self._writing):
            return True
        if pace.group_bytes is None:
            return False
        return self.rooms.budget.waiting > 0 or self._unsettled_bytes >= pace.group_bytes

    async def _changes(self, seconds: float) -> None:
        """Wait for more pages, so long at most."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._group_changed.wait(), seconds)
            self._group_changed.clear()

    async def _settle(self, group: list[Followed]) -> None:
        rooms = self.rooms
        done, ours = await self._written(group)
        self._release([followed.visit for followed in group])
        group, done = list(compress(group, ours)), list(compress(done, ours))
        self._pages += sum(1 for one in done if is_new_page(one))
        if last := next((one.kept.place for one in reversed(done) if one.kept), None):
            rooms.tell("group.settled", volume=last.volume, number=last.number, visits=len(group))
        for followed, one in zip(group, done, strict=True):
            tell_settled(followed, one, rooms.tell)
            if followed.learned is not None and (mirror := followed.learned.mirror) is not None:
                await self._with_room(partial(rooms.frontier.retire, mirror.host, mirror.in_words()))

    async def _written(self, group: list[Followed]) -> tuple[list[Settled], list[bool]]:
        """Write and acknowledge the group. In a cluster others may have removed what was written, because this process
        seemed dead: then both are done again."""
        while True:
            done = await self._with_room(partial(write_down, group, self.rooms)) or []
            try:
                return done, await self._acknowledge(done)
            except SegmentLost as lost:
                self.rooms.tell("segment.spoilt", volume="", why=str(lost))

    async def _acknowledge(self, done: Sequence[Settled]) -> list[bool]:
        """Settle the group, without those that other crawlers have taken over. Returns which were settled: none on a
        disk that is still full when the crawl stops; those pages are fetched again."""
        ours = [True] * len(done)
        while any(ours):
            try:
                is_settled = await self._with_room(partial(acknowledged, list(compress(done, ours)), self.rooms))
                return ours if is_settled else [False] * len(done)
            except LeaseLost as lost:
                self.rooms.tell("lease.lost", why=str(lost))
                before, ours = ours, [one and of.visit.url not in lost.urls for one, of in zip(ours, done, strict=True)]
                if ours == before:
                    raise
        return ours

    async def _with_room(self, act: Callable[[], Awaitable[T]]) -> T | None:
        """Do it; while the disk is full or the storage away, wait and try again. Nothing is lost: the group stays in
        memory. None: that did not change in time before a clean stop."""
        while True:
            try:
                done = await act()
                self._note_storage("")
                return done
            except DiskFull as trouble:
                self.rooms.tell("disk.full", detail=str(trouble))
                self._note_room(False, str(trouble))
            except (ServiceLost, ServiceRefused) as trouble:
                self._note_storage(str(trouble))
            if self._give_up_at is not None and self.rooms.clock.elapsed_s() > self._give_up_at:
                return None
            await self.rooms.clock.sleep(1.0)

    def _note_storage(self, why: str) -> None:
        """Why it cannot be written; empty: it can."""
        before, self._away = self._away, why
        if bool(before) != bool(why):
            self.rooms.tell("storage.suspended" if why else "storage.back", says=why)
            self._freed.set()


def is_new_page(one: Settled) -> bool:
    return one.kept is not None and one.kept.is_page and not (one.visit.past is not None and one.visit.past.is_page)


async def acknowledged(done: list[Settled], rooms: Rooms) -> bool:
    await rooms.frontier.settle(done)
    return True


async def write_down(group: list[Followed], rooms: Rooms) -> list[Settled]:
    """The group in the archive, and what the frontier is to store of it."""
    revisits = rooms.measures.revisits
    async with revisits.turn if revisits is not None else nullcontext():
        places = await rooms.writer.write([captured(followed) for followed in group])
        pairs = zip(group, places, strict=True)
        return await asyncio.to_thread(lambda: [settled(followed, place, rooms.measures) for followed, place in pairs])


def tell_settled(followed: Followed, one: Settled, tell: Tell) -> None:
    tell(
        "visit.settled",
        url=one.visit.url.text,
        kind=one.visit.kind.value,
        outcome=one.reason.value,
        facts=followed.read.fact_count if followed.read else 0,
        size=one.kept.size if one.kept else 0,
        is_page=bool(one.kept and one.kept.is_page),
        detail=one.detail,
        again=one.due_at is not None,
    )
