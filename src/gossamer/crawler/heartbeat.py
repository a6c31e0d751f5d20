"""The crawler's heartbeat: what it reports to the monitor, and what it reads of the indexer's."""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import msgspec

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.environment import Outside
from gossamer.base.errors import DiskFull
from gossamer.base.tasks import background
from gossamer.crawler.process import Crawling
from gossamer.frontier.api import Awaited
from gossamer.monitor.pulse import ProcessReport, Pulse, ThisMachine
from gossamer.store.directory import Directory
from gossamer.values.format import lasting
from gossamer.values.outcome import GROUP_OF, IN_WORDS, Reason, in_group
from gossamer.values.visit import Counts, VisitKind

T = TypeVar("T")
READER = "reader"
LOOK_S = 0.25
IDLE_S = 2.0
"""A crawl with nothing to do for so long reports what it waits for."""
ROBOTS_READ = {Reason.FETCHED, Reason.UNCHANGED, Reason.MOVED, Reason.GONE, Reason.CLIENT_ERROR}
"""Outcomes of a fetch of robots.txt after which its host may be crawled."""
FAILURES = ("failed", "unread")
"""Groups of outcomes that count as a failure."""
WINDOW_S = 10.0
MINUTE_S = 60.0


@dataclass(slots=True)
class Tally:
    clock: Clock
    started: float = 0.0
    counts: Counts = field(default_factory=Counts)
    """Of the whole collection, as `gossamer status` shows them; read once a second."""
    fetched: int = 0
    """Pages fetched in this run, including revisits."""
    facts: int = 0
    """In those pages."""
    size: int = 0
    visits: int = 0
    failures: int = 0
    """Failed fetches of this run; a URL that fails three times counts three times."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Outcomes of the fetches of this run, without robots.txt files."""
    troubles: dict[str, Reason] = field(default_factory=dict)
    """Each robots.txt that could not be read, and why."""
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=20_000))
    lag_s: float = 0.0
    """How far the index is behind."""
    facts_lag_s: float = 0.0
    rests_s: float = 0.0
    """How long no host may be contacted."""
    found_damage: bool = False
    """Damage was found in the archive."""
    waits: str = ""
    """What the crawl waits for meanwhile, in words."""
    notice: str = ""
    last_url: str = ""
    _past: deque[tuple[float, int, int]] = field(default_factory=deque)
    """Time, bytes and failures so far, of the last minute."""

    def __post_init__(self) -> None:
        self.started = self.clock.elapsed_s()

    def settled(self, facts: dict[str, object]) -> None:
        self.visits += 1
        reason = Reason(str(facts["outcome"]))
        self.size += int(str(facts["size"]))
        self.last_url = str(facts["url"])
        self.notice = ""
        if facts["kind"] == VisitKind.ROBOTS:
            if reason not in ROBOTS_READ:
                self.troubles[self.last_url] = reason
            else:
                self.troubles.pop(self.last_url, None)
            return
        self.reasons[reason] += 1
        self.failures += GROUP_OF[reason] in FAILURES
        if facts["is_page"]:
            self.fetched += 1
            self.facts += int(str(facts["facts"]))
            self.recent.append(self.clock.elapsed_s())

    def counted(self, counts: Counts, lag_s: float, rests_s: float = 0.0, facts_lag_s: float = 0.0) -> None:
        self.counts, self.lag_s, self.rests_s, self.facts_lag_s = counts, lag_s, rests_s, facts_lag_s

    @property
    def pages(self) -> int:
        """Of the collection (docs/glossary.md)."""
        return self.counts.pages

    @property
    def queued(self) -> int:
        return self.counts.queued

    @property
    def failed(self) -> int:
        """URLs whose last fetch failed."""
        return sum(in_group(group, self.counts.by_reason) for group in FAILURES)

    @property
    def refused(self) -> int:
        """URLs that a rule refuses."""
        return in_group("refused", self.counts.by_reason)

    @property
    def missing(self) -> int:
        """URLs where there is no page."""
        return in_group("missing", self.counts.by_reason)

    def rate(self) -> float:
        """Pages a second over the last ten seconds."""
        now = self.clock.elapsed_s()
        while self.recent and now - self.recent[0] > WINDOW_S:
            self.recent.popleft()
        return len(self.recent) / max(0.5, min(WINDOW_S, now - self.started))

    def figures(self) -> dict[str, float]:
        """For the monitor; called about once a second."""
        now, errors = self.clock.elapsed_s(), self.failures
        self._past.append((now, self.size, errors))
        while now - self._past[0][0] > MINUTE_S:
            self._past.popleft()
        recent = next(one for one in self._past if now - one[0] <= WINDOW_S)
        return {
            "pages": self.fetched,
            "pages_s": round(self.rate(), 1),
            "bytes": self.size,
            "bytes_s": round((self.size - recent[1]) / max(1.0, now - recent[0])),
            "visits": self.visits,
            "errors": errors,
            "errors_min": errors - self._past[0][2],
        }

    def elapsed_s(self) -> float:
        return self.clock.elapsed_s() - self.started


def trouble_in_words(url: str, reason: Reason) -> str:
    return f"{url} could not be read ({reason}: {IN_WORDS[reason]}); nothing on its host is fetched before it can be"


