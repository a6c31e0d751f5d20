"""One worker process as the pool sees it.

Its jobs, answers and deadline; and the queues of jobs, by likely cost.
"""

import asyncio
import signal
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, cast

import msgspec

from gossamer.base.errors import WorkerLost
from gossamer.base.processes import Child
from gossamer.base.tasks import begin
from gossamer.workers.protocol import HEADER, Barriers, Limits, MessageKind, header


class Queue(IntEnum):
    """Cheapest first."""

    PROVEN = 0
    """Likely to be cheap: the host's earlier ones were."""
    SMALL = 1
    """The host is unknown, or its jobs are neither cheap nor heavy."""
    LARGE = 2
    """The host is unknown, and the body is large."""
    HEAVY = 3
    """Known to take long, or very large."""


PASSED_OVER = 3
"""To the power of a queue's number: so many jobs of cheaper queues go before its next one, so that none starves."""


PROVEN_S = 0.05
"""CPU seconds; an ordinary page takes two to twenty milliseconds."""
HEAVY_S = 0.25
SMALL_BYTES = 64 << 10
HEAVY_BYTES = 1 << 20
FADES = 0.25
"""How far the expectation moves towards a cheaper page. A costly page counts in full at once, so that a host cannot get
into the cheap queue with every other page: after one of 5 s it takes 17 cheap ones."""
_MOST_HOSTS = 1 << 15


class Costs:
    """The expected cost of each host's pages; bounded, the host not seen for longest is forgotten first."""

    def __init__(self) -> None:
        self._expected_s: OrderedDict[str, float] = OrderedDict()

    def note(self, host: str, cpu_s: float) -> None:
        """A page of this host took so much CPU time, whether it could be read or not."""
        before_s = self._expected_s.pop(host, cpu_s)
        self._expected_s[host] = max(cpu_s, before_s + FADES * (cpu_s - before_s))
        if len(self._expected_s) > _MOST_HOSTS:
            self._expected_s.popitem(last=False)

    def queue(self, host: str, size: int, is_page: bool = True) -> Queue:
        """The queue for a body of `size` bytes from there. The cost of what is not a page depends on its size only."""
        expected_s = self._expected_s.get(host) if is_page else 0.0
        if is_page and (size > HEAVY_BYTES or (expected_s is not None and expected_s >= HEAVY_S)):
            return Queue.HEAVY
        if size > SMALL_BYTES and (expected_s is None or not is_page):
            return Queue.LARGE
        return Queue.PROVEN if expected_s is not None and expected_s < PROVEN_S else Queue.SMALL


BUFFER_BYTES = 1 << 18
START_S = 120.0
"""A busy machine may take long to import the job's libraries; after this the worker counts as hung."""
LATE_S = 0.25
"""A job that runs longer than this delays those behind it in its worker: other workers get them too."""
_barriers = msgspec.json.Decoder(Barriers)
CANCEL_GRACE_S = 0.1
"""Most jobs end by themselves before a new worker would be ready."""
Admit = Callable[[int], Awaitable[None]]
"""Waits until there is memory for an answer of so many bytes."""


class WorkerAnswer(NamedTuple):
    body: bytes
    cpu_s: float
    """CPU time the job took."""


@dataclass(slots=True, eq=False)
class Job:
    parts: Sequence[bytes]
    """They make up the payload, and are not joined, so that a large one is not in memory twice."""
    answer: "asyncio.Future[WorkerAnswer]"
    admit: Admit | None = None
    queue: Queue = Queue.PROVEN
    worker: "Worker | None" = None
    """The worker that has it; None: it waits, perhaps for a second worker because the first is late."""


class JobQueues:
    """The cheapest queue goes first, but each of them advances even while the cheaper ones are never empty."""

    def __init__(self) -> None:
        self._queues: tuple[deque[Job], ...] = tuple(deque() for _ in Queue)
        self._passed_over = [0] * len(Queue)

    def __len__(self) -> int:
        return sum(map(len, self._queues))

    def count(self, queue: Queue) -> int:
        return len(self._queues[queue])

    def append(self, job: Job) -> None:
        self._queues[job.queue].append(job)

    def appendleft(self, job: Job) -> None:
        """It was taken before, and is the next of its queue."""
        self._queues[job.queue].appendleft(job)

    def discard(self, job: Job) -> None:
        if job in (queue := self._queues[job.queue]):
            queue.remove(job)

    def take(self, costliest: Queue) -> Job | None:
        """The next job of this queue or a cheaper one, if there is any."""
        waiting = [queue for queue in Queue if queue <= costliest and self._queues[queue]]
        if not waiting:
            return None
        overdue = (queue for queue in reversed(waiting) if self._passed_over[queue] >= PASSED_OVER**queue)
        chosen = next(overdue, waiting[0])
        self._passed_over[chosen] = 0
        for queue in waiting:
            if queue > chosen:
                self._passed_over[queue] += 1
        return self._queues[chosen].popleft()

    def take_heavy(self) -> Job | None:
        queue = self._queues[Queue.HEAVY]
        return queue.popleft() if queue else None

    def take_all(self) -> list[Job]:
        jobs = [job for queue in self._queues for job in queue]
        for queue in self._queues:
            queue.clear()
        return jobs


