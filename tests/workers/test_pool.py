import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import psutil
import pytest
import uvloop
from tests.workers import jobs

from gossamer.base.clock import SystemClock
from gossamer.base.errors import WorkerLost
from gossamer.base.processes import SystemProcesses
from gossamer.base.tell import silent
from gossamer.base.tuning import generation_of
from gossamer.workers.pool import Pool, name_of
from gossamer.workers.protocol import Limits

LONG_S = 60.0
EASY = Limits(wall_s=LONG_S)
"""A generous limit, because a busy machine may be slow even at short jobs."""
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _children_find_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(ROOT / "src"), str(ROOT))))


class EventCounter:
    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, object]]] = []

    def __call__(self, event: str, /, **facts: object) -> None:
        self.events.append((event, facts))

    def count(self, event: str) -> int:
        return sum(name == event for name, _ in self.events)


def with_pool(
    use: Callable[[Pool], Awaitable[None]],
    job: Callable[[bytes], bytes] = jobs.obey,
    size: int = 1,
    limits: Limits = EASY,
    tell: Callable[..., None] = silent,
    run: Callable[..., None] = asyncio.run,
) -> None:
    async def use_pool() -> None:
        async with Pool(job, size, limits, SystemProcesses(), SystemClock(), tell) as pool:
            await use(pool)

    run(use_pool())
    assert_no_children_are_left()


OTHERS: set[int] = set()
"""Child processes that other tests have started and still use."""


@pytest.fixture(autouse=True)
def _others() -> None:
    OTHERS.clear()
    OTHERS.update(children())


def children() -> set[int]:
    """Running child processes and zombies."""
    return {child.pid for child in psutil.Process().children()}


def assert_no_children_are_left() -> None:
    assert children() <= OTHERS


async def reason_of_loss(pool: Pool, payload: bytes) -> str:
    with pytest.raises(WorkerLost) as lost:
        await pool.call(payload)
    return lost.value.why


async def until(true: Callable[[], bool], at_most_s: float = LONG_S) -> None:
    async with asyncio.timeout(at_most_s):
        while not true():
            await asyncio.sleep(0.005)


def is_alive(pid: int) -> bool:
    return SystemProcesses().is_alive(pid)


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_the_answer_of_a_call_is_what_the_job_returned(run: Callable[..., None]) -> None:
    async def use(pool: Pool) -> None:
        payloads = [os.urandom(size) for size in (0, 1, 30_000, 3_000_000, 262_144, 262_139, 5)]
        assert await asyncio.gather(*map(pool.call, payloads)) == payloads

    with_pool(use, jobs.echo, limits=EASY, run=run)


def test_ten_thousand_jobs_each_get_their_own_answer() -> None:
    async def use(pool: Pool) -> None:
        async def some(first: int) -> None:
            for number in range(first, 10_000, 20):
                assert await pool.call(b"%d" % number) == b"%d" % number

        await asyncio.gather(*(some(first) for first in range(20)))

    with_pool(use, jobs.echo, size=2, limits=Limits(wall_s=LONG_S, recycle_after=4_000))


@pytest.mark.parametrize(
    ("payload", "expected", "wall_s"),
    [
        (b"spin", "timeout", 1.0),
        (b"sleep:60", "timeout", 1.0),
        (b"segfault", "crash", LONG_S),
        (b"exit:0", "crash", LONG_S),
        (b"exit:3", "crash", LONG_S),
        (b"hog", "memory", LONG_S),
    ],
)
def test_F_M7_a_worker_that_dies_hangs_or_uses_too_much_memory_is_replaced_and_the_queue_continues(
    payload: bytes, expected: str, wall_s: float
) -> None:
    async def use(pool: Pool) -> None:
        await pool.call(b"echo:warm")
        bad = asyncio.create_task(reason_of_loss(pool, payload))
        await asyncio.sleep(0)
        behind = [asyncio.create_task(pool.call(b"echo:%d" % number)) for number in range(5)]
        assert await bad == expected
        assert await asyncio.gather(*behind) == [b"%d" % number for number in range(5)]

    with_pool(use, limits=Limits(wall_s=wall_s, memory_bytes=64 << 20))


