"""The freshness of a collection over time, told: what the terminal, the web page and its JSON show. Pure."""

from collections.abc import Sequence

import msgspec

from gossamer.base.clock import SECOND, Instant, in_words
from gossamer.monitor.chronicle import Chronicle, CrawlRun, FreshnessSample, SiteSample, Visits, visits_in
from gossamer.recrawl.freshness import Freshness

LEAST_SPAN: Instant = 2 * SECOND
BLOCKS = "▁▂▃▄▅▆▇█"
MEANINGS = {
    "age": "How long ago, on average, pages started to differ from their copies; a current copy counts "
    "as 0. In days, estimated from how often each page was found changed.",
    "fresh": "The estimated share of copies that match the live pages.",
    "planned": "The expected age if every page is revisited as planned.",
    "possible": "The lowest age possible with the same number of fetches if all rates of change were known: the best "
    "for that budget.",
    "fetches a day": "The number of fetches that the planned revisit intervals add up to.",
    "found changed": "The share of revisits that found changed text or facts. Advertisements and dates do not count.",
    "not sent again": "The share of bytes that servers did not have to send for those fetches (304).",
    "gone": "Pages that no longer exist; they are checked less and less often, and are not searchable.",
    "hubs": "Pages whose recent fetches led to new pages.",
    "late": "Pages whose revisit is overdue.",
}
"""What each word means, in a sentence or two."""


class Point(msgspec.Struct, frozen=True):
    """One moment of the curve; of the whole collection, or of one site."""

    at: str
    pages: int
    age_days: float
    freshness: float
    planned_age_days: float
    possible_age_days: float
    visits_a_day: float
    gone: int
    overdue: int
    visits: Visits | None = None
    """Since the point before; None for a site."""


class ToldRun(msgspec.Struct, frozen=True):
    started_at: str
    heard_at: str
    """Its end; of one that goes on or was killed, when it was last heard of."""
    is_over: bool
    comes_back: bool
    pages: int


class FreshnessReport(msgspec.Struct, frozen=True):
    """How fresh a collection is, and was."""

    at: str
    all: Freshness | None
    """None: no page comes again here."""
    gone: int = 0
    overdue: int = 0
    hubs: int = 0
    """Pages whose visits lead to new pages."""
    estimated_from: int = 0
    """Pages that this was estimated from: all, or a part of very many."""
    site_count: int = 0
    sites: tuple[SiteSample, ...] = ()
    """Those with most age together first."""
    visits: Visits = Visits()
    """Since the first sample."""
    changed_share: float | None = None
    spared_share: float | None = None
    since: str = ""
    """When the first sample was taken."""
    site: str = ""
    """Whose curve it is, when it is that of one site."""
    samples: tuple[Point, ...] = ()
    """Oldest first; the older, the fewer."""
    runs: tuple[ToldRun, ...] = ()
    """The last crawls, oldest first."""


def told(
    known: Chronicle, now: FreshnessSample | None, at: Instant, site: str = "", most_runs: int = 20
) -> FreshnessReport:
    """`now`: how it stands, when somebody has looked; else the last sample speaks."""
    samples = [*known.samples, now] if now is not None else list(known.samples)
    runs = tuple([told_run(run) for run in known.runs[-most_runs:]])
    if not samples:
        return FreshnessReport(in_words(at), None, site=site, runs=runs)
    last, visits = samples[-1], visits_in(samples)
    return FreshnessReport(
        at=in_words(last.at),
        all=last.all,
        gone=last.gone,
        overdue=last.overdue,
        hubs=last.hubs,
        estimated_from=last.estimated_from,
        site_count=last.site_count,
        sites=last.sites,
        visits=visits,
        changed_share=visits.changed_share,
        spared_share=visits.spared_share,
        since=in_words(samples[0].at),
        site=site,
        samples=tuple(points_of(samples, site)),
        runs=runs,
    )


def told_run(run: CrawlRun) -> ToldRun:
    return ToldRun(in_words(run.started_at), in_words(run.heard_at), run.is_over, run.comes_back, run.pages)


def points_of(samples: Sequence[FreshnessSample], site: str = "") -> list[Point]:
    if not site:
        return [_of_all(sample) for sample in samples]
    return [_of_site(sample.at, one) for sample in samples for one in sample.sites if one.site == site]


def _of_all(sample: FreshnessSample) -> Point:
    found = sample.all
    return Point(
        at=in_words(sample.at),
        pages=found.pages,
        age_days=found.average_age_days,
        freshness=found.freshness,
        planned_age_days=found.planned_age_days,
        possible_age_days=found.possible_age_days,
        visits_a_day=found.visits_a_day,
        gone=sample.gone,
        overdue=sample.overdue,
        visits=sample.visits,
    )


def _of_site(at: Instant, one: SiteSample) -> Point:
    return Point(
        at=in_words(at),
        pages=one.pages,
        age_days=one.age_days,
        freshness=one.freshness,
        planned_age_days=one.planned_age_days,
        possible_age_days=one.possible_age_days,
        visits_a_day=one.visits_a_day,
        gone=one.gone,
        overdue=one.overdue,
    )


def even(instants: Sequence[Instant], values: Sequence[float], width: int) -> list[float]:
    """At so many moments, evenly spaced from the first to the last, the value that held then."""
    if not values:
        return []
    first, span = instants[0], instants[-1] - instants[0]
    found, place = [], 0
    for column in range(width):
        at = first + span * column / max(1, width - 1)
        while place + 1 < len(instants) and instants[place + 1] <= at:
            place += 1
        found.append(values[place])
    return found


def sparkline(values: Sequence[float], top: float | None = None) -> str:
    """From nothing to `top`, or to the greatest of them."""
    most = top or max(values, default=0.0) or 1.0
    return "".join([BLOCKS[min(int(max(value, 0.0) / most * len(BLOCKS)), len(BLOCKS) - 1)] for value in values])


def days_in_words(days: float) -> str:
    """An age, or how long something is ago: no more digits than it deserves."""
    if days < 2.0 / 24.0:
        return f"{days * 1440:.0f} minutes" if days * 1440 >= 1.5 else f"{days * 86_400:.0f} seconds"
    if days < 2.0:
        return f"{days * 24:.1f} hours"
    return f"{days:.1f} days" if days < 10 else f"{days:,.0f} days"


class Box(msgspec.Struct, frozen=True):
    """Where in a picture curves are drawn, in its own units."""

    left: float
    top: float
    width: float
    height: float

    def points(self, instants: Sequence[Instant], values: Sequence[float], most: float) -> str:
        """For a polyline: time from left to right, 0 at the foot."""
        span = max(1, instants[-1] - instants[0]) if instants else 1
        placed = [
            (self.left + self.width * (at - instants[0]) / span, self.top + self.height * (1 - min(value / most, 1.0)))
            for at, value in zip(instants, values, strict=True)
        ]
        return " ".join([f"{x:.1f},{y:.1f}" for x, y in placed])


def rounded_up(value: float) -> float:
    """The end of a scale: 1, 2 or 5 times a power of ten, and not below the value."""
    step = 1e-4
    while True:
        for part in (1, 2, 5):
            if step * part >= value:
                return step * part
        step *= 10


def is_curve(instants: Sequence[Instant]) -> bool:
    """Whether there is anything to compare: two samples, and time between them."""
    return len(instants) > 1 and instants[-1] - instants[0] >= LEAST_SPAN


def span_in_words(first: Instant, last: Instant) -> str:
    return days_in_words((last - first) / SECOND / 86_400)
