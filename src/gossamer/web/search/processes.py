"""Processes that answer searches; the web process then only reads and sends. One interpreter can use but one core."""

import asyncio
import contextlib
from types import TracebackType

import msgspec

from gossamer.base.clock import Clock
from gossamer.base.errors import WorkerLost
from gossamer.base.processes import Processes
from gossamer.base.tasks import background
from gossamer.base.tell import Tell, silent
from gossamer.search.find import REFRESH_S
from gossamer.store.directory import Directory
from gossamer.web.search.job import NO_ANSWER, RENEW
from gossamer.web.search.page import Reply, SearchQuestion
from gossamer.workers.jobs import SEARCH
from gossamer.workers.pool import Pool
from gossamer.workers.protocol import MIB, Limits

SEARCH_S = 20.0
REST_S = 1.0
"""After which they are started though nobody has asked: who asks first should not wait for them."""
LIMITS = Limits(
    wall_s=SEARCH_S,
    cpu_s=SEARCH_S,
    memory_bytes=2048 * MIB,
    maps_files=True,
    recycle_after=200_000,
    open_files=1024,
    file_bytes=64 * MIB,  # readers of a database share a small index of its journal, which grows with it
    ahead=1,  # it need not wait for this process between two questions
)

_question = msgspec.msgpack.Encoder()
_reply = msgspec.msgpack.Decoder(Reply)


class Searchers:
    """`async with Searchers(...) as searchers: await searchers.answer(question)`.

    They are started a moment after the server, which has enough to do at first, or by the first question; until one is
    up, whoever asks must search himself.
    """

    def __init__(self, directory: Directory, size: int, processes: Processes, clock: Clock, tell: Tell) -> None:
        self._job = f"{SEARCH} {directory.root}"
        self._size, self._processes, self._clock, self._tell = size, processes, clock, tell
        self._wanted = asyncio.Event()
        self._pool: Pool | None = None
        self._opened = contextlib.AsyncExitStack()
        self._was_asked = False

    async def __aenter__(self) -> "Searchers":
        if self._size:
            await self._opened.enter_async_context(background(self._keep()))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, trouble: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._opened.aclose()

    @property
    def pids(self) -> list[int]:
        """Of those that are up."""
        return self._pool.pids if self._pool is not None else []

    async def answer(self, question: SearchQuestion) -> Reply | None:
        """None while none is up, or when the views could not be read. Raises WorkerLost when no process survived it."""
        self._was_asked = True
        self._wanted.set()
        if self._pool is None or not self._pool.pids:
            return None
        answer = await self._put(self._pool, _question.encode(question))
        return None if answer == NO_ANSWER else _reply.decode(answer)

    async def _put(self, pool: Pool, payload: bytes) -> bytes:
        """One that dies may have died of something else: the question is asked once more, unless it took too long."""
        try:
            return await pool.call(payload)
        except WorkerLost as lost:
            if lost.why not in ("crash", "memory"):
                raise
            self._tell("searcher.lost", why=str(lost))
        return await pool.call(payload)

    async def _keep(self) -> None:
        await self._until_wanted()
        try:
            async with Pool(self._job, self._size, LIMITS, self._processes, self._clock, silent) as self._pool:
                await self._renew_in_turn(self._pool)
        finally:
            self._pool = None

    async def _until_wanted(self) -> None:
        async with asyncio.TaskGroup() as either:
            asked = either.create_task(self._wanted.wait())
            rest = either.create_task(self._clock.sleep(REST_S))
            await asyncio.wait({asked, rest}, return_when=asyncio.FIRST_COMPLETED)
            asked.cancel()
            rest.cancel()

    async def _renew_in_turn(self, pool: Pool) -> None:
        while True:
            await self._clock.sleep(REFRESH_S)
            if self._was_asked:
                self._was_asked = False
                await pool.call_each(RENEW)
