"""Revisit policies on a virtual clock, against a web that changes. In days.

The result is how fresh their copies of it are.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from heapq import heapify, heappop, heappush
from itertools import accumulate

import msgspec

from gossamer.base.clock import DAY, DAY_S, Instant
from gossamer.base.environment import Chance, seeded
from gossamer.recrawl.freshness import PageKind, optimum
from gossamer.recrawl.policies import Paper, Policy, Tree, in_days, is_due_by_links, moved_threshold, policy_named
from gossamer.values.history import Due, History, Planned, PolicyPage, VisitFinding, Why

NEVER = math.inf
SITE_PAGES = 100
BRANCHES = 10
"""Pages one level down that a page links to."""

CLASSES = (
    (0.23, 1.0, 4.0),
    (0.15, 1.0 / 7.0, 1.0),
    (0.16, 1.0 / 30.0, 1.0 / 7.0),
    (0.16, 1.0 / 120.0, 1.0 / 30.0),
    (0.30, 1.0 / 913.0, 1.0 / 120.0),
)
"""Share of pages, and the range of their changes per day: daily or more often, weekly, monthly, every four months, less
(Cho and Garcia-Molina, "The evolution of the web", VLDB 2000). Log-uniform within a class."""

BURST_RATE, BURST_DAYS, QUIET_DAYS = 6.0, 2.0, 28.0


class Nature(StrEnum):
    """How a page changes."""

    POISSON = "poisson"  # at random, at its own rate
    BURSTY = "bursty"  # on average two busy days, then four quiet weeks
    DAILY = "daily"  # once a day, at its own hour
    DEAD = "dead"  # at random, until it stops


WEBS: dict[str, dict[Nature, float]] = {
    "measured": {Nature.POISSON: 1.0},
    "mixed": {Nature.POISSON: 0.7, Nature.BURSTY: 0.1, Nature.DAILY: 0.1, Nature.DEAD: 0.1},
}


@dataclass(slots=True)
class SyntheticPage:
    nature: Nature
    rate: float
    start: float = 0.0
    """Bursty: the start of the burst; daily: the hour; dead: the end."""
    end: float = 0.0
    """Bursty: the end of the burst."""
    stale_at: float = NEVER
    """Its first change since its last visit, past or future."""
    visited_at: float = 0.0
    age: float = 0.0
    """Of its copy, summed over the days that count."""
    stale_days: float = 0.0


class SyntheticWeb:
    def __init__(self, chance: Chance, days: float, pages: int, kinds: dict[Nature, float]) -> None:
        self._chance, self._days = chance, days
        names, bounds = list(kinds), list(accumulate(kinds.values()))
        self.pages = [
            self._page(names[min(bisect_right(bounds, chance.random() * bounds[-1]), len(names) - 1)])
            for _ in range(pages)
        ]
        for page in self.pages:
            page.stale_at = self._next_change(page, 0.0)

    def visit(self, page: SyntheticPage, now: float) -> bool:
        """Whether it changed since the last visit. REQUIRES: visits to a page are in order of time."""
        if page.stale_at > now:
            return False
        page.stale_at = self._next_change(page, now)
        return True

    def kinds(self) -> list[PageKind]:
        """Its pages by their true rates, within 1 %."""
        counts = Counter(rounded(page.rate) for page in self.pages)
        return [PageKind(rate, count) for rate, count in sorted(counts.items())]

    def _page(self, nature: Nature) -> SyntheticPage:
        page = SyntheticPage(nature, self._measured_rate())
        if nature is Nature.BURSTY:
            page.start = self._after(QUIET_DAYS)
            page.end = page.start + self._after(BURST_DAYS)
            page.rate = BURST_RATE * BURST_DAYS / (BURST_DAYS + QUIET_DAYS)
        elif nature is Nature.DAILY:
            page.rate, page.start = 1.0, self._chance.random()
        elif nature is Nature.DEAD:
            page.start = self._chance.random() * self._days / 2
        return page

    def _measured_rate(self) -> float:
        drawn = self._chance.random()
        for share, slowest, fastest in CLASSES:
            if drawn < share:
                return slowest * math.exp(math.log(fastest / slowest) * drawn / share)
            drawn -= share
        return CLASSES[-1][1]

    def _next_change(self, page: SyntheticPage, now: float) -> float:
        if page.nature is Nature.DAILY:
            return math.floor(now - page.start) + 1.0 + page.start
        if page.nature is not Nature.BURSTY:
            change = now + self._after(1.0 / page.rate)
            return NEVER if page.nature is Nature.DEAD and change >= page.start else change
        while (change := max(now, page.start) + self._after(1.0 / BURST_RATE)) >= page.end:
            page.start = max(now, page.end) + self._after(QUIET_DAYS)
            page.end = page.start + self._after(BURST_DAYS)
        return change

    def _after(self, mean_days: float) -> float:
        return -math.log(1.0 - self._chance.random()) * mean_days


def rounded(rate: float) -> float:
    return math.exp(round(math.log(rate) * 100.0) / 100.0)


def parent_of(page: int) -> int | None:
    """The page of its site that links down to it."""
    place = page % SITE_PAGES
    return page - place + (place - 1) // BRANCHES if place else None


def links_of(page: int, pages: int) -> range:
    place = page % SITE_PAGES
    site, first = page - place, place * BRANCHES + 1
    last = min(site + first + BRANCHES, site + SITE_PAGES, pages)
    return range(site + first, last) if first < SITE_PAGES else range(0)


BEST = "optimum"
"""Not a policy, but the best one possible if the true rates were known."""
MOST_SAMPLED = 2_000
"""Pages whose age is sampled each day, for the plot."""


class Simulation(msgspec.Struct, frozen=True):
    pages: int
    days: float
    counted_days: float
    """At the end; before, a policy learns."""
    budget: float
    """Visits per day in total."""
    seed: int
    web: str = "measured"
    has_links: bool = False
    """Whether `paper` checks links (B3). In this web pages change independently, so links say nothing."""

    @property
    def per_page(self) -> float:
        return self.budget / self.pages


class Share(msgspec.Struct, frozen=True):
    """The copies of pages of one nature."""

    nature: str
    pages: int
    average_age_days: float
    freshness: float


class Result(msgspec.Struct, frozen=True):
    policy: str
    average_age_days: float
    freshness: float
    visits_per_day: float
    budget_per_day: float
    longest_gap_days: float
    """The longest time without a visit to a page."""
    natures: tuple[Share, ...]
    ages_by_day: tuple[float, ...]
    """The average age at the end of each day, of a sample of pages."""


Progress = Callable[[float], None]
"""Called with the share that is done."""


class Best(Policy):
    """The optimum with the true rates."""

    name = BEST

    def __init__(self, web: SyntheticWeb, per_page: float) -> None:
        kinds = web.kinds()
        days = dict(zip([kind.rate for kind in kinds], optimum(kinds, per_page), strict=True))
        self._days = [days[rounded(page.rate)] for page in web.pages]

    def first_due(self, page: PolicyPage, now: Instant, chance_number: float) -> Due:
        return in_days(now, self._days[page.id] * chance_number, Why.RATE)

    def next_due(self, page: PolicyPage, seen: VisitFinding, chance_number: float) -> Planned:
        return Planned(page.history, in_days(seen.at, self._days[page.id], Why.RATE))


class _Run:
    def __init__(self, plan: Simulation, policy: Policy, web: SyntheticWeb, chance: Chance) -> None:
        """Every page was just fetched for the first time."""
        self.plan, self.policy, self.web, self.chance = plan, policy, web, chance
        self.known = list[PolicyPage]()
        self.due = list[float]()
        self.changed_links: dict[int, int] = {}
        """Paper: how many of a page's links were found changed since its own last visit."""
        self.ages_by_day = list[float]()
        self.visits = 0
        self.longest = 0.0
        for page in range(plan.pages):
            history = History()
            if isinstance(policy, Tree):
                history = policy.at_depth(history, page % SITE_PAGES)
            self.known.append(PolicyPage(page, (f"site {page // SITE_PAGES}",), history))
            self.due.append(policy.first_due(self.known[page], 0, chance.random()).at / DAY)
        self.heap = [(due, page) for page, due in enumerate(self.due)]
        heapify(self.heap)

    def simulate(self, progress: Progress) -> None:
        free_at, took, day, days, visits = 0.0, 1.0 / self.plan.budget, 1, self.plan.days, 0
        while free_at < days:
            due, page = heappop(self.heap)
            if due != self.due[page]:
                continue
            now = max(due, free_at) if self.policy.keeps_time else free_at
            if now >= days:
                break
            if now >= day:
                self._end_of_day(day, progress)
                used, visits = visits / self.plan.budget, 0
                self.policy.report_load(used, max(0.0, free_at - due), round(now * DAY))
                day += 1
            free_at, visits = now + took, visits + 1
            self._visit(page, due, now)
        self._end_of_day(round(days), progress)
        for one in self.web.pages:
            self._count(one, days)

    def _visit(self, page: int, due: float, now: float) -> None:
        one, known = self.web.pages[page], self.known[page]
        elapsed = now - one.visited_at
        self._count(one, now)
        has_changed = self.web.visit(one, now)
        seen = VisitFinding(round(now * DAY), elapsed * DAY_S, has_changed)
        planned = self.policy.next_due(known, seen, self.chance.random())
        self.known[page] = PolicyPage(page, known.group, planned.history)
        # Where due times are only an order, the next one counts from the last one, not from the visit.
        start = now if self.policy.keeps_time else due
        self._push(page, start + (planned.due.at - seen.at) / DAY)
        if planned.checks_links:
            for link in links_of(page, self.plan.pages):
                self._push(link, min(due, self.due[link]))
        elif self.plan.has_links and isinstance(self.policy, Paper):
            self._check_parent(page, due, has_changed)

    def _count(self, page: SyntheticPage, now: float) -> None:
        """Count the time since the last visit. REQUIRES: `stale_at` is still that of the last visit."""
        self.longest = max(self.longest, now - page.visited_at)
        counts_from = self.plan.days - self.plan.counted_days
        if now > counts_from:
            self.visits += 1
            if page.stale_at < now:
                start = max(page.stale_at, counts_from)
                page.stale_days += now - start
                page.age += ((now - page.stale_at) ** 2 - (start - page.stale_at) ** 2) / 2.0
        page.visited_at = now

    def _push(self, page: int, due: float) -> None:
        self.due[page] = due
        heappush(self.heap, (due, page))

    def _check_parent(self, page: int, due: float, has_changed: bool) -> None:
        """B3: the page that links here may be due because this one changed."""
        self.changed_links.pop(page, None)
        above = parent_of(page)
        if not has_changed or above is None:
            return
        changed = self.changed_links[above] = self.changed_links.get(above, 0) + 1
        known, links = self.known[above], len(links_of(above, self.plan.pages))
        threshold = moved_threshold(known.history.threshold, changed, links)
        history = msgspec.structs.replace(known.history, threshold=threshold)
        self.known[above] = PolicyPage(above, known.group, history)
        if is_due_by_links(known.history.threshold, changed, links):
            self._push(above, min(due, self.due[above]))

    def _end_of_day(self, day: int, progress: Progress) -> None:
        sample = self.web.pages[:: max(1, self.plan.pages // MOST_SAMPLED)]
        self.ages_by_day.append(math.fsum(max(0.0, day - page.stale_at) for page in sample) / len(sample))
        progress(day / self.plan.days)


def simulated(name: str, plan: Simulation, progress: Progress = lambda _: None) -> Result:
    """All policies get the same web for one plan; what happens in it later depends on their visits."""
    web = SyntheticWeb(seeded(plan.seed), plan.days, plan.pages, WEBS[plan.web])
    policy = Best(web, plan.per_page) if name == BEST else policy_named(name, plan.per_page)
    run = _Run(plan, policy, web, seeded(plan.seed + 1_000_003))
    run.simulate(progress)
    shares = []
    for nature in Nature:
        if of := [page for page in web.pages if page.nature is nature]:
            page_days = plan.counted_days * len(of)
            age = math.fsum(page.age for page in of) / page_days
            shares.append(Share(nature.value, len(of), age, 1.0 - math.fsum(one.stale_days for one in of) / page_days))
    return Result(
        name,
        math.fsum(one.average_age_days * one.pages for one in shares) / plan.pages,
        math.fsum(one.freshness * one.pages for one in shares) / plan.pages,
        (run.visits - plan.pages) / plan.counted_days,
        plan.budget,
        run.longest,
        tuple(shares),
        tuple(run.ages_by_day),
    )
