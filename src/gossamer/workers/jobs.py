"""The jobs of worker processes, by name, and pools of readers.

One rule keeps parsers out of the processes of the crawl, the indexer and the web site: a job on the bytes of a page is
named here, its messages are defined in `values/messages.py`, and its callers import these two and never the module
that does the work. `tests/reader/test_messages.py` and `tests/cli/test_start_up.py` check it.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import msgspec

from gossamer.base.environment import Outside
from gossamer.base.errors import WorkerLost
from gossamer.base.tasks import OnDemand
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
SEARCH = "gossamer.web.search.answer:search_in"
_WITH_PLUGINS = {READ: "gossamer.reader.reading:reader", VERSIONS: "gossamer.reader.reading:version_reader"}


def job_for(plugged: Plugged, job: str = READ) -> str:
    """The name of a job with the plugins of a collection."""
    return job if plugged == NOTHING else f"{_WITH_PLUGINS[job]} {msgspec.json.encode(plugged).decode()}"


T = TypeVar("T")
AHEAD = 4
"""Some milliseconds of work, so that a reader need not wait while the crawler's event loop is busy."""


def reader_pool(settings: Settings, outside: Outside, tell: Tell, job: str = READ) -> Pool:
    """`job`: as from `job_for` if there are plugins."""
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
    """A reader's answer. If the reader is lost, as may happen on a busy machine, a second one is tried, unless the page
    used up its CPU time."""
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
    pool = OnDemand(lambda: reader_pool(settings(), outside, tell, job))

    async def call(payload: bytes) -> bytes:
        return await (await pool.get()).call(payload)

    try:
        yield call
    finally:
        await pool.close()
