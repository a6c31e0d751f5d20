"""The frontier in one SQLite database: the embedded default."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType, TracebackType
from typing import NamedTuple, Self

import msgspec

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.tell import Tell
from gossamer.frontier.api import Awaited, FrontierRules, KnownState
from gossamer.frontier.back_queues import Backs, Resolving
from gossamer.frontier.known import known, met_on
from gossamer.frontier.politeness import Steps, by_this_clock
from gossamer.frontier.reports import awaited
from gossamer.frontier.requeue import newly_named, sitemaps_of, vouched_for
from gossamer.frontier.rows import said_rows
from gossamer.frontier.seen import SeenTable
from gossamer.frontier.sqlite.hosts import Quarantine, Rulebook, meta, quarantine, reinstate, release, retire
from gossamer.frontier.sqlite.leases import Backing, HostLease, Pair, Take, lease_of
from gossamer.frontier.sqlite.requeue import (
    Requeued,
    ended,
    failures_of,
    fetch_again,
    hasten,
    pasts_of,
    plans,
    read_again,
    recall,
    requeue,
    revive,
)
from gossamer.frontier.sqlite.settlement import Settle, SettleResult, led
from gossamer.frontier.sqlite.sieve import (
    IncomingKeys,
    Met,
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
from gossamer.values.visit import Counts, EndedGroup, Failure, Selection, Settled, Visit

_SQL = load("gossamer.frontier.sqlite")

DEFAULT_SIEVE = Sieve()
GLANCE = SECOND // 20
"""How soon to look again when all there is to wait for is visits that are out."""


class _Taken(NamedTuple):
    leases: list[HostLease]
    merged: int | None
    """New addresses, when some were merged."""
    waiting: Waiting
    at: Instant


class SqliteFrontier:
    """Everything it promises is on disk; what it holds in memory only saves looking there.

    That memory is touched on the database's thread alone, and is right again after a transaction that failed.
    """

    def __init__(
        self, database: StateWriter, rules: FrontierRules, clock: Clock, tell: Tell, sieve: Sieve = DEFAULT_SIEVE
    ) -> None:
        self._database = database
        self._rules = rules
        self._clock = clock
        self._tell = tell
        self._sieve = sieve
        self._quarantine = Quarantine(rules.template_of, rules.judge_template) if rules.template_of else None
        self._seen = SeenTable(rules.seen_slots)
        self._rulebook = Rulebook()
        self._resolving = Resolving(rules.resolve) if rules.resolve is not None else None
        self._backing = Backing(self._new_backs(0), rules.chance, self._resolving)
        self._steps = Steps()
        self._owed_step = 0
        """By how much the clock was set, as long as that is not written down."""
        self._stepped_s = -math.inf
        """When it was last set, by the clock that never is."""
        self._leases: dict[str, HostLease] = {}
        """By host name."""
        self._waiting = Waiting()
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

        def recover(connection: State) -> bool:
            was_clean = bool(meta(connection, "clean", 1))
            now, latest_at = self._clock.now(), meta(connection, "latest_at", 0)
            if latest_at > now:
                self._shift(connection, now - latest_at)
            if not was_clean:
                connection.execute(_SQL["hosts_rested"], (now, self._floor()))
                connection.execute(_SQL["hosts_returned"])
                connection.execute(_SQL["leased_none"])
            connection.execute(_SQL["meta_set"], ("clean", 0))
            self._backing.backs = self._new_backs(min(now, latest_at))
            self._waiting = waiting_in(connection)
            if self._quarantine is not None:
                self._quarantine.load(connection)
            return was_clean

        was_clean = await self._database.run(recover)
        self._steps.since(self._clock.now(), self._clock.elapsed_s())
        self._tell("frontier.opened", was_clean=was_clean)

    async def close(self) -> None:
        """Visits still out return to their queues; their hosts may just have been touched, and wait a full gap."""

        def leave(connection: State) -> None:
            now = self._clock.now()
            returned = [(now, self._floor(), lease.host_id) for lease in self._leases.values()]
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
            fresh, met = self._seen.sift(offers, self._rules.may_enter)
            fresh = self._vouched_for(connection, fresh, met)
            keys = self._rules.keys
            for seed in [offer.url for offer in fresh if offer.how is How.SEED]:
                if known(connection, seed, keys.url_id, keys.identity) is None:
                    read_again(connection, sitemaps_of(self._rulebook.of(connection, seed)), keys)
            met_there = met_on(connection, fresh, pages, keys.url_id, keys.identity)
            new = merge_offers(connection, met_there, self._incoming())
            return len(fresh), new, met, self._waiting._replace(known=self._waiting.known + new)

        def after(result: tuple[int, int, set[int], Waiting]) -> None:
            self._seen.remember(result[2])
            self._waiting = result[3]
            self._look_anew()

        amount, new, _, _ = await self._database.run(work, after)
        self._tell("frontier.merged", new=new)
        return amount

    async def revive(self, seeds: Sequence[Url]) -> int:
        return await self._database.run(lambda connection: revive(connection, seeds, self._rules.keys), self._look_anew)

    async def recall(self) -> int:
        return await self._database.run(
            lambda connection: recall(connection, self._rulebook, self._clock.now()), self._look_anew
        )

    async def requeue(self, selection: Selection) -> int:
        def moved(some: Requeued) -> None:
            self._rulebook.forget(some.lanes)
            self._look_anew()

        await self._keep_step()
        return await requeue(self._database, selection, self._rules.keys, self._clock, moved)

    async def refetch(self, urls: Sequence[Url]) -> int:
        await self._keep_step()
        return await self._database.run(
            lambda connection: fetch_again(connection, urls, self._rules.keys, self._clock.now()), self._look_anew
        )

    async def ended(self, selection: Selection) -> list[EndedGroup]:
        return await self._database.read(lambda connection: ended(connection, selection, self._rules.keys))

    async def failures(self, url: Url) -> list[Failure]:
        return await self._database.read(lambda connection: failures_of(connection, url, self._rules.keys))

    async def pasts(self, urls: Sequence[Url]) -> list[Past | None]:
        return await self._database.read(lambda connection: pasts_of(connection, urls, self._rules.keys))

    async def hasten(self, sooner: Sequence[Reschedule]) -> int:
        if not sooner:
            return 0
        await self._keep_step()
        moved = await self._database.run(
            lambda connection: hasten(connection, sooner, self._rules.keys), self._look_anew
        )
        self._tell("frontier.hastened", visits=moved)
        return moved

    async def plans(self) -> dict[tuple[str, int], int]:
        return await self._database.read(plans)

    async def take(self, at_most: int) -> list[Visit]:
        def work(connection: State) -> _Taken:
            now, backing = self._clock.now(), self._backing
            backing.mend(connection, {lease.host_id for lease in self._leases.values()})
            out, waiting, merged = len(self._leases), self._waiting, None
            if waiting.journalled + waiting.nods >= self._sieve.journal_most:
                merged, waiting = relieve(connection, waiting, self._incoming())
                backing.front_at = None
            leasing = self._leasing(connection, now)
            leases = backing.lease(connection, leasing, at_most, out, now)
            if merged is None and self._merge_at(connection, now, bool(leases)) <= now:
                merged, waiting = merge_some(connection, waiting, self._incoming(leases))
                backing.front_at = None
                leases += backing.lease(connection, leasing, at_most - len(leases), out + len(leases), now)
            tallies.add(connection, {tallies.LEASED: len(leases)})
            if leases:
                connection.execute(_SQL["meta_set"], ("latest_at", now))
            return _Taken(leases, merged, waiting, now)

        def after(taken: _Taken) -> None:
            self._backing.whole()
            self._waiting = taken.waiting
            if taken.merged is not None:
                self._merged_at = taken.at
            self._leases.update((lease.host.name, lease) for lease in taken.leases)

        if at_most < 1:
            return []
        await self._keep_step()
        taken = await self._database.run(work, after)
        if self._resolving is not None and self._backing.wanted:
            wanted, self._backing.wanted = self._backing.wanted, []
            self._resolving.ask(wanted)
        if taken.merged is not None:
            self._tell("frontier.merged", new=taken.merged)
        if taken.leases:
            self._tell("frontier.taken", visits=len(taken.leases))
        return [lease.visit for lease in taken.leases]

    async def settle(self, done: Sequence[Settled]) -> None:
        def work(connection: State) -> SettleResult:
            now = self._clock.now()
            leases = [lease_of(settled, self._leases) for settled in done]
            pairs = [
                (by_this_clock(one, lease.since_s, self._stepped_s, now), lease)
                for one, lease in zip(done, leases, strict=True)
            ]
            if len({lease.host_id for _, lease in pairs}) < len(pairs):
                raise ValueError("a visit is settled twice")
            quarantined: list[tuple[int, str, str]] = []

            def learn(settled: Settled, lease: HostLease) -> None:
                found = self._learned(connection, settled, lease, now)
                quarantined.extend([found] if found is not None else [])

            stays = partial(self._backing.stays, now=now)
            settling = Settle(connection, self._rulebook, self._rules, stays, now, learn)
            settling.settle(pairs)
            for settled, _ in pairs:
                if settled.robots is not None:
                    read_again(connection, newly_named(settled), self._rules.keys)
            return SettleResult(settling, *self._journal_offers(connection, pairs), quarantined)

        if done:
            await self._keep_step()
            written = await self._database.run(work, lambda written: self._settled(done, written))
            self._tell("frontier.settled", visits=len(done), offers=written.fresh)

    def _journal_offers(self, connection: State, pairs: Sequence[Pair]) -> tuple[int, int, set[int]]:
        amount, nodded, met = 0, 0, set[int]()
        pages: list[Met] = []
        for settled, lease in pairs:
            if not settled.offers:
                continue
            if settled.offers[0].how in LISTS:
                rows = said_rows(settled.offers, lease.host.name, self._rules.keys.id)
                connection.executemany(_SQL["said"], [(lease.host_id, *row) for row in rows])
            nods: list[Offer] = []
            fresh, met = self._seen.sift(settled.offers, self._rules.may_enter, lease.host.name, met, nods)
            if any(one.via is not None for one in fresh):
                fresh = self._vouched_for(connection, fresh, met)
            if (past := led(connection, settled, fresh, self._rules.keys)) is not None:
                connection.execute(_SQL["past_kept"], (lease.host_id, lease.address_id, encoded(past)))
            if fresh or nods:
                pages.append((lease.host_id, lease.address_id, fresh + nods))
                amount += len(fresh)
                nodded += len(nods)
        if pages:
            journal(connection, pages, amount)
        return amount, nodded, met

    def _vouched_for(self, connection: State, offers: list[Offer], met: set[int]) -> list[Offer]:
        """The others are not remembered as met: somebody may vouch for them later."""
        keys = self._rules.keys
        entry_of = partial(self._rulebook.of, connection)
        good = vouched_for(offers, entry_of, lambda via: known(connection, via, keys.url_id, keys.identity))
        if len(good) < len(offers):
            self._seen.unmeet(set(offers) - set(good), met)
        return good

    def _settled(self, done: Sequence[Settled], written: SettleResult) -> None:
        backing, kept = self._backing, written.settling.kept
        self._waiting = self._waiting.and_more(written.fresh, written.nods)
        self._seen.remember(written.met)
        for settled in done:
            lease = self._leases.pop(settled.visit.url.host.name)
            host_id = lease.host_id
            if host_id in kept and host_id in backing.backs:
                backing.backs.waits(host_id, kept[host_id])
            else:
                backing.backs.leave(host_id)
                backing.front_at = None
            if settled.robots is not None:
                self._rulebook.remember(lease.lane_host_id, lease.lane, settled.robots)
                backing.front_at = None
        for host_id, name, template in written.quarantined:
            assert self._quarantine is not None, "or nothing would have been learned"
            self._quarantine.remember(host_id, name, template, True)

    async def next_at(self) -> Instant | None:
        def look(connection: State) -> Instant | None:
            now = self._clock.now()
            ready_at = self._backing.next_at(connection)
            wakes = [] if ready_at is None else [ready_at]
            if self._waiting.offers:
                wakes.append(self._merge_at(connection, now, False))
            if not wakes and self._leases:
                wakes.append(now + GLANCE)
            return max(now, min(wakes)) if wakes else None

        await self._keep_step()
        return await self._database.read(look)

    async def awaited(self) -> Awaited | None:
        now, backs = self._clock.now(), self._backing.backs
        return await self._database.read(lambda connection: awaited(connection, backs, now))

    def holds(self, visit: Visit) -> bool:
        """Nobody else has the database, so what is out is held."""
        lease = self._leases.get(visit.url.host.name)
        return lease is not None and lease.visit == visit

    async def counts(self) -> Counts:
        return await self._database.read(tallies.counts)

    async def known(self, url: Url) -> KnownState | None:
        return await self._database.read(
            lambda connection: known(connection, url, self._rules.keys.url_id, self._rules.keys.identity)
        )

    async def retire(self, host: str, why: str) -> bool:
        def after(host_id: int | None) -> None:
            if host_id is not None:
                self._backing.backs.leave(host_id)

        found = await self._database.run(lambda connection: retire(connection, host, why, self._clock.now()), after)
        return found is not None

    async def reinstate(self, host: str) -> bool:
        return await self._database.run(lambda connection: reinstate(connection, host), self._look_anew) is not None

    async def quarantine(self, host: str, template: str) -> int:
        held = self._holding()
        lease = self._leases.get(host)

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
            self._backing.front_at = None

        _, amount = await self._database.run(
            lambda connection: release(connection, host, template, held.template_of), after
        )
        return amount

    def set_rules(self, may_enter: Callable[[Offer], bool], nudge: Callable[[Offer], int] | None = None) -> None:
        self._rules = msgspec.structs.replace(self._rules, may_enter=may_enter, nudge=nudge)
        self._seen = SeenTable(self._rules.seen_slots)

    def _look_anew(self, _: object = None) -> None:
        """Hosts of the front may have something sooner than was known."""
        self._backing.front_at = None

    def _holding(self) -> Quarantine:
        if self._quarantine is None:
            raise ValueError("this frontier was not told what a template is")
        return self._quarantine

    def _learned(
        self, connection: State, settled: Settled, lease: HostLease, now: Instant
    ) -> tuple[int, str, str] | None:
        """What a page brought; the template that is quarantined because of it."""
        held, yielded, host = self._quarantine, settled.yielded, lease.host
        if held is None or yielded is None or not held.learn(connection, host.id, host.name, yielded):
            return None
        quarantine(connection, host.name, yielded.template, held.template_of, now)
        return host.id, host.name, yielded.template

    def _incoming(self, taken: Sequence[HostLease] = ()) -> IncomingKeys:
        """`taken`: visits just leased in this transaction."""
        leased = frozenset([lease.sequence for lease in (*self._leases.values(), *taken)])
        return IncomingKeys(self._rules.keys, self._rules.nudge, self._quarantine, leased)

    def _leasing(self, connection: State, now: Instant) -> Take:
        elapsed_s = self._clock.elapsed_s()
        return Take(connection, self._rulebook, self._rules, self._quarantine, now, elapsed_s)

    def _new_backs(self, started_at: Instant) -> Backs:
        politeness = self._rules.politeness
        return Backs(politeness.per_address, math.ceil(politeness.apart_s * SECOND), started_at=started_at)

    async def _keep_step(self) -> None:
        """When the clock was set, every promise keeps its distance from now: nobody is hurried, nobody hangs."""
        elapsed_s = self._clock.elapsed_s()
        self._owed_step += self._steps.since(self._clock.now(), elapsed_s)
        if not self._owed_step:
            return

        def work(connection: State) -> int:
            owed = self._owed_step  # 0 when another call has just paid it
            if owed:
                self._shift(connection, owed)
            return owed

        def after(paid: int) -> None:
            if paid:
                self._backing.backs.shift(paid)
                self._backing.front_at = None
                self._merged_at = 0
                self._stepped_s = elapsed_s
                self._owed_step -= paid

        await self._database.run(work, after)

    def _shift(self, connection: State, by: int) -> None:
        """A restart compares its clock with the instant noted here: promises are told by the clock of now."""
        connection.execute(_SQL["queue_shifted"], (by,))
        connection.execute(_SQL["hosts_shifted"], (by,))
        connection.execute(_SQL["meta_set"], ("latest_at", self._clock.now()))

    def _merge_at(self, connection: State, now: Instant, found_some: bool) -> Instant:
        """When offers are to be merged: now and then, and at once when nothing else could be found."""
        waiting = self._waiting
        if not waiting.offers:
            return now + SECOND
        if not found_some and not self._leases and self._backing.next_at(connection) is None:
            return now
        every_s = self._sieve.merge_every_s * (1 + waiting.known / self._sieve.slower_per)
        return self._merged_at + math.ceil(every_s * SECOND)

    def _floor(self) -> int:
        return math.ceil(self._rules.politeness.delay_s * SECOND)