class Worker(asyncio.BufferedProtocol):
    """From the start of its process until `ended` is set; then the pool removes it. `changed` is called when it can
    take another job, `late` when its first job takes long."""

    def __init__(
        self, child: Child, limits: Limits, changed: Callable[[], None], late: Callable[["Worker"], None]
    ) -> None:
        self.child = child
        self.jobs: deque[Job] = deque()
        self.ended = asyncio.Event()
        self.barriers: Barriers | None = None
        """Its sandbox; None until it is ready."""
        self.fate: WorkerLost | None = None
        """Why the pool ended it; None when it ended by itself."""
        self._limits = limits
        self._changed = changed
        self._late = late
        self._late_at = 0.0
        self.is_late = False
        """Its first job takes long: it gets no others until that is done."""
        self._admission: asyncio.Future[None] | None = None
        """While a large answer waits for memory, its bytes stay in the worker process."""
        self._is_admitted = False
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.WriteTransport | None = None
        self._left = limits.recycle_after
        self._is_spent = False
        self._deadline = self._loop.time() + START_S
        self._timer: asyncio.TimerHandle | None = self._loop.call_at(self._deadline, self._check_deadline)
        self._buffer = bytearray(BUFFER_BYTES)
        self._view = memoryview(self._buffer)
        self._filled = 0

    @property
    def is_ready(self) -> bool:
        return self.barriers is not None

    def room(self) -> int:
        """How many more jobs it may get now."""
        if not self.is_ready or self.ended.is_set() or self._is_spent or self.is_late:
            return 0
        if self.jobs and self.jobs[-1].queue is Queue.HEAVY:
            return 0
        return 1 + self._limits.ahead - len(self.jobs)

    def holds(self, queue: Queue) -> bool:
        """Whether it has a job of this queue or a costlier one."""
        return any(job.queue >= queue for job in self.jobs)

    def give(self, job: Job) -> None:
        """REQUIRES: it is ready and has not ended. Jobs are done in order."""
        assert self._transport is not None
        job.worker = self
        self.jobs.append(job)
        self._left -= 1
        self._is_spent = self._is_spent or self._left <= 0
        self._transport.writelines([header(MessageKind.JOB, sum(map(len, job.parts))), *job.parts])
        if len(self.jobs) == 1:
            self._watch_head()

    def abandon(self, job: Job) -> None:
        """The job's caller is gone: if it is the one running, it has a moment to end."""
        if self.jobs and self.jobs[0] is job:
            self._watch_head()

    def end(self, why: WorkerLost | None = None) -> None:
        """Abandon the process; the pool kills it and starts another."""
        if not self.ended.is_set():
            self.fate = why
            self.ended.set()
            self._stop_timer()
            if self._admission is not None:
                self._admission.cancel()

    def close(self) -> None:
        self.end()
        if self._transport is not None:
            self._transport.abort()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)  # uvloop's have the methods, but not the base class

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._filled == len(self._buffer):
            self._resize(max(2 * self._filled, self._wanted()))
        return self._view[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        self._filled += nbytes
        start, filled = 0, self._filled
        while filled - start >= HEADER.size:
            length, kind, cost = HEADER.unpack_from(self._buffer, start)
            if length > self._limits.answer_bytes:
                self.end(WorkerLost("crash", f"an answer of {length} bytes is more than is allowed"))
                return
            first, past = start + HEADER.size, start + HEADER.size + length
            if length > BUFFER_BYTES and not self._is_admitted and self.jobs and self.jobs[0].admit is not None:
                self._wait_for_memory(self.jobs[0].admit, length)
            if past > filled:
                break
            self._receive(kind, bytes(self._view[first:past]), cost / 1e6)
            self._is_admitted = False
            start = past
        self._keep_from(start)

    def connection_lost(self, exc: Exception | None) -> None:
        self.end()

    def _wait_for_memory(self, admit: Admit, length: int) -> None:
        """Pause reading until there is memory for the answer; meanwhile the worker waits, without a deadline."""
        assert self._transport is not None
        transport = cast(asyncio.ReadTransport, self._transport)
        transport.pause_reading()
        self._is_admitted = True

        def resume(admission: "asyncio.Future[None]") -> None:
            self._admission = None
            if not admission.cancelled() and (trouble := admission.exception()) is not None:
                self.end(WorkerLost("crash", f"no memory could be granted for its answer: {trouble!r}"))
            elif not admission.cancelled() and not self.ended.is_set():
                if self.jobs:
                    self._watch_head()
                transport.resume_reading()

        self._admission = begin(admit(length), resume)

    def _receive(self, kind: int, body: bytes, cpu_s: float) -> None:
        if kind == MessageKind.READY:
            try:
                self.barriers = _barriers.decode(body)
            except msgspec.DecodeError as trouble:
                self.end(WorkerLost("crash", f"the worker's first message cannot be read: {trouble}"))
            else:
                self._changed()
            return
        if not self.jobs:
            self.end(WorkerLost("crash", "the worker sent an answer without a job"))
            return
        answer = self.jobs.popleft().answer
        self.is_late = False
        self._is_spent = self._is_spent or kind == MessageKind.NO_MEMORY  # its heap is full of holes now
        if self.jobs:
            self._watch_head()
        elif self._is_spent:
            self.end(WorkerLost("spent", "replaced by a fresh one"))
        if not answer.done():
            _settle(answer, kind, body, cpu_s)
        self._changed()

    def _watch_head(self) -> None:
        patience_s = CANCEL_GRACE_S if self.jobs[0].answer.cancelled() else self._limits.wall_s
        now = self._loop.time()
        self._deadline = now + patience_s
        self._late_at = min(now + LATE_S, self._deadline)
        self.is_late = False
        if self._timer is None or self._timer.when() > self._late_at:
            self._stop_timer()
            self._timer = self._loop.call_at(self._late_at, self._check_deadline)

    def _check_deadline(self) -> None:
        self._timer = None
        if self.is_ready and not self.jobs:
            return
        now = self._loop.time()
        if now < self._late_at:
            self._timer = self._loop.call_at(self._late_at, self._check_deadline)
            return
        if now < self._deadline or self._admission is not None:
            self._timer = self._loop.call_at(max(self._deadline, now + LATE_S), self._check_deadline)
            if self.is_ready:
                self.is_late = True
                self._late(self)
            return
        if self.is_ready:
            self.end(WorkerLost("timeout", f"stopped after {self._limits.wall_s:g} s", self._limits.cpu_s))
        else:
            self.end(WorkerLost("timeout", f"the worker did not start within {START_S:g} s"))

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wanted(self) -> int:
        if self._filled < HEADER.size:
            return BUFFER_BYTES
        length, _, _ = HEADER.unpack_from(self._buffer, 0)
        return int(length) + HEADER.size

    def _keep_from(self, start: int) -> None:
        rest = self._filled - start
        if start and rest:
            self._view[:rest] = self._view[start : self._filled]
        self._filled = rest
        if not rest and len(self._buffer) > 4 * BUFFER_BYTES:
            self._resize(BUFFER_BYTES)

    def _resize(self, size: int) -> None:
        fresh = bytearray(size)
        fresh[: self._filled] = self._view[: self._filled]
        self._buffer, self._view = fresh, memoryview(fresh)


def _settle(answer: "asyncio.Future[WorkerAnswer]", kind: int, body: bytes, cpu_s: float) -> None:
    if kind == MessageKind.ANSWER:
        answer.set_result(WorkerAnswer(body, cpu_s))
    elif kind == MessageKind.NO_MEMORY:
        answer.set_exception(WorkerLost("memory", "the job ran out of the memory it may use", cpu_s))
    elif kind == MessageKind.UNGUARDED:
        answer.set_exception(WorkerLost("unguarded", "the worker could not close its network"))
    else:
        answer.set_exception(WorkerLost("crash", body.decode("utf-8", "replace"), cpu_s))


def lost_by_itself(exit_code: int | None, limits: Limits) -> WorkerLost:
    """The failure of its job, from the exit code of a worker that ended by itself."""
    if exit_code == -signal.SIGXCPU:
        return WorkerLost("timeout", f"stopped after {limits.cpu_s:g} s of CPU time", limits.cpu_s, used_up=True)
    if exit_code is None or exit_code >= 0:
        return WorkerLost("crash", f"the worker ended with exit code {exit_code}")
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = f"signal {-exit_code}"
    return WorkerLost("crash", f"the worker was ended by {name}")
