"""Jobs that take long beside others, and limits on a busy machine. By order and count, never by the clock."""

import asyncio
import os
import signal

import pytest
from tests.workers.test_pool import ROOT, Heard, until, with_pool

from gossamer.app.outside import real_outside
from gossamer.app.readers import reader_pool
from gossamer.app.settings import Settings
from gossamer.errors import WorkerLost
from gossamer.values.tell import silent
from gossamer.workers.costs import HEAVY_BYTES, HEAVY_S, Costs
from gossamer.workers.limits import Limits
from gossamer.workers.pool import Pool

EASY = Limits(wall_s=600.0, cpu_s=600.0, ahead=4)


@pytest.fixture(autouse=True)
def _children_find_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(ROOT / "src"), str(ROOT))))


def test_F_X8_heavy_jobs_leave_a_worker_to_the_others() -> None:
    async def use(pool: Pool) -> None:
        await until(lambda: len(pool.pids) == 2)
        heavy = [asyncio.create_task(pool.ask((b"sleep:600",), None, True)) for _ in range(4)]
        await asyncio.sleep(0)
        for number in range(50):
            assert await pool.call(b"echo:%d" % number) == b"%d" % number
        assert not any(task.done() for task in heavy) and pool.waiting == 3
        for task in heavy:
            task.cancel()
        await asyncio.gather(*heavy, return_exceptions=True)

    with_pool(use, size=2, limits=EASY)


def test_F_X8_jobs_behind_one_that_takes_long_go_to_another_worker() -> None:
    async def use(pool: Pool) -> None:
        await until(lambda: len(pool.pids) == 2)
        long = asyncio.create_task(pool.call(b"sleep:600"))
        await asyncio.sleep(0)
        others = [asyncio.create_task(pool.call(b"echo:%d" % number)) for number in range(9)]
        assert await asyncio.wait_for(asyncio.gather(*others), 300) == [b"%d" % number for number in range(9)]
        assert not long.done()
        long.cancel()
        await asyncio.gather(long, return_exceptions=True)

    with_pool(use, size=2, limits=EASY)


def test_F_X8_a_heavy_job_gets_its_turn_while_others_keep_coming() -> None:
    async def use(pool: Pool) -> None:
        await until(lambda: len(pool.pids) == 2)
        stop = asyncio.Event()

        async def crowd() -> None:
            while not stop.is_set():
                await pool.call(b"echo:x")

        callers = [asyncio.create_task(crowd()) for _ in range(20)]
        for _ in range(5):
            assert (await asyncio.wait_for(pool.ask((b"echo:", b"heavy"), None, True), 300)).body == b"heavy"
        stop.set()
        await asyncio.gather(*callers)

    with_pool(use, size=2, limits=EASY)


def test_F_X2_a_large_answer_stays_in_the_worker_until_there_is_room() -> None:
    async def use(pool: Pool) -> None:
        room, asked = asyncio.Event(), []

        async def admit(size: int) -> None:
            asked.append(size)
            await room.wait()

        large = b"x" * 3_000_000
        waiting = asyncio.create_task(pool.ask((b"echo:", large), admit))
        await until(lambda: bool(asked))
        await asyncio.sleep(0.05)
        assert not waiting.done() and asked == [len(large)]
        room.set()
        assert (await waiting).body == large

    with_pool(use, limits=EASY)


def test_F_X7_what_a_job_cost_is_told_and_running_out_of_it_is_told_apart() -> None:
    async def use(pool: Pool) -> None:
        assert (await pool.ask((b"echo:x",))).cpu_s < 1.0
        with pytest.raises(WorkerLost) as lost:
            await pool.ask((b"spin",))
        assert lost.value.why == "timeout" and lost.value.used_up and lost.value.cpu_s == 1.0

    with_pool(use, limits=Limits(wall_s=600.0, cpu_s=1.0))


def test_F_X7_a_worker_that_gets_no_cpu_is_given_up_by_the_wall_clock_and_may_be_tried_again() -> None:
    heard = Heard()

    async def use(pool: Pool) -> None:
        os.kill(int(await pool.call(b"pid")), signal.SIGSTOP)  # as on a machine too busy to run it
        with pytest.raises(WorkerLost) as lost:
            await pool.call(b"echo:x")
        assert lost.value.why == "timeout" and not lost.value.used_up
        await until(lambda: len(pool.pids) == 1)
        assert await pool.call(b"echo:x") == b"x"

    with_pool(use, limits=Limits(wall_s=3.0, cpu_s=3.0), tell=heard)


def test_F_X7_readers_are_limited_by_cpu_time_and_the_wall_limit_is_generous() -> None:
    pool = reader_pool(Settings(), real_outside(), silent)
    assert pool._limits.cpu_s == 5.0 and pool._limits.wall_s >= 10 * pool._limits.cpu_s


def test_F_X8_hosts_are_heavy_while_their_latest_page_was() -> None:
    costs = Costs()
    assert not costs.is_heavy("a", 1000) and costs.is_heavy("a", HEAVY_BYTES + 1)
    costs.note("a", HEAVY_S)
    assert costs.is_heavy("a", 1000) and not costs.is_heavy("b", 1000)
    costs.note("a", 0.002)
    assert not costs.is_heavy("a", 1000)
    for number in range(20_000):
        costs.note(f"h{number}", 3.0)
    assert not costs.is_heavy("h0", 1) and costs.is_heavy("h19999", 1)
