"""Policies driven on a virtual clock against a web that changes, and what their copies of it were worth."""

import math
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heapify, heappop, heappush
from itertools import accumulate

import msgspec

from gossamer.base.clock import DAY, DAY_S, Instant
from gossamer.base.environment import Chance, seeded
from gossamer.recrawl.freshness import PageKind, optimum
from gossamer.recrawl.policies import Paper, PaperTurns, Policy, Tree, after_look, in_days, policy_named
from gossamer.values.history import Due, History, Planned, PolicyPage, VisitFinding, Why

NEVER = math.inf
ROOMS = 100
"""Pages of a site."""
BRANCHES = 10
"""Pages that a page of a site links to, one step down."""

CLASSES = (
    (0.23, 1.0, 4.0),
    (0.15, 1.0 / 7.0, 1.0),
    (0.16, 1.0 / 30.0, 1.0 / 7.0),
    (0.16, 1.0 / 120.0, 1.0 / 30.0),
    (0.30, 1.0 / 913.0, 1.0 / 120.0),
)
"""Share of pages, and the changes a day between which theirs lie: daily or more often, weekly, monthly, every four
months, less (Cho and Garcia-Molina, "The evolution of the web", VLDB 2000). Within a class the logarithm is even."""

BURST_RATE, BURST_DAYS, QUIET_DAYS = 6.0, 2.0, 28.0


class Nature(StrEnum):
    POISSON = "poisson"
    """At random, at a rate of its own."""
    BURSTY = "bursty"
    """Two busy days, then four quiet weeks, on the average."""
    DAILY = "daily"
    """Once a day, at its own hour."""
    DEAD = "dead"
    """At random until it ends."""


WEBS: dict[str, dict[Nature, float]] = {
    "measured": {Nature.POISSON: 1.0},
    "mixed": {Nature.POISSON: 0.7, Nature.BURSTY: 0.1, Nature.DAILY: 0.1, Nature.DEAD: 0.1},
}


@dataclass(slots=True)
class SyntheticWeb:
    """`stale_at[page]` is when it changed first since it was last visited, or will."""

    chance: Chance
    days: float
    natures: list[Nature] = field(default_factory=list)
    rates: "array[float]" = field(default_factory=lambda: array("d"))
    stale_at: "array[float]" = field(default_factory=lambda: array("d"))
    _starts: "array[float]" = field(default_factory=lambda: array("d"))
    """Bursty: when the burst begins; daily: the hour; dead: the end."""
    _ends: "array[float]" = field(default_factory=lambda: array("d"))

    def grow(self, pages: int, kinds: dict[Nature, float]) -> None:
        names, bounds = list(kinds), list(accumulate(kinds.values()))
        for _ in range(pages):
            nature = names[min(bisect_right(bounds, self.chance.random() * bounds[-1]), len(names) - 1)]
            self._add(nature)
        for page in range(pages):
            self.stale_at[page] = self._next_change(page, 0.0)

    def visit(self, page: int, now: float) -> bool:
        """Whether it changed since the last visit. REQUIRES: visits to a page go forward in time."""
        if self.stale_at[page] > now:
            return False
        self.stale_at[page] = self._next_change(page, now)
        return True

    def kinds(self) -> list[PageKind]:
        """Its pages by their true rates, within 1 %."""
        counts = Counter(rounded(rate) for rate in self.rates)
        return [PageKind(rate, count) for rate, count in sorted(counts.items())]

    def _add(self, nature: Nature) -> None:
        rate, start, end = self._measured_rate(), 0.0, 0.0
        if nature is Nature.BURSTY:
            start = self._after(QUIET_DAYS)
            end = start + self._after(BURST_DAYS)
            rate = BURST_RATE * BURST_DAYS / (BURST_DAYS + QUIET_DAYS)
        elif nature is Nature.DAILY:
            rate, start = 1.0, self.chance.random()
        elif nature is Nature.DEAD:
            start = self.chance.random() * self.days / 2
        self.natures.append(nature)
        self.rates.append(rate)
        self.stale_at.append(NEVER)
        self._starts.append(start)
        self._ends.append(end)

    def _measured_rate(self) -> float:
        drawn = self.chance.random()
        for share, slowest, fastest in CLASSES:
            if drawn < share:
                return slowest * math.exp(math.log(fastest / slowest) * drawn / share)
            drawn -= share
        return CLASSES[-1][1]

    def _next_change(self, page: int, now: float) -> float:
        nature = self.natures[page]
        if nature is Nature.POISSON:
            return now + self._after(1.0 / self.rates[page])
        if nature is Nature.DAILY:
            hour = self._starts[page]
            return math.floor(now - hour) + 1.0 + hour
        if nature is Nature.DEAD:
            change = now + self._after(1.0 / self.rates[page])
            return change if change < self._starts[page] else NEVER
        return self._next_in_burst(page, now)

    def _next_in_burst(self, page: int, now: float) -> float:
        while True:
            change = max(now, self._starts[page]) + self._after(1.0 / BURST_RATE)
            if change < self._ends[page]:
                return change
            self._starts[page] = max(now, self._ends[page]) + self._after(QUIET_DAYS)
            self._ends[page] = self._starts[page] + self._after(BURST_DAYS)

    def _after(self, mean_days: float) -> float:
        return -math.log(1.0 - self.chance.random()) * mean_days


