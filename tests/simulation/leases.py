"""Several crawlers on one shared frontier, on virtual clocks: frozen, killed, cut off, with messages lost and repeated.

The database is a real PostgreSQL server. What is simulated is everything around it: the clocks of the crawlers (up to
an hour apart), connections that break before or after a commit, commits that are late by up to three leases, crawlers
that freeze in the middle of a fetch and wake later, and those that are killed. The checks look at requests, and at
settlements that were confirmed:

- no two crawlers hold the lease of one host at the same time by their own judgement when a request is sent
- between two requests to a host there is at least the gap, also after a takeover
- a page whose settlement was confirmed is never requested again
- in the end every page is settled, and only once
"""

import argparse
import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

import psycopg
from tests.postgres_server import server

from gossamer.base.clock import SECOND
from gossamer.base.tell import silent
from gossamer.config.slices import Politeness
from gossamer.frontier.api import FrontierRules, LeaseLost
from gossamer.frontier.postgres.frontier import PostgresFrontier
from gossamer.frontier.postgres.presence import Replaced, Stay
from gossamer.store.postgres.database import SharedDatabase
from gossamer.testing import FakeClock
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Settled, Visit, VisitKind

T = TypeVar("T")
POLITE = Politeness(delay_s=1.0, jitter=0.0)
LEASE_S = 20.0
STEP_S = 0.5
MOST_STEPS = 4_000
ROUNDING_S = 3e-6
BLOCKED_S = 0.01
"""Real time after which a call counts as waiting for a lock of a late transaction."""


class FlakyDatabase(SharedDatabase):
    """Its connection breaks, or its commit is late, when `fault` says so."""

    fault: Callable[[], str] = staticmethod(str)  # type: ignore[assignment]
    """ "before" or "after" a transaction its connection breaks; "late": so is its commit; else empty."""
    stall: Callable[[], None]
    """Blocks until the commit may go on."""

    def _once(self, work: Any, may_be_done: bool) -> Any:
        fault = self.fault()
        if fault == "before":
            raise psycopg.OperationalError("the connection broke before the transaction")

        def stalling(connection: Any, flag: bool) -> Any:
            result = work(connection, flag)
            self.stall()
            return result

        result = super()._once(stalling if fault == "late" else work, may_be_done)
        if fault == "after":
            raise psycopg.OperationalError("the connection broke after the commit")
        return result


@dataclass(slots=True)
class Kind:
    crawlers: int = 3
    hosts: int = 6
    pages: int = 20
    """Of each host."""


@dataclass(slots=True)
class Crawler:
    name: str
    clock: FakeClock
    opened: AsyncExitStack
    frontier: PostgresFrontier
    visits: dict[str, Visit] = field(default_factory=dict)
    """Taken and not sent yet, by host."""
    sent: dict[str, tuple[Visit, float]] = field(default_factory=dict)
    """Requests in flight, with the virtual time at which their responses are there."""
    frozen_until_s: float = 0.0
    call: "asyncio.Task[bool] | None" = None
    """Its turn with the database, while that is not done."""


@dataclass(slots=True)
class Ran:
    requests: int = 0
    settled: int = 0
    lost_leases: int = 0
    kills: int = 0
    freezes: int = 0
    breaks: int = 0
    late: int = 0


