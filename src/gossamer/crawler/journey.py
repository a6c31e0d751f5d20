"""One page's journey, seed to spool: the only file that knows the order of the rooms.

    take -> robots? -> fetch -> read (and compress, in a worker) -> archive + spool -> settle

What was fetched is first put on disk, in groups: the archive volume and the spool are synced, then one transaction
settles the group's visits. That transaction is the acknowledgement. A crash before it only repeats work.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import compress, takewhile
from typing import TypeVar

import msgspec

from gossamer.archive.record import stored
from gossamer.archive.volumes import Volumes
from gossamer.base.clock import SECOND, Clock
from gossamer.base.errors import DiskFull, WorkerLost
from gossamer.base.tasks import background
from gossamer.base.tell import Tell
from gossamer.crawler.pace import Hold, Pace, hold_of, room_for, sleep_s
from gossamer.crawler.revisit import shown_once
from gossamer.crawler.settlement import MAPS, Followed, Measures, Outages, settled
from gossamer.fetch.budget import Budget
from gossamer.frontier.api import Frontier, LeaseLost
from gossamer.rules.learned.model import Learned
from gossamer.rules.robots import judge
from gossamer.spool.frames import SpoolWriter
from gossamer.values.capture import Place
from gossamer.values.link import How
from gossamer.values.messages import ReadDone, ReadJob, Task, parts_of
from gossamer.values.outcome import Denied, Failed, Fetched, Gone, Moved, Outcome, Reason, Refused, capture_of
from gossamer.values.robots import RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Settled, Visit, VisitKind
from gossamer.workers.worker import Costs, WorkerAnswer

T = TypeVar("T")
MOST_REDIRECTS = 10
SLOW_S = 2.0
"""A visit that takes longer leaves its place to another."""
REST_S = 0.004
"""Shorter than a reader needs for what it was given in advance, so that none of them idles meanwhile."""
LOST_MEANS = {
    "timeout": Reason.READ_TIMEOUT,
    "memory": Reason.READ_MEMORY,
    "crash": Reason.READ_CRASH,
    "closed": Reason.READ_CRASH,
}


@dataclass(frozen=True, slots=True)
class Rooms:
    """What the journey is given. `read` sends a job to a reader process, `lag_s` says how far the views are behind."""

    frontier: Frontier
    fetch: Callable[..., Awaitable[Outcome]]
    """`fetch.client.Client.fetch`."""
    read: Callable[..., Awaitable[WorkerAnswer]]
    """`workers.pool.Pool.ask`."""
    volumes: Volumes
    spool: SpoolWriter
    clock: Clock
    measures: Measures
    tell: Tell
    lag_s: Callable[[], float]
    has_room: Callable[[], bool]
    agent: str
    pace: Pace
    judge: Callable[[Visit], Refused | Failed | None] = lambda _: None
    """The user's rules and what was learnt about the host, asked again when an address is taken."""
    learn: Callable[[Visit, ReadDone], Learned | None] = lambda _visit, _done: None
    missed: Callable[[Url], None] = lambda _url: None
    """Told of addresses where there is no page."""
    is_paused: Callable[[], bool] = lambda: False
    do_pages_wait: Callable[[], bool] = lambda: False
    """Whether pages wait for a reader, apart from heavy ones, and every reader is busy."""
    budget: Budget = field(default_factory=Budget)
    """The one that `fetch` charges bodies to."""
    costs: Costs = field(default_factory=Costs)


async def follow(visit: Visit, rooms: Rooms, arrived: Callable[[], None] = lambda: None) -> Followed:
    """One visit, up to the point where it can be written down. Never raises for anything the web does; raises LeaseLost
    when another crawler has taken over its host.

    `arrived` is called as soon as the body is there; it is dropped once a reader has made its record. What is named as
    a sitemap is asked for past the rules for pages; when it is a page after all, they decide whether the collection
    has it.
    """

    def check_lease() -> None:
        if not rooms.frontier.holds(visit):
            raise LeaseLost([visit.url])

    outcome = refusal(visit) or rooms.judge(visit) or await rooms.fetch(*question(visit), before_sending=check_lease)
    outcome = within_chain(visit, outcome)
    done_at = rooms.clock.now()
    capture = capture_of(outcome)
    if capture is None:
        return Followed(visit, outcome, done_at)
    arrived()
    original = visit.past.original(visit.url.text) if visit.past is not None else None
    comes_again = rooms.measures.returning is not None
    task = task_for(visit, outcome)
    job = ReadJob(capture, task, rooms.pace.keep, rooms.agent, visit.how, original, comes_again)
    done, lost, cpu_s = await in_reader(job, rooms)
    if len(capture.body) > rooms.budget.share:
        del job
        capture = msgspec.structs.replace(capture, body=b"")
        outcome = msgspec.structs.replace(outcome, capture=capture)
        if done.listing is None:  # what a list names takes as much room again until it is settled
            rooms.budget.body_done(visit.url.host.name)
    if task == "read":
        rooms.costs.note(visit.url.host.name, cpu_s)
    if visit.how in MAPS and done.is_page and rooms.judge(msgspec.structs.replace(visit, how=How.LINK)) is not None:
        done = msgspec.structs.replace(done, reading=b"", is_page=False, links=(), learnt=None)
    return Followed(visit, outcome, done_at, done, lost, cpu_s=cpu_s)


