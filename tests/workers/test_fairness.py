"""Long jobs among others, and limits on a busy machine. Checked by order and count, never by the clock."""

import asyncio
import os
import signal
from typing import NamedTuple

import msgspec
import pytest
from tests.workers.test_pool import ROOT, EventCounter, _others, until, with_pool  # noqa: F401 - a fixture

from gossamer.base.environment import real_outside
from gossamer.base.errors import WorkerLost
from gossamer.base.tell import silent
from gossamer.config.settings import Settings
from gossamer.workers.jobs import reader_pool
from gossamer.workers.pool import Pool
from gossamer.workers.protocol import Limits
from gossamer.workers.worker import HEAVY_BYTES, HEAVY_S, PASSED_OVER, PROVEN_S, SMALL_BYTES, Costs, JobQueues, Queue

EASY = Limits(wall_s=600.0, cpu_s=600.0, ahead=4)


@pytest.fixture(autouse=True)
def _children_find_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(ROOT / "src"), str(ROOT))))


def test_F_X8_heavy_jobs_leave_a_worker_to_the_others() -> None:
    async def use(pool: Pool) -> None:
        await until(lambda: len(pool.pids) == 2)
        heavy = [asyncio.create_task(pool.ask((b"sleep:600",), None, Queue.HEAVY)) for _ in range(4)]
        await asyncio.sleep(0)
        for number in range(50):
            assert await pool.call(b"echo:%d" % number) == b"%d" % number
        assert not any(task.done() for task in heavy) and pool.waiting == 3
        for task in heavy:
            task.cancel()
        await asyncio.gather(*heavy, return_exceptions=True)

    with_pool(use, size=2, limits=EASY)


def test_F_X8_jobs_queued_behind_a_long_one_go_to_another_worker() -> None:
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


def test_F_X8_a_heavy_job_gets_its_turn_while_others_keep_arriving() -> None:
    async def use(pool: Pool) -> None:
        await until(lambda: len(pool.pids) == 2)
        stop = asyncio.Event()

        async def keep_calling() -> None:
            while not stop.is_set():
                await pool.call(b"echo:x")

        callers = [asyncio.create_task(keep_calling()) for _ in range(20)]
        for _ in range(5):
            assert (await asyncio.wait_for(pool.ask((b"echo:", b"heavy"), None, Queue.HEAVY), 300)).body == b"heavy"
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


def test_F_X7_the_cpu_time_of_a_job_is_reported_and_using_it_up_has_its_own_mark() -> None:
    async def use(pool: Pool) -> None:
        assert (await pool.ask((b"echo:x",))).cpu_s < 1.0
        with pytest.raises(WorkerLost) as lost:
            await pool.ask((b"spin",))
        assert lost.value.why == "timeout" and lost.value.used_up and lost.value.cpu_s == 1.0

    with_pool(use, limits=Limits(wall_s=600.0, cpu_s=1.0))


def test_F_X7_a_worker_without_cpu_time_is_stopped_by_the_wall_limit_and_may_be_retried() -> None:
    events = EventCounter()

    async def use(pool: Pool) -> None:
        os.kill(int(await pool.call(b"pid")), signal.SIGSTOP)  # as on a machine too busy to run it
        with pytest.raises(WorkerLost) as lost:
            await pool.call(b"echo:x")
        assert lost.value.why == "timeout" and not lost.value.used_up
        await until(lambda: len(pool.pids) == 1)
        assert await pool.call(b"echo:x") == b"x"

    with_pool(use, limits=Limits(wall_s=3.0, cpu_s=3.0), tell=events)


def test_F_X7_readers_are_limited_by_cpu_time_and_the_wall_limit_is_generous() -> None:
    pool = reader_pool(Settings(), real_outside(), silent)
    assert pool._limits.cpu_s == 5.0 and pool._limits.wall_s >= 10 * pool._limits.cpu_s


def test_F_X8_pages_of_proven_hosts_are_read_while_unknown_ones_hold_every_worker() -> None:
    async def use(pool: Pool) -> None:
        await until(lambda: len(pool.pids) == 2)
        unknown = [asyncio.create_task(pool.ask((b"sleep:600",), None, Queue.SMALL)) for _ in range(20)]
        await asyncio.sleep(0)
        for number in range(50):
            assert await asyncio.wait_for(pool.call(b"echo:%d" % number), 300) == b"%d" % number
        assert len(pool.pids) == 3 and pool.waiting == 18 and not any(task.done() for task in unknown)
        for task in unknown:
            task.cancel()
        await asyncio.gather(*unknown, return_exceptions=True)

    with_pool(use, size=2, limits=msgspec.structs.replace(EASY, spare=1))


