"""How a collection fared: when it was crawled, and how fresh it was then; and the report of that over time.

    chronicle   a line that names the format, 16 bytes of xxh3 over the rest, and the rest: MessagePack, compressed

The file is written by the crawl, thinned with age, and read by any process. Its content cannot be had from elsewhere,
but nothing depends on it: if it is missing or torn, the curve of the past is lost, and an export's folders are days.
"""

import zlib
from bisect import bisect_right
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from gossamer.base.clock import SECOND, Instant, in_words
from gossamer.base.files import Files, sealed, unsealed
from gossamer.recrawl.freshness import Freshness

NAME = "chronicle"
APART = 60
"""Two samples are kept only when they are further apart than their age, divided by this: some hundreds in all."""
MOST_RUNS = 5_000
SITES_NOW, SITES_THEN = 200, 12
"""Sites of the newest sample, and of the others."""
LARGEST = 64 << 20
_FORMAT = b"gossamer chronicle 1\n"


class Visits(msgspec.Struct, frozen=True):
    """What visits found in some time."""

    visits: int = 0
    """To pages that had been seen before, and answered."""
    changed: int = 0
    """Of them, those that found text or facts changed."""
    unmodified: int = 0
    """Those that the server answered with "not modified" (304): nothing was sent."""
    identical: int = 0
    """Those that were sent the same bytes again: kept once."""
    passed_over: int = 0
    """Those that found other bytes, and nothing in them that counts."""
    appeared: int = 0
    """Pages seen for the first time."""
    vanished: int = 0
    """Pages that were gone for the first time."""
    back: int = 0
    """Pages that were gone, and are there again."""
    received_bytes: int = 0
    """Bodies of pages that were sent."""
    spared_bytes: int = 0
    """Bodies that needed not be sent again."""

    def plus(self, other: "Visits") -> "Visits":
        return Visits(*[mine + theirs for mine, theirs in zip(_numbers(self), _numbers(other), strict=True)])

    @property
    def changed_share(self) -> float | None:
        return self.changed / self.visits if self.visits else None

    @property
    def spared_share(self) -> float | None:
        """Of the bytes that visits to known pages would have cost."""
        whole = self.received_bytes + self.spared_bytes
        return self.spared_bytes / whole if whole else None


class SiteSample(msgspec.Struct, frozen=True):
    """One site at a moment; the words are those of `Freshness`."""

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
    """Pages that are gone, and still looked for now and then."""
    overdue: int = 0
    """Pages whose visit should have been."""
    hubs: int = 0
    """Pages whose visits lead to new pages."""
    estimated_from: int = 0
    """Pages that this was estimated from."""
    visits: Visits = Visits()
    """Since the sample before."""
    sites: tuple[SiteSample, ...] = ()
    """Those with most age together first; not all where there are many."""
    site_count: int = 0


class CrawlRun(msgspec.Struct, frozen=True):
    """One crawl, from its start to its end."""

    started_at: Instant
    heard_at: Instant
    """Its end; of one that was killed, the last that is known of it."""
    is_over: bool = False
    """It ended in order."""
    comes_back: bool = False
    """It had no end of its own."""
    pages: int = 0
    """That the collection held when it was last heard of."""


class Chronicle(msgspec.Struct, frozen=True):
    runs: tuple[CrawlRun, ...] = ()
    """Oldest first."""
    samples: tuple[FreshnessSample, ...] = ()
    """Oldest first."""
    volume: str = ""
    number: int = -1
    """How far visits have been counted: the last capture."""

    def begun(self, at: Instant, comes_back: bool) -> "Chronicle":
        return msgspec.structs.replace(self, runs=(*self.runs, CrawlRun(at, at, comes_back=comes_back))[-MOST_RUNS:])

    def heard(self, at: Instant, pages: int, is_over: bool = False) -> "Chronicle":
        """REQUIRES: a run was begun."""
        last = msgspec.structs.replace(self.runs[-1], heard_at=at, pages=pages, is_over=is_over)
        return msgspec.structs.replace(self, runs=(*self.runs[:-1], last))

    def with_sample(self, sample: FreshnessSample, volume: str, number: int) -> "Chronicle":
        before = [msgspec.structs.replace(one, sites=one.sites[:SITES_THEN]) for one in self.samples]
        samples = thinned([one for one in before if one.at < sample.at], sample.at)
        return msgspec.structs.replace(self, samples=(*samples, sample), volume=volume, number=number)

    def without(self, sites: Collection[str]) -> "Chronicle":
        """Nothing names them any more."""
        samples = [
            msgspec.structs.replace(one, sites=tuple([each for each in one.sites if each.site not in sites]))
            for one in self.samples
        ]
        return msgspec.structs.replace(self, samples=tuple(samples))


def thinned(samples: Sequence[FreshnessSample], now: Instant) -> list[FreshnessSample]:
    """The older, the fewer. The visits of one that goes are counted with the next, so that none is lost; the first and
    the last stay. REQUIRES: oldest first."""
    kept: list[FreshnessSample] = []
    owed = Visits()
    for place, one in enumerate(samples):
        is_end = place in (0, len(samples) - 1)
        if is_end or one.at - kept[-1].at > (now - one.at) / APART:
            kept.append(msgspec.structs.replace(one, visits=owed.plus(one.visits)))
            owed = Visits()
        else:
            owed = owed.plus(one.visits)
    return kept


def visits_in(samples: Sequence[FreshnessSample]) -> Visits:
    total = Visits()
    for one in samples:
        total = total.plus(one.visits)
    return total


def run_at(runs: Sequence[CrawlRun], at: Instant, slack_s: float = 120.0) -> CrawlRun | None:
    """The crawl that was under way at that moment, as far as one was recorded. What was fetched outlives its run by
    moments; a run that was killed is believed until the next one began."""
    place = bisect_right(runs, at, key=lambda run: run.started_at)
    if not place:
        return None
    run = runs[place - 1]
    return None if run.is_over and at > run.heard_at + slack_s * SECOND else run


def packed(chronicle: Chronicle) -> bytes:
    return sealed(_FORMAT, zlib.compress(_ENCODER.encode(chronicle), 6))


def unpacked(content: bytes) -> Chronicle:
    """Raises ValueError, saying why, for anything that `packed` has not made."""
    body = unsealed(_FORMAT, content)
    try:
        return _DECODER.decode(zlib.decompress(body))
    except (zlib.error, msgspec.MsgspecError) as trouble:
        raise ValueError(f"it cannot be read: {trouble}") from trouble


def read(files: Files, folder: Path) -> Chronicle:
    """As it stands; an empty one when there is none, or none that can be read."""
    try:
        return opened(files, folder)
    except (OSError, ValueError):
        return Chronicle()


def opened(files: Files, folder: Path) -> Chronicle:
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
    """These sites are named no more. Raises OSError. REQUIRES: the caller holds the directory's lock."""
    if sites and files.size(folder / NAME) is not None:
        write(files, folder, read(files, folder).without(sites))


def _numbers(visits: Visits) -> list[int]:
    return [getattr(visits, name) for name in Visits.__struct_fields__]


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
