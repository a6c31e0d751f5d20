"""Days of revisits to a changing web, on a virtual clock: does memory, or the number of tasks or files, grow?

`python -m tests.simulation.soak --hours 72` prints a line an hour and exits with 1 when something does. With --real it
uses the wall clock, for SOAK_HOURS.
"""

import argparse
import asyncio
import gc
import os
import sys
import tempfile
import tracemalloc
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from multidict import CIMultiDict, CIMultiDictProxy
from tests.simulation.test_simulation import memory
from tests.simulation.virtual import VirtualClock, VirtualLoop

from gossamer.archive.catalogue import acknowledged, adopt
from gossamer.archive.volumes import Volumes
from gossamer.base.clock import Clock, SystemClock
from gossamer.base.environment import Outside, real_outside, seeded
from gossamer.base.tell import silent
from gossamer.config.slices import Politeness, RobotsKeeping
from gossamer.crawler import pace
from gossamer.crawler.journey import Crawl
from gossamer.crawler.pace import Pace
from gossamer.crawler.revisit import Revisits
from gossamer.crawler.settlement import Measures
from gossamer.crawler.steps.group import VolumeWriter
from gossamer.crawler.steps.rooms import Rooms
from gossamer.demo.pages import DemoRequest
from gossamer.demo.web import DemoWeb
from gossamer.fetch.answer import ResponseHead, outcome_of
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.monitor.samples import chronicling
from gossamer.reader.reading import job
from gossamer.recrawl.policies import VisitBudget, policy_named
from gossamer.recrawl.retry import Retry
from gossamer.spool.frames import SpoolWriter
from gossamer.store.directory import Directory
from gossamer.store.sqlite.database import Database
from gossamer.values.capture import Capture
from gossamer.values.history import Validators
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Outcome
from gossamer.values.url import Url
from gossamer.values.visit import VisitKind
from gossamer.workers.worker import WorkerAnswer

HOUR_S = 3600.0
QUIET_S = 30.0
MOST_RSS_SLOPE = 1 << 20
"""Bytes an hour, after the first part of the time."""
WARM = 0.4
"""The first part of the time, in which caches fill and pages are found."""
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Reading:
    """The resources of a process at a moment."""

    hour: float
    rss: int
    traced: int
    """Bytes that Python has allocated; 0 where that is not measured."""
    objects: int
    tasks: int
    files: int
    visits: int


@dataclass(frozen=True, slots=True)
class Soaked:
    readings: tuple[Reading, ...]

    @property
    def settled(self) -> tuple[Reading, ...]:
        return self.readings[int(len(self.readings) * WARM) :]

    def slope(self, of: Callable[[Reading], float]) -> float:
        """Per hour, by least squares, after the first part of the time."""
        return slope([one.hour for one in self.settled], [of(one) for one in self.settled])

    def growing(self) -> list[str]:
        found = []
        if (growth := self.slope(lambda one: one.rss)) > MOST_RSS_SLOPE:
            found.append(f"memory grows by {growth / (1 << 20):.2f} MiB an hour")
        first, last = self.settled[0], self.settled[-1]
        if last.files > first.files + 2:
            found.append(f"{first.files} open files became {last.files}")
        if last.tasks > first.tasks + 2:
            found.append(f"{first.tasks} tasks became {last.tasks}")
        if last.visits <= first.visits:
            found.append("nothing was fetched any more")
        return found


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    middle, height = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - middle) ** 2 for x in xs)
    return sum((x - middle) * (y - height) for x, y in zip(xs, ys, strict=True)) / spread if spread else 0.0


class Counted:
    """A demonstration web without sockets, that counts its fetches."""

    def __init__(self, web: DemoWeb, clock: Clock) -> None:
        self._web, self._clock = web, clock
        self.fetches = 0

    async def fetch(
        self,
        url: Url,
        kind: VisitKind = VisitKind.PAGE,
        depth: int = 0,
        validators: Validators | None = None,
        **_: object,
    ) -> Outcome:
        del kind, depth
        self.fetches += 1
        await self._clock.sleep(0.05)
        now = self._clock.now()
        answer = self._web.answer(
            DemoRequest(url.host.name, url.target, "", validators.etag if validators else "", 0, now)
        )
        capture = Capture(url, now, answer.status, "", answer.headers, answer.body, took_s=0.05)
        return outcome_of(capture, ResponseHead(CIMultiDictProxy(CIMultiDict(answer.headers))), (), now)


