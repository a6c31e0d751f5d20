"""Made-up chronicles, for tests without a crawl."""

from collections.abc import Sequence

from gossamer.base.clock import SECOND, Instant, from_words
from gossamer.monitor.chronicle import Chronicle, CrawlRun, FreshnessSample, SiteSample, Visits
from gossamer.recrawl.freshness import Freshness

START_AT: Instant = from_words("2026-11-01T08:00:00Z")
MINUTE: Instant = 60 * SECOND
DAY: Instant = 1440 * MINUTE


def fresh(age: float = 0.5, share: float = 0.8, pages: int = 100) -> Freshness:
    return Freshness(pages, age, share, age * 1.1, share, age / 2, share, pages / 3)


def site(name: str, age: float = 0.5) -> SiteSample:
    return SiteSample(name, 10, age, 0.8, age * 1.1, age / 2, 3.3, 1, 2)


def sample(at: Instant, age: float = 0.5, sites: Sequence[str] = ("a.test", "b.test")) -> FreshnessSample:
    visits = Visits(10, 2, 6, 1, 1, 3, 1, 0, 4_000, 6_000)
    return FreshnessSample(at, fresh(age), 4, 5, 6, 100, visits, tuple([site(name, age) for name in sites]), len(sites))


def chronicle_of(minutes: Sequence[int], sites: Sequence[str] = ("a.test", "b.test")) -> Chronicle:
    known = Chronicle().with_run(START_AT, comes_back=True)
    for minute in minutes:
        at = START_AT + minute * MINUTE
        known = known.with_heartbeat(at, 100).with_sample(sample(at, 0.2 + minute % 7 / 10, sites), "v", minute)
    return known


RUN = CrawlRun(START_AT, START_AT + DAY, is_over=True, pages=7)