def test_F_M7_a_lost_worker_is_replaced_within_a_second() -> None:
    events = EventCounter()

    async def use(pool: Pool) -> None:
        [first] = [int(await pool.call(b"pid"))]
        os.kill(first, signal.SIGKILL)
        lost_at = time.monotonic()
        await until(lambda: first not in pool.pids and len(pool.pids) == 1)
        took_s = time.monotonic() - lost_at
        assert int(await pool.call(b"pid")) != first
        print(f"replaced after {took_s:.3f} s")

    with_pool(use, tell=events)
    assert events.count("worker.started") == 2


def test_F_M7_killing_a_worker_loses_only_its_current_job() -> None:
    async def use(pool: Pool) -> None:
        pid = int(await pool.call(b"pid"))
        running = asyncio.create_task(reason_of_loss(pool, b"sleep:60"))
        behind = asyncio.create_task(pool.call(b"echo:spared"))
        await asyncio.sleep(0.05)
        os.kill(pid, signal.SIGKILL)
        assert await running == "crash"
        assert await behind == b"spared"

    with_pool(use, limits=EASY)


def test_F_M7_killing_workers_at_any_time_loses_no_call() -> None:
    async def use(pool: Pool) -> None:
        answered = lost = 0
        reasons: set[str] = set()
        stop = asyncio.Event()

        async def caller() -> None:
            nonlocal answered, lost
            while not stop.is_set():
                try:
                    assert await pool.call(b"echo:" + b"x" * 20_000) == b"x" * 20_000
                    answered += 1
                except WorkerLost as trouble:
                    reasons.add(trouble.why)
                    lost += 1

        callers = [asyncio.create_task(caller()) for _ in range(8)]
        for pause in (0.0, 0.002, 0.013, 0.05, 0.0005, 0.03):
            await until(lambda: bool(pool.pids))
            await asyncio.sleep(pause)
            killed = set(pool.pids)
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
            await until(lambda killed=killed: killed.isdisjoint(pool.pids))
        stop.set()
        await asyncio.gather(*callers)
        assert answered > 0
        assert lost <= 12
        assert reasons <= {"crash"}

    with_pool(use, size=2)


def test_an_exception_in_a_job_is_returned_as_type_and_message_and_its_worker_continues() -> None:
    async def use(pool: Pool) -> None:
        pid = await pool.call(b"pid")
        with pytest.raises(WorkerLost, match="ValueError: no such luck") as lost:
            await pool.call(b"raise:no such luck")
        assert lost.value.why == "crash"
        with pytest.raises(WorkerLost, match="bytes, not str"):
            await pool.call(b"text")
        assert await pool.call(b"pid") == pid

    with_pool(use)


def test_a_job_may_not_start_connect_or_write_anything(tmp_path: Path) -> None:
    async def use(pool: Pool) -> None:
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        for deed in (b"fork", b"run", b"connect:%d" % port, b"write:" + bytes(tmp_path / "file")):
            with pytest.raises(WorkerLost, match="PermissionError: a worker may not"):
                await pool.call(deed)
        server.close()

    with_pool(use)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="network namespaces need privileges")
def test_not_even_native_code_in_a_worker_reaches_the_network() -> None:
    async def use(pool: Pool) -> None:
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        assert await pool.call(b"native-connect:%d" % port) == b"refused"
        server.close()

    with_pool(use)


def test_child_processes_that_a_job_left_running_end_with_its_worker() -> None:
    groups: list[int] = []

    async def use(pool: Pool) -> None:
        groups.append(int(await pool.call(b"pid")))
        assert await pool.call(b"native-fork") == b"forked"

    with_pool(use)
    asyncio.run(until(lambda: not group_exists(groups[0])))  # reaped by init, which takes a moment


