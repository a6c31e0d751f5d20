"""Front queues: which hosts get a back queue next. They stand on disk, in bands; a band is drawn by lot.

A host is resolved before it gets a back queue, because hosts on one network address share its limits. Resolving
goes on beside everything else: a host whose address is not known yet is passed over and comes next time.
"""

import asyncio
import sqlite3
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from gossamer.base.chance import Chance
from gossamer.base.clock import Instant
from gossamer.base.tasks import begin
from gossamer.frontier.back_queues import NEVER, PER_FETCH, Backs
from gossamer.frontier.priority import BANDS, pick_band
from gossamer.frontier.sqlite.hosts import text_of
from gossamer.frontier.sqlite.leases import Lease, Leasing
from gossamer.store.statements import load
from gossamer.values.url import Url

_SQL = load("gossamer.frontier.sqlite")
Resolve = Callable[[str], Awaitable[str | None]]
MOST_RESOLVING = 256
"""Hosts resolved at one time."""
MOST_RESOLVED = 4096
"""Answers kept for hosts that have not got their back queue yet."""


class Chosen(NamedTuple):
    host_id: int
    name: str
    ready_at: Instant
    band: int


def choose(connection: sqlite3.Connection, now: Instant, at_most: int, chance: Chance) -> list[Chosen]:
    """Hosts that may be touched, in the order in which they get their back queues. Nothing is changed."""
    bands: dict[int, deque[Chosen]] = {}
    for band in range(BANDS):
        rows = connection.execute(_SQL["front_ready"], (band, now, at_most)).fetchall()
        if rows:
            bands[band] = deque(Chosen(host_id, name, ready_at, band) for host_id, name, ready_at in rows)
    if len(bands) == 1:
        return list(bands.popitem()[1])
    chosen: list[Chosen] = []
    while bands and len(chosen) < at_most:
        band = pick_band(list(bands), chance.random())
        chosen.append(bands[band].popleft())
        if not bands[band]:
            del bands[band]
    return chosen


def first_at(connection: sqlite3.Connection) -> Instant | None:
    """The earliest instant at which `choose` may find something."""
    (at,) = connection.execute(_SQL["front_first"]).fetchone()
    return None if at is None else int(at)


def hostname_of(name: str) -> str:
    """A host's name without its port."""
    return Url(text_of(0, name, "")).hostname


class Resolving:
    """Addresses of hosts that are to get back queues: asked for on the event loop, used on the database's thread."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._under_way: dict[str, asyncio.Future[None]] = {}
        self._answers: dict[str, str | None] = {}
        self._trouble: BaseException | None = None

    def is_known(self, name: str) -> bool:
        return name in self._answers

    def take(self, name: str) -> str | None:
        """The address of a host that gets its back queue now. REQUIRES: it is known."""
        return self._answers.pop(name)

    def busy(self) -> int:
        """How many hosts are being resolved."""
        return len(self._under_way)

    def ask(self, names: list[str]) -> None:
        """On the event loop: begin to resolve hosts, unless that is under way. Raises what one of them has raised."""
        if self._trouble is not None:
            raise self._trouble
        for name in names[:MOST_RESOLVING]:
            if len(self._under_way) >= MOST_RESOLVING:
                break
            if name not in self._under_way and name not in self._answers:
                self._under_way[name] = begin(self._answer(name), self._ended)

    async def _answer(self, name: str) -> None:
        try:
            found = await self._resolve(hostname_of(name))
            if len(self._answers) >= MOST_RESOLVED:
                self._answers.clear()  # they are asked for again when their turn comes
            self._answers[name] = found
        finally:
            self._under_way.pop(name, None)

    def _ended(self, task: "asyncio.Future[None]") -> None:
        if not task.cancelled() and task.exception() is not None:
            self._trouble = task.exception()

    async def close(self) -> None:
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


# Who is visited now: hosts come from the front queues into back queues, and visits are taken there.

MOST_BACKS = 1 << 16
"""Back queues at most, however many fetches there are."""
ENTERING = 64
"""Hosts that get a back queue together."""


@dataclass(slots=True)
class Backing:
    """The back queues in memory, and what is known of the front. Used on the database's thread alone.

    Memory runs ahead of the disk inside a transaction. If that fails, `mend` gives all back queues up but those of
    hosts on lease: the next transaction begins with it.
    """

    backs: Backs
    chance: Chance
    resolving: Resolving | None = None
    front_at: Instant | None = None
    """Nothing is to be had in the front before; None: not known."""
    wanted: list[str] = field(default_factory=list)
    """Hosts that are to be resolved."""
    is_torn: bool = False

    def mend(self, connection: sqlite3.Connection, leased: set[int]) -> None:
        if self.is_torn:
            self.backs.keep_only(leased)
            connection.execute(_SQL["backs_dissolved"])
            self.front_at = None
        self.is_torn = True

    def whole(self) -> None:
        """The transaction is on disk."""
        self.is_torn = False

    def lease(
        self, connection: sqlite3.Connection, leasing: Leasing, at_most: int, out: int, now: Instant
    ) -> list[Lease]:
        """Up to so many visits, while `out` are under way. Hosts get back queues as they are needed."""
        leases: list[Lease] = []
        may_enter = max(ENTERING, 2 * at_most)
        while True:
            if host_ids := self.backs.ready(now, at_most - len(leases)):
                looked = leasing.look(host_ids)
                for lease in looked.leases:
                    self.backs.leased(lease.host.id)
                for host_id in looked.left:
                    self.backs.leave(host_id)
                    self.front_at = None
                leases += looked.leases
            missing = at_most - len(leases)
            room = max(missing, PER_FETCH * (at_most + out) - len(self.backs))
            entered = self._enter(connection, min(room, ENTERING, may_enter), now)
            may_enter -= entered
            if not missing or not (entered or host_ids):
                return leases

    def _enter(self, connection: sqlite3.Connection, at_most: int, now: Instant) -> int:
        """Give back queues to hosts of the front; says to how many. Those not resolved yet are asked for."""
        if at_most < 1 or len(self.backs) >= MOST_BACKS or (self.front_at is not None and self.front_at > now):
            return 0
        resolving = self.resolving
        busy = resolving.busy() if resolving is not None else 0
        chosen = choose(connection, now, at_most + busy, self.chance)
        if not chosen:
            found = first_at(connection)
            self.front_at = NEVER if found is None else found
        entered = []
        for host in chosen:
            address = None
            if resolving is not None:
                if not resolving.is_known(host.name):
                    self.wanted.append(host.name)
                    continue
                address = resolving.take(host.name)
            self.backs.enter(host.host_id, host.ready_at, address, host.band)
            entered.append((host.host_id,))
        connection.executemany(_SQL["host_entered"], entered)
        return len(entered)

    def stays(self, host_id: int, now: Instant) -> bool:
        """Whether a host whose visit is over keeps its back queue: its turn ends while others wait."""
        if host_id not in self.backs:
            return False
        others_wait = self.front_at is None or self.front_at <= now
        return not (others_wait and self.backs.is_turn_over(host_id))

    def next_at(self, connection: sqlite3.Connection) -> Instant | None:
        """The earliest instant at which `lease` may find something."""
        if self.front_at is None:
            found = first_at(connection)
            self.front_at = NEVER if found is None else found
        in_front = self.front_at if len(self.backs) < MOST_BACKS else NEVER
        in_back = self.backs.next_at()
        earliest = in_front if in_back is None else min(in_front, in_back)
        return None if earliest == NEVER else earliest
