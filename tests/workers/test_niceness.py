"""Workers that stand back behind whoever is waiting."""

import asyncio
import os

import pytest
from tests.workers import jobs

from gossamer.app.outside import real_outside
from gossamer.app.readers import reader_pool
from gossamer.app.settings import Settings
from gossamer.clock import SystemClock
from gossamer.processes import SystemProcesses
from gossamer.values.tell import silent
from gossamer.workers.limits import Limits
from gossamer.workers.pool import Pool


def test_a_worker_stands_back_as_far_as_it_is_told() -> None:
    async def standing(pool: Pool) -> int:
        async with pool:
            await pool.call(b"ready?")
            return os.getpriority(os.PRIO_PROCESS, pool.pids[0])

    own = os.getpriority(os.PRIO_PROCESS, 0)
    nice = Pool(jobs.echo, 1, Limits(niceness=3), SystemProcesses(), SystemClock(), silent)
    plain = Pool(jobs.echo, 1, Limits(), SystemProcesses(), SystemClock(), silent)
    readers = reader_pool(Settings(), real_outside(), silent, "tests.workers.jobs:echo")
    assert asyncio.run(standing(plain)) == own
    assert asyncio.run(standing(nice)) == min(19, own + 3)
    assert asyncio.run(standing(readers)) > own or own == 19


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="Linux only")
def test_one_that_stands_back_takes_the_cpu_from_nobody_when_it_wakes() -> None:
    async def policy(pool: Pool) -> int:
        async with pool:
            await pool.call(b"ready?")
            return os.sched_getscheduler(pool.pids[0])

    nice = Pool(jobs.echo, 1, Limits(niceness=1), SystemProcesses(), SystemClock(), silent)
    plain = Pool(jobs.echo, 1, Limits(), SystemProcesses(), SystemClock(), silent)
    assert asyncio.run(policy(nice)) == os.SCHED_BATCH
    assert asyncio.run(policy(plain)) == os.sched_getscheduler(0)
