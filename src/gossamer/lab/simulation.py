"""Policies driven on a virtual clock against a web that changes, and what their copies of it were worth."""

import math
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

import msgspec

from gossamer.base.chance import Chance, seeded
from gossamer.base.clock import DAY, DAY_S, Instant
from gossamer.lab.web import ROOMS, WEBS, Nature, SyntheticWeb, links_of, parent_of, rounded
from gossamer.recrawl.freshness import optimum
from gossamer.recrawl.policies import Paper, PaperTurns, Policy, Tree, after_look, in_days, policy_named
from gossamer.values.history import Due, History, Planned, PolicyPage, VisitFinding, Why

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

    def told_load(self, used: float, days_behind: float, now: Instant) -> None:
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
                self.policy.told_load(used, max(0.0, free_at - due), round(now * DAY))
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
        if planned.looks_below:
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
