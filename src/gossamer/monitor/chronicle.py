"""The history of a collection over time.

When it was crawled, how fresh it was then, and the report of that over time.

    chronicle   a line that names the format, 16 bytes of xxh3 over the rest, and the rest: MessagePack, compressed

The crawl writes the file, thinned with age, and any process reads it. Its content cannot be restored from elsewhere,
but nothing depends on it: if it is missing or torn, the curve of the past is lost, and an export's folders are days.
"""

import zlib
from bisect import bisect_right
from collections.abc import Collection, Sequence
from functools import reduce
from operator import add
from pathlib import Path

import msgspec

from gossamer.base.clock import SECOND, Instant, in_words
from gossamer.base.files import Files, sealed, unsealed
from gossamer.recrawl.freshness import Freshness

NAME = "chronicle"
APART = 60
"""Two samples are kept only if they are further apart than their age divided by this: some hundreds in all."""
MOST_RUNS = 5_000
SITES_NOW, SITES_THEN = 200, 12
"""Sites of the newest sample, and of the others."""
LARGEST = 64 << 20
_FORMAT = b"gossamer chronicle 1\n"


class Visits(msgspec.Struct, frozen=True):
    """What the fetches of some period found."""

    visits: int = 0
    """Of pages that were known before, with an answer."""
    changed: int = 0
    """Of them, those that found changed text or facts."""
    unmodified: int = 0
    """Those answered with "not modified" (304): no body was sent."""
    identical: int = 0
    """Those that got the same bytes again: they are stored once."""
    passed_over: int = 0
    """Those that found other bytes, but no relevant change in them."""
    appeared: int = 0
    """Pages seen for the first time."""
    vanished: int = 0
    """Pages that were gone for the first time."""
    back: int = 0
    """Pages that were gone, and exist again."""
    received_bytes: int = 0
    """Bodies of pages that were sent."""
    spared_bytes: int = 0
    """Bodies that did not have to be sent again."""

    def plus(self, other: "Visits") -> "Visits":
        return Visits(*map(add, msgspec.structs.astuple(self), msgspec.structs.astuple(other)))

    @property
    def changed_share(self) -> float | None:
        return self.changed / self.visits if self.visits else None

    @property
    def spared_share(self) -> float | None:
        """Of the bytes that fetching the known pages would have cost."""
        whole = self.received_bytes + self.spared_bytes
        return self.spared_bytes / whole if whole else None


class SiteSample(msgspec.Struct, frozen=True):
    """One site at a moment, in the terms of `Freshness`."""

    site: str
    pages: int
    age_days: float
    freshness: float
    planned_age_days: float
    possible_age_days: float
    visits_a_day: float
    gone: int = 0
    overdue: int = 0


class FreshnessSample(msgspec.Struct, frozen=True):
    """A collection at a moment."""

    at: Instant
    all: Freshness
    gone: int = 0
    """Pages that are gone, and still fetched from time to time."""
    overdue: int = 0
    """Pages whose revisit is overdue."""
    hubs: int = 0
    """Pages whose fetches lead to new pages."""
    estimated_from: int = 0
    """Pages that this was estimated from."""
    visits: Visits = Visits()
    """Since the previous sample."""
    sites: tuple[SiteSample, ...] = ()
    """Those with the largest total age first; not all if there are many."""
    site_count: int = 0


class CrawlRun(msgspec.Struct, frozen=True):
    """One crawl, from its start to its end."""

    started_at: Instant
    heard_at: Instant
    """Its end; if it was killed, its last heartbeat."""
    is_over: bool = False
    """It ended in order."""
    comes_back: bool = False
    """It revisited pages, so it had no end of its own."""
    pages: int = 0
    """In the collection at `heard_at`."""


class Chronicle(msgspec.Struct, frozen=True):
    runs: tuple[CrawlRun, ...] = ()
    """Oldest first."""
    samples: tuple[FreshnessSample, ...] = ()
    """Oldest first."""
    volume: str = ""
    number: int = -1
    """Up to where fetches have been counted: the last capture."""

    def with_run(self, at: Instant, comes_back: bool) -> "Chronicle":
        return msgspec.structs.replace(self, runs=(*self.runs, CrawlRun(at, at, comes_back=comes_back))[-MOST_RUNS:])

    def with_heartbeat(self, at: Instant, pages: int, is_over: bool = False) -> "Chronicle":
        """Updates the last run. REQUIRES: `with_run` was called."""
        last = msgspec.structs.replace(self.runs[-1], heard_at=at, pages=pages, is_over=is_over)
        return msgspec.structs.replace(self, runs=(*self.runs[:-1], last))

    def with_sample(self, sample: FreshnessSample, volume: str, number: int) -> "Chronicle":
        before = [msgspec.structs.replace(one, sites=one.sites[:SITES_THEN]) for one in self.samples]
        samples = thinned([one for one in before if one.at < sample.at], sample.at)
        return msgspec.structs.replace(self, samples=(*samples, sample), volume=volume, number=number)

    def without(self, sites: Collection[str]) -> "Chronicle":
        """Without the names of these sites."""
        samples = [
            msgspec.structs.replace(one, sites=tuple([each for each in one.sites if each.site not in sites]))
            for one in self.samples
        ]
        return msgspec.structs.replace(self, samples=tuple(samples))


