"""How a collection stands at a moment: its pages' ages, estimated, and what visits found since the last look.

It only reads, through any connection to the state. Where there are very many pages a part of them is looked at, chosen
by their ids, which are hashes: a look takes a second or so of computing however large the collection is.
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
from gossamer.monitor.chronicle import SITES_NOW, Chronicle, FreshnessSample, SiteSample, Visits
from gossamer.recrawl.freshness import Freshness, HeldCopy, Sums, first_days, in_short, prior_from, summed, together
from gossamer.store import tallies
from gossamer.store.directory import Directory
from gossamer.store.state import open_state
from gossamer.store.statements import State, load
from gossamer.values.history import Past, decoded

DAY = DAY_S * SECOND
ENOUGH = 10_000
"""Pages that are looked at, about."""
LEADS = 0.5
"""New pages that a page's visits led to of late, from which it counts as a hub."""
AT_ONCE = 1_000
OVERLAP: Instant = 3600 * SECOND
"""What was fetched so long before the last sample may not have been settled by then."""
_LOWEST = -(1 << 63)
_SQL = load("gossamer.monitor", "samples.sql")
Connect = Callable[[], State]


class _Site(msgspec.Struct):
    copies: list[HeldCopy] = []
    gone: int = 0
    overdue: int = 0
    hubs: int = 0


def sampled(
    connect: Connect, now: Instant, visits: Visits, enough: int = ENOUGH, most_sites: int = SITES_NOW
) -> FreshnessSample | None:
    """None where no page comes again. `most_sites`: so many are told of; what as many visits could lead to takes
    longer to work out for each than the rest."""
    step = step_for(connect, enough)
    sites: dict[str, _Site] = defaultdict(_Site)
    for name, past in pasts(connect, step):
        site = sites[name]
        if past.gone:
            site.gone += step
        elif past.is_page:
            site.copies.append(copy_of(past, now))
            site.overdue += step * (past.due_at < now)
            site.hubs += step * (past.new_pages >= LEADS)
    every = [copy for site in sites.values() for copy in site.copies]
    if not every:
        return None
    prior, first = prior_from(every), first_days(every)
    sums = {name: summed(site.copies, prior, first) for name, site in sites.items() if site.copies}
    whole = in_short(together(list(sums.values())))
    assert whole is not None, "there is a page"
    worst = sorted(sums, key=lambda name: -sums[name].age)[:most_sites]
    return FreshnessSample(
        at=now,
        all=grown(whole, step),
        gone=sum(site.gone for site in sites.values()),
        overdue=sum(site.overdue for site in sites.values()),
        hubs=sum(site.hubs for site in sites.values()),
        estimated_from=len(every),
        visits=visits,
        sites=tuple([site_sample(name, sums[name], sites[name], step) for name in worst]),
        site_count=len(sums),
    )


def step_for(connect: Connect, enough: int) -> int:
    """One page of so many is looked at: a power of two."""
    with closing(connect()) as connection:
        (amount,) = connection.execute(_SQL["amount"]).fetchone()
    step = 1
    while amount > enough * step:
        step *= 2
    return step


def pasts(connect: Connect, step: int) -> Iterator[tuple[str, Past]]:
    """With the name of its host. The connection is closed after each group: it keeps nobody from tidying up."""
    last, is_more = (_LOWEST, _LOWEST), True
    while is_more:
        with closing(connect()) as connection:
            rows = connection.execute(_SQL["next_pasts"], (*last, step - 1, AT_ONCE)).fetchall()
        for host_id, number, name, kept in rows:
            last = (host_id, number)
            if (past := decoded(kept)) is not None:
                yield name, past
        is_more = len(rows) == AT_ONCE


def copy_of(past: Past, now: Instant) -> HeldCopy:
    return HeldCopy(past.known, (now - past.visited_at) / DAY, (past.due_at - past.visited_at) / DAY)


def grown(found: Freshness, step: int) -> Freshness:
    """Of all pages, where one in `step` was looked at."""
    return msgspec.structs.replace(found, pages=found.pages * step, visits_a_day=found.visits_a_day * step)


def site_sample(name: str, sums: Sums, site: _Site, step: int) -> SiteSample:
    found = in_short(sums)
    assert found is not None, "it has a page"
    return SiteSample(
        site=name,
        pages=found.pages * step,
        age_days=found.average_age_days,
        freshness=found.freshness,
        planned_age_days=found.planned_age_days,
        possible_age_days=found.possible_age_days,
        visits_a_day=found.visits_a_day * step,
        gone=site.gone,
        overdue=site.overdue,
    )