def rounded(rate: float) -> float:
    return math.exp(round(math.log(rate) * 100.0) / 100.0)


def parent_of(page: int) -> int | None:
    """The page of its site that links down to it."""
    place = page % ROOMS
    return page - place + (place - 1) // BRANCHES if place else None


def links_of(page: int, pages: int) -> range:
    place = page % ROOMS
    site = page - place
    first = place * BRANCHES + 1
    return range(site + first, min(site + first + BRANCHES, site + ROOMS, pages)) if first < ROOMS else range(0)


BEST = "optimum"
"""Not a policy: what one that knew the true rates would do."""
MOST_SAMPLED = 2_000
"""Pages whose age is looked at each day, for the plot."""


class Simulation(msgspec.Struct, frozen=True):
    """One simulation."""

    pages: int
    days: float
    counted_days: float
    """The last so many count; before, a policy learns."""
    budget: float
    """Visits a day, in all."""
    seed: int
    web: str = "measured"
    has_links: bool = False
    """Whether `paper` looks at links (B3). In this web pages change independently, so that links tell nothing."""

    @property
    def per_page(self) -> float:
        return self.budget / self.pages


class Share(msgspec.Struct, frozen=True):
    """What pages of one nature were like."""

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
    """The longest any page waited between two visits, or since its last."""
    natures: tuple[Share, ...]
    ages_by_day: tuple[float, ...]
    """The average age at the end of each day, of a sample of pages."""


Progress = Callable[[float], None]
"""Told the share that is done."""


class Best:
    """The optimum with the true rates."""

    name = BEST
    keeps_time = False

    def __init__(self, web: SyntheticWeb, per_page: float) -> None:
        kinds = web.kinds()
        self._days = dict(zip([kind.rate for kind in kinds], optimum(kinds, per_page), strict=True))
        self._rates = web.rates

    def first_due(self, page: PolicyPage, now: Instant, chance_number: float) -> Due:
        return in_days(now, self._days[rounded(self._rates[page.id])] * chance_number, Why.RATE)

    def next_due(self, page: PolicyPage, seen: VisitFinding, chance_number: float) -> Planned:
        return Planned(page.history, in_days(seen.at, self._days[rounded(self._rates[page.id])], Why.RATE))

    def allow(self, per_page: float) -> None:
        """The budget of a simulation does not change."""

    def report_load(self, used: float, days_behind: float, now: Instant) -> None:
        """Its price was computed beforehand."""


@dataclass(slots=True)
class SimulatedCopies:
    """What was visited when, and how old the copies were while it counted."""

    web: SyntheticWeb
    counts_from: float
    visited_at: "array[float]" = field(init=False)
    ages: "array[float]" = field(init=False)
    """Age summed over the days that count, by page; and the days it was not fresh."""
    stale: "array[float]" = field(init=False)
    longest: float = 0.0
    visits: int = 0

    def __post_init__(self) -> None:
        empty = bytes(8 * len(self.web.rates))
        self.visited_at, self.ages, self.stale = array("d", empty), array("d", empty), array("d", empty)

    def seen_at(self, page: int, now: float) -> None:
        """Before the web is told of the visit."""
        gap = now - self.visited_at[page]
        if gap > self.longest:
            self.longest = gap
        changed = self.web.stale_at[page]
        if now > self.counts_from:
            self.visits += 1
            if changed < now:
                start = max(changed, self.counts_from)
                self.stale[page] += now - start
                self.ages[page] += ((now - changed) ** 2 - (start - changed) ** 2) / 2.0
        self.visited_at[page] = now

    def shares(self, days: float) -> list[Share]:
        natures = self.web.natures
        found = []
        for nature in Nature:
            of = [page for page, one in enumerate(natures) if one is nature]
            if of:
                age = math.fsum(self.ages[page] for page in of) / days / len(of)
                stale = math.fsum(self.stale[page] for page in of) / days / len(of)
                found.append(Share(nature.value, len(of), age, 1.0 - stale))
        return found