def group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_cancelling_a_call_stops_its_running_job() -> None:
    async def use(pool: Pool) -> None:
        pid = int(await pool.call(b"pid"))
        running = asyncio.create_task(pool.call(b"sleep:60"))
        await asyncio.sleep(0.05)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert await pool.call(b"echo:next") == b"next"
        assert not is_alive(pid)

    with_pool(use, limits=EASY)


def test_F_W12_a_thousand_cancelled_calls_free_the_workers_at_once() -> None:
    async def use(pool: Pool) -> None:
        await pool.call(b"echo:warm")
        callers = [asyncio.create_task(pool.call(b"sleep:600")) for _ in range(1_000)]
        await asyncio.sleep(0.05)
        for caller in callers:
            caller.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
        async with asyncio.timeout(LONG_S):
            assert await pool.call(b"echo:free") == b"free"

    with_pool(use, size=2, limits=Limits(wall_s=2 * LONG_S, ahead=0))


def test_F_W12_calls_cancelled_while_they_wait_take_no_place_in_the_queue() -> None:
    async def use(pool: Pool) -> None:
        await pool.call(b"echo:warm")
        busy = asyncio.create_task(pool.call(b"sleep:60"))
        callers = [asyncio.create_task(pool.call(b"echo:late")) for _ in range(100)]
        await asyncio.sleep(0)
        assert pool.waiting == 100
        for caller in callers:
            caller.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
        assert pool.waiting == 0
        busy.cancel()

    with_pool(use, size=1, limits=Limits(wall_s=30, ahead=0))


def test_a_call_cancelled_while_it_waits_is_never_started() -> None:
    async def use(pool: Pool) -> None:
        first = asyncio.create_task(pool.call(b"sleep:0.2"))
        second = asyncio.create_task(pool.call(b"echo:ahead"))
        third = asyncio.create_task(pool.call(b"segfault"))
        await asyncio.sleep(0.05)
        third.cancel()
        assert await first == b"slept"
        assert await second == b"ahead"
        assert await pool.call(b"echo:fine") == b"fine"

    events = EventCounter()
    with_pool(use, tell=events)
    assert events.count("worker.started") == 1


def test_the_deadline_of_a_job_starts_when_it_is_first_in_the_queue() -> None:
    async def use(pool: Pool) -> None:
        await pool.call(b"echo:warm")
        slow = [pool.call(b"sleep:0.8") for _ in range(4)]
        assert await asyncio.gather(*slow) == [b"slept"] * 4

    with_pool(use, limits=Limits(wall_s=2.5))


def test_a_worker_is_replaced_after_a_number_of_jobs_and_no_job_is_lost() -> None:
    events = EventCounter()

    async def use(pool: Pool) -> None:
        pids = [await pool.call(b"pid") for _ in range(7)]
        assert len(set(pids)) == 3

    with_pool(use, limits=Limits(wall_s=LONG_S, recycle_after=3), tell=events)


def test_the_cpu_time_of_each_job_is_counted_from_zero() -> None:
    async def use(pool: Pool) -> None:
        assert await reason_of_loss(pool, b"spin") == "timeout"
        for _ in range(8):  # together more than any one of them may use
            assert await pool.call(b"burn:0.4") == b"burnt"

    with_pool(use, limits=Limits(wall_s=LONG_S, cpu_s=0.5))


def test_a_long_job_after_many_short_ones_is_stopped_like_any_other() -> None:
    async def use(pool: Pool) -> None:
        for _ in range(50):
            await pool.call(b"echo:short")
        assert await reason_of_loss(pool, b"spin") == "timeout"

    with_pool(use, limits=Limits(wall_s=LONG_S, cpu_s=0.5))


def test_an_answer_above_the_size_limit_is_refused() -> None:
    async def use(pool: Pool) -> None:
        assert len(await pool.call(b"1000000")) == 1_000_000
        assert await reason_of_loss(pool, b"1000001") == "crash"
        assert len(await pool.call(b"10")) == 10

    with_pool(use, jobs.big, limits=Limits(wall_s=LONG_S, answer_bytes=1_000_000))


