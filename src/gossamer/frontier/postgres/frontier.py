"""The frontier in a PostgreSQL database that many crawlers share. None of them owns anything.

A host is leased to one crawler for one visit; a number that counts the host's leases comes with it, and only who has
the newest may settle. A crawler makes itself heard every few seconds, by whatever it asks of its frontier; one that is
silent for longer is taken for dead, and what it held goes to the others after a full gap. Instants in the database are
by the database's clock: the crawlers' own may be minutes apart.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from types import MappingProxyType, TracebackType
from typing import Self, TypeVar

import msgspec

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.tell import Tell
from gossamer.frontier.api import Awaited, FrontierRules, KnownState, LeaseLost
from gossamer.frontier.back_queues import Resolving
from gossamer.frontier.known import known
from gossamer.frontier.postgres import hosts
from gossamer.frontier.postgres.hosts import SharedRulebook
from gossamer.frontier.postgres.leases import Networks, SharedLease, SharedTake, deliver
from gossamer.frontier.postgres.presence import Presence, ReadTime, SharedMoment, Stay, database_time, tally
from gossamer.frontier.postgres.requeue import (
    START,
    ended,
    failures_of,
    fetch_again,
    hasten,
    key_of,
    pasts_of,
    plans,
    read_again,
    recall,
    requeue_some,
    revive,
)
from gossamer.frontier.postgres.requeue import Key as AddressKey
from gossamer.frontier.postgres.settlement import SharedSettle, having_led
from gossamer.frontier.postgres.sieve import (
    Entering,
    SourcedOffer,
    linked_of,
    raise_linked,
)
from gossamer.frontier.priority import LAST, MOST_RAISED
from gossamer.frontier.reports import awaited
from gossamer.frontier.requeue import newly_named, sitemaps_of, vouched_for
from gossamer.frontier.seen import SeenTable
from gossamer.frontier.settlement import check_entry
from gossamer.store import tallies
from gossamer.store.postgres.database import Connection, SharedDatabase
from gossamer.store.postgres.state import state_in, viewed
from gossamer.store.statements import load
from gossamer.values.history import Past, Reschedule
from gossamer.values.link import How, Offer
from gossamer.values.url import Url
from gossamer.values.visit import Counts, EndedGroup, Failure, Selection, Settled, Visit

_SQL = load("gossamer.frontier.postgres")
T = TypeVar("T")
GLANCE = SECOND // 20
"""How soon to look again when all there is to wait for is visits that are out."""
MOST_OFFERS = 20_000
"""Offers entered in one transaction."""
MOST_LOST = 10_000
Key = tuple[str, Instant]
"""A visit of ours: its address, and when it was taken."""


class PostgresFrontier:
    """Everything it promises is in the database; what it holds in memory only saves looking there.

    That memory is touched on the database's thread alone, and changed only after a commit.
    """

    def __init__(
        self,
        database: SharedDatabase,
        rules: FrontierRules,
        clock: Clock,
        tell: Tell,
        stay: Stay,
        read_time: ReadTime = database_time,
    ) -> None:
        """`read_time` says what the shared clock shows: the server's, but for tests that move time themselves."""
        self._database = database
        self._rules = rules
        self._clock = clock
        self._tell = tell
        self._seen = SeenTable(rules.seen_slots)
        self._rulebook = SharedRulebook()
        self._leases: dict[Key, SharedLease] = {}
        self._lost: dict[Key, None] = {}
        """Visits that went to others, so that their late settlement is told from a mistake."""
        self._resolving = Resolving(rules.resolve) if rules.resolve is not None else None
        self._networks = Networks(self._resolving, rules.politeness) if self._resolving is not None else None
        self._presence = Presence(database, stay, rules.politeness, clock, read_time, tell)

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, trouble: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Begin a stay. What an earlier one under this name left returns to its queues, and every promise is kept."""
        was_clean = await self._database.run(
            lambda connection, _: self._presence.join(connection), lambda _: self._committed()
        )
        self._tell("frontier.opened", was_clean=was_clean)

    async def close(self) -> None:
        """Visits still out return to their queues; their hosts may just have been touched, and wait a full gap."""

        def after(_: None) -> None:
            self._leases.clear()
            self._presence.left()

        if self._resolving is not None:
            await self._resolving.close()
        if self._presence.is_open:
            await self._run(lambda connection, now: self._presence.leave(connection, now), after)
            self._tell("frontier.closed")

    async def offer(self, offers: Sequence[Offer], pages: Mapping[int, Url] = MappingProxyType({})) -> int:
        def source_of(offer: Offer) -> str | None:
            page = pages.get(offer.source_id) if offer.source_id is not None else None
            return page.host.name if page is not None else None

        def work(part: Sequence[Offer]) -> Callable[[Connection, SharedMoment], tuple[int, int, set[int]]]:
            rules = self._rules

            def enter(connection: Connection, _: SharedMoment) -> tuple[int, int, set[int]]:
                fresh, met = self._seen.sift(part, self._rules.may_enter)
                fresh = self._vouched_for(connection, fresh, met)
                keys = rules.keys
                seeds = [offer.url for offer in fresh if offer.how is How.SEED]
                unknown = [seed for seed in seeds if key_of(connection, seed, keys) is None]
                maps = {one: None for seed in unknown for one in sitemaps_of(self._rulebook.of(connection, seed))}
                read_again(connection, self._me(), list(maps), rules)
                new, moves = Entering(connection, self._rules).enter(
                    [SourcedOffer(offer, source_of(offer)) for offer in fresh]
                )
                tally(connection, self._me(), moves)
                deliver(connection)
                return len(fresh), new, met

            return enter

        amount = 0
        waiting = iter(offers)
        while part := list(islice(waiting, MOST_OFFERS)):
            fresh, new, _ = await self._run(work(part), lambda result: self._seen.remember(result[2]))
            amount += fresh
            self._tell("frontier.merged", new=new)
        return amount

    async def take(self, at_most: int) -> list[Visit]:
        def work(connection: Connection, now: SharedMoment) -> list[SharedLease]:
            return SharedTake(connection, self._me(), self._rulebook, self._rules, self._networks, now).lease(at_most)

        def after(leases: list[SharedLease]) -> None:
            self._leases.update((_key(lease.visit), lease) for lease in leases)

        if at_most < 1:
            return []
        leases = await self._run(work, after)
        if self._resolving is not None and self._networks is not None:
            self._resolving.ask(self._networks.wanted)
        if leases:
            self._tell("frontier.taken", visits=len(leases))
        return [lease.visit for lease in leases]

    async def settle(self, done: Sequence[Settled]) -> None:
        """Raises LeaseLost, and writes nothing, when any of these visits has gone to another crawler."""

        def work(connection: Connection, now: SharedMoment) -> tuple[int, set[int]]:
            leases = [self._lease_of(settled) for settled in done]
            pairs = [(now.settled_shared(one, lease.since_s), lease) for one, lease in zip(done, leases, strict=True)]
            if len({lease.host_id for _, lease in pairs}) < len(pairs):
                raise ValueError("a visit is settled twice")
            settling = SharedSettle(connection, self._me(), self._rulebook, self._rules, now)
            if not settling.hold([lease for _, lease in pairs]):
                return 0, set()
            fresh, met = self._sifted(connection, done)
            entering = Entering(connection, self._rules)
            _, moves = entering.enter(fresh)
            pairs = having_led(pairs, entering.new)
            settling.settle(pairs, entering)
            settling.note_said(pairs, self._rules.keys.id)
            tally(connection, self._me(), moves)
            for settled in done:
                if settled.robots is not None:
                    read_again(connection, self._me(), newly_named(settled), self._rules)
            raise_linked(connection, linked_of(entering.known), self._rules.nudge)
            return len(fresh), met

        def after(result: tuple[int, set[int]]) -> None:
            self._seen.remember(result[1])
            for settled in done:
                self._leases.pop(_key(settled.visit), None)

        if done:
            fresh, _ = await self._run(work, after)
            self._tell("frontier.settled", visits=len(done), offers=fresh)

    async def next_at(self) -> Instant | None:
        def work(connection: Connection, now: SharedMoment) -> Instant | None:
            row = connection.execute(_SQL["wakes"], {"last": LAST}).fetchone()
            assert row is not None
            ready_at, has_mail, is_leased = row
            if has_mail:
                return now.local_at
            if ready_at is None:
                return now.local_at + GLANCE if is_leased else None
            return max(now.local_at, now.here(ready_at))

        return await self._run(work)

    async def revive(self, seeds: Sequence[Url]) -> int:
        """At the start of a run: another chance for seeds that failed, and for hosts that were given up."""
        return await self._run(lambda connection, _: revive(connection, self._me(), seeds, self._rules))

    async def recall(self) -> int:
        return await self._run(
            lambda connection, _: recall(connection, self._me(), self._rules, self._rulebook, self._clock.now())
        )

    async def requeue(self, selection: Selection) -> int:
        amount, after = 0, START
        while True:
            done, then = await self._run(self._requeueing(selection, after))
            amount += done
            if then is None:
                return amount
            after = then

    def _requeueing(
        self, selection: Selection, after: AddressKey
    ) -> Callable[[Connection, SharedMoment], tuple[int, AddressKey | None]]:
        rules = self._rules
        return lambda connection, now: requeue_some(connection, self._me(), selection, after, rules, now)

    async def refetch(self, urls: Sequence[Url]) -> int:
        return await self._run(lambda connection, now: fetch_again(connection, self._me(), urls, self._rules, now))

    async def ended(self, selection: Selection) -> list[EndedGroup]:
        return await self._database.run(lambda connection, _: ended(connection, selection, self._rules))

    async def failures(self, url: Url) -> list[Failure]:
        return await self._database.run(lambda connection, _: failures_of(connection, url, self._rules))

    async def pasts(self, urls: Sequence[Url]) -> list[Past | None]:
        return await self._run(lambda connection, _: pasts_of(connection, urls, self._rules))

    async def hasten(self, sooner: Sequence[Reschedule]) -> int:
        if not sooner:
            return 0
        moved = await self._run(lambda connection, now: hasten(connection, sooner, self._rules, now))
        self._tell("frontier.hastened", visits=moved)
        return moved

    async def plans(self) -> dict[tuple[str, int], int]:
        return await self._run(plans)

    async def counts(self) -> Counts:
        def work(connection: Connection, _: bool) -> Counts:
            numbers: dict[str, int] = dict(connection.execute(_SQL["tallies"]).fetchall())
            reason = tallies.REASON
            by_reason = {name[len(reason) :]: n for name, n in sorted(numbers.items()) if name.startswith(reason) and n}
            plain = {name: numbers.get(name, 0) for name in Counts.__struct_fields__ if name != "by_reason"}
            return Counts(**plain, by_reason=by_reason)

        return await self._database.run(work)

    async def known(self, url: Url) -> KnownState | None:
        """What is stored of an address."""
        keys = self._rules.keys
        return await self._database.run(lambda connection, _: known(state_in(connection), url, keys.url_id, keys.text))

    async def awaited(self) -> Awaited | None:
        def look(connection: Connection, now: SharedMoment) -> Awaited | None:
            found = awaited(state_in(connection), (), now.at)
            return found and msgspec.structs.replace(found, until_at=now.here(found.until_at))

        return await self._run(look)

    def holds(self, visit: Visit) -> bool:
        return _key(visit) in self._leases and self._presence.is_trusted()

    async def retire(self, host: str, why: str) -> bool:
        return await self._run(lambda connection, now: hosts.retire(connection, self._me(), host, why, now.at))

    async def reinstate(self, host: str) -> bool:
        return await self._run(lambda connection, _: hosts.reinstate(connection, self._me(), host))

    async def quarantine(self, host: str, template: str) -> int:
        template_of = self._rules.template_of
        if template_of is None:
            raise ValueError("a frontier that is given no `template_of` cannot hold templates back")
        return await self._run(
            lambda connection, now: hosts.quarantine(connection, self._me(), host, template, template_of, now.at)
        )

    async def release(self, host: str, template: str) -> int:
        template_of = self._rules.template_of
        if template_of is None:
            return 0
        return await self._run(lambda connection, _: hosts.release(connection, self._me(), host, template, template_of))

    def set_rules(self, may_enter: Callable[[Offer], bool], nudge: Callable[[Offer], int] | None = None) -> None:
        """From the next offer on. What was met before is forgotten, because it may be judged otherwise now."""
        self._rules = msgspec.structs.replace(self._rules, may_enter=may_enter, nudge=nudge)
        self._seen = SeenTable(self._rules.seen_slots)

    async def _run(self, work: Callable[[Connection, SharedMoment], T], after: Callable[[T], None] | None = None) -> T:
        """`work` in a transaction that also keeps up our presence."""

        def whole(connection: Connection, may_be_done: bool) -> T:
            held = [lease.host_id for lease in self._leases.values()]
            return work(connection, self._presence.begin(connection, held, may_be_done))

        def done(result: T) -> None:
            self._committed()
            if after is not None:
                after(result)

        return await self._database.run(whole, done)

    def _sifted(self, connection: Connection, done: Sequence[Settled]) -> tuple[list[SourcedOffer], set[int]]:
        """The links not met lately that may enter, and the marks to remember once they are safely on disk."""
        found: list[SourcedOffer] = []
        met: set[int] = set()
        for one in done:
            if one.offers:
                source = one.visit.url.host.name
                nods: list[Offer] = []
                fresh, met = self._seen.sift(one.offers, self._rules.may_enter, source, met, nods)
                good = self._vouched_for(connection, fresh, met)
                found += [SourcedOffer(offer, source) for offer in (*good, *nods[:MOST_RAISED])]
        return found, met

    def _vouched_for(self, connection: Connection, offers: list[Offer], met: set[int]) -> list[Offer]:
        """The others are not remembered as seen: somebody may vouch for them later."""
        if all(one.via is None for one in offers):
            return offers
        keys, entry_of = self._rules.keys, partial(self._rulebook.of, connection)

        def known_as(via: Url) -> KnownState | None:
            with viewed(connection) as state:
                return known(state, via, keys.url_id, keys.text)

        good = vouched_for(offers, entry_of, known_as)
        self._seen.unmeet(set(offers) - set(good), met)
        return good

    def _committed(self) -> None:
        if self._presence.committed():
            self._tell("frontier.leases_lost", visits=len(self._leases))
            self._lost.update(dict.fromkeys(self._leases))
            for key in list(self._lost)[:-MOST_LOST]:
                del self._lost[key]
            self._leases.clear()

    def _lease_of(self, settled: Settled) -> SharedLease:
        visit = settled.visit
        lease = self._leases.get(_key(visit))
        if lease is None and _key(visit) in self._lost:
            raise LeaseLost([visit.url])
        if lease is None:
            raise ValueError(f"the visit to {visit.url} is not out: it was never taken, or is settled")
        check_entry(settled)
        return lease

    def _me(self) -> int:
        return self._presence.number


def _key(visit: Visit) -> Key:
    return visit.url.text, visit.taken_at
