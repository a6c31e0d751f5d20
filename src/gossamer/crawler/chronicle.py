"""While a crawl runs, how the collection fares is written into its chronicle: often at first, then seldom."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field

from gossamer.base.environment import Outside
from gossamer.base.errors import GossamerError
from gossamer.base.tasks import background
from gossamer.base.tell import Tell
from gossamer.monitor import chronicle
from gossamer.monitor.chronicle import Chronicle, FreshnessSample, Visits
from gossamer.monitor.samples import ENOUGH, newest_place, sampled, visits_since
from gossamer.store import tallies
from gossamer.store.directory import Directory
from gossamer.store.state import open_state
from gossamer.store.statements import State

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
