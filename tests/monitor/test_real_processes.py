"""Real processes and their beats: a crawl of the demonstration web, a killed indexer, a full disk."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.web.site import Silent

from gossamer.base.clock import SystemClock
from gossamer.base.environment import Network, real_outside
from gossamer.cli.crawl.crawl import crawl_to_end
from gossamer.collection.system import Watch
from gossamer.config.settings import CrawlSettings, PolitenessSettings, ReaderSettings, RetrySettings, Settings
from gossamer.demo.server import DemoServer
from gossamer.demo.web import DemoWeb, address_plan
from gossamer.monitor.control import ProcessStatus
from gossamer.monitor.sqlite_control import SqliteControl
from gossamer.monitor.system import System
from gossamer.store.directory import Directory
from gossamer.values.url import Url

WEB = DemoWeb(seed=3, hosts=4, pages=40, profile_name="quick", trap_pages=0)

SETTINGS = Settings(
    contact="https://demo.test/about-the-crawler",
    crawl=CrawlSettings(scope="any"),
    politeness=PolitenessSettings(delay_s=2.0, times_took=1.0, robots_retry_s=1.0, robots_tries=2),
    retry=RetrySettings(base_s=1.0, cap_s=4.0, tries=2),
    readers=ReaderSettings(count=2),
)


async def crawl_and_look(root: Path, look: Callable[[Callable[[], System]], object]) -> System:
    """Crawl slowly, and call `look` during the crawl until it returns true."""
    directory, outside, stop = Directory(root), real_outside(), asyncio.Event()
    async with DemoServer(WEB, SystemClock()) as server:
        plan = address_plan(WEB, server.port)
        crawling = asyncio.ensure_future(
            crawl_to_end(
                directory, SETTINGS, [Url(one) for one in WEB.seeds], Network(plan, plan), outside, Silent(), stop=stop
            )
        )
        while not directory.control.exists():
            await asyncio.sleep(0.05)
        with SqliteControl(directory.control, outside.clock) as control:
            watch = Watch(directory, SETTINGS, outside, control)
            try:
                async with asyncio.timeout(300):
                    while not look(watch.system):
                        await asyncio.sleep(0.1)
            finally:
                stop.set()
                await crawling
            return watch.system()


EVERY_PROCESS = {"crawler", "indexer", "graph process 1", "reader 1", "reader 2"}


def by_name(system: System) -> dict[str, ProcessStatus]:
    return {one.name: one for one in system.processes}


def test_M_A10_every_process_of_a_crawl_writes_a_beat_every_second(tmp_path: Path) -> None:
    seen: list[System] = []

    def look(system: Callable[[], System]) -> bool:
        seen.append(system())
        processes = by_name(seen[-1])
        is_at_work = "crawler" in processes and processes["crawler"].figures.get("pages", 0) > 0
        all_run = processes.keys() >= EVERY_PROCESS
        is_at_work = is_at_work and all_run and seen[-1].state == "running"
        return is_at_work and len(seconds_of_crawler(tmp_path / "crawl")) >= 4

    last = asyncio.run(crawl_and_look(tmp_path / "crawl", look))
    now = by_name(seen[-1])
    assert now.keys() >= EVERY_PROCESS
    assert len({one.pid for one in now.values()}) == len(now), "each has its own pid"
    for one in now.values():
        assert one.figures["rss"] > 10_000_000 and one.figures["cpu_s"] > 0 and one.version, one
    assert now["crawler"].pid == os.getpid() and now["crawler"].figures["pages"] > 0
    assert {"pages_s", "bytes_s", "errors_min", "queued", "in_flight", "words_lag_s", "facts_lag_s"} <= set(
        now["crawler"].figures
    )
    assert seen[-1].state == "running" and seen[-1].counters["known"] > 0
    [node] = seen[-1].nodes
    assert node.figures["memory_total"] > node.figures["memory_free"] > 0
    ended = by_name(last)
    assert {ended["crawler"].life, ended["indexer"].life} == {"ended"} and "reader 1" not in ended
    assert last.state == "idle" and last.nodes[0].life in ("fresh", "late", "ended")
    assert len(seconds_of_crawler(tmp_path / "crawl")) >= 4, "the history can be read after all processes have ended"


def seconds_of_crawler(root: Path) -> set[int]:
    with SqliteControl(root / "control.db", SystemClock()) as control:
        return {one.at // 1_000_000 for one in control.history(0) if one.process == "crawler"}


def test_M_A10_a_killed_indexer_is_shown_as_silent(tmp_path: Path) -> None:
    """After kill -9 no process records that it ended."""
    directory = Directory(tmp_path / "killed")
    outside = real_outside()
    for folder in directory.folders():
        outside.files.make_folder(folder)
    ours, theirs = socket.socketpair()
    with theirs:
        indexer = outside.processes.start("gossamer.indexer.process", [str(directory.root), "", ""], theirs)
    try:
        with SqliteControl(directory.control, outside.clock) as control:
            watch = Watch(directory, SETTINGS, outside, control)

            def life() -> str:
                indexer = by_name(watch.system()).get("indexer")
                return indexer.life if indexer else "unknown"

            wait_for(lambda: life() == "fresh")
            os.kill(indexer.pid, signal.SIGKILL)
            wait_for(lambda: life() == "silent")
            system = watch.system()
        dead = by_name(system)["indexer"]
        assert dead.age_s >= 5 and dead.pid == indexer.pid
        assert [hint.code for hint in system.hints if hint.severity == "trouble"] == ["indexer-silent"]
        assert system.nodes[0].life == "silent", "its machine may have failed with it"
    finally:
        ours.close()
        indexer.kill()


def wait_for(is_true: Callable[[], bool]) -> None:
    clock, until = SystemClock(), SystemClock().elapsed_s() + 300
    while not is_true():
        assert clock.elapsed_s() < until, "it never happened"
        clock.pause(0.1)


FULL = """
import os, resource, sys
from pathlib import Path
from gossamer.base.clock import SystemClock
from gossamer.monitor.sqlite_control import SqliteControl
from gossamer.monitor.pulse import ThisMachine
from gossamer.monitor.pulse import ProcessReport, Pulse

with SqliteControl(Path(sys.argv[1]), SystemClock()) as control:
    pulse = Pulse("crawler", os.getpid(), control, ThisMachine(Path(sys.argv[1]).parent), SystemClock(), "reader")
    with pulse.beating():
        assert pulse.beat(ProcessReport({"pages": 1}, "", {"pages": 1}))
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        written = [pulse.beat(ProcessReport({"pages": n}, "", {"pages": n})) for n in range(20)]
        assert not any(written), written
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert pulse.beat(ProcessReport({"pages": 99}, "", {"pages": 99}))
    print([beat.facts for beat in control.beats()])
"""


def test_a_process_continues_while_nothing_can_be_written(tmp_path: Path) -> None:
    """A real process whose files may not grow: to SQLite that is a failing disk."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "control.db")], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[{'pages': 99, 'state': 'ended'}]\n"