@dataclass(frozen=True, slots=True)
class Soak:
    hours: float
    every_hours: float = 1.0
    hosts: int = 12
    pages: int = 120
    visits_a_day: float = 2_400.0
    turn_hours: float = 12.0
    follows_memory: bool = False
    """Whether Python's own allocations are measured, which takes twice as long."""

    def run_virtual(self, folder: Path, tell: Callable[[Reading], None] = lambda _: None) -> Soaked:
        before, pace.WAIT_S = pace.WAIT_S, QUIET_S
        try:
            with asyncio.Runner(loop_factory=VirtualLoop) as runner:
                loop = runner.get_loop()
                assert isinstance(loop, VirtualLoop)
                return runner.run(self._run(folder, VirtualClock(loop), tell))
        finally:
            pace.WAIT_S = before

    def run_real(self, folder: Path, tell: Callable[[Reading], None] = lambda _: None) -> Soaked:
        return asyncio.run(self._run(folder, SystemClock(), tell))

    async def _run(self, folder: Path, clock: Clock, tell: Callable[[Reading], None]) -> Soaked:
        if self.follows_memory:
            tracemalloc.start()
        web = DemoWeb(3, self.hosts, self.pages, turn_s=self.turn_hours * HOUR_S, started_at=clock.now())
        served, outside = Counted(web, clock), replace(real_outside(), clock=clock)
        readings: list[Reading] = []
        try:
            async with self._opened(Directory(folder), served, web, outside) as crawl:
                stop = asyncio.Event()
                running = asyncio.ensure_future(crawl.run(stop))
                for number in range(1, round(self.hours / self.every_hours) + 1):
                    await asyncio.wait([running], timeout=self.every_hours * HOUR_S)
                    assert not running.done(), running
                    readings.append(taken(number * self.every_hours, served.fetches))
                    tell(readings[-1])
                stop.set()
                await running
        finally:
            tracemalloc.stop()
        return Soaked(tuple(readings))

    @asynccontextmanager
    async def _opened(
        self, directory: Directory, served: Counted, web: DemoWeb, outside: Outside
    ) -> AsyncIterator[Crawl]:
        clock, files = outside.clock, outside.files
        for place in directory.folders():
            files.make_folder(place)
        async with AsyncExitStack() as opened:
            database = await opened.enter_async_context(Database(directory.state, clock, silent))
            volumes = Volumes(files, directory.archive, clock, silent)
            recovered = volumes.open(await acknowledged(database))
            await adopt(database, files, directory.archive, silent)
            spool = SpoolWriter(files, directory.spool, silent)
            spool.open(recovered.last_volume)
            opened.callback(volumes.close)
            opened.callback(spool.close)
            frontier = SqliteFrontier(database, FrontierRules(Politeness(delay_s=1.0), lambda _: True), clock, silent)
            await opened.enter_async_context(frontier)
            await opened.enter_async_context(chronicling(directory, outside, True, silent))
            await frontier.offer([Offer(Url(seed), How.SEED) for seed in web.seeds])
            again = Revisits(
                lambda per_page: policy_named("age", per_page), seeded(5), VisitBudget(self.visits_a_day, None, 1.0)
            )
            yield Crawl(
                Rooms(
                    frontier=frontier,
                    fetch=served.fetch,
                    read=read,
                    writer=VolumeWriter(volumes, spool),
                    clock=clock,
                    measures=Measures(seeded(1), Retry(), RobotsKeeping(), revisits=again),
                    tell=silent,
                    lag_s=lambda: 0.0,
                    has_room=lambda: True,
                    agent="Gossamer",
                    pace=Pace(at_once=16),
                )
            )


async def read(parts: Sequence[bytes], admit: object = None, heavy: bool = False) -> WorkerAnswer:
    return WorkerAnswer(job(b"".join(parts)), 0.0)


def taken(hour: float, visits: int) -> Reading:
    gc.collect()
    rss = int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES
    traced = tracemalloc.get_traced_memory()[0] if tracemalloc.is_tracing() else 0
    files = len(os.listdir("/proc/self/fd"))
    return Reading(hour, rss, traced, len(gc.get_objects()), len(asyncio.all_tasks()), files, visits)


def line(one: Reading) -> str:
    return (
        f"hour {one.hour:6.1f}  {one.visits:7,} visits  {one.rss / (1 << 20):7.1f} MiB  {one.objects:,} objects  "
        f"{one.tasks} tasks  {one.files} files"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.soak", description=__doc__)
    parser.add_argument("--hours", type=float, default=float(os.environ.get("SOAK_HOURS", "72")))
    parser.add_argument("--pages", type=int, default=Soak(1).pages)
    parser.add_argument("--real", action="store_true", help="use the wall clock")
    options = parser.parse_args()
    soak = Soak(options.hours, min(1.0, options.hours / 12), pages=options.pages)

    def tell(one: Reading) -> None:
        print(line(one), flush=True)

    started_s = SystemClock().elapsed_s()
    with tempfile.TemporaryDirectory(dir=memory()) as folder:
        run = soak.run_real if options.real else soak.run_virtual
        found = run(Path(folder), tell)
    growth = found.slope(lambda one: one.rss) / (1 << 20)
    took_s = SystemClock().elapsed_s() - started_s
    print(
        f"{options.hours:g} hours in {took_s:.0f} s; memory grows by {growth:.3f} MiB an hour after the first "
        f"{WARM:.0%}, objects by {found.slope(lambda one: one.objects):,.0f} an hour"
    )
    for one in found.growing():
        print(one)
    return 1 if found.growing() else 0


if __name__ == "__main__":
    sys.exit(main())
