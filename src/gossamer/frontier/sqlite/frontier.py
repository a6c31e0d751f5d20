"""The frontier in one SQLite database: the embedded default."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.tell import Tell
from gossamer.frontier.api import Awaited, FrontierRules
from gossamer.frontier.back_queues import Backs
from gossamer.frontier.core import GLANCE, FrontierCore
from gossamer.frontier.known import known, offers_by_page, pasts_of
from gossamer.frontier.politeness import Steps, by_this_clock
from gossamer.frontier.reports import awaited
from gossamer.frontier.requeue import Again
from gossamer.frontier.rows import said_rows
from gossamer.frontier.seen import authorized, newly_named, sitemaps_of
from gossamer.frontier.selection import read_before
from gossamer.frontier.sqlite.hosts import Quarantine, Rulebook, meta, quarantine, reinstate, release, retire
from gossamer.frontier.sqlite.leases import HostLease, HostQueues, Pair, Take, lease_of
from gossamer.frontier.sqlite.requeue import plans, queue_again, requeue, reschedule
from gossamer.frontier.sqlite.settlement import Settle, with_leads
from gossamer.frontier.sqlite.sieve import (
    IncomingKeys,
    PageOffers,
    Sieve,
    Waiting,
    journal,
    merge_offers,
    merge_some,
    relieve,
    waiting_in,
)
from gossamer.store import tallies
from gossamer.store.statements import State, StateWriter, load
from gossamer.values.history import Past, Reschedule, encoded
from gossamer.values.link import LISTS, How, Offer
from gossamer.values.url import Url
from gossamer.values.visit import Settled, Visit

_SQL = load("gossamer.frontier.sqlite")
T = TypeVar("T")

DEFAULT_SIEVE = Sieve()


class _Taken(NamedTuple):
    leases: list[HostLease]
    merged: int | None
    """New URLs, if some were merged."""
    waiting: Waiting
    at: Instant


class _Written(NamedTuple):
    """What a `settle` wrote, for memory to learn after the commit."""

    settling: Settle
    fresh: int
    repeats: int
    seen: set[int]


class SqliteFrontier(FrontierCore):
    """Everything that must survive is on disk; what is in memory only saves lookups.

    Memory is used only on the database's thread, and is correct again after a failed transaction.
    """

    def __init__(
        self, database: StateWriter, rules: FrontierRules, clock: Clock, tell: Tell, sieve: Sieve = DEFAULT_SIEVE
    ) -> None:
        super().__init__(rules, clock, tell)
        self._database = database
        self._sieve = sieve
        self._quarantine = Quarantine(rules.template_of, rules.judge_template) if rules.template_of else None
        self._rulebook = Rulebook()
        self._queues = HostQueues(self._new_backs(0), rules.chance, self._resolving)
        self._steps = Steps()
        self._unwritten_step = 0
        """By how much the clock was set, until that is on disk."""
        self._stepped_s = -math.inf
        """When it was last set, by the clock that never steps."""
        self._leases: dict[str, HostLease] = {}
        """By host name."""
        self._waiting = Waiting()
        self._merged_at: Instant = 0

    async def open(self) -> None:
        """Recover the state of the last run: leases return to their queues, and every promise to a host is kept."""

        def recover(connection: State) -> bool:
            was_clean = bool(meta(connection, "clean", 1))
            now, latest_at = self._clock.now(), meta(connection, "latest_at", 0)
            if latest_at > now:
                self._shift(connection, now - latest_at)
            if not was_clean:
                connection.execute(_SQL["hosts_rested"], (now, self._least_gap()))
                connection.execute(_SQL["hosts_returned"])
                connection.execute(_SQL["leased_none"])
            connection.execute(_SQL["meta_set"], ("clean", 0))
            self._queues.backs = self._new_backs(min(now, latest_at))
            self._waiting = waiting_in(connection)
            if self._quarantine is not None:
                self._quarantine.load(connection)
            return was_clean

        was_clean = await self._database.run(recover)
        self._steps.since(self._clock.now(), self._clock.elapsed_s())
        self._tell("frontier.opened", was_clean=was_clean)

    async def close(self) -> None:
        """Return leased visits to their queues; something may just have been sent to their hosts: they wait a full
        gap."""

        def leave(connection: State) -> None:
            now = self._clock.now()
            returned = [(now, self._least_gap(), lease.host_id) for lease in self._leases.values()]
            connection.executemany(_SQL["lease_returned"], returned)
            connection.execute(_SQL["hosts_returned"])
            connection.execute(_SQL["leased_none"])
            connection.execute(_SQL["meta_set"], ("clean", 1))
            connection.execute(_SQL["meta_set"], ("latest_at", now))

        if self._resolving is not None:
            await self._resolving.close()
        await self._database.run(leave, lambda _: self._leases.clear())
        self._tell("frontier.closed")

    async def offer(self, offers: Sequence[Offer], pages: Mapping[int, Url] = MappingProxyType({})) -> int:
        def work(connection: State) -> tuple[int, int, set[int], Waiting]:
            fresh, seen = self._seen.sift(offers, self._rules.may_enter)
            fresh = self._authorized(connection, fresh, seen)
            keys = self._rules.keys
            for seed in [offer.url for offer in fresh if offer.how is How.SEED]:
                if known(connection, seed, keys) is None:
                    self._read_again(connection, sitemaps_of(self._rulebook.of(connection, seed)))
            found = offers_by_page(connection, fresh, pages, keys)
            new = merge_offers(connection, found, self._incoming())
            return len(fresh), new, seen, self._waiting._replace(known=self._waiting.known + new)

        def after(result: tuple[int, int, set[int], Waiting]) -> None:
            self._seen.remember(result[2])
            self._waiting = result[3]
            self._look_again()

        amount, new, _, _ = await self._database.run(work, after)
        self._tell("frontier.merged", new=new)
        return amount

    async def _queue_again(self, find: Callable[[State], Again]) -> tuple[int, tuple[int, ...] | None]:
        def work(connection: State) -> tuple[int, Again]:
            found = find(connection)
            return requeue(connection, found, self._clock.now()), found

        def after(done: tuple[int, Again]) -> None:
            self._rulebook.forget(done[1].unasked())
            self._look_again()

        await self._keep_step()
        amount, found = await self._database.run(work, after)
        return amount, found.after

    async def _read(self, work: Callable[[State], T]) -> T:
        return await self._database.read(work)

    async def pasts(self, urls: Sequence[Url]) -> list[Past | None]:
        return await self._database.read(lambda connection: pasts_of(connection, urls, self._rules.keys))

    async def _reschedule(self, changes: Sequence[Reschedule]) -> int:
        await self._keep_step()
        return await self._database.run(
            lambda connection: reschedule(connection, changes, self._rules.keys), self._look_again
        )

    async def plans(self) -> dict[tuple[str, int], int]:
        return await self._database.read(plans)

    async def _take(self, at_most: int) -> list[Visit]:
        def work(connection: State) -> _Taken:
            now, queues = self._clock.now(), self._queues
            queues.begin(connection, {lease.host_id for lease in self._leases.values()})
            out, waiting, merged = len(self._leases), self._waiting, None
            if waiting.journalled + waiting.repeats >= self._sieve.journal_most:
                merged, waiting = relieve(connection, waiting, self._incoming())
                queues.front_at = None
            elapsed_s = self._clock.elapsed_s()
            take = Take(connection, self._rulebook, self._rules, self._quarantine, now, elapsed_s)
            leases = queues.lease(connection, take, at_most, out, now)
            if merged is None and self._merge_at(connection, now, bool(leases)) <= now:
                merged, waiting = merge_some(connection, waiting, self._incoming(leases))
                queues.front_at = None
                leases += queues.lease(connection, take, at_most - len(leases), out + len(leases), now)
            tallies.add(connection, {tallies.LEASED: len(leases)})
            if leases:
                connection.execute(_SQL["meta_set"], ("latest_at", now))
            return _Taken(leases, merged, waiting, now)

        def after(taken: _Taken) -> None:
            self._queues.committed()
            self._waiting = taken.waiting
            if taken.merged is not None:
                self._merged_at = taken.at
            self._leases.update((lease.host.name, lease) for lease in taken.leases)

        await self._keep_step()
        taken = await self._database.run(work, after)
        if self._resolving is not None and self._queues.wanted:
            wanted, self._queues.wanted = self._queues.wanted, []
            self._resolving.ask(wanted)
        if taken.merged is not None:
            self._tell("frontier.merged", new=taken.merged)
        return [lease.visit for lease in taken.leases]

    async def settle(self, done: Sequence[Settled]) -> None:
        def work(connection: State) -> _Written:
            now = self._clock.now()
            leases = [lease_of(settled, self._leases) for settled in done]
            pairs = [
                (by_this_clock(one, lease.since_s, self._stepped_s, now), lease)
                for one, lease in zip(done, leases, strict=True)
            ]
            if len({lease.host_id for _, lease in pairs}) < len(pairs):
                raise ValueError("a visit is settled twice")
            stays = partial(self._queues.stays, now=now)
            settling = Settle(connection, self._rulebook, self._rules, stays, now, self._quarantine)
            settling.settle(pairs)
            for settled, _ in pairs:
                if settled.robots is not None:
                    self._read_again(connection, newly_named(settled))
            return _Written(settling, *self._journal_offers(connection, pairs))

        if done:
            await self._keep_step()
            written = await self._database.run(work, lambda written: self._settled(done, written))
            self._tell("frontier.settled", visits=len(done), offers=written.fresh)

    def _read_again(self, connection: State, sitemaps: Sequence[Url]) -> None:
        queue_again(connection, read_before(connection, sitemaps, self._rules.keys), self._clock.now())

    def _journal_offers(self, connection: State, pairs: Sequence[Pair]) -> tuple[int, int, set[int]]:
        amount, repeated, seen = 0, 0, set[int]()
        pages: list[PageOffers] = []
        for settled, lease in pairs:
            if not settled.offers:
                continue
            if settled.offers[0].how in LISTS:
                rows = said_rows(settled.offers, lease.host.name, self._rules.keys.id)
                connection.executemany(_SQL["said"], [(lease.host_id, *row) for row in rows])
            repeats: list[Offer] = []
            fresh, seen = self._seen.sift(settled.offers, self._rules.may_enter, lease.host.name, seen, repeats)
            fresh = self._authorized(connection, fresh, seen)
            if (past := with_leads(connection, settled, fresh, self._rules.keys)) is not None:
                connection.execute(_SQL["past_kept"], (lease.host_id, lease.address_id, encoded(past)))
            if fresh or repeats:
                pages.append((lease.host_id, lease.address_id, fresh + repeats))
                amount += len(fresh)
                repeated += len(repeats)
        if pages:
            journal(connection, pages, amount)
        return amount, repeated, seen

    def _authorized(self, connection: State, offers: list[Offer], seen: set[int]) -> list[Offer]:
        if all(one.via is None for one in offers):
            return offers
        entry_of = partial(self._rulebook.of, connection)
        return authorized(offers, entry_of, lambda via: known(connection, via, self._rules.keys), seen)

    def _settled(self, done: Sequence[Settled], written: _Written) -> None:
        queues, kept = self._queues, written.settling.kept
        self._waiting = self._waiting.and_more(written.fresh, written.repeats)
        self._seen.remember(written.seen)
        for settled in done:
            lease = self._leases.pop(settled.visit.url.host.name)
            host_id = lease.host_id
            if host_id in kept and host_id in queues.backs:
                queues.backs.waits(host_id, kept[host_id])
            else:
                queues.backs.leave(host_id)
                queues.front_at = None
            if settled.robots is not None:
                self._rulebook.remember(lease.lane_host_id, lease.lane, settled.robots)
                queues.front_at = None
        for host, template in written.settling.quarantined:
            assert self._quarantine is not None, "or nothing would have been learned"
            self._quarantine.remember(host.id, host.name, template, True)

    async def next_at(self) -> Instant | None:
        def look(connection: State) -> Instant | None:
            now = self._clock.now()
            ready_at = self._queues.next_at(connection)
            wakes = [] if ready_at is None else [ready_at]
            if self._waiting.offers:
                wakes.append(self._merge_at(connection, now, False))
            if not wakes and self._leases:
                wakes.append(now + GLANCE)
            return max(now, min(wakes)) if wakes else None

        await self._keep_step()
        return await self._database.read(look)

    async def awaited(self) -> Awaited | None:
        now, backs = self._clock.now(), self._queues.backs
        return await self._database.read(lambda connection: awaited(connection, backs, now))

    def holds(self, visit: Visit) -> bool:
        """No other process has the database, so what is leased is held."""
        lease = self._leases.get(visit.url.host.name)
        return lease is not None and lease.visit == visit

    async def retire(self, host: str, why: str) -> bool:
        def after(host_id: int | None) -> None:
            if host_id is not None:
                self._queues.backs.leave(host_id)

        found = await self._database.run(lambda connection: retire(connection, host, why, self._clock.now()), after)
        return found is not None

    async def reinstate(self, host: str) -> bool:
        return await self._database.run(lambda connection: reinstate(connection, host), self._look_again) is not None

    async def quarantine(self, host: str, template: str) -> int:
        held, lease = self._holding(), self._leases.get(host)

        def work(connection: State) -> tuple[int, int]:
            leased = lease.sequence if lease is not None else None
            return quarantine(connection, host, template, held.template_of, self._clock.now(), leased)

        _, amount = await self._database.run(work, lambda found: held.remember(found[0], host, template, True))
        return amount

    async def release(self, host: str, template: str) -> int:
        held = self._holding()

        def after(found: tuple[int | None, int]) -> None:
            if found[0] is not None:
                held.remember(found[0], host, template, False)
            self._look_again()

        _, amount = await self._database.run(
            lambda connection: release(connection, host, template, held.template_of), after
        )
        return amount

    def _look_again(self, _: object = None) -> None:
        """The front queues may have something earlier than was known."""
        self._queues.front_at = None

    def _holding(self) -> Quarantine:
        if self._quarantine is None:
            raise ValueError("this frontier was given no `template_of`, so it has no templates")
        return self._quarantine

    def _incoming(self, taken: Sequence[HostLease] = ()) -> IncomingKeys:
        """`taken`: visits just leased in this transaction."""
        leased = frozenset([lease.sequence for lease in (*self._leases.values(), *taken)])
        return IncomingKeys(self._rules.keys, self._rules.nudge, self._quarantine, leased)

    def _new_backs(self, started_at: Instant) -> Backs:
        politeness = self._rules.politeness
        return Backs(politeness.per_address, math.ceil(politeness.apart_s * SECOND), started_at=started_at)

    async def _keep_step(self) -> None:
        """When the clock was set, every promise keeps its distance from now: no host is hurried, none waits forever."""
        elapsed_s = self._clock.elapsed_s()
        self._unwritten_step += self._steps.since(self._clock.now(), elapsed_s)
        if not self._unwritten_step:
            return

        def work(connection: State) -> int:
            step = self._unwritten_step  # 0 when another call has just written it
            if step:
                self._shift(connection, step)
            return step

        def after(step: int) -> None:
            if step:
                self._queues.backs.shift(step)
                self._look_again()
                self._merged_at = 0
                self._stepped_s = elapsed_s
                self._unwritten_step -= step

        await self._database.run(work, after)

    def _shift(self, connection: State, by: int) -> None:
        """A restart compares its clock with `latest_at`; promises are kept by the clock of now."""
        connection.execute(_SQL["queue_shifted"], (by,))
        connection.execute(_SQL["hosts_shifted"], (by,))
        connection.execute(_SQL["meta_set"], ("latest_at", self._clock.now()))

    def _merge_at(self, connection: State, now: Instant, found_some: bool) -> Instant:
        """When offers are to be merged: from time to time, and at once when nothing else could be found."""
        waiting = self._waiting
        if not waiting.offers:
            return now + SECOND
        if not found_some and not self._leases and self._queues.next_at(connection) is None:
            return now
        every_s = self._sieve.merge_every_s * (1 + waiting.known / self._sieve.slower_per)
        return self._merged_at + math.ceil(every_s * SECOND)

    def _least_gap(self) -> int:
        return math.ceil(self._rules.politeness.delay_s * SECOND)
