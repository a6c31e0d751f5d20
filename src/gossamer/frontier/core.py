"""What both frontiers have in common, in SQLite and in PostgreSQL."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Self, TypeVar

import msgspec

from gossamer.base.clock import SECOND, Clock
from gossamer.base.tell import Tell
from gossamer.frontier.api import FrontierRules, KnownState
from gossamer.frontier.back_queues import Resolving
from gossamer.frontier.known import ended, failures_of, known
from gossamer.frontier.requeue import Again
from gossamer.frontier.seen import SeenTable
from gossamer.frontier.selection import damaged, recallable, revivable, scanned, scans
from gossamer.store import tallies
from gossamer.store.statements import State
from gossamer.values.history import Reschedule
from gossamer.values.link import Offer
from gossamer.values.url import Url
from gossamer.values.visit import Counts, EndedGroup, Failure, Selection, Visit

T = TypeVar("T")
GLANCE = SECOND // 20
"""How soon to look again when only the end of leased visits can bring something."""


class FrontierCore(ABC):
    """Real ones: `SqliteFrontier` and `PostgresFrontier`. `frontier.api.Frontier` says what each method does."""

    def __init__(self, rules: FrontierRules, clock: Clock, tell: Tell) -> None:
        self._rules = rules
        self._clock = clock
        self._tell = tell
        self._seen = SeenTable(rules.seen_slots)
        self._resolving = Resolving(rules.resolve) if rules.resolve is not None else None

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @abstractmethod
    async def open(self) -> None: ...

    @abstractmethod
    async def close(self) -> None: ...

    @abstractmethod
    async def _read(self, work: Callable[[State], T]) -> T:
        """`work` on one consistent state, in the shape of state.db; it must not write."""

    @abstractmethod
    async def _take(self, at_most: int) -> list[Visit]: ...

    @abstractmethod
    async def _queue_again(self, find: Callable[[State], Again]) -> tuple[int, tuple[int, ...] | None]:
        """Queue what `find` finds, in one transaction; returns how many are newly queued or due earlier, and where to
        continue."""

    @abstractmethod
    async def _reschedule(self, changes: Sequence[Reschedule]) -> int: ...

    async def take(self, at_most: int) -> list[Visit]:
        if at_most < 1:
            return []
        visits = await self._take(at_most)
        if visits:
            self._tell("frontier.taken", visits=len(visits))
        return visits

    async def revive(self, seeds: Sequence[Url]) -> int:
        return (await self._queue_again(lambda state: revivable(state, seeds, self._rules.keys)))[0]

    async def recall(self) -> int:
        return (await self._queue_again(recallable))[0]

    async def refetch(self, urls: Sequence[Url]) -> int:
        return (await self._queue_again(lambda state: damaged(state, urls, self._rules.keys)))[0]

    async def requeue(self, selection: Selection) -> int:
        amount = 0
        for scan in await self._read(lambda state: scans(state, selection)):
            after: tuple[int, ...] | None = scan.start
            while after is not None:
                find = partial(scanned, selection=selection, scan=scan, after=after, keys=self._rules.keys)
                moved, after = await self._queue_again(find)
                amount += moved
        return amount

    async def reschedule(self, changes: Sequence[Reschedule]) -> int:
        if not changes:
            return 0
        moved = await self._reschedule(changes)
        self._tell("frontier.rescheduled", visits=moved)
        return moved

    async def ended(self, selection: Selection) -> list[EndedGroup]:
        return await self._read(lambda state: ended(state, selection, self._rules.keys))

    async def failures(self, url: Url) -> list[Failure]:
        return await self._read(lambda state: failures_of(state, url, self._rules.keys))

    async def known(self, url: Url) -> KnownState | None:
        return await self._read(lambda state: known(state, url, self._rules.keys))

    async def counts(self) -> Counts:
        return await self._read(tallies.counts)

    def set_rules(self, may_enter: Callable[[Offer], bool], nudge: Callable[[Offer], int] | None = None) -> None:
        self._rules = msgspec.structs.replace(self._rules, may_enter=may_enter, nudge=nudge)
        self._seen = SeenTable(self._rules.seen_slots)
