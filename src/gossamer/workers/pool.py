"""A pool of killable processes, each running one function from bytes to bytes.

For work on hostile bytes that may hang, crash or use up memory: every call ends in an answer or in `WorkerLost`, a lost
process is replaced, and the jobs behind the one that ended it go to another.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Sequence
from types import TracebackType

import msgspec

from gossamer.base.clock import Clock
from gossamer.base.errors import WorkerLost
from gossamer.base.processes import Processes
from gossamer.base.tell import Tell
from gossamer.workers.protocol import Barriers, Limits, weakest
from gossamer.workers.worker import Admit, Job, JobQueues, Queue, Worker, WorkerAnswer, lost_by_itself

CHILD = "gossamer.workers.child"
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0
MOST_FAILED_STARTS = 3
"""Starts that fail in a row, each after a longer pause, before waiting calls fail."""


class Pool:
    """`async with Pool(...) as pool: await pool.call(payload)`.

    `job` is a function of a module, or its name, `module:function`: then only the workers load its module.
    """

    def __init__(
        self,
        job: Callable[[bytes], bytes] | str,
        size: int,
        limits: Limits,
        processes: Processes,
        clock: Clock,
        tell: Tell,
    ) -> None:
        self._job_name = job if isinstance(job, str) else name_of(job)
        self._size = size
        self._limits = limits
        self._processes = processes
        self._clock = clock
        self._tell = tell
        self._waiting = JobQueues()
        self._places = size
        """The number of workers to keep: `size`, and spare ones once they were needed."""
        self._workers: list[Worker] = []
        self._is_open = False
        self._failed_starts = 0
        self._crew: asyncio.TaskGroup | None = None
        self._closing = asyncio.Event()

    async def __aenter__(self) -> "Pool":
        self._crew = asyncio.TaskGroup()
        await self._crew.__aenter__()
        self._is_open = True
        self._closing.clear()
        self._places = self._size
        for _ in range(self._size):
            self._crew.create_task(self._keep_one_alive())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, trouble: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._crew is not None
        self._is_open = False
        self._closing.set()
        for worker in list(self._workers):
            worker.end(WorkerLost("closed", "the pool was closed"))
        self._refuse_waiting(WorkerLost("closed", "the pool was closed"))
        if isinstance(trouble, asyncio.CancelledError):
            await self._crew.__aexit__(kind, trouble, trace)
        else:  # an exception of the body must not be wrapped in a group
            await self._crew.__aexit__(None, None, None)
        self._crew = None

    async def call(self, payload: bytes) -> bytes:
        """The job's answer. Raises WorkerLost: "timeout", "crash" (it raised, or took its process down), "memory",
        "unguarded" (`Limits.needs_closed_network`), or "closed". A caller that is cancelled takes the job with it."""
        return (await self.ask((payload,))).body

    async def ask(
        self, parts: Sequence[bytes], admit: Admit | None = None, queue: Queue = Queue.PROVEN
    ) -> WorkerAnswer:
        """The same for a payload in parts. A large answer is received once `admit` has returned. `queue`: its likely
        cost; a heavy job waits until a worker is idle, and never gets the last one."""
        if not self._is_open:
            raise WorkerLost("closed", "the pool is not open")
        queue = min(queue, Queue.LARGE) if self._size == 1 else queue
        job = Job(parts, asyncio.get_running_loop().create_future(), admit, queue)
        self._waiting.append(job)
        self._feed()
        try:
            return await job.answer
        finally:
            if job.answer.cancelled():
                if job.worker is not None:
                    job.worker.abandon(job)
                else:
                    self._waiting.discard(job)

    async def call_each(self, payload: bytes) -> None:
        """Each worker does this job, one after the other: for what each of them caches. Answers and lost workers are
        ignored: the pool replaces these."""
        for worker in [worker for worker in self._workers if worker.is_ready]:
            if not worker.ended.is_set():
                job = Job((payload,), asyncio.get_running_loop().create_future())
                worker.give(job)
                with contextlib.suppress(WorkerLost):
                    await job.answer

    @property
    def waiting(self) -> int:
        """Jobs that were not given to a worker yet."""
        return len(self._waiting)

    @property
    def is_behind(self) -> bool:
        """Jobs wait, other than heavy ones, and every worker is busy."""
        return len(self._waiting) > self._waiting.count(Queue.HEAVY) and all(worker.jobs for worker in self._workers)

    @property
    def pids(self) -> list[int]:
        """The processes that are ready."""
        return [worker.child.pid for worker in self._workers if worker.is_ready]

    @property
    def barriers(self) -> Barriers | None:
        """The barriers that every worker has; None while none is ready."""
        every = [worker.barriers for worker in self._workers if worker.barriers is not None]
        return weakest(every) if every else None

    def _feed(self) -> None:
        """Give waiting jobs to workers, idle ones first."""
        kept_free = self._feed_heavy() if self._waiting.count(Queue.HEAVY) else None
        while len(self._waiting) > self._waiting.count(Queue.HEAVY):
            able = [worker for worker in self._workers if worker is not kept_free and worker.room() > 0]
            unreserved = self._unreserved(able)
            job = self._waiting.take(Queue.LARGE if unreserved else Queue.PROVEN) if able else None
            if job is None:
                return
            if not job.answer.done():
                max(able if job.queue is Queue.PROVEN else unreserved, key=Worker.room).give(job)

    def _unreserved(self, able: list[Worker]) -> list[Worker]:
        """Those that may get a job that is not proven to be cheap: while there is a spare worker, all but one."""
        if len(self._workers) <= self._size:
            return able
        held = sum(worker.holds(Queue.SMALL) for worker in self._workers)
        return [worker for worker in able if held < len(self._workers) - 1 or worker.holds(Queue.SMALL)]

    def _feed_heavy(self) -> Worker | None:
        """Give heavy jobs to idle workers; returns the worker that is kept free for the next."""
        while True:
            busy = sum(worker.holds(Queue.HEAVY) for worker in self._workers)
            able = self._unreserved([worker for worker in self._workers if worker.room() > 0])
            if busy >= self._size - 1 or not able:
                return None
            worker = min(able, key=lambda one: len(one.jobs))
            if worker.jobs:
                return worker
            job = self._waiting.take_heavy()
            if job is None:
                return None
            if not job.answer.done():
                worker.give(job)

    def _on_late(self, worker: Worker) -> None:
        """Jobs behind one that takes long are given to other workers too; the first answer counts."""
        for job in [job for job in list(worker.jobs)[:0:-1] if job.worker is worker and not job.answer.done()]:
            job.worker = None
            self._waiting.appendleft(job)
        self._feed()
        is_short = len(self._workers) == self._places and all(one.is_late for one in self._workers)
        if is_short and self._places < self._size + self._limits.spare and self._is_open and self._crew is not None:
            self._places += 1
            self._crew.create_task(self._keep_one_alive())

    async def _keep_one_alive(self) -> None:
        while self._is_open:
            try:
                worker = await self._start()
            except OSError as trouble:  # out of descriptors or processes, which may pass
                await self._pause_after_failed_start(str(trouble))
                continue
            self._workers.append(worker)
            if self._closing.is_set():  # while it was being started
                worker.end(WorkerLost("closed", "the pool was closed"))
            try:
                await worker.ended.wait()
            finally:
                self._workers.remove(worker)
                await self._remove(worker)
            if not worker.is_ready and self._is_open:
                await self._pause_after_failed_start(str(self._fate_of(worker)))

    async def _start(self) -> Worker:
        ours, theirs = socket.socketpair()
        with contextlib.ExitStack() as undo:
            undo.callback(ours.close)
            with theirs:
                arguments = [self._job_name, msgspec.json.encode(self._limits).decode()]
                child = self._processes.start(CHILD, arguments, channel=theirs)
            undo.callback(child.kill)
            worker = Worker(child, self._limits, self._on_change, self._on_late)
            undo.callback(worker.close)
            ours.setblocking(False)
            await asyncio.get_running_loop().create_unix_connection(lambda: worker, sock=ours)
            undo.pop_all()
        self._tell("worker.started", pid=child.pid, job=self._job_name)
        return worker

    def _on_change(self) -> None:
        self._failed_starts = 0
        self._feed()

    async def _remove(self, worker: Worker) -> None:
        """Kill and reap it, fail its first job, and give the others to other workers; even when cancelled."""
        end = asyncio.get_running_loop().run_in_executor(None, worker.child.kill)  # it waits for the kernel
        interrupted = False
        while not end.done():
            try:
                await asyncio.shield(end)
            except asyncio.CancelledError:
                interrupted = True
        end.result()
        worker.close()
        self._redistribute(worker)
        if interrupted:
            raise asyncio.CancelledError

    def _redistribute(self, worker: Worker) -> None:
        why = self._fate_of(worker)
        held = [job for job in worker.jobs if not job.answer.done() and job.worker is worker]
        self._tell("worker.ended", pid=worker.child.pid, why=str(why), jobs=len(worker.jobs))
        blamed = worker.jobs[0] if worker.jobs else None
        worker.jobs.clear()
        for job in reversed(held):
            job.worker = None
            if job is blamed or not self._is_open:
                job.answer.set_exception(why)
            else:
                self._waiting.appendleft(job)
        self._feed()

    def _fate_of(self, worker: Worker) -> WorkerLost:
        return worker.fate or lost_by_itself(worker.child.exit_code(), self._limits)

    async def _pause_after_failed_start(self, why: str) -> None:
        self._failed_starts += 1
        self._tell("worker.failed-to-start", job=self._job_name, why=why, in_a_row=self._failed_starts)
        if self._failed_starts >= MOST_FAILED_STARTS and not self._workers:
            self._refuse_waiting(WorkerLost("crash", f"no worker could be started: {why}"))
        pause_s = min(FIRST_PAUSE_S * 2 ** min(self._failed_starts - 1, 10), LONGEST_PAUSE_S)
        async with asyncio.TaskGroup() as either:
            pause = either.create_task(self._clock.sleep(pause_s))
            closing = either.create_task(self._closing.wait())
            await asyncio.wait({pause, closing}, return_when=asyncio.FIRST_COMPLETED)
            pause.cancel()
            closing.cancel()

    def _refuse_waiting(self, why: WorkerLost) -> None:
        for job in self._waiting.take_all():
            if not job.answer.done():
                job.answer.set_exception(why)


def name_of(job: Callable[[bytes], bytes]) -> str:
    """`module:function`, by which a worker process finds the job."""
    module, name = job.__module__, job.__qualname__
    if "<" in name or module == "__main__":
        raise ValueError(f"{module}:{name} cannot be imported by a worker; a job is a plain function of a module")
    return f"{module}:{name}"
