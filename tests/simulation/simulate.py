"""One whole crawl on a virtual clock: real frontier, journey, archive and spool; random web and failures, by seed."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
from tests.simulation.books import Books, GuaranteeBroken, Watched
from tests.simulation.virtual import VirtualClock, VirtualLoop
from tests.simulation.web import SHARED, SimWeb, hosts_of

from gossamer.archive.catalogue import acknowledged, adopt
from gossamer.archive.volumes import Volumes
from gossamer.base.environment import seeded
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.config.slices import Politeness, RobotsKeeping
from gossamer.crawler import pace
from gossamer.crawler.journey import Crawl
from gossamer.crawler.pace import Pace
from gossamer.crawler.settlement import Measures
from gossamer.crawler.steps.group import VolumeWriter
from gossamer.crawler.steps.rooms import Rooms
from gossamer.frontier.api import Frontier, FrontierRules
from gossamer.frontier.reports import every_end
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.reader.reading import done, job
from gossamer.recrawl.retry import Retry
from gossamer.spool.frames import SpoolWriter
from gossamer.store import tallies
from gossamer.store.sqlite.database import Database, read_only
from gossamer.values.link import How, Offer
from gossamer.values.messages import job_of
from gossamer.values.outcome import Reason
from gossamer.values.url import Url
from gossamer.workers.worker import WorkerAnswer

DELAY_S = 1.0
PER_ADDRESS = 4
APART_S = 0.1
QUIET_S = 30.0
"""The journey checks every quarter of a second; on a virtual clock that is not needed."""
LONGEST_S = 12 * 3600.0
"""No crawl here takes longer, no matter what the wall clock is set to."""
STEPS_S = (-86_400.0, -3_600.0, -20.0, 20.0, 3_600.0, 86_400.0)


@dataclass(frozen=True, slots=True)
class Kind:
    hosts: int = 10
    pages: int = 12
    lives: int = 5
    """The maximum number of runs: all but the last one are killed or stopped."""
    shared: float = 0.35
    """The share of the hosts at one IP address."""
    reads: bool = True
    """Whether pages are read by the real reader; else the web lists their links, which is faster."""
    steps: bool = False
    """The wall clock is set from time to time: in either direction while the crawl runs, back between two runs."""
    kept_s: float = DELAY_S
    """The delay that the frontier is configured with; the books always require DELAY_S."""
    broken: Callable[[Frontier], Frontier] = lambda frontier: frontier
    """Wraps the frontier in one with a defect, to check that it is detected."""


@dataclass(frozen=True, slots=True)
class Result:
    seed: int
    visits: int
    lives: int
    crashes: int
    failures: int
    """Fetches that failed."""
    took_s: float
    """On the virtual clock."""


def simulate(seed: int, folder: Path, kind: Kind | None = None) -> Result:
    """Raises AssertionError, its message beginning with the seed, when a guarantee is broken or a URL lost."""
    before, pace.WAIT_S = pace.WAIT_S, QUIET_S
    try:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            return runner.run(_Simulation(seed, folder, kind or Kind()).run())
    except Exception as error:  # the seed is needed to reproduce any error
        raise AssertionError(f"seed {seed}: {in_words(error)}") from error
    finally:
        pace.WAIT_S = before


def in_words(error: BaseException) -> str:
    """The first error of a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"


