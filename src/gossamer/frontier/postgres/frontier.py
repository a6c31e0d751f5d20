"""The frontier in a PostgreSQL database that many crawlers share. None of them owns anything.

A host is leased to one crawler for one visit; with it comes a number that counts the host's leases, and only the
crawler that has the newest may settle. Every call that a crawler makes renews its membership, every few seconds; one
that is silent for longer is taken for dead, and its hosts go to the others after a full gap. Instants in the database
are by the database's clock: the crawlers' own may be minutes apart.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import TypeVar

import msgspec

from gossamer.base.clock import Clock, Instant
from gossamer.base.tell import Tell
from gossamer.frontier.api import Awaited, FrontierRules, KnownState, LeaseLost
from gossamer.frontier.core import GLANCE, FrontierCore
from gossamer.frontier.known import key_of, known
from gossamer.frontier.postgres import hosts
from gossamer.frontier.postgres.hosts import SharedRulebook
from gossamer.frontier.postgres.leases import Networks, Preference, SharedLease, SharedTake, deliver
from gossamer.frontier.postgres.presence import Presence, ReadTime, SharedMoment, Stay, database_time, tally
from gossamer.frontier.postgres.requeue import pasts_of, plans, queue_again, requeue, reschedule
from gossamer.frontier.postgres.settlement import SharedSettle, with_leads
from gossamer.frontier.postgres.sieve import Entering, SourcedOffer, linked_of, raise_linked
from gossamer.frontier.priority import LAST, MOST_RAISED
from gossamer.frontier.reports import awaited
from gossamer.frontier.requeue import Again
from gossamer.frontier.seen import authorized, newly_named, sitemaps_of
from gossamer.frontier.selection import read_before
from gossamer.frontier.settlement import check_entry
from gossamer.store import tallies
from gossamer.store.postgres.database import Connection, SharedDatabase
from gossamer.store.postgres.state import state_in, viewed
from gossamer.store.statements import State, load
from gossamer.values.history import Past, Reschedule
from gossamer.values.link import How, Offer
from gossamer.values.url import Url
from gossamer.values.visit import Settled, Visit

_SQL = load("gossamer.frontier.postgres")
T = TypeVar("T")
MOST_OFFERS = 20_000
"""Offers added in one transaction."""
MOST_LOST = 10_000
Key = tuple[str, Instant]
"""A leased visit: its URL, and when it was taken."""


class PostgresFrontier(FrontierCore):
    """Everything that must survive is in the database; what is in memory only saves lookups.

    Memory is used only on the database's thread, and changed only after a commit.
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
        """`read_time` reads the shared clock: the server's, except in tests that set the time themselves."""
        super().__init__(rules, clock, tell)
        self._database = database
        self._rulebook = SharedRulebook()
        self._leases: dict[Key, SharedLease] = {}
        self._lost: dict[Key, None] = {}
        """Visits that went to other crawlers, to tell their late settlement from a mistake."""
        self._preference = Preference(rules.is_near)
        self._given_up: dict[Key, None] = {}
        """Leases that we could not trust when their requests were due: they are returned, and nothing is fetched."""
        self._networks = Networks(self._resolving, rules.politeness) if self._resolving is not None else None
        self._presence = Presence(database, stay, rules.politeness, clock, read_time, tell)

    async def open(self) -> None:
        """Join the crawl. Leases of an earlier crawler of this name return to their queues; every promise is kept."""
        was_clean = await self._database.run(
            lambda connection, _: self._presence.join(connection), lambda _: self._committed()
        )
        self._tell("frontier.opened", was_clean=was_clean)

    async def close(self) -> None:
        """Return leased visits to their queues; something may just have been sent to their hosts: they wait a full
        gap."""

        def after(_: None) -> None:
            self._leases.clear()
            self._presence.left()

        if self._resolving is not None:
            await self._resolving.close()
        if self._presence.is_open:
            await self._run(self._presence.leave, after)
            self._tell("frontier.closed")

    async def offer(self, offers: Sequence[Offer], pages: Mapping[int, Url] = MappingProxyType({})) -> int:
        def source_of(offer: Offer) -> str | None:
            page = pages.get(offer.source_id) if offer.source_id is not None else None
            return page.host.name if page is not None else None

        def enter(part: Sequence[Offer], connection: Connection, now: SharedMoment) -> tuple[int, int, set[int]]:
            rules, entering = self._rules, Entering(connection, self._rules)
            fresh, seen = self._seen.sift(part, rules.may_enter)
            fresh = self._authorized(connection, fresh, seen)
            seeds = [offer.url for offer in fresh if offer.how is How.SEED]
            with viewed(connection) as state:
                unknown = [seed for seed in seeds if key_of(state, seed, rules.keys) is None]
            sitemaps = [one for seed in unknown for one in sitemaps_of(self._rulebook.of(connection, seed))]
            self._read_again(connection, sitemaps, now)
            new, moves = entering.enter([SourcedOffer(offer, source_of(offer)) for offer in fresh])
            tally(connection, self._me(), moves)
            deliver(connection, rules.politeness)
            return len(fresh), new, seen

        amount = 0
        waiting = iter(offers)
        while part := list(islice(waiting, MOST_OFFERS)):
            fresh, new, _ = await self._run(partial(enter, part), lambda result: self._seen.remember(result[2]))
            amount += fresh
            self._tell("frontier.merged", new=new)
        return amount

    async def _take(self, at_most: int) -> list[Visit]:
        preference = self._preference

        def work(connection: Connection, now: SharedMoment) -> list[SharedLease]:
            preference.left.clear()
            if not self._presence.is_alive(connection):
                return []
            mine = self._me(), self._rulebook, self._rules, self._networks
            return SharedTake(connection, *mine, now, preference).lease(at_most)

        def after(leases: list[SharedLease]) -> None:
            self._leases.update((_key(lease.visit), lease) for lease in leases)

        leases = await self._run(work, after)
        if self._resolving is not None and self._networks is not None:
            self._resolving.ask(self._networks.wanted)
        return [lease.visit for lease in leases]

    async def settle(self, done: Sequence[Settled]) -> None:
        def work(connection: Connection, now: SharedMoment) -> tuple[int, set[int]]:
            leases = [self._lease_of(settled) for settled in done]
            pairs = [(now.settled_shared(one, lease.since_s), lease) for one, lease in zip(done, leases, strict=True)]
            if len({lease.host_id for _, lease in pairs}) < len(pairs):
                raise ValueError("a visit is settled twice")
            settling = SharedSettle(connection, self._me(), self._rulebook, self._rules, now)
            if not settling.hold([lease for _, lease in pairs]):
                return 0, set()
            fresh, seen = self._sifted(connection, done)
            entering = Entering(connection, self._rules)
            _, moves = entering.enter(fresh)
            pairs = with_leads(pairs, entering.new)
            settling.settle(pairs, entering)
            settling.note_said(pairs, self._rules.keys.id)
            tally(connection, self._me(), moves)
            for settled in done:
                if settled.robots is not None:
                    self._read_again(connection, newly_named(settled), now)
            raise_linked(connection, linked_of(entering.known), self._rules.nudge)
            return len(fresh), seen

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
            return max(now.local_at + (GLANCE if self._preference.left else 0), now.here(ready_at))

        return await self._run(work)

    async def _queue_again(self, find: Callable[[State], Again]) -> tuple[int, tuple[int, ...] | None]:
        def work(connection: Connection, now: SharedMoment) -> tuple[int, tuple[int, ...] | None]:
            with viewed(connection) as state:
                found = find(state)
            return requeue(connection, self._me(), found, self._rules, now), found.after

        return await self._run(work)

    async def pasts(self, urls: Sequence[Url]) -> list[Past | None]:
        return await self._run(lambda connection, _: pasts_of(connection, urls, self._rules))

    async def _reschedule(self, changes: Sequence[Reschedule]) -> int:
        return await self._run(lambda connection, now: reschedule(connection, changes, self._rules, now))

    async def plans(self) -> dict[tuple[str, int], int]:
        return await self._run(plans)

    async def awaited(self) -> Awaited | None:
        def look(connection: Connection, now: SharedMoment) -> Awaited | None:
            found = awaited(state_in(connection), (), now.at)
            return found and msgspec.structs.replace(found, until_at=now.here(found.until_at))

        return await self._run(look)

    def holds(self, visit: Visit) -> bool:
        if (key := _key(visit)) not in self._leases:
            return False
        if key not in self._given_up and self._presence.is_trusted():
            return True
        self._given_up[key] = None  # even if no other crawler has taken over: the caller drops it
        return False

    async def retire(self, host: str, why: str) -> bool:
        return await self._run(lambda connection, now: hosts.retire(connection, self._me(), host, why, now.at))

    async def reinstate(self, host: str) -> bool:
        return await self._run(lambda connection, _: hosts.reinstate(connection, self._me(), host))

    async def quarantine(self, host: str, template: str) -> int:
        template_of = self._rules.template_of
        if template_of is None:
            raise ValueError("this frontier was given no `template_of`, so it has no templates")

        def work(connection: Connection, now: SharedMoment) -> int:
            host_ids, new = Entering(connection, self._rules).host_ids([host])
            tally(connection, self._me(), {tallies.HOSTS: new})
            return hosts.quarantine(connection, self._me(), host_ids[host], template, template_of, now.at)

        return await self._run(work)

    async def release(self, host: str, template: str) -> int:
        template_of = self._rules.template_of
        if template_of is None:
            return 0
        return await self._run(lambda connection, _: hosts.release(connection, self._me(), host, template, template_of))

    async def _run(self, work: Callable[[Connection, SharedMoment], T], after: Callable[[T], None] | None = None) -> T:
        """`work` in a transaction that also renews our membership when that is due."""

        returned: list[Key] = []

        def whole(connection: Connection, may_be_done: bool) -> T:
            returned[:] = self._given_up
            held = [lease.host_id for key, lease in self._leases.items() if key not in returned]
            return work(connection, self._presence.begin(connection, held, may_be_done, bool(returned)))

        def done(result: T) -> None:
            self._drop(returned)
            self._committed()
            if after is not None:
                after(result)

        return await self._database.run(whole, done)

    async def _read(self, work: Callable[[State], T]) -> T:
        def look(connection: Connection, _: bool) -> T:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            return work(state_in(connection))

        return await self._database.run(look)

    def _read_again(self, connection: Connection, sitemaps: Sequence[Url], now: SharedMoment) -> None:
        with viewed(connection) as state:
            rows = read_before(state, sitemaps, self._rules.keys)
        queue_again(connection, self._me(), rows, self._rules, now)

    def _sifted(self, connection: Connection, done: Sequence[Settled]) -> tuple[list[SourcedOffer], set[int]]:
        """Links not seen recently that may enter, and the marks to remember once they are safely on disk."""
        found: list[SourcedOffer] = []
        seen: set[int] = set()
        for one in done:
            if one.offers:
                source = one.visit.url.host.name
                repeats: list[Offer] = []
                fresh, seen = self._seen.sift(one.offers, self._rules.may_enter, source, seen, repeats)
                good = self._authorized(connection, fresh, seen)
                found += [SourcedOffer(offer, source) for offer in (*good, *repeats[:MOST_RAISED])]
        return found, seen

    def _authorized(self, connection: Connection, offers: list[Offer], seen: set[int]) -> list[Offer]:
        if all(one.via is None for one in offers):
            return offers

        def known_as(via: Url) -> KnownState | None:
            with viewed(connection) as state:
                return known(state, via, self._rules.keys)

        return authorized(offers, partial(self._rulebook.of, connection), known_as, seen)

    def _committed(self) -> None:
        if self._presence.committed():
            self._tell("frontier.leases_lost", visits=len(self._leases))
            self._drop(list(self._leases))

    def _drop(self, leases: Sequence[Key]) -> None:
        for key in leases:
            self._leases.pop(key, None)
            self._given_up.pop(key, None)
            self._lost[key] = None
        for key in list(self._lost)[:-MOST_LOST]:
            del self._lost[key]

    def _lease_of(self, settled: Settled) -> SharedLease:
        visit = settled.visit
        lease = self._leases.get(_key(visit))
        if lease is None and _key(visit) in self._lost:
            raise LeaseLost([visit.url])
        if lease is None:
            raise ValueError(f"the visit to {visit.url} is not leased: it was never taken, or is already settled")
        check_entry(settled)
        return lease

    def _me(self) -> int:
        return self._presence.number


def _key(visit: Visit) -> Key:
    return visit.url.text, visit.taken_at
