"""Failures of this machine: full disks, lost readers, and stopping meanwhile."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.journey import crawling
from tests.journey.crawling import EventLog, crawl, page

from gossamer.base.errors import DiskFull
from gossamer.base.files import DiskFiles
from gossamer.base.processes import Child, SystemProcesses
from gossamer.crawler.pace import Pace
from gossamer.crawler.steps.rooms import tasks_for
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.testing import FaultyFiles
from gossamer.values.visit import Visit

HOME = "http://one.test/"
PAGES = {HOME: page("/a", "/b"), HOME + "a": page(), HOME + "b": page()}


def test_F_P5_a_disk_that_is_full_when_leases_are_written_pauses_the_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take, calls = SqliteFrontier.take, []

    async def full_at_times(self: SqliteFrontier, at_most: int) -> list[Visit]:
        calls.append(at_most)
        if len(calls) in (2, 3):
            raise DiskFull("the quota is used up")
        return await take(self, at_most)

    monkeypatch.setattr(SqliteFrontier, "take", full_at_times)
    done = asyncio.run(crawl(tmp_path, PAGES, [HOME]))
    assert set(done.ends.values()) == {"fetched"} and len(done.ends) == 3
    assert len(done.log.named("disk.low")) == 1, "reported once, not at each check"


def test_F_P2_a_stop_does_not_wait_forever_for_a_full_disk(tmp_path: Path) -> None:
    files, stop, log = (
        FaultyFiles(DiskFiles(), fail_at=3, on=("append",), is_lasting=True),
        asyncio.Event(),
        EventLog(),
    )

    async def stopped_when_full() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(crawl(tmp_path, PAGES, [HOME], files=files, stop=stop, log=log, pace=Pace(drain_s=0.2)))
            while not log.named("disk.full"):
                await asyncio.sleep(0.01)
            stop.set()

    asyncio.run(asyncio.wait_for(stopped_when_full(), 300))
    acknowledged = {str(facts["url"]) for facts in log.named("visit.settled")}
    files.heal()
    again = asyncio.run(crawl(tmp_path, PAGES, [HOME]))
    assert len(again.ends) == 3 and not acknowledged & set(again.asked), "what was not acknowledged is fetched again"


def test_a_fetched_page_is_archived_when_no_reader_can_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NoProcesses(SystemProcesses):
        def start(self, module: str, arguments: Sequence[str], channel: object = None) -> Child:
            raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(crawling, "SystemProcesses", NoProcesses)
    done = asyncio.run(crawl(tmp_path, {HOME: page()}, [HOME]))
    assert done.ends == {HOME: "read-crash"}
    assert HOME in {kept.url.text for kept in done.kept}


def test_a_page_that_is_read_at_the_second_try_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Child] = []

    class KillsTheFirst(SystemProcesses):
        def start(self, module: str, arguments: Sequence[str], channel: object = None) -> Child:
            child = super().start(module, arguments, channel)  # type: ignore[arg-type]
            started.append(child)
            return child

    monkeypatch.setattr(crawling, "SystemProcesses", KillsTheFirst)
    slow = page(body="<table>" * 3_000)
    log = EventLog()

    async def killed_once() -> crawling.Crawled:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_kill_when(lambda: bool(log.named("worker.started")), started))
            done = tasks.create_task(crawl(tmp_path, {HOME: slow}, [HOME], log=log))
        return done.result()

    done = asyncio.run(killed_once())
    assert done.ends == {HOME: "fetched"}


async def _kill_when(is_time: Callable[[], bool], children: list[Child]) -> None:
    while not is_time():
        await asyncio.sleep(0.001)
    children[0].kill()


def test_a_page_is_tried_twice_and_then_stored_unread() -> None:
    assert tasks_for("read") == ("read", "read", "store")
    assert tasks_for("store") == ("store", "store")