class _Simulation:
    def __init__(self, seed: int, folder: Path, kind: Kind) -> None:
        self._seed, self._folder, self._kind = seed, folder, kind
        self._rng = random.Random(seed)
        self._crashes = 0

    async def run(self) -> Result:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        self._clock = VirtualClock(loop)
        web_rng = random.Random(self._rng.random())
        self._web = SimWeb(
            hosts_of(web_rng, self._kind.hosts, self._kind.pages, self._kind.shared), web_rng, self._clock
        )
        self._books = Books(self._web, self._clock, DELAY_S, PER_ADDRESS, APART_S, self._kind.steps)
        self._web.began, self._web.ended = self._books.began, self._books.ended
        lives = self._rng.randrange(1, self._kind.lives + 1)
        for life in range(lives):
            if await self._live(None if life == lives - 1 else self._rng.expovariate(1 / 60)):
                break
            await asyncio.sleep(self._rng.choice((0.0, 0.3, 2.0, 200.0)))
            if self._kind.steps and self._rng.random() < 0.5:
                self._clock.step(self._rng.choice(STEPS_S[:3]))
        self._verify()
        return Result(
            self._seed, self._books.visits, life + 1, self._crashes, self._books.failures, self._clock.elapsed_s()
        )

    async def _live(self, for_s: float | None) -> bool:
        """One run of the crawler; returns whether the crawl ended."""
        is_clean = self._rng.random() < 0.25
        async with self._opened() as (crawl, frontier):
            stop = asyncio.Event()
            running = asyncio.ensure_future(crawl.run(stop))
            stepping = asyncio.ensure_future(self._set_the_clock())
            await asyncio.wait([running], timeout=for_s or LONGEST_S)
            stepping.cancel()
            if not running.done() and for_s is None:
                raise GuaranteeBroken(f"no end after {LONGEST_S} s")
            if running.done():
                running.result()
                await frontier.close()
                return True
            if is_clean:
                stop.set()
                await running
                await frontier.close()
                self._books.crashed()  # fetches that did not finish in time are taken again
                return False
            await _kill(running)
            self._crashes += 1
        self._books.crashed()
        return False

    async def _set_the_clock(self) -> None:
        """A few times in a run. Minimum gaps are measured with a clock that is never set."""
        for _ in range(self._rng.randrange(4) if self._kind.steps else 0):
            await asyncio.sleep(self._rng.expovariate(1 / 40))
            self._clock.step(self._rng.choice(STEPS_S))

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[tuple[Crawl, SqliteFrontier]]:
        """The rooms of a crawl. Nothing is closed in order: after a clean stop the caller closes the frontier."""
        files, clock, root = DiskFiles(), self._clock, self._folder
        async with Database(root / "state.db", clock, silent) as database:
            await database._on_thread(lambda: database._opened().execute("PRAGMA synchronous=OFF"))
            volumes = Volumes(files, root / "archive", clock, silent)
            recovered = volumes.open(await acknowledged(database))
            await adopt(database, files, root / "archive", silent)
            spool = SpoolWriter(files, root / "spool", silent)
            spool.open(recovered.last_volume)
            frontier = self._frontier(database)
            await frontier.open()
            await frontier.offer([Offer(seed, How.SEED) for seed in self._web.seeds()])
            rooms = Rooms(
                frontier=Watched(self._kind.broken(frontier), self._books),
                fetch=self._web.fetch,
                read=self._read,
                writer=VolumeWriter(volumes, spool),
                clock=clock,
                measures=Measures(seeded(self._seed), Retry(), RobotsKeeping()),
                tell=silent,
                lag_s=lambda: 0.0,
                has_room=lambda: True,
                agent="Gossamer",
                pace=Pace(at_once=self._rng.choice((2, 8, 64))),
            )
            try:
                yield Crawl(rooms), frontier
            finally:
                volumes._close_tail()  # a killed process closes its files, and writes nothing more
                spool._close_tail()

    def _frontier(self, database: Database) -> SqliteFrontier:
        return SqliteFrontier(
            database,
            FrontierRules(
                Politeness(delay_s=self._kind.kept_s, per_address=PER_ADDRESS, apart_s=APART_S),
                lambda _: True,
                resolve=self._resolve,
                chance=seeded(self._seed),
            ),
            self._clock,
            silent,
        )

    async def _read(self, parts: Sequence[bytes], admit: object = None, heavy: bool = False) -> WorkerAnswer:
        payload = b"".join(parts)
        read_job = job_of(payload)
        if self._kind.reads or read_job.task != "read":
            return WorkerAnswer(job(payload), 0.0)
        stored = done(msgspec.structs.replace(read_job, task="store"))
        links = tuple(self._web.links_of(read_job.capture.url))
        return WorkerAnswer(msgspec.msgpack.encode(msgspec.structs.replace(stored, is_page=True, links=links)), 0.0)

    async def _resolve(self, hostname: str) -> str | None:
        """As slow as name servers are, and sometimes without an answer, except for the shared IP address."""
        await asyncio.sleep(self._rng.choice((0.0, 0.01, 0.2)))
        address = self._web.hosts[hostname].address
        return address if address == SHARED or self._rng.random() < 0.9 else None

    def _verify(self) -> None:
        """Nothing is queued, nothing was lost, and every page that exists was fetched."""
        with read_only(self._folder / "state.db") as state:
            ends = dict(every_end(state))
            counts = tallies.counts(state)
        if counts.queued or counts.leased or counts.known != counts.settled or len(ends) != counts.known:
            raise GuaranteeBroken(f"URLs are queued at the end: {counts}")
        wanted = {seed.text for seed in self._web.seeds()}
        for text, reason in ends.items():
            wanted |= self._leads_to(Url(text), Reason(reason))
        if lost := sorted(wanted - ends.keys()):
            raise GuaranteeBroken(f"{len(lost)} URLs were lost, including {lost[0]}")
        if strange := sorted(ends.keys() - wanted):
            raise GuaranteeBroken(f"{strange[0]} is known, but no page links to it")
        for text, reason in ends.items():
            self._check_end(Url(text), Reason(reason))

    def _leads_to(self, url: Url, reason: Reason) -> set[str]:
        if reason is Reason.FETCHED:
            return set(self._web.links_of(url))
        return {self._web.target_of(url).text} if reason is Reason.MOVED else set()

    def _check_end(self, url: Url, reason: Reason) -> None:
        host = self._web.hosts[url.host.name]
        if reason is Reason.FETCHED and url.text not in self._books.fetched:
            raise GuaranteeBroken(f"{url} is recorded as fetched, but was not")
        if not host.is_calm or host.answer_s >= 10:
            return
        first = url.path.split("/")[1]
        expected = {"p": {Reason.FETCHED}, "gone": {Reason.GONE}, "moved": {Reason.MOVED}, "private": {Reason.ROBOTS}}[
            first
        ]
        if first == "private" and host.robots in ("missing", "open", "changes"):
            expected = expected | {Reason.FETCHED}
        if host.robots in ("moves", "wanders"):
            expected = expected | {Reason.ROBOTS_UNREACHABLE}  # the host it has moved to may fail
        if reason not in expected:
            raise GuaranteeBroken(f"{url} ended as {reason}, but should be {' or '.join(sorted(expected))}")


async def _kill(running: asyncio.Future[None]) -> None:
    """Kill the task and all that it has started."""
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
