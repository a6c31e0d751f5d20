"""One worker process as the pool sees it: jobs down the channel, answers up, a deadline for the job at the head."""

import asyncio
import signal
from collections import deque
from collections.abc import Callable
from typing import cast

from gossamer.errors import WorkerLost
from gossamer.processes import Child
from gossamer.workers.limits import Limits
from gossamer.workers.wire import HEADER, Kind, frame

ROOM = 1 << 18
START_S = 30.0
"""A loaded machine may need long to import the job's libraries; beyond this the worker counts as hung."""
CANCEL_GRACE_S = 0.1
"""Most jobs end by themselves sooner than a new worker starts."""


class Job:
    __slots__ = ("answer", "payload", "worker")

    def __init__(self, payload: bytes, answer: "asyncio.Future[bytes]") -> None:
        self.payload = payload
        self.answer = answer
        self.worker: Worker | None = None


class Worker(asyncio.BufferedProtocol):
    """Lives from the start of its process until `ended` is set; then the pool buries it.

    `changed` is called whenever it can take another job.
    """

    def __init__(self, child: Child, limits: Limits, changed: Callable[[], None]) -> None:
        self.child = child
        self.jobs: deque[Job] = deque()
        self.ended = asyncio.Event()
        self.is_ready = False
        self.fate: WorkerLost | None = None
        """Why the pool gave it up; None when it went by itself."""
        self._limits = limits
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.WriteTransport | None = None
        self._left = limits.recycle_after
        self._is_spent = False
        self._deadline = self._loop.time() + START_S
        self._timer: asyncio.TimerHandle | None = self._loop.call_at(self._deadline, self._look_at_the_clock)
        self._buffer = bytearray(ROOM)
        self._view = memoryview(self._buffer)
        self._filled = 0

    def room(self) -> int:
        """How many more jobs it may be given now."""
        if not self.is_ready or self.ended.is_set() or self._is_spent:
            return 0
        return 1 + self._limits.ahead - len(self.jobs)

    def give(self, job: Job) -> None:
        """REQUIRES: it is ready and has not ended. It takes its jobs in the order they come."""
        assert self._transport is not None
        job.worker = self
        self.jobs.append(job)
        self._left -= 1
        self._is_spent = self._is_spent or self._left <= 0
        self._transport.write(frame(Kind.JOB, job.payload))
        if len(self.jobs) == 1:
            self._watch_head()

    def abandon(self, job: Job) -> None:
        """Nobody waits for the job any more: when it is the one running, it has a moment to end."""
        if self.jobs and self.jobs[0] is job:
            self._watch_head()

    def end(self, why: WorkerLost | None = None) -> None:
        """Give the process up; the pool kills it and starts another."""
        if not self.ended.is_set():
            self.fate = why
            self.ended.set()
            self._stop_timer()

    def close(self) -> None:
        self.end()
        if self._transport is not None:
            self._transport.abort()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)  # uvloop's are so in all but name

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._filled == len(self._buffer):
            self._resize(max(2 * self._filled, self._wanted()))
        return self._view[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        self._filled += nbytes
        start, filled = 0, self._filled
        while filled - start >= HEADER.size:
            length, kind = HEADER.unpack_from(self._buffer, start)
            if length > self._limits.answer_bytes:
                self.end(WorkerLost("crash", f"an answer of {length} bytes is more than is allowed"))
                return
            first, past = start + HEADER.size, start + HEADER.size + length
            if past > filled:
                break
            self._receive(kind, bytes(self._view[first:past]))
            start = past
        self._keep_from(start)

    def connection_lost(self, exc: Exception | None) -> None:
        self.end()

    # Its own affairs.

    def _receive(self, kind: int, body: bytes) -> None:
        if kind == Kind.READY:
            self.is_ready = True
            self._changed()
            return
        if not self.jobs:
            self.end(WorkerLost("crash", "the worker answered what nobody asked"))
            return
        answer = self.jobs.popleft().answer
        self._is_spent = self._is_spent or kind == Kind.NO_MEMORY  # its heap is full of holes now
        if self.jobs:
            self._watch_head()
        elif self._is_spent:
            self.end(WorkerLost("spent", "replaced by a fresh one"))
        if not answer.done():
            _settle(answer, kind, body)
        self._changed()

    def _watch_head(self) -> None:
        patience_s = CANCEL_GRACE_S if self.jobs[0].answer.done() else self._limits.wall_s
        self._deadline = self._loop.time() + patience_s
        if self._timer is None or self._timer.when() > self._deadline:
            self._stop_timer()
            self._timer = self._loop.call_at(self._deadline, self._look_at_the_clock)

    def _look_at_the_clock(self) -> None:
        self._timer = None
        if self.is_ready and not self.jobs:
            return
        if self._loop.time() < self._deadline:
            self._timer = self._loop.call_at(self._deadline, self._look_at_the_clock)
            return
        if self.is_ready:
            self.end(WorkerLost("timeout", f"stopped after {self._limits.wall_s:g} s"))
        else:
            self.end(WorkerLost("timeout", f"the worker did not start within {START_S:g} s"))

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wanted(self) -> int:
        if self._filled < HEADER.size:
            return ROOM
        length, _ = HEADER.unpack_from(self._buffer, 0)
        return int(length) + HEADER.size

    def _keep_from(self, start: int) -> None:
        rest = self._filled - start
        if start and rest:
            self._view[:rest] = self._view[start : self._filled]
        self._filled = rest
        if not rest and len(self._buffer) > 16 * ROOM:
            self._resize(ROOM)

    def _resize(self, size: int) -> None:
        fresh = bytearray(size)
        fresh[: self._filled] = self._view[: self._filled]
        self._buffer, self._view = fresh, memoryview(fresh)


def _settle(answer: "asyncio.Future[bytes]", kind: int, body: bytes) -> None:
    if kind == Kind.ANSWER:
        answer.set_result(body)
    elif kind == Kind.NO_MEMORY:
        answer.set_exception(WorkerLost("memory", "the job ran out of the memory it may use"))
    else:
        answer.set_exception(WorkerLost("crash", body.decode("utf-8", "replace")))


def lost_by_itself(exit_code: int | None) -> WorkerLost:
    """What the exit code of a worker that was not given up says about the job it held."""
    if exit_code == -signal.SIGXCPU:
        return WorkerLost("timeout", "stopped at its limit of CPU time")
    if exit_code is None or exit_code >= 0:
        return WorkerLost("crash", f"the worker ended with exit code {exit_code}")
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = f"signal {-exit_code}"
    return WorkerLost("crash", f"the worker was ended by {name}")
