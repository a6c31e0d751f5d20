"""The simulation's own ledger: it checks guarantees by the requests that the web saw, not by the frontier's data."""

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

ROUNDING_S = 3e-6
"""Instants are whole microseconds; sums of them may be wrong by this."""
MOST_CRAWL_DELAY_S = 30.0
IDLE_TAKES_PER_S = 25
"""While fetches are in progress and nothing else is due, the journey takes at most this often."""


class GuaranteeBroken(AssertionError):
    """A guarantee did not hold."""


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """What the last response for an origin's robots.txt means."""

    may_visit: bool
    disallows: str | None
    delay_s: float | None
    at_s: float
    has_copy: bool = False
    """Whether the rules are those of the last good copy, which applies while the file cannot be read."""


@dataclass(slots=True)
class HostState:
    """When a host may be fetched from again."""

    is_busy: bool = False
    free_s: float = 0.0
    acknowledged_free_s: float = 0.0
    """The same by acknowledged fetches alone, which are all that is known after a crash."""
    is_acknowledged: bool = True


@dataclass(slots=True)
class Books:
    web: SimWeb
    clock: Clock
    delay_s: float
    per_address: int
    """The most fetches at once from one IP address, over all its hosts ..."""
    apart_s: float
    """... and the minimum time between their starts."""
    is_clock_set: bool = False
    """A clock set forward by a day looks like a robots.txt that could not be read for a day: the old copy applies."""
    leased: dict[str, Visit] = field(default_factory=dict)
    hosts: dict[str, HostState] = field(default_factory=lambda: defaultdict(HostState))
    rules: dict[str, RobotsRules] = field(default_factory=dict)
    fresh: dict[str, RobotsRules] = field(default_factory=dict)
    """Responses received and not yet acknowledged."""
    at_address: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    started_s: dict[str, float] = field(default_factory=dict)
    fetched: set[str] = field(default_factory=set)
    """Pages whose response was acknowledged."""
    visits: int = 0
    failures: int = 0
    takes: int = 0
    least_slack_s: float = 1e9

    def taken(self, visits: Sequence[Visit]) -> None:
        self.takes += 1
        if self.takes > 2_000 + 60 * self.visits + IDLE_TAKES_PER_S * self.clock.elapsed_s():
            raise GuaranteeBroken(f"{self.takes} takes for {self.visits} visits: a busy loop")
        for visit in visits:
            host = visit.url.host.name
            if host in self.leased:
                raise GuaranteeBroken(f"two leases at {host}: {self.leased[host].url} and {visit.url}")
            self.leased[host] = visit

    def began(self, url: Url, kind: VisitKind) -> None:
        now_s, name = self.clock.elapsed_s(), url.host.name
        host, visit = self.hosts[name], self.leased.get(name)
        self.visits += 1
        if visit is None or visit.url != url:
            raise GuaranteeBroken(f"{url} is fetched but was not taken")
        if host.is_busy:
            raise GuaranteeBroken(f"two fetches from {name} at once: {url}")
        if now_s < host.free_s - ROUNDING_S:
            raise GuaranteeBroken(f"{url} is fetched {host.free_s - now_s:.6f} s too early")
        self.least_slack_s = min(self.least_slack_s, now_s - host.free_s)
        if kind is VisitKind.PAGE:
            self._check_rules(url, now_s)
        host.is_busy = True
        self._at_address(self.web.hosts[name].address, url, now_s)

    def _at_address(self, address: str, url: Url, now_s: float) -> None:
        self.at_address[address] += 1
        if self.at_address[address] > self.per_address:
            raise GuaranteeBroken(f"{url}: {self.at_address[address]} fetches from {address} at once")
        since_s = now_s - self.started_s.get(address, -1e9)
        if since_s < self.apart_s - ROUNDING_S:
            raise GuaranteeBroken(f"{url}: {since_s:.6f} s after the last fetch from {address}")
        self.started_s[address] = now_s

    def _check_rules(self, url: Url, now_s: float) -> None:
        rules = self.rules.get(url.origin)
        if rules is None or not (rules.may_visit or (rules.has_copy and self.is_clock_set)):
            raise GuaranteeBroken(f"{url} is fetched, but its robots.txt has not been read")
        if rules.disallows and url.path.startswith(rules.disallows):
            raise GuaranteeBroken(f"{url} is fetched, but robots.txt disallows {rules.disallows}")
        if now_s - rules.at_s > 24 * 3600:
            raise GuaranteeBroken(f"{url} is fetched by a robots.txt that is {now_s - rules.at_s} s old")

    def ended(self, url: Url, kind: VisitKind, outcome: Outcome) -> None:
        now_s, name = self.clock.elapsed_s(), url.host.name
        host, visit = self.hosts[name], self.leased[name]
        host.is_busy = False
        self.at_address[self.web.hosts[name].address] -= 1
        if kind is VisitKind.ROBOTS:
            self.fresh[visit.origin] = self._rules_after(visit, outcome, now_s)
        self.failures += isinstance(outcome, Failed)
        wait_s = outcome.wait_s or 0.0 if isinstance(outcome, Failed) else 0.0
        host.free_s = now_s + self._gap_s(name, self.rules | self.fresh) + wait_s
        host.acknowledged_free_s = now_s + self._gap_s(name, self.rules)
        host.is_acknowledged = False

    def _rules_after(self, visit: Visit, outcome: Outcome, now_s: float) -> RobotsRules:
        before = self.rules.get(visit.origin)
        old_delay_s = before.delay_s if before else None
        match outcome:
            case Fetched():
                answer = self.web.robots_now(self.web.hosts[Url(visit.origin + "/").host.name])
                assert answer is not None
                return RobotsRules(True, answer.disallows, answer.delay_s, now_s)
            case Gone():
                return RobotsRules(True, None, None, now_s)
            case _:
                kept = before if before is not None and (before.may_visit or before.has_copy) else None
                disallows = kept.disallows if kept else None
                return RobotsRules(False, disallows, old_delay_s, now_s, has_copy=kept is not None)

    def _gap_s(self, name: str, rules: dict[str, RobotsRules]) -> float:
        delays = [rules[o].delay_s or 0.0 for o in (f"http://{name}", f"https://{name}") if o in rules]
        return max([self.delay_s, *(min(MOST_CRAWL_DELAY_S, one) for one in delays)])

    def settled(self, done: Sequence[Settled]) -> None:
        for one in done:
            name = one.visit.url.host.name
            del self.leased[name]
            self.hosts[name].is_acknowledged = True
            if one.visit.kind is VisitKind.ROBOTS:
                self.rules[one.visit.origin] = self.fresh.pop(one.visit.origin)
            elif one.kept is not None and one.kept.status == 200:
                self.fetched.add(one.visit.url.text)

    def crashed(self) -> None:
        """Forget what was not acknowledged, as the crawler does; a fetch in progress ends now."""
        now_s = self.clock.elapsed_s()
        self.fresh.clear()
        self.leased.clear()
        self.at_address.clear()
        for name, host in self.hosts.items():
            if host.is_busy:
                host.free_s = now_s + self._gap_s(name, self.rules)
            elif not host.is_acknowledged:
                host.free_s = host.acknowledged_free_s
            host.is_busy, host.is_acknowledged = False, True


class Watched:
    """A frontier whose calls are recorded in the books. Other methods are passed through."""

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
