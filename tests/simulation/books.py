"""The simulation's own books: what was promised to whom, by what the web saw, not by what the frontier says."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.web import SimWeb

from gossamer.base.clock import Clock, Instant
from gossamer.frontier.api import Frontier
from gossamer.values.link import Offer
from gossamer.values.outcome import Failed, Fetched, Gone, Outcome
from gossamer.values.url import Url
from gossamer.values.visit import Counts, Settled, Visit, VisitKind

HAIR_S = 3e-6
"""Instants are whole microseconds; sums of them may be off by this."""
MOST_CRAWL_DELAY_S = 30.0
GLANCES_PER_S = 25
"""While visits are out and nothing else is to be had, the journey looks up this often at most."""


class Broken(AssertionError):
    """A promise was not kept."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the last answer about an origin's robots.txt was."""

    may_visit: bool
    disallows: str | None
    delay_s: float | None
    at_s: float
    has_copy: bool = False
    """Whether the rules are those of the last good copy, kept while the file cannot be read."""


@dataclass(slots=True)
class Touch:
    """What a host is owed since its last visit."""

    is_busy: bool = False
    free_s: float = 0.0
    plain_free_s: float = 0.0
    """The same by what had been acknowledged: all that a crash leaves us to know."""
    is_acknowledged: bool = True