def thinned(samples: Sequence[FreshnessSample], now: Instant) -> list[FreshnessSample]:
    """Fewer of the older samples. The visits of a dropped one are added to the next, so that none is lost; the first
    and the last stay. REQUIRES: oldest first."""
    kept: list[FreshnessSample] = []
    carried = Visits()
    for place, one in enumerate(samples):
        is_end = place in (0, len(samples) - 1)
        if is_end or one.at - kept[-1].at > (now - one.at) / APART:
            kept.append(msgspec.structs.replace(one, visits=carried.plus(one.visits)))
            carried = Visits()
        else:
            carried = carried.plus(one.visits)
    return kept


def visits_in(samples: Sequence[FreshnessSample]) -> Visits:
    return reduce(Visits.plus, [one.visits for one in samples], Visits())


def run_at(runs: Sequence[CrawlRun], at: Instant, slack_s: float = 120.0) -> CrawlRun | None:
    """The crawl that ran at that moment, if one was recorded. Fetches may end shortly after their run, hence `slack_s`;
    a run that was killed counts until the next one began."""
    place = bisect_right(runs, at, key=lambda run: run.started_at)
    if not place:
        return None
    run = runs[place - 1]
    return None if run.is_over and at > run.heard_at + slack_s * SECOND else run


def packed(chronicle: Chronicle) -> bytes:
    return sealed(_FORMAT, zlib.compress(_ENCODER.encode(chronicle), 6))


def unpacked(content: bytes) -> Chronicle:
    """Raises ValueError, with the reason, for anything that `packed` has not made."""
    body = unsealed(_FORMAT, content)
    try:
        return _DECODER.decode(zlib.decompress(body))
    except (zlib.error, msgspec.MsgspecError) as error:
        raise ValueError(f"it cannot be read: {error}") from error


def read(files: Files, folder: Path) -> Chronicle:
    """An empty one if there is none, or none that can be read."""
    try:
        return load(files, folder)
    except (OSError, ValueError):
        return Chronicle()


def load(files: Files, folder: Path) -> Chronicle:
    """Raises OSError and ValueError."""
    size = files.size(folder / NAME)
    if size is None:
        return Chronicle()
    if size > LARGEST:
        raise ValueError("it is too large")
    return unpacked(files.read(folder / NAME))


def write(files: Files, folder: Path, chronicle: Chronicle) -> None:
    """Raises OSError. REQUIRES: the caller holds the directory's lock."""
    files.write(folder / NAME, packed(chronicle))


def forget(files: Files, folder: Path, sites: Collection[str]) -> None:
    """Delete the names of these sites. Raises OSError. REQUIRES: the caller holds the directory's lock."""
    if sites and files.size(folder / NAME) is not None:
        write(files, folder, read(files, folder).without(sites))


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Chronicle)

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
    "found a change": "The share of revisits that found changed text or facts. Advertisements and dates do not count.",
    "not transferred again": "The share of bytes that servers did not have to send for those fetches (304).",
    "gone": "Pages that no longer exist; they are checked less and less often, and are not searchable.",
    "hubs": "Pages whose recent fetches led to new pages.",
    "late": "Pages whose revisit is overdue.",
}
"""What each word means, in a sentence or two."""


class Point(msgspec.Struct, frozen=True):
    """One moment of the curve, of the whole collection or of one site."""

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
    """Since the previous point; None for a site."""


class RunReport(msgspec.Struct, frozen=True):
    started_at: str
    heard_at: str
    """Its end; while it runs, or if it was killed, its last heartbeat."""
    is_over: bool
    comes_back: bool
    pages: int