class Simulation:
    """One run; everything about it follows from its seed, apart from how the server orders what it is told at once."""

    def __init__(self, seed: int, conninfo: str, kind: Kind) -> None:
        self.seed, self.conninfo, self.kind = seed, conninfo, kind
        self.chance = random.Random(seed)
        self.shared = FakeClock()
        self.now_s = 0.0
        self.crew: list[Crawler] = []
        self.ran = Ran()
        self.is_calm = self.is_over = False
        self.last_sent_s: dict[str, float] = {}
        self.confirmed: Counter[str] = Counter()
        self.births = 0

    def every_page(self) -> set[str]:
        return {f"http://h{host}.test/{n}" for host in range(self.kind.hosts) for n in range(self.kind.pages)}

    def links_of(self, url: Url) -> list[Url]:
        """From every page all others can be reached."""
        host, number = int(url.host.name[1:].partition(".")[0]), int(url.path[1:])
        targets = [((host + 1) % self.kind.hosts, number), (host, (number + 1) % self.kind.pages), (host, 0)]
        return [Url(f"http://h{h}.test/{n}") for h, n in targets]

    async def run(self) -> Ran:
        async with AsyncExitStack() as everything:
            try:
                for _ in range(self.kind.crawlers):
                    self.crew.append(await self.born(f"crawler{len(self.crew)}"))
                await self.crew[0].frontier.offer([Offer(Url("http://h0.test/0"), How.SEED)])
                for step in range(MOST_STEPS):
                    self.is_calm = step > MOST_STEPS // 8 or len(self.confirmed) >= len(self.every_page()) - 2
                    if await self.step():
                        break
                else:
                    self.fail("the crawl does not end")
                await self.check_end()
            finally:
                self.is_over = True
                for one in self.crew:
                    everything.push_async_exit(one.opened)
        return self.ran

    async def born(self, name: str) -> Crawler:
        clock = FakeClock()
        clock.advance((self.shared.now() - clock.now()) / SECOND + self.chance.uniform(-3600, 3600))
        opened = AsyncExitStack()
        database = await opened.enter_async_context(FlakyDatabase(self.conninfo, clock, silent, patience_s=1e9))
        rules = FrontierRules(POLITE, lambda _: True)
        stay = Stay(name, LEASE_S, LEASE_S / 4)
        frontier = PostgresFrontier(database, rules, clock, silent, stay, lambda _: self.shared.now())
        await frontier.open()
        database.fault, database.stall = self.fault, self.stall  # type: ignore[method-assign]
        self.births += 1
        return Crawler(name, clock, opened, frontier)

    def fault(self) -> str:
        if self.is_calm or self.chance.random() > 0.05:
            return ""
        fault = self.chance.choice(["before", "after", "late"])
        self.ran.breaks += fault != "late"
        self.ran.late += fault == "late"
        return fault

    def stall(self) -> None:
        until_s = self.now_s + self.chance.uniform(0.1, 3 * LEASE_S)
        while self.now_s < until_s and not self.is_over:
            time.sleep(0.0005)

    async def step(self) -> bool:
        """One step of all crawlers; whether the crawl is over."""
        self.advance(self.chance.uniform(0, 2 * STEP_S))
        for number, one in enumerate(self.crew):
            if not self.is_calm and self.chance.random() < 0.01:
                self.crew[number] = await self.replaced(one)
            elif not self.is_calm and self.chance.random() < 0.01 and not self.is_frozen(one):
                one.frozen_until_s = self.now_s + self.chance.uniform(1, 4 * LEASE_S)
                self.ran.freezes += 1
        awake = [one for one in self.crew if not self.is_frozen(one)]
        self.chance.shuffle(awake)
        for one in awake:  # sent between two calls to the database, as the real one does
            self.send(one)
        ends = await self.calls(awake)
        working = [one for one in self.crew if one.frozen_until_s != float("inf")]
        return self.is_calm and len(ends) == len(working) and all(ends)

    async def calls(self, awake: list[Crawler]) -> list[bool]:
        """A turn of each crawler that is not in one; late ones, and those that wait for their locks, go on meanwhile.
        Returns what the turns found that are done."""
        for one in awake:
            one.call = one.call or asyncio.ensure_future(self.turn(one))
        calls = [one.call for one in awake if one.call is not None]
        if calls:
            await asyncio.wait(calls, timeout=BLOCKED_S)
        found = []
        for one in awake:
            if one.call is not None and one.call.done():
                found.append(one.call.result())
                one.call = None
        return found

    def is_frozen(self, one: Crawler) -> bool:
        return one.frozen_until_s > self.now_s

    def advance(self, seconds: float) -> None:
        self.now_s += seconds
        for clock in (self.shared, *(one.clock for one in self.crew)):
            clock.advance(seconds)

    async def replaced(self, one: Crawler) -> Crawler:
        """Killed, and started again: sometimes under its old name, at once; otherwise under a new one."""
        if one.call is not None:
            return one  # its thread is still with the database
        self.ran.kills += 1
        await one.opened.aclose()
        return await self.born(one.name if self.chance.random() < 0.5 else f"{one.name}-{self.births}")

    def send(self, one: Crawler) -> None:
        for host, visit in list(one.visits.items()):
            if self.chance.random() < 0.4:
                continue
            del one.visits[host]
            if not one.frontier.holds(visit):
                continue
            self.check_request(one, host, visit)
            self.last_sent_s[host] = self.now_s
            one.sent[host] = visit, self.now_s + self.chance.choice([0.01, 0.3, 2.0, 10.0, 1.5 * LEASE_S])
            self.ran.requests += 1

    def check_request(self, one: Crawler, host: str, visit: Visit) -> None:
        for other in self.crew:
            held = [*other.visits.values(), *(sent for sent, _ in other.sent.values())]
            if other is not one and any(v.url.host.name == host and other.frontier.holds(v) for v in held):
                self.fail(f"{one.name} and {other.name} both hold {host}")
        if (last_s := self.last_sent_s.get(host)) is not None and self.now_s < last_s + POLITE.delay_s - ROUNDING_S:
            self.fail(f"{visit.url} is requested {self.now_s - last_s:.3f} s after the request before")
        if visit.kind is VisitKind.PAGE and self.confirmed[visit.url.text]:
            self.fail(f"{visit.url} is requested although it is settled")

    async def turn(self, one: Crawler) -> bool:
        """Settle what has arrived, and take more. Whether this crawler sees nothing left."""
        try:
            await self.settle(one)
            free = 4 - len(one.visits) - len(one.sent)
            for visit in await one.frontier.take(free) if free > 0 else []:
                one.visits[visit.url.host.name] = visit
            return not one.visits and not one.sent and await one.frontier.next_at() is None
        except Replaced:  # the older of two with one name was only frozen
            one.visits.clear()
            one.sent.clear()
            one.frozen_until_s = float("inf")
            return True

    async def settle(self, one: Crawler) -> None:
        arrived = [host for host, (_, done_s) in one.sent.items() if done_s <= self.now_s]
        for host in arrived:
            visit, _ = one.sent.pop(host)
            try:
                await one.frontier.settle([self.settled(one, visit)])
            except LeaseLost:
                self.ran.lost_leases += 1
                continue
            self.ran.settled += 1
            if visit.kind is VisitKind.PAGE:
                self.confirmed[visit.url.text] += 1
                if self.confirmed[visit.url.text] > 1:
                    self.fail(f"{visit.url} is settled twice")

    def settled(self, one: Crawler, visit: Visit) -> Settled:
        now = one.clock.now()
        if visit.kind is VisitKind.ROBOTS:
            robots = Robots(visit.origin, RobotsState.MISSING, now, now + 30 * 86_400 * SECOND)
            return Settled(visit, Reason.GONE, now, robots=robots)
        offers = tuple(Offer(url, How.LINK, visit.url.id, visit.depth + 1) for url in self.links_of(visit.url))
        return Settled(visit, Reason.FETCHED, now, offers=offers)

    async def check_end(self) -> None:
        alive = [one for one in self.crew if one.frozen_until_s != float("inf")]
        counts = await (alive or self.crew)[0].frontier.counts()
        every = len(self.every_page())
        if (counts.known, counts.by_reason, counts.queued, counts.leased) != (every, {"fetched": every}, 0, 0):
            self.fail(f"not all pages are settled: {counts}")
        if unknown := set(self.confirmed) - self.every_page():
            self.fail(f"settled, but no page: {unknown}")

    def fail(self, why: str) -> None:
        raise AssertionError(f"seed {self.seed}, at {self.now_s:.1f} s: {why}")


def simulate(seed: int, conninfo: str, kind: Kind | None = None) -> Ran:
    async def whole() -> Ran:
        return await Simulation(seed, conninfo, kind or Kind()).run()

    work: Awaitable[Ran] = whole()
    return asyncio.run(work)  # type: ignore[arg-type]


def main() -> int:
    """`python -m tests.simulation.leases --seeds 1000`: prints each seed that fails, and then exits with 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.leases", description=main.__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed; with --seeds 1 that one alone")
    given = parser.parse_args()
    total, failed = Counter[str](), 0
    for number, seed in enumerate(range(given.first, given.first + given.seeds), 1):
        schema = f"leases{seed}"
        try:
            total.update(asdict(simulate(seed, server().conninfo(schema, waits_for_disk=False))))
        except AssertionError as error:
            failed += 1
            print(error, flush=True)
        server().run(f'DROP SCHEMA "{schema}" CASCADE; DROP SCHEMA IF EXISTS "{schema}_views" CASCADE')
        if number % 25 == 0 or number == given.seeds:
            said = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in total.items())
            print(f"{number:,} seeds, {failed} failed: {said}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
