"""What a page's journey uses of other rooms, and its one step in another process: a reader."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

import msgspec

from gossamer.archive.record import stored
from gossamer.base.clock import Clock
from gossamer.base.errors import WorkerLost
from gossamer.base.tell import Tell
from gossamer.crawler.pace import Pace
from gossamer.crawler.settlement import Measures
from gossamer.crawler.steps.group import GroupWriter
from gossamer.fetch.budget import Budget
from gossamer.frontier.api import Frontier
from gossamer.rules.learned.model import Learned
from gossamer.values.capture import Capture
from gossamer.values.messages import ReadDone, ReadJob, Task, parts_of
from gossamer.values.outcome import Failed, Outcome, Reason, Refused
from gossamer.values.url import Url
from gossamer.values.visit import Visit
from gossamer.workers.worker import Costs, WorkerAnswer

LOST_MEANS = {
    "timeout": Reason.READ_TIMEOUT,
    "memory": Reason.READ_MEMORY,
    "crash": Reason.READ_CRASH,
    "closed": Reason.READ_CRASH,
}
_READ_DONE = msgspec.msgpack.Decoder(ReadDone)


Convert = Callable[[Capture, ReadDone], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Rooms:
    """What the journey uses. `lag_s` is how far the index is behind."""

    frontier: Frontier
    fetch: Callable[..., Awaitable[Outcome]]
    """`fetch.client.Client.fetch`."""
    read: Callable[..., Awaitable[WorkerAnswer]]
    """`workers.pool.Pool.ask`."""
    writer: GroupWriter
    clock: Clock
    measures: Measures
    tell: Tell
    lag_s: Callable[[], float]
    has_room: Callable[[], bool]
    agent: str
    pace: Pace
    judge: Callable[[Visit], Refused | Failed | None] = lambda _: None
    """The user's rules and what was learnt about the host, applied again when a URL is taken."""
    learn: Callable[[Visit, ReadDone], Learned | None] = lambda _visit, _done: None
    missed: Callable[[Url], None] = lambda _url: None
    """Called with URLs where there is no page."""
    is_paused: Callable[[], bool] = lambda: False
    do_pages_wait: Callable[[], bool] = lambda: False
    """Whether every reader is busy and pages, other than heavy ones, wait for one."""
    budget: Budget = field(default_factory=Budget)
    """`fetch` charges bodies to it."""
    costs: Costs = field(default_factory=Costs)
    convert: Convert | None = None
    """`fetch.tika.TikaServer.convert`, if there is such a server."""


async def in_reader(job: ReadJob, rooms: Rooms) -> tuple[ReadDone, Reason | None, float]:
    """Read in a worker. Returns the reading, why it failed (None: it did not), and the CPU time it took.

    A reader that crashed or ran into the wall-clock limit may have had bad luck on a busy machine, so the page gets a
    second one. A page that used up its CPU time would do so again. If both fail, the capture is kept unread; the record
    is made here when no reader can make it.
    """
    lost, is_hopeless, spent_s, host = None, False, 0.0, job.capture.url.host.name
    for task in tasks_for(job.task):
        if task != "store" and is_hopeless:
            continue
        try:
            queue = rooms.costs.queue(host, len(job.capture.body), is_page=task == "read")
            parts = parts_of(msgspec.structs.replace(job, task=task))
            answer = await rooms.read(parts, partial(rooms.budget.answer, host), queue)
            done, cpu_s = _READ_DONE.decode(answer.body), spent_s + answer.cpu_s
            if task != job.task:
                return unread(done, job), lost, cpu_s
            converted = await rooms.convert(job.capture, done) if rooms.convert and not job.converted else b""
            if not converted:
                return done, None, cpu_s
            done, lost, more_s = await in_reader(msgspec.structs.replace(job, converted=converted), rooms)
            return done, lost, cpu_s + more_s
        except WorkerLost as trouble:
            lost = LOST_MEANS.get(trouble.why, Reason.READ_CRASH)
            is_hopeless, spent_s = is_hopeless or trouble.used_up, spent_s + trouble.cpu_s
            rooms.tell("reader.lost", url=job.capture.url.text, why=trouble.why, detail=str(trouble))
    return unread(await asyncio.to_thread(stored, job.capture), job), lost, spent_s


def unread(done: ReadDone, job: ReadJob) -> ReadDone:
    """The same, marked when it is a page that no reader could read."""
    return msgspec.structs.replace(done, is_unread=job.task == "read")


def tasks_for(task: Task) -> tuple[Task, ...]:
    """Twice as asked, then once without reading it."""
    return (task, task, "store") if task != "store" else ("store", "store")
