"""The frontier in one SQLite database: the embedded default."""

import math
import sqlite3
from collections.abc import Callable, Sequence
from itertools import chain
from types import TracebackType
from typing import NamedTuple, Self

from gossamer.clock import SECOND, Clock, Instant
from gossamer.frontier.known import Known, known
from gossamer.frontier.leasing import Lease, Leasing
from gossamer.frontier.politeness import Politeness
from gossamer.frontier.reviving import revive
from gossamer.frontier.rulebook import Rulebook
from gossamer.frontier.seen import Seen
from gossamer.frontier.settling import Settling
from gossamer.frontier.sieve import Sieve, journal, journal_amount, merge
from gossamer.store import tallies
from gossamer.store.database import Database
from gossamer.store.statements import load
from gossamer.values.link import Offer
from gossamer.values.robots import RobotsState
from gossamer.values.tell import Tell
from gossamer.values.url import Url, id_of
from gossamer.values.visit import Counts, Settled, Visit, VisitKind

_SQL = load("gossamer.frontier")

GLANCE = SECOND // 20
"""How soon to look again when all there is to wait for is visits that are out."""


class _Taken(NamedTuple):
    leases: list[Lease]
    merged: int | None
    """New addresses, when the journal was merged."""
    at: Instant


class SqliteFrontier:
    """Everything it promises is on disk; what it holds in memory only saves looking there.

    That memory is touched on the database's thread alone, and changed only after a commit.
    """

    def __init__(
        self,
        database: Database,
        politeness: Politeness,
        clock: Clock,
        tell: Tell,
        may_enter: Callable[[Offer], bool],
        sieve: Sieve | None = None,
        url_id: Callable[[str], int] = id_of,
    ) -> None:
        """`may_enter` judges an offered address; it is pure, and asked only for addresses not met lately."""
        self._database = database
        self._politeness = politeness
        self._clock = clock
        self._tell = tell
        self._may_enter = may_enter
        self._sieve = sieve or Sieve()
        self._url_id = url_id
        self._seen = Seen(self._sieve.seen_slots)
        self._rulebook = Rulebook()
        self._leases: dict[str, Lease] = {}
        """By host name."""
        self._waiting = 0
        """Offers in the journal."""
        self._merged_at: Instant = 0

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, trouble: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Recover what the last run left: leases return to their queues, and every promise to a host is kept."""

        def recover(connection: sqlite3.Connection) -> tuple[bool, int]:
            was_clean = bool(_meta(connection, "clean", 1))
            now, latest_at = self._clock.now(), _meta(connection, "latest_at", 0)
            if latest_at > now:
                connection.execute(_SQL["hosts_shifted"], (latest_at - now,))
            if not was_clean:
                connection.execute(_SQL["hosts_rested"], (now, self._floor()))
                connection.execute(_SQL["leases_returned"])
                connection.execute(_SQL["leased_none"])
            connection.execute(_SQL["meta_set"], ("clean", 0))
            return was_clean, journal_amount(connection)

        was_clean, self._waiting = await self._database.run(recover)
        self._tell("frontier.opened", was_clean=was_clean)

    async def close(self) -> None:
        """Visits still out return to their queues; their hosts may just have been touched, and wait a full gap."""

        def leave(connection: sqlite3.Connection) -> None:
            now = self._clock.now()
            returned = [(now, self._floor(), lease.host_id) for lease in self._leases.values()]
            connection.executemany(_SQL["lease_returned"], returned)
            connection.execute(_SQL["leased_none"])
            connection.execute(_SQL["meta_set"], ("clean", 1))
            connection.execute(_SQL["meta_set"], ("latest_at", now))

        await self._database.run(leave, lambda _: self._leases.clear())
        self._tell("frontier.closed")

    async def offer(self, offers: Sequence[Offer]) -> int:
        def work(connection: sqlite3.Connection) -> tuple[int, int, set[int]]:
            fresh, met = self._seen.sift(offers, self._may_enter)
            journal(connection, fresh)
            return len(fresh), merge(connection, self._url_id), met

        def after(result: tuple[int, int, set[int]]) -> None:
            self._seen.remember(result[2])
            self._note_merge(self._clock.now())

        amount, new, _ = await self._database.run(work, after)
        self._tell("frontier.merged", new=new)
        return amount

    async def revive(self, seeds: Sequence[Url]) -> int:
        """At the start of a run: another chance for seeds that failed, and for hosts that were given up."""
        return await self._database.run(lambda connection: revive(connection, seeds))

    async def take(self, at_most: int) -> list[Visit]:
        def work(connection: sqlite3.Connection) -> _Taken:
            now = self._clock.now()
            merged = merge(connection, self._url_id) if self._waiting >= self._sieve.journal_most else None
            leasing = Leasing(connection, self._rulebook, self._politeness, now)
            leases = leasing.lease(at_most)
            if len(leases) < at_most and merged is None and self._merge_at(connection, now, bool(leases)) <= now:
                merged = merge(connection, self._url_id)
                leases += leasing.lease(at_most - len(leases))
            return _Taken(leases, merged, now)

        def after(taken: _Taken) -> None:
            if taken.merged is not None:
                self._note_merge(taken.at)
            self._leases.update((lease.visit.url.host.name, lease) for lease in taken.leases)

        if at_most < 1:
            return []
        taken = await self._database.run(work, after)
        if taken.merged is not None:
            self._tell("frontier.merged", new=taken.merged)
        if taken.leases:
            self._tell("frontier.taken", visits=len(taken.leases))
        return [lease.visit for lease in taken.leases]

    async def settle(self, done: Sequence[Settled]) -> None:
        def work(connection: sqlite3.Connection) -> tuple[int, set[int]]:
            pairs = [(settled, self._lease_of(settled)) for settled in done]
            if len({lease.host_id for _, lease in pairs}) < len(pairs):
                raise ValueError("a visit is settled twice")
            Settling(connection, self._rulebook, self._politeness).settle(pairs)
            offers = chain.from_iterable([settled.offers for settled in done])
            fresh, met = self._seen.sift(offers, self._may_enter)
            journal(connection, fresh)
            return len(fresh), met

        def after(result: tuple[int, set[int]]) -> None:
            fresh, met = result
            self._waiting += fresh
            self._seen.remember(met)
            for settled in done:
                lease = self._leases.pop(settled.visit.url.host.name)
                if settled.robots is not None:
                    self._rulebook.remember(lease.lane_host_id, lease.lane, settled.robots)

        if done:
            fresh, _ = await self._database.run(work, after)
            self._tell("frontier.settled", visits=len(done), offers=fresh)

    async def next_at(self) -> Instant | None:
        def look(connection: sqlite3.Connection) -> Instant | None:
            now = self._clock.now()
            wakes = [self._merge_at(connection, now, False)] if self._waiting else []
            (ready_at,) = connection.execute(_SQL["host_ready_first"]).fetchone()
            if ready_at is not None:
                wakes.append(ready_at)
            if not wakes and self._leases:
                wakes.append(now + GLANCE)
            return max(now, min(wakes)) if wakes else None

        return await self._database.read(look)

    async def counts(self) -> Counts:
        return await self._database.read(tallies.counts)

    async def known(self, url: Url) -> Known | None:
        """What is stored of an address."""
        return await self._database.read(lambda connection: known(connection, url, self._url_id))

    def _lease_of(self, settled: Settled) -> Lease:
        visit = settled.visit
        lease = self._leases.get(visit.url.host.name)
        if lease is None or lease.visit.url != visit.url or lease.visit.taken_at != visit.taken_at:
            raise ValueError(f"the visit to {visit.url} is not out: it was never taken, or is settled")
        if visit.kind is VisitKind.ROBOTS:
            robots = settled.robots
            if robots is None or (robots.state is RobotsState.PENDING and robots.ask is None):
                raise ValueError(f"the robots visit to {visit.url} is settled without a whole entry")
        return lease

    def _merge_at(self, connection: sqlite3.Connection, now: Instant, found_some: bool) -> Instant:
        """When the journal is to be merged: now and then, and at once when nothing else could be found."""
        if not self._waiting:
            return now + SECOND
        if not found_some and not self._leases:
            (ready_at,) = connection.execute(_SQL["host_ready_first"]).fetchone()
            if ready_at is None:
                return now
        return self._merged_at + math.ceil(self._sieve.merge_every_s * SECOND)

    def _note_merge(self, at: Instant) -> None:
        self._waiting = 0
        self._merged_at = at

    def _floor(self) -> int:
        return math.ceil(self._politeness.delay_s * SECOND)


def _meta(connection: sqlite3.Connection, name: str, default: int) -> int:
    row = connection.execute(_SQL["meta"], (name,)).fetchone()
    return int(row[0]) if row else default