@dataclass(slots=True)
class _Run:
    plan: Simulation
    policy: Policy
    web: SyntheticWeb
    copies: SimulatedCopies
    chance: Chance
    known: list[PolicyPage] = field(default_factory=list)
    due: "array[float]" = field(default_factory=lambda: array("d"))
    heap: list[tuple[float, int]] = field(default_factory=list)
    called: dict[int, int] = field(default_factory=dict)
    """Paper: how many of a page's links were found changed since its own last visit."""
    ages_by_day: list[float] = field(default_factory=list)

    def begin(self) -> None:
        """Every page was just fetched for the first time."""
        history = History()
        for page in range(self.plan.pages):
            start = self.policy.shallow(history, parent_of(page) is None) if isinstance(self.policy, Tree) else history
            self.known.append(PolicyPage(page, (f"site {page // ROOMS}",), start))
            self.due.append(self.policy.first_due(self.known[page], 0, self.chance.random()).at / DAY)
        self.heap = [(due, page) for page, due in enumerate(self.due)]
        heapify(self.heap)

    def go(self, progress: Progress) -> None:
        free_at, took, day, days, made = 0.0, 1.0 / self.plan.budget, 1, self.plan.days, 0
        while free_at < days:
            due, page = heappop(self.heap)
            if due != self.due[page]:
                continue
            now = max(due, free_at) if self.policy.keeps_time else free_at
            if now >= days:
                break
            if now >= day:
                self._end_of_day(day, progress)
                used, made = made / self.plan.budget, 0
                self.policy.report_load(used, max(0.0, free_at - due), round(now * DAY))
                day += 1
            free_at, made = now + took, made + 1
            self._visit(page, due, now)
        self._end_of_day(round(days), progress)
        for page in range(self.plan.pages):
            self.copies.seen_at(page, days)

    def _visit(self, page: int, due: float, now: float) -> None:
        known, elapsed = self.known[page], now - self.copies.visited_at[page]
        self.copies.seen_at(page, now)
        has_changed = self.web.visit(page, now)
        seen = VisitFinding(round(now * DAY), elapsed * DAY_S, has_changed)
        planned = self.policy.next_due(known, seen, self.chance.random())
        self.known[page] = PolicyPage(page, known.group, planned.history)
        # Where moments are only an order the order goes on from the turn it had, not from when it came.
        start = now if self.policy.keeps_time else due
        self._push(page, start + (planned.due.at - seen.at) / DAY)
        if planned.checks_links:
            for link in links_of(page, self.plan.pages):
                self._push(link, min(due, self.due[link]))
        elif self.plan.has_links and isinstance(self.policy, Paper):
            self._look_up(page, due, has_changed)

    def _push(self, page: int, due: float) -> None:
        self.due[page] = due
        heappush(self.heap, (due, page))

    def _look_up(self, page: int, due: float, has_changed: bool) -> None:
        """B3: the page that links here may be called by what was found."""
        self.called.pop(page, None)
        above = parent_of(page)
        if not has_changed or above is None:
            return
        changed = self.called.get(above, 0) + 1
        self.called[above] = changed
        known = self.known[above]
        is_called, history = after_look(known.history, changed, len(links_of(above, self.plan.pages)), PaperTurns())
        self.known[above] = PolicyPage(above, known.group, history)
        if is_called:
            self._push(above, min(due, self.due[above]))

    def _end_of_day(self, day: int, progress: Progress) -> None:
        stale_at = self.web.stale_at
        sample = range(0, len(stale_at), max(1, len(stale_at) // MOST_SAMPLED))
        self.ages_by_day.append(math.fsum(max(0.0, day - stale_at[page]) for page in sample) / len(sample))
        progress(day / self.plan.days)


def simulated(name: str, plan: Simulation, progress: Progress = lambda _: None) -> Result:
    """The same web for every policy of one plan, and changes as likely; what happens in it differs by their visits."""
    web = SyntheticWeb(seeded(plan.seed), plan.days)
    web.grow(plan.pages, WEBS[plan.web])
    copies = SimulatedCopies(web, plan.days - plan.counted_days)
    policy = Best(web, plan.per_page) if name == BEST else policy_named(name, plan.per_page)
    run = _Run(plan, policy, web, copies, seeded(plan.seed + 1_000_003))
    run.begin()
    run.go(progress)
    shares = copies.shares(plan.counted_days)
    pages = plan.pages
    return Result(
        name,
        math.fsum(one.average_age_days * one.pages for one in shares) / pages,
        math.fsum(one.freshness * one.pages for one in shares) / pages,
        copies.visits / plan.counted_days - pages / plan.counted_days,
        plan.budget,
        copies.longest,
        tuple(shares),
        tuple(run.ages_by_day),
    )
