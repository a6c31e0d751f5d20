"""How a collection fared: when it was crawled, and how fresh it was then, thinned with age. Kept in one small file.

    chronicle   a line that names the format, 16 bytes of xxh3 over the rest, and the rest: MessagePack, compressed

It is written by whoever crawls, and read by anybody. What it tells cannot be had from elsewhere, but nothing depends
on it: one that is missing or torn costs the curve of the past, and the folders of an export are days then.
"""

import zlib
from bisect import bisect_right
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec
from xxhash import xxh3_128_digest

from gossamer.base.clock import SECOND, Instant
from gossamer.base.files import Files
from gossamer.recrawl.freshness import Freshness

NAME = "chronicle"
APART = 60
"""Two samples are kept only when they are further apart than their age, divided by this: some hundreds in all."""
MOST_RUNS = 5_000
SITES_NOW, SITES_THEN = 200, 12
"""Sites of the newest sample, and of the others."""
LARGEST = 64 << 20
_FORMAT = b"gossamer chronicle 1\n"
_SUM = 16


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
    body = zlib.compress(_ENCODER.encode(chronicle), 6)
    return b"".join((_FORMAT, xxh3_128_digest(body), body))


def unpacked(content: bytes) -> Chronicle:
    """Raises ValueError, saying why, for anything that `packed` has not made."""
    if not content.startswith(_FORMAT):
        raise ValueError("it is of another kind or version")
    body = content[len(_FORMAT) + _SUM :]
    if xxh3_128_digest(body) != content[len(_FORMAT) : len(_FORMAT) + _SUM]:
        raise ValueError("it is damaged")
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