def test_closing_the_pool_ends_every_call_and_every_process() -> None:
    async def use_pool() -> None:
        pool = Pool(jobs.obey, 2, Limits(), SystemProcesses(), SystemClock(), silent)
        async with pool:
            await pool.call(b"echo:warm")
            calls = [asyncio.create_task(reason_of_loss(pool, b"sleep:60")) for _ in range(7)]
            await asyncio.sleep(0.05)
        assert await asyncio.gather(*calls) == ["closed"] * 7
        assert await reason_of_loss(pool, b"echo:late") == "closed"
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(use_pool())
    assert_no_children_are_left()


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 20])
def test_a_pool_may_be_closed_while_its_workers_start(turns: int) -> None:
    async def use(pool: Pool) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)

    with_pool(use, size=2)
    assert_no_children_are_left()


def test_a_pool_may_be_closed_right_after_it_lost_a_worker() -> None:
    async def use(pool: Pool) -> None:
        assert await reason_of_loss(pool, b"exit:1") == "crash"

    with_pool(use)


def test_an_exception_inside_the_pool_s_block_is_raised_unchanged() -> None:
    async def use(pool: Pool) -> None:
        await pool.call(b"echo:warm")
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        with_pool(use)
    assert_no_children_are_left()


def test_a_pool_whose_owner_is_cancelled_closes_cleanly() -> None:
    async def use(pool: Pool) -> None:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().call_later(0.05, task.cancel)
        await pool.call(b"sleep:60")

    with pytest.raises(asyncio.CancelledError):
        with_pool(use, limits=EASY)
    assert_no_children_are_left()


def test_a_job_that_cannot_be_loaded_is_reported_to_the_caller() -> None:
    def missing(payload: bytes) -> bytes:
        return payload

    missing.__qualname__ = "no_such_function"
    events = EventCounter()

    async def use(pool: Pool) -> None:
        with pytest.raises(WorkerLost, match="no worker could be started") as lost:
            await pool.call(b"x")
        assert lost.value.why == "crash"

    with_pool(use, job=missing, tell=events)
    assert events.count("worker.failed-to-start") >= 3


def test_a_worker_whose_pool_is_gone_ends_by_itself() -> None:
    script = (
        "import asyncio, os, sys\n"
        "from gossamer.base.clock import SystemClock\n"
        "from gossamer.base.processes import SystemProcesses\n"
        "from gossamer.base.tell import silent\n"
        "from gossamer.workers.protocol import Limits\n"
        "from gossamer.workers.pool import Pool\n"
        "from tests.workers import jobs\n"
        "async def main():\n"
        "    async with Pool(jobs.obey, 2, Limits(), SystemProcesses(), SystemClock(), silent) as pool:\n"
        "        while len(pool.pids) < 2: await asyncio.sleep(0.01)\n"
        "        busy = asyncio.create_task(pool.call(b'sleep:4'))\n"
        "        await asyncio.sleep(0.05)\n"
        "        print(*pool.pids, flush=True)\n"
        "        os._exit(0)\n"
        "asyncio.run(main())\n"
    )

    async def use_pool() -> list[int]:
        owner = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE)
        words, _ = await owner.communicate()
        return [int(word) for word in words.split()]

    pids = asyncio.run(use_pool())
    assert len(pids) == 2
    asyncio.run(until(lambda: not any(is_running(pid) for pid in pids)))


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_only_a_plain_function_of_a_module_can_be_a_job() -> None:
    assert name_of(jobs.echo) == "tests.workers.jobs:echo"
    with pytest.raises(ValueError, match="cannot be imported"):
        name_of(lambda payload: payload)


def test_the_garbage_collector_examines_the_oldest_objects_least_often() -> None:
    looked_at = [generation_of(turn) for turn in range(1, 201)]
    assert (looked_at.count(0), looked_at.count(1), looked_at.count(2)) == (180, 18, 2)