def learning(followed: Followed, rooms: Rooms) -> Followed:
    """With what the page taught about its host. What says that it is no page is not shown to the views."""
    if isinstance(followed.outcome, Gone) and followed.visit.kind is VisitKind.PAGE:
        rooms.missed(followed.visit.url)
    if followed.read is None or followed.read.learnt is None or not isinstance(followed.outcome, Fetched):
        return followed
    if not brings_news(followed):
        return followed
    learned = rooms.learn(followed.visit, followed.read)
    read = followed.read
    if learned is not None and followed.visit.past is not None:  # what it brought was counted when it was new
        learned = msgspec.structs.replace(learned, yielded=None, mirror=None)
    if learned is not None and learned.no_page:
        read = msgspec.structs.replace(read, reading=b"", is_page=False)
    return msgspec.structs.replace(followed, read=read, learned=learned)


def brings_news(followed: Followed) -> bool:
    """Whether its host can be learnt about from it: not from a page that says what it said before."""
    past, read = followed.visit.past, followed.read
    if past is None or read is None or read.prints is None:
        return True
    return read.prints.text != past.prints.text


def question(visit: Visit) -> tuple[object, ...]:
    plain = (visit.url, asking(visit), visit.depth)
    validators = visit.past.validators if visit.past is not None else None
    return (*plain, validators) if validators else plain


def asking(visit: Visit) -> VisitKind:
    """What the client is told about the answer it may expect."""
    return VisitKind.LIST if visit.how in MAPS and visit.kind is VisitKind.PAGE else visit.kind


def refusal(visit: Visit) -> Refused | None:
    """The rules that are judged when an address is taken."""
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


async def in_reader(job: ReadJob, rooms: Rooms) -> tuple[ReadDone, Reason | None, float]:
    """Read in a worker: what it says, why that failed, and the CPU time it cost.

    A reader that crashed or was lost to the wall clock may have had bad luck on a busy machine: the page gets a second
    one. A page that used up its CPU time would do so again. Either way it is kept unread, and costs that page only. The
    record is made here when no reader can make it: what was fetched is kept, whatever becomes of the readers.
    """
    lost, is_hopeless, spent_s = None, False, 0.0
    for task in tasks_for(job.task):
        if task != "store" and is_hopeless:
            continue
        try:
            done, cpu_s = await _call(job if task == job.task else msgspec.structs.replace(job, task=task), rooms)
            if task == job.task:
                return done, None, spent_s + cpu_s
            return unread(done, job), lost, spent_s + cpu_s
        except WorkerLost as trouble:
            lost = LOST_MEANS.get(trouble.why, Reason.READ_CRASH)
            is_hopeless, spent_s = is_hopeless or trouble.used_up, spent_s + trouble.cpu_s
            rooms.tell("reader.lost", url=job.capture.url.text, why=trouble.why, detail=str(trouble))
    return unread(await asyncio.to_thread(stored, job.capture), job), lost, spent_s


def unread(done: ReadDone, job: ReadJob) -> ReadDone:
    """What is kept of a page that no reader could read."""
    return msgspec.structs.replace(done, is_unread=job.task == "read")


def tasks_for(task: Task) -> tuple[Task, ...]:
    """Twice as asked, then once without reading it."""
    return (task, task, "store") if task != "store" else ("store", "store")


async def _call(job: ReadJob, rooms: Rooms) -> tuple[ReadDone, float]:
    host = job.capture.url.host.name
    line = rooms.costs.line(host, len(job.capture.body), is_page=job.task == "read")
    answer = await rooms.read(parts_of(job), partial(rooms.budget.answer, host), line)
    return _READ_DONE.decode(answer.body), answer.cpu_s


_READ_DONE = msgspec.msgpack.Decoder(ReadDone)


