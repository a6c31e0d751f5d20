"""Samples of the freshness of a collection.

Also the task that writes them to its chronicle during a crawl.

Taking one only reads, through any connection to the state. Of very many pages it takes a random part, chosen by their
ids, which are hashes: it needs about a second of CPU however large the collection is.
"""

import asyncio
import sqlite3
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field

import msgspec

from gossamer.base.clock import DAY_S, SECOND, Instant
from gossamer.base.environment import Outside
from gossamer.base.errors import GossamerError
from gossamer.base.tasks import background
from gossamer.base.tell import Tell
from gossamer.monitor import chronicle
from gossamer.monitor.chronicle import SITES_NOW, Chronicle, FreshnessSample, Visits, site_sample
from gossamer.recrawl.freshness import Freshness, HeldCopy, Sums, first_days, in_short, prior_from, summed, together
from gossamer.store import tallies
from gossamer.store.directory import Directory
from gossamer.store.state import is_cluster, open_state
from gossamer.store.statements import State, load
from gossamer.values.history import Past, decoded

DAY = DAY_S * SECOND
ENOUGH = 10_000
"""Pages in a sample, about."""
LEADS = 0.5
"""New pages that a page's recent fetches led to, from which it counts as a hub."""
AT_ONCE = 1_000
OVERLAP: Instant = 3600 * SECOND
"""What was fetched so shortly before the last sample may not have been settled by then."""
_LOWEST = -(1 << 63)
_SQL = load("gossamer.monitor", "samples.sql")
Connect = Callable[[], State]


class _Site(msgspec.Struct):
    copies: list[HeldCopy] = []
    gone: int = 0
    overdue: int = 0
    hubs: int = 0


def take_sample(
    connect: Connect, now: Instant, visits: Visits, enough: int = ENOUGH, most_sites: int = SITES_NOW
) -> FreshnessSample | None:
    """None if no page is revisited. `most_sites`: so many are reported; what the same number of fetches could achieve
    takes longer to compute for each of them than all the rest."""
    step = step_for(connect, enough)
    sites: dict[str, _Site] = defaultdict(_Site)
    for name, past in page_histories(connect, step):
        site = sites[name]
        if past.gone:
            site.gone += step
        elif past.is_page:
            held = HeldCopy(past.known, (now - past.visited_at) / DAY, (past.due_at - past.visited_at) / DAY)
            site.copies.append(held)
            site.overdue += step * (past.due_at < now)
            site.hubs += step * (past.new_pages >= LEADS)
    every = [copy for site in sites.values() for copy in site.copies]
    if not every:
        return None
    prior, first = prior_from(every), first_days(every)
    sums = {name: summed(site.copies, prior, first) for name, site in sites.items() if site.copies}
    worst = sorted(sums, key=lambda name: -sums[name].age)[:most_sites]
    return FreshnessSample(
        at=now,
        all=scaled(together(list(sums.values())), step),
        gone=sum(site.gone for site in sites.values()),
        overdue=sum(site.overdue for site in sites.values()),
        hubs=sum(site.hubs for site in sites.values()),
        estimated_from=len(every),
        visits=visits,
        sites=tuple(
            [site_sample(name, scaled(sums[name], step), sites[name].gone, sites[name].overdue) for name in worst]
        ),
        site_count=len(sums),
    )


def step_for(connect: Connect, enough: int) -> int:
    """One of so many pages is in the sample: a power of two."""
    with closing(connect()) as connection:
        (amount,) = connection.execute(_SQL["amount"]).fetchone()
    step = 1
    while amount > enough * step:
        step *= 2
    return step


def page_histories(connect: Connect, step: int) -> Iterator[tuple[str, Past]]:
    """Each with the name of its host. The connection is closed after each batch, so that it blocks no checkpoint."""
    last, is_more = (_LOWEST, _LOWEST), True
    while is_more:
        with closing(connect()) as connection:
            rows = connection.execute(_SQL["next_pasts"], (*last, step - 1, AT_ONCE)).fetchall()
        for host_id, number, name, kept in rows:
            last = (host_id, number)
            if (past := decoded(kept)) is not None:
                yield name, past
        is_more = len(rows) == AT_ONCE


def scaled(sums: Sums, step: int) -> Freshness:
    """That of all pages, from one in `step`. REQUIRES: there is a page."""
    found = in_short(sums)
    assert found is not None
    return msgspec.structs.replace(found, pages=found.pages * step, visits_a_day=found.visits_a_day * step)


def newest_place(connection: State) -> tuple[str, int]:
    """The last catalogued capture; a place before all others if there is none."""
    row = connection.execute(_SQL["newest"]).fetchone()
    return (str(row[0]), int(row[1])) if row is not None else ("", -1)


def visits_since(connection: State, volume: str, number: int, since_at: Instant) -> Visits:
    """From the captures after that place. Volumes rewritten meanwhile have older captures there too: what was fetched
    well before `since_at` is not counted again."""
    values = {"volume": volume, "number": number, "since_at": max(0, since_at - OVERLAP)}
    return Visits(*connection.execute(_SQL["visits"], values).fetchone())