def test_a_pool_without_spare_workers_starts_none() -> None:
    async def use(pool: Pool) -> None:
        await until(lambda: len(pool.pids) == 1)
        long = asyncio.create_task(pool.call(b"sleep:600"))
        await until(lambda: all(worker.is_late for worker in pool._workers))
        await asyncio.sleep(0)
        assert len(pool._workers) == 1 and pool._places == 1
        long.cancel()
        await asyncio.gather(long, return_exceptions=True)

    with_pool(use, limits=EASY)


def test_F_X8_a_worker_with_a_long_job_is_given_no_other() -> None:
    async def use(pool: Pool) -> None:
        await until(lambda: len(pool.pids) == 2)
        long = asyncio.create_task(pool.call(b"sleep:600"))
        await until(lambda: any(worker.is_late for worker in pool._workers))
        others = [asyncio.create_task(pool.call(b"echo:x")) for _ in range(9)]
        await asyncio.sleep(0)
        assert sorted(len(worker.jobs) for worker in pool._workers) == [1, 5]
        await asyncio.wait_for(asyncio.gather(*others), 300)
        long.cancel()
        await asyncio.gather(long, return_exceptions=True)

    with_pool(use, size=2, limits=EASY)


class QueuedJob(NamedTuple):
    queue: Queue
    number: int = 0


def test_F_X8_the_cheapest_queue_goes_first_and_none_starves() -> None:
    queues = JobQueues()
    for queue in (Queue.LARGE, Queue.SMALL, Queue.PROVEN):
        for number in range(100):
            queues.append(QueuedJob(queue, number))
    taken = [queues.take(Queue.LARGE) for _ in range(100)]
    counts = [sum(one is not None and one.queue is queue for one in taken) for queue in Queue]
    assert taken[0] == QueuedJob(Queue.PROVEN) and counts[3] == 0
    assert counts[0] > counts[1] >= counts[2] >= 100 // (PASSED_OVER + 1) // (PASSED_OVER + 1)
    for queue in (Queue.PROVEN, Queue.SMALL, Queue.LARGE):
        numbers = [one.number for one in taken if one is not None and one.queue is queue]
        assert numbers == list(range(len(numbers)))


def test_only_jobs_of_the_requested_queues_are_taken() -> None:
    queues = JobQueues()
    for queue in (Queue.HEAVY, Queue.SMALL):
        queues.append(QueuedJob(queue))
    assert queues.take(Queue.PROVEN) is None and len(queues) == 2
    assert queues.take(Queue.LARGE) == QueuedJob(Queue.SMALL) and queues.take(Queue.LARGE) is None
    queues.appendleft(QueuedJob(Queue.HEAVY, 7))
    queues.discard(QueuedJob(Queue.HEAVY))
    queues.discard(QueuedJob(Queue.SMALL))
    assert queues.take_heavy() == QueuedJob(Queue.HEAVY, 7) and queues.take_heavy() is None


def test_F_X8_the_queue_of_a_page_depends_on_its_size_and_the_costs_of_its_host() -> None:
    costs = Costs()
    assert costs.queue("a", 1000) is Queue.SMALL and costs.queue("a", SMALL_BYTES + 1) is Queue.LARGE
    assert costs.queue("a", HEAVY_BYTES + 1) is Queue.HEAVY
    costs.note("a", PROVEN_S / 10)
    assert costs.queue("a", 1000) is costs.queue("a", HEAVY_BYTES) is Queue.PROVEN
    assert costs.queue("b", 1000) is Queue.SMALL
    costs.note("a", HEAVY_S)
    assert costs.queue("a", 1000) is Queue.HEAVY
    costs.note("c", 2 * PROVEN_S)
    assert costs.queue("c", 1000) is costs.queue("c", HEAVY_BYTES) is Queue.SMALL


def test_F_X8_a_host_with_every_other_page_cheap_does_not_get_the_quick_queue() -> None:
    costs = Costs()
    for _ in range(50):
        costs.note("a", 0.002)
        assert _ == 0 or costs.queue("a", 1000) is Queue.HEAVY
        costs.note("a", 5.0)
    cheap = 0
    while costs.queue("a", 1000) is not Queue.PROVEN:
        costs.note("a", 0.002)
        cheap += 1
    assert 10 < cheap < 30


def test_F_X8_the_queue_of_other_captures_depends_only_on_their_size() -> None:
    costs = Costs()
    costs.note("a", 5.0)
    assert costs.queue("a", SMALL_BYTES, is_page=False) is Queue.PROVEN
    assert costs.queue("a", HEAVY_BYTES + 1, is_page=False) is Queue.LARGE


def test_the_number_of_stored_hosts_is_bounded_and_the_longest_unseen_is_dropped_first() -> None:
    costs = Costs()
    for number in range(40_000):
        costs.note(f"h{number}", 3.0)
        costs.note("seen", 0.002)
    assert costs.queue("h0", 1) is Queue.SMALL and costs.queue("h39999", 1) is Queue.HEAVY
    assert costs.queue("seen", 1) is Queue.PROVEN
