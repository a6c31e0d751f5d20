"""What a crawl of a given size needs, before it starts. Pure: numbers in, numbers and sentences out.

Each constant was measured; docs/benchmarks.md says how. Estimates are within a factor of two on machines like that
one, which is what decides whether a crawl takes an hour, a day or a month.
"""

import math
from contextlib import closing
from pathlib import Path

import msgspec

from gossamer.base.environment import Outside
from gossamer.base.files import size_below
from gossamer.config.slices import Politeness
from gossamer.frontier.politeness import gap_s
from gossamer.store import captures, tallies
from gossamer.store.directory import Directory
from gossamer.store.state import open_state

DAY_S = 86_400.0
KB = 1_000
MIB = 1 << 20

MEASURED_PAGE_BYTES = 30_000
"""The pages of the crawl benchmark, whose figures the next ones are ("Crawling", 100,000 pages, everything on)."""
CRAWLER_CPU_S = 0.0014
READER_CPU_S = 0.0028
INDEXER_CPU_S = 0.0025
CRAWL_MEMORY_BYTES = 561 * MIB
"""All processes together with two readers; the frontier's tables in memory are bounded."""
READER_MEMORY_BYTES = 110 * MIB
READERS_MEASURED = 2
ADDRESS_BYTES = 186
"""One address in the frontier, its text and its place in the queue included ("Sizes")."""
CAPTURE_BYTES = 170
"""One capture in the catalogue: what is left of 357 bytes of state.db a benchmark page without its address."""
ARCHIVE_SHARE = 0.23
WORDS_SHARE = 0.13
GRAPH_SHARE = 0.18
LINKS_SHARE = 0.06
SPOOL_SHARE = 0.34
"""Bytes on disk beside the bytes of the bodies, 3,000 benchmark pages: compressed records; index; graph with its
checkpoints; links; readings on their way to the views, which go once the views have passed their volume."""
MOST_SPOOL_BYTES = 3_200_000_000
"""The readings of two volumes of 1 GiB."""
ROBOTS_VISITS = 1
HEADERS_BYTES = 1_000
"""Request and header fields of one visit, and the packets around them."""
INDEXER = "indexer"
CORE_USE = 0.8
"""Of a core's time that can be planned with; the rest is merging, compacting and the system's own."""


class Wish(msgspec.Struct, frozen=True):
    """What somebody wants to crawl, and with what."""

    pages: int
    hosts: int
    delay_s: float = 1.0
    times_took: float = 10.0
    """The rest of a host is at least this many times as long as its answer took."""
    page_bytes: int = 80 * KB
    latency_s: float = 0.2
    """From the request to the first byte, as a mean."""
    rate_bytes: float = 1_000.0 * KB
    """Bytes a second that one answer comes at."""
    addresses_per_page: float = 10.0
    """New addresses met on a page."""
    largest: int | None = None
    """Pages of the largest host; None: all hosts have about as many."""
    cores: int = 2
    days: float | None = None
    """The time there is."""
    bandwidth_bits: float | None = None
    at_once: int = 128
    disk_share: "Shares | None" = None
    """As measured in a data directory."""


class Shares(msgspec.Struct, frozen=True):
    """Bytes on disk beside the bytes of the pages' bodies."""

    archive: float = ARCHIVE_SHARE
    words: float = WORDS_SHARE
    graph: float = GRAPH_SHARE
    links: float = LINKS_SHARE


class Limit(msgspec.Struct, frozen=True):
    """One thing that the crawl cannot be faster than."""

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

    @property
    def total(self) -> int:
        return self.archive + self.words + self.graph + self.links + self.state + self.spool


