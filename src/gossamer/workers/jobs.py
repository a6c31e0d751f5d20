"""The jobs that worker processes run, by name: their callers need not load what the jobs need."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeVar

import msgspec

from gossamer.base.environment import Outside
from gossamer.base.errors import WorkerLost
from gossamer.base.tell import Tell
from gossamer.base.tuning import READER_NICENESS
from gossamer.config.settings import Settings
from gossamer.values.messages import NOTHING, Plugged
from gossamer.workers.pool import Pool
from gossamer.workers.protocol import MIB, Limits

READ = "gossamer.reader.reading:job"
"""One `ReadJob` in (`parts_of`), one `ReadDone` out, as msgpack."""
VERSIONS = "gossamer.reader.reading:version_job"
COPY = "gossamer.reader.documents:copy_job"
SURVEY = "gossamer.reader.documents:survey_job"
SEARCH = "gossamer.web.search.job:search_in"
_WITH_PLUGINS = {READ: "gossamer.reader.reading:reader", VERSIONS: "gossamer.reader.reading:version_reader"}


def job_for(plugged: Plugged, job: str = READ) -> str:
    """The job of a worker for a collection with these plug-ins."""
    return job if plugged == NOTHING else f"{_WITH_PLUGINS[job]} {msgspec.json.encode(plugged).decode()}"


T = TypeVar("T")
AHEAD = 4
"""Some milliseconds of work, so that a reader need not wait for the crawl, which pauses now and then (`journey`)."""


def reader_pool(settings: Settings, outside: Outside, tell: Tell, job: str = READ) -> Pool:
    """`job` differs from the default where there are plug-ins (`job_for`)."""
    limits = Limits(
        wall_s=settings.readers.wall_s,
        cpu_s=settings.readers.cpu_s,
        memory_bytes=settings.readers.memory_mib * MIB,
        ahead=AHEAD,
        spare=1,
        niceness=READER_NICENESS,
    )
    size = settings.readers.count or len(os.sched_getaffinity(0))
    return Pool(job, size, limits, outside.processes, outside.clock, tell)


async def asked_twice(ask: Callable[[], Awaitable[T]]) -> T:
    """A reader's answer. If the reader is lost, which may happen on a busy machine, a second one is tried, unless the
    page used up its CPU time."""
    try:
        return await ask()
    except WorkerLost as lost:
        if lost.used_up or lost.why == "closed":
            raise
    return await ask()


@asynccontextmanager
async def lazy_readers(
    settings: Callable[[], Settings], outside: Outside, tell: Tell, job: str = READ
) -> AsyncIterator[Callable[[bytes], Awaitable[bytes]]]:
    """A reader pool that is started, and its settings read, with its first job."""
    async with AsyncExitStack() as opened:
        pool: Pool | None = None
        starting = asyncio.Lock()

        async def call(payload: bytes) -> bytes:
            nonlocal pool
            async with starting:
                if pool is None:
                    pool = await opened.enter_async_context(reader_pool(settings(), outside, tell, job))
            return await pool.call(payload)

        yield call