@dataclass(slots=True)
class Crawl:
    """The crew: takes visits while there is room for them, and puts what comes back on disk in groups."""

    rooms: Rooms
    _flying: int = 0
    _pages: int = 0
    _begun: dict[int, float] = field(default_factory=dict)
    """When each visit that has not landed was begun, the oldest first."""
    _landed: list[Followed] = field(default_factory=list)
    _landing: asyncio.Event = field(default_factory=asyncio.Event)
    _freed: asyncio.Event = field(default_factory=asyncio.Event)
    _fetched: asyncio.Event = field(default_factory=asyncio.Event)
    _ended: bool = False
    _waits_for_room: bool = False
    _outages: Outages = field(default_factory=Outages)
    _give_up_at: float | None = None
    """When a clean stop no longer waits for a full disk."""

    @property
    def waits_for_room(self) -> bool:
        """The disk is too full to take anything new."""
        return self._waits_for_room

    async def run(self, stop: asyncio.Event) -> None:
        """Until nothing is left to fetch, `max_pages` is reached, or `stop` is set and what flew is settled."""
        self._pages = (await self.rooms.frontier.counts()).pages
        if (returning := self.rooms.measures.returning) is not None:
            returning.holds(self._pages)
        async with asyncio.TaskGroup() as crew:
            crew.create_task(self._settle_groups())
            crew.create_task(self._rest_while_pages_wait())
            visits: set[asyncio.Task[None]] = set()
            await self._take_until(stop, crew, visits)
            self._give_up_at = self.rooms.clock.elapsed_s() + self.rooms.pace.drain_s if stop.is_set() else None
            await self._drain(visits)
            self._ended = True
            self._landing.set()
            self._fetched.set()

    async def _take_until(self, stop: asyncio.Event, crew: asyncio.TaskGroup, visits: set[asyncio.Task[None]]) -> None:
        while not stop.is_set():
            wanted, hold = self._wanted(), self._held()
            taken = await self._take(wanted) if wanted and hold is None else []
            for visit in taken:
                self._flying += 1
                task = crew.create_task(self._visit(visit))
                visits.add(task)
                task.add_done_callback(visits.discard)
            if not taken and await self._is_over():
                return
            if len(taken) < wanted or wanted == 0:
                await self._wait(stop, hold)

    async def _take(self, wanted: int) -> list[Visit]:
        """Leases are written before anything is dialled: on a full disk nothing is taken."""
        try:
            taken = await self.rooms.frontier.take(wanted)
        except DiskFull as trouble:
            self._note_room(False, str(trouble))
            return []
        self._note_room(True)
        return taken

    def _wanted(self) -> int:
        return room_for(self.rooms.pace, self._flying, self._pages, self._slow())

    def _slow(self) -> int:
        """Visits that were begun long ago and have not landed."""
        before_s = self.rooms.clock.elapsed_s() - SLOW_S
        return sum(1 for _ in takewhile(lambda begun_s: begun_s < before_s, self._begun.values()))

    def _held(self) -> Hold | None:
        rooms = self.rooms
        if (hold := hold_of(rooms.is_paused(), rooms.lag_s(), rooms.pace)) is not None:
            return hold
        if rooms.has_room():
            return None
        self._note_room(False)
        return Hold.DISK

    def _note_room(self, has_room: bool, detail: str = "") -> None:
        """Told when it changes, not each time it is looked at."""
        if self._waits_for_room == has_room:
            self._waits_for_room = not has_room
            self.rooms.tell("disk.roomy" if has_room else "disk.low", detail=detail)

    async def _is_over(self) -> bool:
        """A crawl that was paused waits to be resumed or stopped, whatever is left: seeds may still be added to it."""
        if self._flying or self.rooms.is_paused():
            return False
        limit = self.rooms.pace.max_pages
        if limit is not None and self._pages >= limit:
            return True
        try:
            return await self.rooms.frontier.next_at() is None
        except DiskFull:  # even looking may need room
            return False

    def wake(self) -> None:
        """What kept it from taking may be over: it was resumed, or the views have moved on."""
        self._freed.set()

    async def _wait(self, stop: asyncio.Event, hold: Hold | None) -> None:
        """Until a visit is settled, a host is ready again, somebody wakes it, or a moment has passed."""
        self._freed.clear()
        seconds = sleep_s(hold, await self._next_in_s() if hold is None else None)
        async with background(self._freed.wait()) as freed, background(stop.wait()) as stopped:
            await asyncio.wait([freed, stopped], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)

    async def _next_in_s(self) -> float | None:
        """None: nothing can be taken before something happens."""
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
            self._landing.set()  # what waits may be a whole group now
            return
        finally:
            del self._begun[id(visit)]
        returning = self.rooms.measures.returning
        shown = shown_once(followed.end) if returning is None else returning.shown(followed.end)
        followed = msgspec.structs.replace(followed, read=shown)
        retry = self.rooms.measures.retry
        if self._outages.is_down(visit, followed.outcome, followed.done_at, retry):
            followed = msgspec.structs.replace(followed, is_host_down=True)
        self._landed.append(followed)
        waiting = len(self._landed)
        if waiting == 1 or waiting >= self._full():
            self._landing.set()  # who lands between changes nothing: the group's age is seen to by its timer

    def _release(self, visits: Sequence[Visit]) -> None:
        """These fetches are over: make room for others."""
        self._flying -= len(visits)
        for visit in visits:
            self.rooms.budget.release(visit.url.host.name)
        self._freed.set()

    async def _rest_while_pages_wait(self) -> None:
        """While pages wait for a reader nothing is won by haste. What comes in during a rest is dealt with in one go,
        and not page by page with the caches full of what the readers are at; it takes a tenth off this process."""
        while not self._ended:
            await self._fetched.wait()
            self._fetched.clear()
            while self.rooms.do_pages_wait() and not self._ended:
                self.rooms.clock.pause(REST_S)
                await self.rooms.clock.sleep(0)

    async def _drain(self, visits: set[asyncio.Task[None]]) -> None:
        """What is in flight may finish, within its time; what does not is taken again after the restart."""
        if visits:
            _, late = await asyncio.wait(set(visits), timeout=self.rooms.pace.drain_s)
            for task in late:
                task.cancel()

    async def _settle_groups(self) -> None:
        """The one task that writes: closes a group at its size, its age, or when nothing else is on its way."""
        pace = self.rooms.pace
        while not (self._ended and not self._landed):
            await self._landing.wait()
            self._landing.clear()
            opened = self.rooms.clock.elapsed_s()
            while self._landed and len(self._landed) < self._full() and not self._ended:
                left = pace.group_wait_s - (self.rooms.clock.elapsed_s() - opened)
                if left <= 0 or not await self._more_landed(left):
                    break
            if group := self._landed[: pace.group]:
                del self._landed[: pace.group]
                await self._settle(group)
            if self._landed:
                self._landing.set()

    def _full(self) -> int:
        """How many make a group: its size, or all that is on its way."""
        return min(self.rooms.pace.group, self._flying)

    async def _more_landed(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._landing.wait(), seconds)
        except TimeoutError:
            return False
        self._landing.clear()
        return True

    async def _settle(self, group: list[Followed]) -> None:
        rooms = self.rooms
        done = await self._with_room(lambda: in_turn(group, rooms)) or []
        ours = await self._acknowledge(done)
        self._release([followed.visit for followed in group])
        group, done = list(compress(group, ours)), list(compress(done, ours))
        self._pages += sum(1 for one in done if is_new_page(one))
        if last := next((one.kept.place for one in reversed(done) if one.kept), None):
            rooms.tell("group.settled", volume=last.volume, number=last.number, visits=len(group))
        for followed, one in zip(group, done, strict=True):
            tell_settled(followed, one, rooms.tell)
            if followed.learned is not None and (mirror := followed.learned.mirror) is not None:
                await self._with_room(partial(rooms.frontier.retire, mirror.host, mirror.in_words()))

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
        """Do it; while the disk is full, wait and try again. Nothing is lost: the group stays in memory.

        None: a clean stop was asked for, and the disk did not get room in time.
        """
        while True:
            try:
                return await act()
            except DiskFull as trouble:
                self.rooms.tell("disk.full", detail=str(trouble))
                self._note_room(False, str(trouble))
                if self._give_up_at is not None and self.rooms.clock.elapsed_s() > self._give_up_at:
                    return None
                await self.rooms.clock.sleep(1.0)


