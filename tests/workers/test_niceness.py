"""Workers that stand back behind whoever is waiting."""

import asyncio
import os
import subprocess
import sys

import pytest
from tests.workers import jobs
from tests.workers.sessions import BY_SESSION, session_of

from gossamer.base.clock import SystemClock
from gossamer.base.environment import real_outside
from gossamer.base.processes import SystemProcesses
from gossamer.base.tell import silent
from gossamer.config.settings import Settings
from gossamer.workers.jobs import reader_pool
from gossamer.workers.pool import Pool
from gossamer.workers.protocol import Limits


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


@pytest.mark.skipif(not BY_SESSION, reason="this kernel does not share out the CPUs by session")
def test_where_sessions_share_the_cpus_the_worker_s_own_stands_back_and_nobody_else_s() -> None:
    async def sessions(pool: Pool) -> list[tuple[str, int]]:
        async with pool:
            await pool.call(b"ready?")
            return [session_of(pid) for pid in pool.pids]

    own = os.getpriority(os.PRIO_PROCESS, 0)
    before = session_of("self")
    found = asyncio.run(sessions(Pool(jobs.echo, 1, Limits(niceness=7), SystemProcesses(), SystemClock(), silent)))
    assert [niceness for _, niceness in found] == [min(19, max(0, own + 7))]
    assert session_of("self") == before
    assert before[0] != found[0][0]


@pytest.mark.skipif(not BY_SESSION, reason="this kernel does not share out the CPUs by session")
def test_a_session_that_others_share_is_left_alone() -> None:
    before = session_of("self")
    told = "from gossamer.base.tuning import lower_priority; lower_priority(4)"
    subprocess.run([sys.executable, "-c", told], check=True, timeout=60)
    assert session_of("self") == before


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives each thread a niceness")
def test_threads_that_stand_back_further_already_are_left_there() -> None:
    """Whoever starts the program with nice(1) has said so for all of it; and only root may take it back."""
    told = (
        "import os; from gossamer.base.processes import SystemProcesses; os.nice(12);"
        "found = SystemProcesses().lower_thread_priority(('python',), 5);"
        "print(found, os.getpriority(os.PRIO_PROCESS, 0))"
    )
    run = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True, timeout=60)
    found, niceness = map(int, run.stdout.split())
    assert found >= 1 and niceness == min(19, os.getpriority(os.PRIO_PROCESS, 0) + 12)