def newest_place(connection: State) -> tuple[str, int]:
    """Up to where captures are catalogued; before all of them when there are none."""
    row = connection.execute(_SQL["newest"]).fetchone()
    return (str(row[0]), int(row[1])) if row is not None else ("", -1)


def visits_since(connection: State, volume: str, number: int, since_at: Instant) -> Visits:
    """What was captured behind that place. Volumes that were rewritten since hold older captures behind it too: what
    was fetched well before `since_at` is not counted again."""
    asked = {"volume": volume, "number": number, "since_at": max(0, since_at - OVERLAP)}
    return Visits(*connection.execute(_SQL["visits"], asked).fetchone())


SOON_S, EVERY_S = 5.0, 600.0
PART = 20
"""Of the time that a crawl has run, one part in so many passes between two samples, within these bounds."""
SHARE = 50
"""Of the time, one part in so many at most is spent on looking: a very large collection is looked at less often."""
_PASSING = (OSError, sqlite3.Error, GossamerError)


@dataclass(slots=True)
class Keeper:
    """One for a crawl. REQUIRES: the directory's lock is held. Threads take turns."""

    directory: Directory
    outside: Outside
    comes_back: bool
    tell: Tell
    _chronicle: Chronicle = field(default_factory=Chronicle)
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _is_over: bool = False

    def begin(self) -> None:
        try:
            self._chronicle = chronicle.opened(self.outside.files, self.directory.root)
        except (OSError, ValueError) as trouble:
            self.tell("chronicle.unreadable", why=str(trouble))
        self._chronicle = self._chronicle.begun(self.outside.dates.now(), self.comes_back)
        self._write()

    def look(self, is_over: bool = False) -> None:
        """A disk without room, or a busy database, costs this sample and nothing else."""
        with self._turn:
            if self._is_over:
                return
            self._is_over = is_over
            try:
                self._chronicle = self._looked(is_over)
            except _PASSING as trouble:
                self.tell("chronicle.unkept", why=str(trouble))
                return
            self._write()

    def _looked(self, is_over: bool) -> Chronicle:
        now = self.outside.dates.now()
        with closing(self._connect()) as state:
            pages = tallies.counts(state).pages
        found = self._chronicle.heard(now, pages, is_over)
        if not self.comes_back:
            return found
        visits, (volume, number) = self._visits()
        sample = sampled(self._connect, now, visits)
        return found if sample is None else found.with_sample(sample, volume, number)

    def _visits(self) -> tuple[Visits, tuple[str, int]]:
        """Since the last sample; with none, since the first capture."""
        known = self._chronicle
        since_at = known.samples[-1].at if known.samples else 0
        with closing(self._connect()) as state:
            return visits_since(state, known.volume, known.number, since_at), newest_place(state)

    def _connect(self) -> State:
        return open_state(self.directory)

    def _write(self) -> None:
        try:
            chronicle.write(self.outside.files, self.directory.root, self._chronicle)
        except OSError as trouble:
            self.tell("chronicle.unkept", why=str(trouble))
            return
        self.tell("chronicle.kept", samples=len(self._chronicle.samples), runs=len(self._chronicle.runs))


@asynccontextmanager
async def chronicling(directory: Directory, outside: Outside, comes_back: bool, tell: Tell) -> AsyncIterator[None]:
    """While it is open, the chronicle is written now and then, and once more at the end."""
    keeper = Keeper(directory, outside, comes_back, tell)
    await asyncio.to_thread(keeper.begin)
    try:
        async with background(_now_and_then(keeper, outside)):
            yield
    finally:
        await asyncio.to_thread(keeper.look, True)


async def _now_and_then(keeper: Keeper, outside: Outside) -> None:
    began_s, took_s = outside.clock.elapsed_s(), 0.0
    while True:
        ran_s = outside.clock.elapsed_s() - began_s
        await outside.clock.sleep(max(min(max(ran_s / PART, SOON_S), EVERY_S), SHARE * took_s))
        looked_s = outside.clock.elapsed_s()
        await asyncio.to_thread(keeper.look)
        took_s = outside.clock.elapsed_s() - looked_s


def standing_now(
    directory: Directory, outside: Outside, enough: int = 20 * ENOUGH, sites: int = 200
) -> FreshnessSample | None:
    """How the collection stands at this moment, whether or not anybody crawls it; with the visits since the last
    sample. None where no page comes again."""
    known = chronicle.read(outside.files, directory.root)
    with closing(open_state(directory)) as state:
        since_at = known.samples[-1].at if known.samples else 0
        visits = visits_since(state, known.volume, known.number, since_at)
    return sampled(lambda: open_state(directory), outside.dates.now(), visits, enough, sites)