def is_new_page(one: Settled) -> bool:
    return one.kept is not None and one.kept.is_page and not (one.visit.past is not None and one.visit.past.is_page)


async def acknowledged(done: list[Settled], rooms: Rooms) -> bool:
    await rooms.frontier.settle(done)
    return True


async def in_turn(group: list[Followed], rooms: Rooms) -> list[Settled]:
    returning = rooms.measures.returning
    async with returning.turn if returning is not None else nullcontext():
        return await asyncio.to_thread(put_down, group, rooms)


def put_down(group: list[Followed], rooms: Rooms) -> list[Settled]:
    """On a thread: the group on disk, and what the frontier is to write of it."""
    places = write(group, rooms)
    return [settled(followed, place, rooms.measures) for followed, place in zip(group, places, strict=True)]


def write(group: list[Followed], rooms: Rooms) -> list[Place | None]:
    """Append the group to the archive and the spool, and sync both; all of it, or none of it."""
    mark = rooms.volumes.position()
    try:
        places = _append(group, rooms)
        rooms.volumes.sync()
        rooms.spool.sync()
    except DiskFull:
        rooms.volumes.back_to(mark)
        rooms.spool.forget()
        raise
    return places


def _append(group: list[Followed], rooms: Rooms) -> list[Place | None]:
    """Where each lies in the archive; None: it brought nothing to be kept."""
    kept = iter(rooms.volumes.append_all([followed.read.record for followed in group if followed.read is not None]))
    places = [next(kept) if followed.read is not None else None for followed in group]
    for followed, place in zip(group, places, strict=True):
        if followed.read is not None and place is not None:
            rooms.spool.append(place, followed.read.reading)
    return places


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