def crawler_pulse(crawling: Crawling, directory: Directory, outside: Outside) -> Pulse:
    pid, machine = outside.processes.own_pid(), ThisMachine(directory.root)
    return Pulse("crawler", pid, crawling.control, machine, outside.clock, READER)


async def note_index_positions(crawling: Crawling) -> None:
    """Note how far the views are: the crawl waits for the index."""
    if crawling.cluster is not None:
        return
    for beat in await asyncio.to_thread(crawling.control.beats):
        if beat.name == "indexer" and isinstance(positions := beat.facts.get("positions"), dict):
            if crawling.words.passed(*positions["words"]):
                crawling.crawl.wake()
            crawling.facts.passed(*positions["facts"])


class _Counted(NamedTuple):
    in_flight: int = 0
    rests_s: float = 0.0
    awaited: Awaited | None = None
    has_room: bool = True
    """False: on a full disk even counting fails."""


async def unless_suspended(work: Awaitable[T], crawling: Crawling) -> T | None:
    """While the database of the frontier is away its calls wait without end: then `work` is given up, and this is
    None. What needs no database is done."""
    async with background(work) as task:
        while not (await asyncio.wait([task], timeout=LOOK_S))[0]:
            if crawling.database.trouble:
                return None
        return task.result()


async def crawl_report(crawling: Crawling, tally: Tally, outside: Outside) -> ProcessReport:
    """Counted once a second; `tally` is updated too. On a full disk, and while the database is away, the last figures
    are repeated."""
    counted = await unless_suspended(_count(crawling, tally, outside), crawling) or _Counted()
    is_paused, trouble = crawling.steering.is_paused(), crawling.database.trouble or crawling.crawl.waits_for_storage
    words_lag_s, facts_lag_s = lags_s(crawling)
    figures = tally.figures() | {
        "queued": tally.queued,
        "in_flight": counted.in_flight,
        "words_lag_s": round(words_lag_s, 1),
        "facts_lag_s": round(facts_lag_s, 1),
        "jobs_waiting": crawling.readers.waiting,
        "rests_s": round(counted.rests_s, 1),
    }
    low_disk = crawling.crawl.waits_for_room or not counted.has_room
    facts: dict[str, object] = {
        "pages": tally.pages,
        "rate": figures["pages_s"],
        "queued": tally.queued,
        "failed": tally.failed,
        "lag_s": figures["words_lag_s"],
        "paused": is_paused,
        "low_disk": low_disk,
    }
    if trouble:
        facts["waits"] = {"says": f"suspended: {trouble}"}
        return ProcessReport(figures, "suspended", facts)
    if crawling.cluster is not None and crawling.cluster.says and not is_paused:
        tally.waits = crawling.cluster.says
        facts["waits"] = {"says": tally.waits}
        return ProcessReport(figures, "", facts)
    if counted.awaited is not None and not is_paused:
        facts["waits"] = {"says": tally.waits, **msgspec.to_builtins(counted.awaited)}
    return ProcessReport(figures, "paused" if is_paused else "waiting-for-disk-space" if low_disk else "", facts)


def lags_s(crawling: Crawling) -> tuple[float, float]:
    """How far words and facts are behind."""
    if (cluster := crawling.cluster) is not None:
        return cluster.lag_s("words"), cluster.lag_s("facts")
    return crawling.words.lag_s(), crawling.facts.lag_s()


async def _count(crawling: Crawling, tally: Tally, outside: Outside) -> _Counted:
    try:
        counts = await crawling.frontier.counts()
        next_at = None if counts.leased else await crawling.frontier.next_at()
        rests_s = 0.0 if next_at is None else _until_s(next_at, outside)
        awaited = await crawling.frontier.awaited() if rests_s >= IDLE_S else None
    except DiskFull:
        return _Counted(has_room=False)
    tally.waits = awaited_in_words(awaited, _until_s(awaited.until_at, outside)) if awaited is not None else ""
    if crawling.cluster is not None:
        crawling.crawl.note_pages(counts.pages)
    words_lag_s, facts_lag_s = lags_s(crawling)
    tally.counted(counts, words_lag_s, rests_s, facts_lag_s)
    return _Counted(counts.leased, rests_s, awaited)


def _until_s(at: Instant, outside: Outside) -> float:
    """In real time, also where a demonstration has short days."""
    return outside.lasting_s(max(0.0, (at - outside.dates.now()) / SECOND))


def awaited_in_words(awaited: Awaited, for_s: float) -> str:
    """What a crawl with nothing to do waits for, in one sentence."""
    url, time = awaited.url, lasting(for_s)
    why = f": {awaited.why}" if awaited.why else ""
    match awaited.what:
        case "retry":
            return f"waiting {time} to retry {url}{why}"
        case "robots":
            return f"waiting {time} to request {url} again{why}"
        case "revisit":
            return f"waiting {time} to revisit {url}: nothing is due before"
        case "back-off":
            return f"waiting {time} to fetch {url}: its host failed recently and gets a longer gap"
        case "gap":
            return f"waiting {time} to fetch {url}: minimum gap of its host"
