"""The policies `paper` and `tree`: those of an adaptive, selective and incremental crawler (MISSION B2, B3).

`paper` counts in crawls: a page is visited each `every` crawls (`fr_max`), and each visit moves `every` half way to
the crawls that pass, on the average of its last visits, between two changes. Between its turns a page is still
visited when enough of the internal pages it links to have changed, which the catalogue knows without a request.
"""

from dataclasses import dataclass

import msgspec

from gossamer.base.clock import Instant
from gossamer.recrawl.policy import in_days
from gossamer.recrawl.rates import observed
from gossamer.values.due import Due, Planned, PolicyPage, Why
from gossamer.values.history import MOST_RECENT, History, VisitFinding

LEAST_THRESHOLD, MOST_THRESHOLD, STEP = 10, 90, 5


@dataclass(frozen=True, slots=True)
class PaperTurns:
    limit: int = 20
    """Visits looked at; no page waits for more crawls than this."""
    few: int = 3
    """Until there were so many visits the frequency stays as it is."""
    step: int = STEP
    """Per cent by which a threshold moves when all linked pages had changed (up), or none had (down)."""

    def __post_init__(self) -> None:
        if not 1 <= self.few <= self.limit <= MOST_RECENT:
            raise ValueError(f"turns need 1 <= few <= limit <= {MOST_RECENT}, not {self}")


def every_after(every: int, visits: int, recent: int, turns: PaperTurns) -> int:
    """`fr_max` after a visit. `recent`: a bit for each of the last visits, set where there was a change."""
    if visits < turns.few:
        return every
    looked_at = min(visits, turns.limit)
    changes = (recent & ((1 << looked_at) - 1)).bit_count()
    apart = looked_at // changes if changes else looked_at
    return max(1, (every + apart) // 2)


def is_called_by_links(threshold: int, changed: int, links: int) -> bool:
    """Whether enough of the pages it links to have changed since its own last visit (40 % at first)."""
    return links > 0 and 100 * changed >= threshold * links


def moved_threshold(threshold: int, changed: int, links: int, step: int = STEP) -> int:
    """The threshold after a look at the catalogue: up with the share that had changed, down with the share that had
    not, `step` points for the whole of either. Busy neighbours are soon no reason any more; quiet ones become one."""
    if links <= 0:
        return threshold
    moved = threshold + round(step * (2 * changed - links) / links)
    return min(max(moved, LEAST_THRESHOLD), MOST_THRESHOLD)


def after_look(history: History, changed: int, links: int, turns: PaperTurns) -> tuple[bool, History]:
    """B3 for one page at one crawl: is it visited out of turn, and what it remembers of the look."""
    called = is_called_by_links(history.threshold, changed, links)
    threshold = moved_threshold(history.threshold, changed, links, turns.step)
    return called, msgspec.structs.replace(history, threshold=threshold)


class Paper:
    name = "paper"
    keeps_time = False

    def __init__(self, crawl_days: float = 1.0, turns: PaperTurns | None = None) -> None:
        """`crawl_days`: how long one crawl lasts, for the moments it names."""
        self._crawl_days = crawl_days
        self._turns = turns or PaperTurns()

    def first_due(self, page: PolicyPage, now: Instant, chance_number: float) -> Due:
        return in_days(now, page.history.every * self._crawl_days * (0.5 + chance_number / 2), Why.FIRST)

    def next_due(self, page: PolicyPage, seen: VisitFinding, chance_number: float) -> Planned:
        history = observed(page.history, seen)
        every = every_after(history.every, history.visits, history.recent, self._turns)
        history = msgspec.structs.replace(history, every=every)
        # Its turn comes somewhere within that crawl, another time each time: the hour varies (B1).
        days = (every - 0.5 + chance_number) * self._crawl_days
        return Planned(history, in_days(seen.at, days, Why.TURN))

    def allow(self, per_page: float) -> None:
        """It counts in crawls, not in days."""

    def told_load(self, used: float, days_behind: float, now: Instant) -> None:
        """It knows no budget: a crawl takes as long as it takes."""


class Tree:
    """Downwards: a page found changed has the pages it links to looked at at once; one found unchanged ends the way.

    Starting points come at each crawl (`shallow` says which), and so that nothing starves every page does at each
    `limit`-th, changed parents or not.
    """

    name = "tree"
    keeps_time = False

    def __init__(self, crawl_days: float = 1.0, turns: PaperTurns | None = None) -> None:
        self._crawl_days = crawl_days
        self._turns = turns or PaperTurns()

    def first_due(self, page: PolicyPage, now: Instant, chance_number: float) -> Due:
        return in_days(now, self._crawl_days * (page.history.every - 1 + chance_number), Why.FIRST)

    def next_due(self, page: PolicyPage, seen: VisitFinding, chance_number: float) -> Planned:
        history = observed(page.history, seen)
        days = (history.every - 0.5 + chance_number) * self._crawl_days
        return Planned(history, in_days(seen.at, days, Why.TURN), looks_below=seen.has_changed)

    def shallow(self, history: History, is_start: bool) -> History:
        return msgspec.structs.replace(history, every=1 if is_start else self._turns.limit)

    def allow(self, per_page: float) -> None:
        """It counts in crawls, not in days."""

    def told_load(self, used: float, days_behind: float, now: Instant) -> None:
        """It knows no budget: a crawl takes as long as it takes."""