class CrawlPlan(msgspec.Struct, frozen=True):
    wish: Wish
    takes_s: float
    pages_per_s: float
    limits: tuple[Limit, ...]
    """The tightest first: it is the bottleneck."""
    connections: int
    """Open at one time, as a mean."""
    bandwidth_bits: float
    disk: Disk
    disk_bytes: int
    memory_bytes: int
    hosts_wanted: int
    """Hosts over which so many pages a second can be had politely."""
    fits: bool | None
    """Whether it is done in the days given; None when none were."""
    advice: tuple[str, ...]


def planned(wish: Wish) -> CrawlPlan:
    """REQUIRES: pages, hosts, cores and at_once are at least 1; what is measured in time or bytes is not negative."""
    limits = tuple(sorted(limits_of(wish), key=lambda limit: -limit.takes_s))
    takes_s = max(limits[0].takes_s, 1.0)
    pages_per_s = wish.pages / takes_s
    disk = disk_of(wish)
    fits = None if wish.days is None else takes_s <= wish.days * DAY_S
    return CrawlPlan(
        wish,
        takes_s,
        pages_per_s,
        limits,
        connections=max(1, math.ceil(connections(pages_per_s, answer_s(wish)) - 1e-9)),
        bandwidth_bits=pages_per_s * (wish.page_bytes + HEADERS_BYTES) * 8,
        disk=disk,
        disk_bytes=disk.total,
        memory_bytes=memory_of(wish),
        hosts_wanted=min(wish.pages, math.ceil(hosts_for(pages_per_s, visit_s(wish)) - 1e-9)),
        fits=fits,
        advice=tuple(advice_of(wish, limits, fits)),
    )


def answer_s(wish: Wish) -> float:
    """How long one visit lasts."""
    return wish.latency_s + wish.page_bytes / wish.rate_bytes


def rest_s(wish: Wish) -> float:
    """How long a host is left alone after an answer."""
    return gap_s(Politeness(delay_s=wish.delay_s, times_took=wish.times_took), None, answer_s(wish))


def visit_s(wish: Wish) -> float:
    """How often one host can be visited: the gap starts when the answer is in."""
    return rest_s(wish) + answer_s(wish)


def connections(pages_per_s: float, lasts_s: float) -> float:
    """Visits under way at one time, as a mean (Little's law)."""
    return pages_per_s * lasts_s


def hosts_for(pages_per_s: float, every_s: float) -> float:
    """Hosts needed for so many pages a second when each may be visited once in so long."""
    return pages_per_s * every_s


def limits_of(wish: Wish) -> list[Limit]:
    largest = wish.largest or math.ceil(wish.pages / wish.hosts)
    visits = largest + ROBOTS_VISITS
    return [
        Limit(
            "politeness",
            visits * visit_s(wish),
            f"the largest host has {largest:,} pages, one every {visit_s(wish):.3g} s "
            f"({rest_s(wish):.3g} s of rest and {answer_s(wish):.2g} s for the answer)",
        ),
        Limit(
            "connections",
            (wish.pages + wish.hosts) * answer_s(wish) / wish.at_once,
            f"{wish.at_once} visits under way at one time, {answer_s(wish):.2g} s each",
        ),
        _processor(wish),
        *_bandwidth(wish),
    ]


def _processor(wish: Wish) -> Limit:
    """Readers are as many as there are cores; crawler and indexer are one process each."""
    weight = wish.page_bytes / MEASURED_PAGE_BYTES
    alone = max(CRAWLER_CPU_S, INDEXER_CPU_S * weight)
    shared = (CRAWLER_CPU_S + (READER_CPU_S + INDEXER_CPU_S) * weight) / wish.cores
    takes_s = wish.pages * max(alone, shared) / CORE_USE
    if alone > shared:
        return Limit(INDEXER, takes_s, f"{alone * 1000:.2g} ms a page in the one process that writes the views")
    whole = shared * wish.cores * 1000
    return Limit("processor", takes_s, f"{whole:.2g} ms of processor time a page, on {_cores(wish.cores)}")


def _cores(number: int) -> str:
    return "1 core" if number == 1 else f"{number} cores"


