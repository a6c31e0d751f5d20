"""What a crawl of a given size needs, before it starts.

Each constant was measured, as docs/benchmarks.md describes. Estimates are within a factor of two on such a machine:
enough to tell whether a crawl takes an hour, a day or a month.
"""

import math
from contextlib import closing
from pathlib import Path

import msgspec

from gossamer.archive.storage import ArchiveFiles
from gossamer.base.clock import DAY_S
from gossamer.base.environment import Outside
from gossamer.base.files import size_below
from gossamer.config.slices import Politeness
from gossamer.frontier.politeness import gap_s
from gossamer.store import captures, tallies
from gossamer.store.directory import Directory
from gossamer.store.state import open_state
from gossamer.values.format import counted

KB = 1_000
MIB = 1 << 20

MEASURED_PAGE_BYTES = 30_000
"""A page of the crawl benchmark, where the next figures were measured ("Crawling", 100,000 pages, everything on)."""
CRAWLER_CPU_S = 0.0014
READER_CPU_S = 0.0028
INDEXER_CPU_S = 0.0025
CRAWL_MEMORY_BYTES = 561 * MIB
"""All processes with two readers; the frontier's tables in memory are bounded."""
READER_MEMORY_BYTES = 110 * MIB
READERS_MEASURED = 2
ADDRESS_BYTES = 186
"""One URL in the frontier, with its text and its place in the queue ("Sizes")."""
CAPTURE_BYTES = 170
"""One capture in the catalogue: the 357 bytes of state.db per benchmark page, less its URL."""
MOST_SPOOL_BYTES = 3_200_000_000
"""The readings of two volumes of 1 GiB."""
SPOOL_SHARE = 0.34
ROBOTS_VISITS = 1
HEADERS_BYTES = 1_000
"""Request and header fields of one fetch, and packet headers."""
CORE_USE = 0.8
"""The usable share of a core's time; merging, compaction and the system need the rest."""


class Shares(msgspec.Struct, frozen=True):
    """Disk usage relative to the size of the bodies, from 3,000 benchmark pages."""

    archive: float = 0.23
    """Compressed records."""
    words: float = 0.13
    graph: float = 0.18
    """With its checkpoints."""
    links: float = 0.06


class Wish(msgspec.Struct, frozen=True):
    """The crawl that is planned, and what is available for it."""

    pages: int
    hosts: int
    delay_s: float = 1.0
    times_took: float = 10.0
    """The gap between two requests to a host is at least this many times the response time."""
    page_bytes: int = 80 * KB
    latency_s: float = 0.2
    """Mean time from the request to the first byte."""
    rate_bytes: float = 1_000.0 * KB
    """Bytes per second of one response."""
    addresses_per_page: float = 10.0
    """New URLs found per page."""
    largest: int | None = None
    """Pages of the largest host; None: all hosts have the same number."""
    cores: int = 2
    days: float | None = None
    """The time available."""
    bandwidth_bits: float | None = None
    at_once: int = 128
    disk_share: Shares | None = None
    """As measured in a data directory."""

    @property
    def response_s(self) -> float:
        return self.latency_s + self.page_bytes / self.rate_bytes

    @property
    def gap_s(self) -> float:
        """The pause of a host after each response."""
        return gap_s(Politeness(delay_s=self.delay_s, times_took=self.times_took), None, self.response_s)

    @property
    def every_s(self) -> float:
        """From one request to a host to the next: the gap starts when the response is complete."""
        return self.gap_s + self.response_s

    @property
    def fetch_bytes(self) -> int:
        return self.page_bytes + HEADERS_BYTES


class Limit(msgspec.Struct, frozen=True):
    """How long the crawl takes at least because of one limit."""

    name: str
    takes_s: float
    says: str


class Disk(msgspec.Struct, frozen=True):
    archive: int
    words: int
    graph: int
    links: int
    state: int
    spool: int
    """Readings not yet in the views; a volume of them is deleted once the views have passed it."""

    @property
    def total(self) -> int:
        return sum(msgspec.structs.astuple(self))


class CrawlPlan(msgspec.Struct, frozen=True):
    wish: Wish
    takes_s: float
    pages_per_s: float
    limits: tuple[Limit, ...]
    """The tightest first: the bottleneck."""
    connections: int
    """Open at the same time, on average."""
    bandwidth_bits: float
    disk: Disk
    disk_bytes: int
    memory_bytes: int
    hosts_wanted: int
    """Hosts needed for this many pages per second within politeness."""
    fits: bool | None
    """Whether it ends in the time available; None if that is not given."""
    advice: tuple[str, ...]


def planned(wish: Wish) -> CrawlPlan:
    """REQUIRES: pages, hosts, cores and at_once are at least 1; durations and sizes are not negative."""
    limits = tuple(sorted(_limits(wish), key=lambda limit: -limit.takes_s))
    takes_s = max(limits[0].takes_s, 1.0)
    pages_per_s = wish.pages / takes_s
    disk = _disk(wish)
    fits = None if wish.days is None else takes_s <= wish.days * DAY_S
    return CrawlPlan(
        wish,
        takes_s,
        pages_per_s,
        limits,
        connections=max(1, math.ceil(in_progress(pages_per_s, wish.response_s) - 1e-9)),
        bandwidth_bits=pages_per_s * wish.fetch_bytes * 8,
        disk=disk,
        disk_bytes=disk.total,
        memory_bytes=CRAWL_MEMORY_BYTES + max(0, wish.cores - READERS_MEASURED) * READER_MEMORY_BYTES,
        hosts_wanted=min(wish.pages, math.ceil(in_progress(pages_per_s, wish.every_s) - 1e-9)),
        fits=fits,
        advice=() if fits else _advice(wish, limits),
    )


