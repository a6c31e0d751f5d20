"""A job for every worker of a pool, and the memory limit of a worker that maps files."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.workers import jobs

from gossamer.base.clock import SystemClock
from gossamer.base.errors import WorkerLost
from gossamer.base.processes import SystemProcesses
from gossamer.base.tell import silent
from gossamer.workers.pool import Pool
from gossamer.workers.protocol import Limits

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _children_find_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(ROOT / "src"), str(ROOT))))


def with_two_workers(use: Callable[[Pool], Awaitable[None]]) -> None:
    async def use_pool() -> None:
        async with Pool(
            jobs.remember, 2, Limits(wall_s=60.0, ahead=0), SystemProcesses(), SystemClock(), silent
        ) as pool:
            async with asyncio.timeout(120):
                while len(pool.pids) < 2:
                    await asyncio.sleep(0.01)
            await use(pool)

    asyncio.run(use_pool())


async def payloads_by_worker(pool: Pool) -> dict[bytes, bytes]:
    answers = await asyncio.gather(*(pool.call(b"?") for _ in range(2)))
    return dict(answer.split() for answer in answers)


def test_each_worker_does_the_job_once() -> None:
    async def use(pool: Pool) -> None:
        await pool.call_each(b"news")
        assert list((await payloads_by_worker(pool)).values()) == [b"1", b"1"]

    with_two_workers(use)


def test_a_worker_lost_during_the_job_does_not_prevent_the_others() -> None:
    async def use(pool: Pool) -> None:
        first, second = pool.pids
        os.kill(first, signal.SIGSTOP)
        each = asyncio.ensure_future(pool.call_each(b"news"))
        await asyncio.sleep(0.05)
        os.kill(first, signal.SIGKILL)
        await each
        assert (await payloads_by_worker(pool))[b"%d" % second] == b"1"

    with_two_workers(use)


def test_memory_is_also_limited_for_a_worker_that_maps_files() -> None:
    limits = Limits(wall_s=60.0, cpu_s=60.0, memory_bytes=64 << 20, maps_files=True)

    async def use() -> None:
        async with Pool(jobs.obey, 1, limits, SystemProcesses(), SystemClock(), silent) as pool:
            with pytest.raises(WorkerLost) as lost:
                await pool.call(b"hog")
            assert lost.value.why == "memory"

    asyncio.run(use())