class FreshnessReport(msgspec.Struct, frozen=True):
    """How fresh a collection is, and was."""

    at: str
    all: Freshness | None
    """None: no page is revisited here."""
    gone: int = 0
    overdue: int = 0
    hubs: int = 0
    """Pages whose fetches lead to new pages."""
    estimated_from: int = 0
    """Pages that this was estimated from: all, or a sample of very many."""
    site_count: int = 0
    sites: tuple[SiteSample, ...] = ()
    """Those with the largest total age first."""
    visits: Visits = Visits()
    """Since the first sample."""
    changed_share: float | None = None
    spared_share: float | None = None
    since: str = ""
    """When the first sample was taken."""
    site: str = ""
    """If the curve is that of one site."""
    samples: tuple[Point, ...] = ()
    """Oldest first; the older ones are further apart."""
    runs: tuple[RunReport, ...] = ()
    """The last crawls, oldest first."""


def freshness_report(
    known: Chronicle, now: FreshnessSample | None, at: Instant, site: str = "", most_runs: int = 20
) -> FreshnessReport:
    """`now`: a current sample; None: the last recorded one counts."""
    samples = [*known.samples, now] if now is not None else list(known.samples)
    runs = tuple([run_report(run) for run in known.runs[-most_runs:]])
    if not samples:
        return FreshnessReport(in_words(at), None, site=site, runs=runs)
    last, visits = samples[-1], visits_in(samples)
    return FreshnessReport(
        **msgspec.structs.asdict(last) | {"at": in_words(last.at), "visits": visits},
        changed_share=visits.changed_share,
        spared_share=visits.spared_share,
        since=in_words(samples[0].at),
        site=site,
        samples=tuple([point for sample in samples for point in points_of(sample, site)]),
        runs=runs,
    )


def run_report(run: CrawlRun) -> RunReport:
    return RunReport(in_words(run.started_at), in_words(run.heard_at), run.is_over, run.comes_back, run.pages)


def points_of(sample: FreshnessSample, site: str = "") -> list[Point]:
    """That of the whole collection; or of `site`, if the sample has it."""
    if not site:
        return [_point(sample.at, site_sample("", sample.all, sample.gone, sample.overdue), sample.visits)]
    return [_point(sample.at, one) for one in sample.sites if one.site == site]


def site_sample(site: str, found: Freshness, gone: int, overdue: int) -> SiteSample:
    return SiteSample(
        site=site,
        pages=found.pages,
        age_days=found.average_age_days,
        freshness=found.freshness,
        planned_age_days=found.planned_age_days,
        possible_age_days=found.possible_age_days,
        visits_a_day=found.visits_a_day,
        gone=gone,
        overdue=overdue,
    )


def _point(at: Instant, one: SiteSample, visits: Visits | None = None) -> Point:
    figures = {name: value for name, value in msgspec.structs.asdict(one).items() if name != "site"}
    return Point(at=in_words(at), visits=visits, **figures)


def resampled(instants: Sequence[Instant], values: Sequence[float], width: int) -> list[float]:
    """The values at `width` moments, evenly spaced from the first to the last."""
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
    """Bars from 0 to `top`, or to the largest value."""
    most = top or max(values, default=0.0) or 1.0
    return "".join([BLOCKS[min(int(max(value, 0.0) / most * len(BLOCKS)), len(BLOCKS) - 1)] for value in values])


def days_in_words(days: float) -> str:
    """An age in a readable unit, with few digits."""
    if days < 2.0 / 24.0:
        return f"{days * 1440:.0f} minutes" if days * 1440 >= 1.5 else f"{days * 86_400:.0f} seconds"
    if days < 2.0:
        return f"{days * 24:.1f} hours"
    return f"{days:.1f} days" if days < 10 else f"{days:,.0f} days"


class Box(msgspec.Struct, frozen=True):
    """The area of a picture in which curves are drawn, in its own units."""

    left: float
    top: float
    width: float
    height: float

    def points(self, instants: Sequence[Instant], values: Sequence[float], most: float) -> str:
        """For a polyline: time from left to right, 0 at the bottom."""
        span = max(1, instants[-1] - instants[0]) if instants else 1
        placed = [
            (self.left + self.width * (at - instants[0]) / span, self.top + self.height * (1 - min(value / most, 1.0)))
            for at, value in zip(instants, values, strict=True)
        ]
        return " ".join([f"{x:.1f},{y:.1f}" for x, y in placed])


def rounded_up(value: float) -> float:
    """The end of a scale: 1, 2 or 5 times a power of ten, at least the value."""
    step = 1e-4
    while True:
        for part in (1, 2, 5):
            if step * part >= value:
                return step * part
        step *= 10


def is_curve(instants: Sequence[Instant]) -> bool:
    """Whether there is a curve: two samples, with time between them."""
    return len(instants) > 1 and instants[-1] - instants[0] >= LEAST_SPAN


def span_in_words(first: Instant, last: Instant) -> str:
    return days_in_words((last - first) / SECOND / 86_400)
