"""Search processes, one per core.

The web process only receives and sends, as one interpreter uses one core.
"""

import asyncio
import contextlib

import msgspec

from gossamer.base.clock import Clock
from gossamer.base.errors import WorkerLost
from gossamer.base.processes import Processes
from gossamer.base.tasks import background
from gossamer.base.tell import Tell, silent
from gossamer.search.find import REFRESH_S
from gossamer.store.directory import Directory
from gossamer.web.search.answer import NO_ANSWER, RENEW, Reply, SearchQuestion
from gossamer.workers.jobs import SEARCH
from gossamer.workers.pool import Pool
from gossamer.workers.protocol import MIB, Limits

SEARCH_S = 20.0
START_AFTER_S = 1.0
"""They are started after this time even without a question, so that the first does not wait for them."""
LIMITS = Limits(
    wall_s=SEARCH_S,
    cpu_s=SEARCH_S,
    memory_bytes=2048 * MIB,
    maps_files=True,
    recycle_after=200_000,
    open_files=1024,
    file_bytes=64 * MIB,  # readers of a database share an index of its journal, a small file that grows
    ahead=1,  # the next question is already there when one is answered
)

_question = msgspec.msgpack.Encoder()
_reply = msgspec.msgpack.Decoder(Reply)


class Searchers:
    """`async with Searchers(...) as searchers: await searchers.answer(question)`.

    The processes start a moment after the server, which is busy at first, or at the first question. Until one is up,
    the web process searches itself.
    """

    def __init__(self, directory: Directory, size: int, processes: Processes, clock: Clock, tell: Tell) -> None:
        self._job = f"{SEARCH} {directory.root}"
        self._size, self._processes, self._clock, self._tell = size, processes, clock, tell
        self._wanted = asyncio.Event()
        self._pool: Pool | None = None
        self._stack = contextlib.AsyncExitStack()
        self._was_asked = False

    async def __aenter__(self) -> "Searchers":
        if self._size:
            await self._stack.enter_async_context(background(self._keep()))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    @property
    def pids(self) -> list[int]:
        """The processes that are up."""
        return self._pool.pids if self._pool is not None else []

    async def answer(self, question: SearchQuestion) -> Reply | None:
        """None if no process is up, or the views cannot be read. Raises WorkerLost if the processes died of it."""
        self._was_asked = True
        self._wanted.set()
        if self._pool is None or not self._pool.pids:
            return None
        answer = await self._call(self._pool, _question.encode(question))
        return None if answer == NO_ANSWER else _reply.decode(answer)

    async def _call(self, pool: Pool, payload: bytes) -> bytes:
        """Tries once more if the process died, which may have had another cause, but not if it took too long."""
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
                await self._renew_regularly(self._pool)
        finally:
            self._pool = None

    async def _until_wanted(self) -> None:
        async with asyncio.TaskGroup() as either:
            asked = either.create_task(self._wanted.wait())
            rest = either.create_task(self._clock.sleep(START_AFTER_S))
            await asyncio.wait({asked, rest}, return_when=asyncio.FIRST_COMPLETED)
            asked.cancel()
            rest.cancel()

    async def _renew_regularly(self, pool: Pool) -> None:
        while True:
            await self._clock.sleep(REFRESH_S)
            if self._was_asked:
                self._was_asked = False
                await pool.call_each(RENEW)
