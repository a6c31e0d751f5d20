"""Workers run at low priority, so that other processes do not wait for them."""

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


def test_a_worker_has_the_niceness_of_its_limits() -> None:
    async def niceness_of(pool: Pool) -> int:
        async with pool:
            await pool.call(b"ready?")
            return os.getpriority(os.PRIO_PROCESS, pool.pids[0])

    own = os.getpriority(os.PRIO_PROCESS, 0)
    nice = Pool(jobs.echo, 1, Limits(niceness=3), SystemProcesses(), SystemClock(), silent)
    plain = Pool(jobs.echo, 1, Limits(), SystemProcesses(), SystemClock(), silent)
    readers = reader_pool(Settings(), real_outside(), silent, "tests.workers.jobs:echo")
    assert asyncio.run(niceness_of(plain)) == own
    assert asyncio.run(niceness_of(nice)) == min(19, own + 3)
    assert asyncio.run(niceness_of(readers)) > own or own == 19


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="Linux only")
def test_a_low_priority_worker_does_not_preempt_other_processes() -> None:
    async def policy(pool: Pool) -> int:
        async with pool:
            await pool.call(b"ready?")
            return os.sched_getscheduler(pool.pids[0])

    nice = Pool(jobs.echo, 1, Limits(niceness=1), SystemProcesses(), SystemClock(), silent)
    plain = Pool(jobs.echo, 1, Limits(), SystemProcesses(), SystemClock(), silent)
    assert asyncio.run(policy(nice)) == os.SCHED_BATCH
    assert asyncio.run(policy(plain)) == os.sched_getscheduler(0)


@pytest.mark.skipif(not BY_SESSION, reason="this kernel does not divide CPU time by session")
def test_with_cpu_time_by_session_only_the_worker_s_own_session_has_low_priority() -> None:
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


@pytest.mark.skipif(not BY_SESSION, reason="this kernel does not divide CPU time by session")
def test_the_niceness_of_a_shared_session_is_not_changed() -> None:
    before = session_of("self")
    script = "from gossamer.base.tuning import lower_priority; lower_priority(4)"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
    assert session_of("self") == before


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives each thread a niceness")
def test_threads_with_an_even_lower_priority_are_not_changed() -> None:
    """A user who starts the program with nice(1) means all of it, and only root may raise the priority again."""
    script = (
        "import os; from gossamer.base.processes import SystemProcesses; os.nice(12);"
        "found = SystemProcesses().lower_thread_priority(('python',), 5);"
        "print(found, os.getpriority(os.PRIO_PROCESS, 0))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    found, niceness = map(int, run.stdout.split())
    assert found >= 1 and niceness == min(19, os.getpriority(os.PRIO_PROCESS, 0) + 12)