@dataclass(slots=True)
class Books:
    web: SimWeb
    clock: Clock
    delay_s: float
    per_address: int
    """Visits to one network address at once at most, over all its hosts ..."""
    apart_s: float
    """... and so far apart their beginnings at least."""
    is_clock_set: bool = False
    """A clock set forward by a day looks like a robots.txt that cannot be read for a day: the old copy speaks again."""
    out: dict[str, Visit] = field(default_factory=dict)
    hosts: dict[str, Touch] = field(default_factory=lambda: defaultdict(Touch))
    told: dict[str, Told] = field(default_factory=dict)
    fresh: dict[str, Told] = field(default_factory=dict)
    """Answers received and not yet acknowledged."""
    at_address: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    started_s: dict[str, float] = field(default_factory=dict)
    fetched: set[str] = field(default_factory=set)
    """Pages whose answer was acknowledged."""
    visits: int = 0
    failures: int = 0
    takes: int = 0
    least_slack_s: float = 1e9

    def taken(self, visits: Sequence[Visit]) -> None:
        self.takes += 1
        if self.takes > 2_000 + 60 * self.visits + GLANCES_PER_S * self.clock.elapsed_s():
            raise Broken(f"{self.takes} takes for {self.visits} visits: it spins")
        for visit in visits:
            host = visit.url.host.name
            if host in self.out:
                raise Broken(f"two leases at {host}: {self.out[host].url} and {visit.url}")
            self.out[host] = visit

    def began(self, url: Url, kind: VisitKind) -> None:
        now_s, name = self.clock.elapsed_s(), url.host.name
        host, visit = self.hosts[name], self.out.get(name)
        self.visits += 1
        if visit is None or visit.url != url:
            raise Broken(f"{url} is fetched and was not taken")
        if host.is_busy:
            raise Broken(f"two visits to {name} at once: {url}")
        if now_s < host.free_s - HAIR_S:
            raise Broken(f"{url} is fetched {host.free_s - now_s:.6f} s too early")
        self.least_slack_s = min(self.least_slack_s, now_s - host.free_s)
        if kind is VisitKind.PAGE:
            self._check_rules(url, now_s)
        host.is_busy = True
        self._at_address(self.web.hosts[name].address, url, now_s)

    def _at_address(self, address: str, url: Url, now_s: float) -> None:
        self.at_address[address] += 1
        if self.at_address[address] > self.per_address:
            raise Broken(f"{url}: {self.at_address[address]} visits to {address} at once")
        since_s = now_s - self.started_s.get(address, -1e9)
        if since_s < self.apart_s - HAIR_S:
            raise Broken(f"{url}: {since_s:.6f} s after the last visit to {address}")
        self.started_s[address] = now_s

    def _check_rules(self, url: Url, now_s: float) -> None:
        told = self.told.get(url.origin)
        if told is None or not (told.may_visit or (told.has_copy and self.is_clock_set)):
            raise Broken(f"{url} is fetched, and its robots.txt has not been read")
        if told.disallows and url.path.startswith(told.disallows):
            raise Broken(f"{url} is fetched, and robots.txt disallows {told.disallows}")
        if now_s - told.at_s > 24 * 3600:
            raise Broken(f"{url} is fetched by a robots.txt that is {now_s - told.at_s} s old")

    def ended(self, url: Url, kind: VisitKind, outcome: Outcome) -> None:
        now_s, name = self.clock.elapsed_s(), url.host.name
        host, visit = self.hosts[name], self.out[name]
        host.is_busy = False
        self.at_address[self.web.hosts[name].address] -= 1
        if kind is VisitKind.ROBOTS:
            self.fresh[visit.origin] = self._told(visit, outcome, now_s)
        self.failures += isinstance(outcome, Failed)
        wait_s = outcome.wait_s or 0.0 if isinstance(outcome, Failed) else 0.0
        host.free_s = now_s + self._gap_s(name, self.told | self.fresh) + wait_s
        host.plain_free_s = now_s + self._gap_s(name, self.told)
        host.is_acknowledged = False

    def _told(self, visit: Visit, outcome: Outcome, now_s: float) -> Told:
        before = self.told.get(visit.origin)
        old_delay_s = before.delay_s if before else None
        match outcome:
            case Fetched():
                said = self.web.robots_now(self.web.hosts[Url(visit.origin + "/").host.name])
                assert said is not None
                return Told(True, said.disallows, said.delay_s, now_s)
            case Gone():
                return Told(True, None, None, now_s)
            case _:
                kept = before if before is not None and (before.may_visit or before.has_copy) else None
                disallows = kept.disallows if kept else None
                return Told(False, disallows, old_delay_s, now_s, has_copy=kept is not None)

    def _gap_s(self, name: str, told: dict[str, Told]) -> float:
        asked = [told[o].delay_s or 0.0 for o in (f"http://{name}", f"https://{name}") if o in told]
        return max([self.delay_s, *(min(MOST_CRAWL_DELAY_S, one) for one in asked)])

    def settled(self, done: Sequence[Settled]) -> None:
        for one in done:
            name = one.visit.url.host.name
            del self.out[name]
            self.hosts[name].is_acknowledged = True
            if one.visit.kind is VisitKind.ROBOTS:
                self.told[one.visit.origin] = self.fresh.pop(one.visit.origin)
            elif one.kept is not None and one.kept.status == 200:
                self.fetched.add(one.visit.url.text)

    def crashed(self) -> None:
        """What was not acknowledged is forgotten, on their side as on ours; a visit under way ends now."""
        now_s = self.clock.elapsed_s()
        self.fresh.clear()
        self.out.clear()
        self.at_address.clear()
        for name, host in self.hosts.items():
            if host.is_busy:
                host.free_s = now_s + self._gap_s(name, self.told)
            elif not host.is_acknowledged:
                host.free_s = host.plain_free_s
            host.is_busy, host.is_acknowledged = False, True


class Watched:
    """A frontier with the books beside it. What it is asked besides goes straight through."""

    def __init__(self, inner: Frontier, books: Books) -> None:
        self._inner = inner
        self._books = books

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def offer(self, offers: Sequence[Offer]) -> int:
        return await self._inner.offer(offers)

    async def take(self, at_most: int) -> list[Visit]:
        visits = await self._inner.take(at_most)
        self._books.taken(visits)
        return visits

    async def settle(self, done: Sequence[Settled]) -> None:
        await self._inner.settle(done)
        self._books.settled(done)

    async def next_at(self) -> Instant | None:
        return await self._inner.next_at()

    async def counts(self) -> Counts:
        return await self._inner.counts()