SOON_S, EVERY_S = 5.0, 600.0
PART = 20
"""The time between two samples is this part of the time that the crawl has run, within these bounds."""
SHARE = 50
"""At most this part of the time is spent on taking samples: a very large collection is sampled less often."""
_MAY_PASS = (OSError, sqlite3.Error, GossamerError)


@dataclass(slots=True)
class ChronicleWriter:
    """One for a crawl. REQUIRES: the directory's lock is held, or it is a cluster's. Threads take turns.

    The crawlers of a cluster write one chronicle: each reads it again before it adds something, and adds nothing soon
    after another did. When two write at once, one sample is lost, and nothing else."""

    directory: Directory
    outside: Outside
    revisits: bool
    tell: Tell
    _chronicle: Chronicle = field(default_factory=Chronicle)
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _is_over: bool = False

    def begin(self) -> None:
        self._load()
        now, last = self.outside.dates.now(), self._chronicle.runs[-1:]
        is_running = last and not last[0].is_over and now - last[0].heard_at < 2 * EVERY_S * SECOND
        if not (self._is_shared and is_running):
            self._chronicle = self._chronicle.with_run(now, self.revisits)
            self._write()

    def add_sample(self, is_over: bool = False, apart_s: float = 0.0) -> None:
        """A full disk or a busy database costs this sample, and nothing else. `apart_s`: nothing is added so soon after
        another crawler of a cluster did."""
        with self._turn:
            if self._is_over:
                return
            self._is_over = is_over
            try:
                if self._is_shared:
                    self._load()
                    if not self._chronicle.runs:
                        self._chronicle = self._chronicle.with_run(self.outside.dates.now(), self.revisits)
                    elif self.outside.dates.now() - self._chronicle.runs[-1].heard_at < apart_s * SECOND:
                        return
                self._chronicle = self._updated(is_over)
            except _MAY_PASS as trouble:
                self.tell("chronicle.unkept", why=str(trouble))
                return
            self._write()

    @property
    def _is_shared(self) -> bool:
        return is_cluster(self.directory)

    def _load(self) -> None:
        try:
            self._chronicle = chronicle.load(self.outside.files, self.directory.root)
        except (OSError, ValueError, GossamerError) as trouble:
            self.tell("chronicle.unreadable", why=str(trouble))

    def _updated(self, is_over: bool) -> Chronicle:
        now = self.outside.dates.now()
        with closing(self._connect()) as state:
            pages = tallies.counts(state).pages
        found = self._chronicle.with_heartbeat(now, pages, is_over)
        if not self.revisits:
            return found
        visits, (volume, number) = self._visits()
        sample = take_sample(self._connect, now, visits)
        return found if sample is None else found.with_sample(sample, volume, number)

    def _visits(self) -> tuple[Visits, tuple[str, int]]:
        """Since the last sample; if there is none, since the first capture."""
        known = self._chronicle
        since_at = known.samples[-1].at if known.samples else 0
        with closing(self._connect()) as state:
            return visits_since(state, known.volume, known.number, since_at), newest_place(state)

    def _connect(self) -> State:
        return open_state(self.directory)

    def _write(self) -> None:
        try:
            chronicle.write(self.outside.files, self.directory.root, self._chronicle)
        except (OSError, GossamerError) as trouble:
            self.tell("chronicle.unkept", why=str(trouble))
            return
        self.tell("chronicle.kept", samples=len(self._chronicle.samples), runs=len(self._chronicle.runs))


@asynccontextmanager
async def chronicling(directory: Directory, outside: Outside, revisits: bool, tell: Tell) -> AsyncIterator[None]:
    """While the block runs, the chronicle is written from time to time, and once more at the end."""
    writer = ChronicleWriter(directory, outside, revisits, tell)
    await asyncio.to_thread(writer.begin)
    try:
        async with background(_write_regularly(writer, outside)):
            yield
    finally:
        await asyncio.to_thread(writer.add_sample, True)


async def _write_regularly(writer: ChronicleWriter, outside: Outside) -> None:
    began_s, took_s = outside.clock.elapsed_s(), 0.0
    while True:
        ran_s = outside.clock.elapsed_s() - began_s
        wait_s = max(min(max(ran_s / PART, SOON_S), EVERY_S), SHARE * took_s)
        await outside.clock.sleep(wait_s)
        started_s = outside.clock.elapsed_s()
        await asyncio.to_thread(writer.add_sample, apart_s=wait_s / 2)
        took_s = outside.clock.elapsed_s() - started_s


def current_sample(
    directory: Directory, outside: Outside, enough: int = 20 * ENOUGH, sites: int = 200
) -> FreshnessSample | None:
    """With the visits since the last recorded sample, whether or not a crawl runs. None if no page is revisited."""
    known = chronicle.read(outside.files, directory.root)
    with closing(open_state(directory)) as state:
        since_at = known.samples[-1].at if known.samples else 0
        visits = visits_since(state, known.volume, known.number, since_at)
    return take_sample(lambda: open_state(directory), outside.dates.now(), visits, enough, sites)