def in_progress(pages_per_s: float, lasts_s: float) -> float:
    """Fetches in progress on average (Little's law): as many connections are open if `lasts_s` is the response time; as
    many hosts are busy if it is the time between two requests to a host."""
    return pages_per_s * lasts_s


def _limits(wish: Wish) -> list[Limit]:
    """Readers are as many as cores; crawler and indexer are one process each."""
    largest = wish.largest or math.ceil(wish.pages / wish.hosts)
    weight = wish.page_bytes / MEASURED_PAGE_BYTES
    alone = max(CRAWLER_CPU_S, INDEXER_CPU_S * weight)
    whole = CRAWLER_CPU_S + (READER_CPU_S + INDEXER_CPU_S) * weight
    if alone > whole / wish.cores:
        name, says = "indexer", f"{alone * 1000:.2g} ms a page in the one process that writes the views"
    else:
        cores = "1 core" if wish.cores == 1 else f"{wish.cores} cores"
        name, says = "processor", f"{whole * 1000:.2g} ms of CPU time a page, on {cores}"
    limits = [
        Limit(
            "politeness",
            (largest + ROBOTS_VISITS) * wish.every_s,
            f"the largest host has {counted(largest, 'page')}, one every {wish.every_s:.3g} s "
            f"(a gap of {wish.gap_s:.3g} s after a response of {wish.response_s:.2g} s)",
        ),
        Limit(
            "connections",
            (wish.pages + wish.hosts) * wish.response_s / wish.at_once,
            f"{wish.at_once} concurrent fetches, {wish.response_s:.2g} s each",
        ),
        Limit(name, wish.pages * max(alone, whole / wish.cores) / CORE_USE, says),
    ]
    if wish.bandwidth_bits is not None:
        takes_s = wish.pages * wish.fetch_bytes * 8 / wish.bandwidth_bits
        limits.append(Limit("bandwidth", takes_s, f"a connection of {wish.bandwidth_bits / 1e6:g} Mbit/s"))
    return limits


def _disk(wish: Wish) -> Disk:
    bodies = wish.pages * wish.page_bytes
    shares = wish.disk_share or Shares()
    addresses = math.ceil(wish.pages * max(1.0, wish.addresses_per_page))
    return Disk(
        **{name: round(bodies * share) for name, share in msgspec.structs.asdict(shares).items()},
        state=addresses * ADDRESS_BYTES + (wish.pages + wish.hosts) * CAPTURE_BYTES,
        spool=min(MOST_SPOOL_BYTES, round(bodies * SPOOL_SHARE)),
    )


def _advice(wish: Wish, limits: tuple[Limit, ...]) -> tuple[str, ...]:
    """What to change about the bottleneck."""
    within_s = None if wish.days is None else wish.days * DAY_S
    match limits[0].name:
        case "politeness":
            if wish.largest is not None:
                more = "fewer pages of the largest host (a budget, or --max-depth), or more time: the gap is per host"
            elif within_s is None:
                more = "more hosts: twice as many take half the time"
            else:
                hosts = math.ceil(wish.pages * wish.every_s / within_s)
                more = f"at least {hosts:,} hosts for {wish.days:g} days, or more days: politeness allows nothing else"
            return more, "a shorter --delay only if the sites are your own: the delay protects other people's servers"
        case "connections":
            goal_s = max(within_s or limits[1].takes_s, 1.0)
            at_once = math.ceil((wish.pages + wish.hosts) * wish.response_s / goal_s)
            return (f"more concurrent fetches: crawl.at_once = {at_once}",)
        case "indexer":
            return ("several data directories, each for some of the hosts: one indexer writes one directory",)
        case "processor":
            return ('more cores; or keep = "structured", which indexes fewer pages',)
        case _:
            return ("a faster connection, or fewer and smaller pages",)


ENOUGH_PAGES = 20
"""Averages of fewer pages say nothing about a crawl."""


class Measured(msgspec.Struct, frozen=True):
    """Averages of a data directory, if it has enough pages."""

    pages: int = 0
    queued: int | None = None
    hosts: int | None = None
    page_bytes: int = 80 * KB
    addresses_per_page: float = 10.0
    shares: Shares | None = None


def measured_in(directory: Directory, outside: Outside) -> Measured:
    with closing(open_state(directory)) as state:
        counts = tallies.counts(state)
        captured, bodies = captures.totals(state)
    found = Measured(counts.pages, counts.queued or None, counts.hosts or None)
    if captured < ENOUGH_PAGES or not bodies:
        return found

    copies = outside.files.wanted if isinstance(outside.files, ArchiveFiles) else 1

    def share(*paths: Path) -> float:
        return size_below(paths, outside.files) / bodies

    return msgspec.structs.replace(
        found,
        page_bytes=max(1, bodies // captured),
        addresses_per_page=counts.known / captured,
        shares=Shares(
            copies * share(directory.archive),
            share(directory.index),
            share(directory.graph, directory.checkpoints),
            share(directory.links),
        ),
    )
