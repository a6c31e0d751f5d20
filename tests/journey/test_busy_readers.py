"""A reader that is lost, and whether the page gets a second one."""

import asyncio
from types import SimpleNamespace

import msgspec
import pytest

from gossamer.base.errors import WorkerLost
from gossamer.base.tell import silent
from gossamer.crawler.steps.rooms import in_reader
from gossamer.fetch.budget import Budget
from gossamer.reader.reading import done
from gossamer.values.capture import Capture
from gossamer.values.messages import ReadJob, job_of
from gossamer.values.outcome import Reason
from gossamer.values.url import Url
from gossamer.workers.jobs import asked_twice
from gossamer.workers.worker import Costs, WorkerAnswer

CAPTURE = Capture(
    Url("http://a.test/"), 1, 200, "OK", (("Content-Type", "text/html"),), b"<title>Words</title><p>words"
)
WALL = WorkerLost("timeout", "by the wall clock", 5.0)
CPU = WorkerLost("timeout", "by CPU time", 5.0, used_up=True)
CRASH = WorkerLost("crash", "it crashed")


@pytest.mark.parametrize(
    ("losses", "tasks", "lost", "cpu_s"),
    [
        ([], ["read"], None, 0.5),
        ([WALL], ["read", "read"], None, 5.5),
        ([CRASH], ["read", "read"], None, 0.5),
        ([CPU], ["read", "store"], Reason.READ_TIMEOUT, 5.5),
        ([WALL, WALL], ["read", "read", "store"], Reason.READ_TIMEOUT, 10.5),
        ([CRASH, CRASH], ["read", "read", "store"], Reason.READ_CRASH, 0.5),
    ],
)
def test_F_X7_a_page_gets_a_second_reader_unless_it_used_up_its_cpu_time(losses, tasks, lost, cpu_s) -> None:
    left, done_tasks = list(losses), []

    async def read(parts: tuple[bytes, bytes], _admit: object, _heavy: bool) -> WorkerAnswer:
        job = job_of(b"".join(parts))
        done_tasks.append(job.task)
        if left:
            raise left.pop(0)
        return WorkerAnswer(msgspec.msgpack.encode(done(job)), 0.5)

    rooms = SimpleNamespace(read=read, tell=silent, budget=Budget(), costs=Costs(), convert=None)
    result, why, spent_s = asyncio.run(in_reader(ReadJob(CAPTURE), rooms))  # type: ignore[arg-type]
    assert (done_tasks, why, spent_s) == (tasks, lost, cpu_s)
    assert result.record and result.size == len(CAPTURE.body) and bool(result.reading) == (lost is None)
    assert result.is_unread == (lost is not None), "a rebuild tries again"


@pytest.mark.parametrize(("losses", "tries"), [([], 1), ([WALL], 2), ([CRASH], 2), ([CPU], 1), ([WALL, CRASH], 2)])
def test_F_X7_a_capture_read_from_the_archive_gets_a_second_reader_too(losses, tries) -> None:
    left, calls = list(losses), []

    async def ask() -> str:
        calls.append(1)
        if left:
            raise left.pop(0)
        return "read"

    async def read_twice() -> str | None:
        try:
            return await asked_twice(ask)
        except WorkerLost:
            return None

    assert asyncio.run(read_twice()) == (None if losses[tries - 1 :] else "read")
    assert len(calls) == tries