def _bandwidth(wish: Wish) -> list[Limit]:
    if wish.bandwidth_bits is None:
        return []
    takes_s = wish.pages * (wish.page_bytes + HEADERS_BYTES) * 8 / wish.bandwidth_bits
    return [Limit("bandwidth", takes_s, f"a line of {wish.bandwidth_bits / 1e6:g} Mbit/s")]


def disk_of(wish: Wish) -> Disk:
    bodies = wish.pages * wish.page_bytes
    shares = wish.disk_share or Shares()
    addresses = math.ceil(wish.pages * max(1.0, wish.addresses_per_page))
    return Disk(
        archive=round(bodies * shares.archive),
        words=round(bodies * shares.words),
        graph=round(bodies * shares.graph),
        links=round(bodies * shares.links),
        state=addresses * ADDRESS_BYTES + (wish.pages + wish.hosts) * CAPTURE_BYTES,
        spool=min(MOST_SPOOL_BYTES, round(bodies * SPOOL_SHARE)),
    )


def memory_of(wish: Wish) -> int:
    return CRAWL_MEMORY_BYTES + max(0, wish.cores - READERS_MEASURED) * READER_MEMORY_BYTES


def advice_of(wish: Wish, limits: tuple[Limit, ...], fits: bool | None) -> list[str]:
    """What to change, for the bottleneck; nothing when it fits the time that there is."""
    first = limits[0]
    if fits:
        return []
    said = []
    within_s = wish.days * DAY_S if wish.days is not None else None
    match first.name:
        case "politeness" if wish.largest is None:
            said.append(_more_hosts(wish, within_s))
        case "politeness":
            said.append("fewer pages of the largest host (a budget, or --max-depth), or more time: its gap is its own")
        case "connections":
            said.append(f"more visits at one time: crawl.at_once = {_at_once(wish, limits, within_s)}")
        case "indexer":
            said.append("several data directories, each with a part of the hosts: one indexer writes one directory")
        case "processor":
            said.append('more cores; or keep = "structured", which indexes fewer pages')
        case _:
            said.append("a faster line, or fewer and smaller pages")
    if first.name == "politeness":
        said.append("a shorter --delay only where the sites are your own: the delay is what they are owed")
    return said


def _more_hosts(wish: Wish, within_s: float | None) -> str:
    if within_s is None:
        return "more hosts: twice as many take half as long"
    wanted = math.ceil(wish.pages * visit_s(wish) / within_s)
    return f"at least {wanted:,} hosts for {wish.days:g} days, or more days: nothing else makes it faster politely"


def _at_once(wish: Wish, limits: tuple[Limit, ...], within_s: float | None) -> int:
    goal_s = within_s or limits[1].takes_s
    return math.ceil((wish.pages + wish.hosts) * answer_s(wish) / max(goal_s, 1.0))


ENOUGH_PAGES = 20
"""Fewer say nothing about the next million."""


class Measured(msgspec.Struct, frozen=True):
    """Averages of a data directory, where there are enough pages to speak of."""

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
    if captured < ENOUGH_PAGES or not bodies:
        return Measured(counts.pages, counts.queued or None, counts.hosts or None)
    sizes = {folder: size_below(path, outside.files) for folder, path in _folders(directory).items()}
    return Measured(
        counts.pages,
        counts.queued or None,
        counts.hosts or None,
        page_bytes=max(1, bodies // captured),
        addresses_per_page=counts.known / max(1, captured),
        shares=Shares(
            archive=sizes["archive"] / bodies,
            words=sizes["words"] / bodies,
            graph=sizes["graph"] / bodies,
            links=sizes["links"] / bodies,
        ),
    )


def _folders(directory: Directory) -> dict[str, list[Path]]:
    return {
        "archive": [directory.archive],
        "words": [directory.index],
        "graph": [directory.graph, directory.checkpoints],
        "links": [directory.links],
    }
