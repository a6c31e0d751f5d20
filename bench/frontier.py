"""The frontier at scale: `python -m bench.frontier`, ten million URLs on a hundred thousand hosts.

A crawl is simulated on a manually advanced clock: visits are taken, and settled with forty links each, until that many
URLs are known. To get there quickly thirty links of a page are new; while the cost of a page is measured, early and at
the end, ten are. That mix is our choice: the more links are new, the more a page costs.

Everything is generated from a fixed seed. It prints the bytes on disk and the bytes written per URL, the memory, the
CPU time of a page early and late, and how long a restart takes; a figure that misses its target makes the exit code 1.
Writing captures is up to the archive and left out.
"""

import argparse
import asyncio
import os
import random
import re
import sqlite3
import sys
import tempfile
import time
from array import array
from dataclasses import dataclass, field
from pathlib import Path

from gossamer.base.tell import silent
from gossamer.base.tuning import relax_garbage_collection
from gossamer.config.slices import Politeness
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.store.sqlite.database import Database
from gossamer.testing import FakeClock
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots, RobotsRule, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Settled, Visit, VisitKind

AT_ONCE = 64
OFFERS, NEW, NEW_WHILE_GROWING = 40, 10, 30
EARLY = 10_000
HOST = re.compile(r"([0-9]+)\.example")
TEXT = (
    "about archive article autumn bridge catalogue chapter city council culture diary edition energy essay event "
    "family field garden guide harbour history house index island journal kitchen letter library market meeting "
    "mountain museum music news notes object office paper people person place poetry product project question report "
    "research review river school science season service society station story street summer theatre topic town "
    "travel valley village water weather window winter world year"
)
WORDS = TEXT.split()


@dataclass(frozen=True, slots=True)
class Figures:
    addresses: int
    identity_bytes: float
    stored_bytes: float
    written_bytes: float
    memory_mb: float
    early_us: float
    late_us: float
    restart_s: float

    def misses(self) -> list[str]:
        targets = [
            ("identity, bytes per URL", self.identity_bytes, 30),
            ("text and state on disk, bytes per URL", self.stored_bytes, 160),
            ("written, bytes per new URL", self.written_bytes, 2048),
            ("memory, MB", self.memory_mb, 400),
            ("CPU of a page, microseconds", self.late_us, 500),
            ("CPU of a page compared with early", self.late_us / self.early_us, 2),
            ("restart to the first visit, s", self.restart_s, 5),
        ]
        return [f"{name}: {found:.1f}, more than {most}" for name, found, most in targets if found > most]


@dataclass(slots=True)
class Web:
    """Millions of URLs: number k of host h is always the same."""

    hosts: int
    seed: int = 1
    made: "array[int]" = field(init=False)
    known: int = 0
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.made = array("q", bytes(8 * self.hosts))
        self.chance = random.Random(self.seed)

    def text(self, host: int, number: int) -> str:
        mixed = (host * 2_654_435_761 + number * 40_503) & 0xFFFFFFFF
        words = [WORDS[(mixed >> shift) % len(WORDS)] for shift in (0, 5, 11, 17, 23)]
        name = f"www.{WORDS[host % len(WORDS)]}{host}.example"
        return f"https://{name}/{words[0]}/{words[1]}/{words[2]}-{words[3]}-{words[4]}-{number}.html"

    def new(self, host: int | None = None) -> str:
        """On this host, or on any: hosts differ in size, and the first ones get many more URLs than the last."""
        host = int(self.hosts * self.chance.random() ** 1.5) if host is None else host
        number = self.made[host]
        self.made[host] += 1
        self.known += 1
        return self.text(host, number)

    def old(self, host: int) -> str:
        return self.text(host, int(self.made[host] * self.chance.random()))

    def links(self, source: Visit, new: int) -> tuple[Offer, ...]:
        """Most links stay on their host, as on the real web."""
        home = int(HOST.search(source.url.text)[1])  # type: ignore[index]
        texts = [self.new(home if place % 5 else None) for place in range(new)]
        texts += [self.old(home) for _ in range(OFFERS - new)]
        depth = 1 + source.depth % 8
        return tuple([Offer(Url(text), How.LINK, source.url.id, depth) for text in texts])


@dataclass(slots=True)
class Cost:
    cpu_s: float = 0.0
    pages: int = 0

    def us(self) -> float:
        return 1e6 * self.cpu_s / max(1, self.pages)


def settled(visit: Visit, clock: FakeClock, web: Web, new: int) -> Settled:
    now = clock.now()
    if visit.kind is VisitKind.ROBOTS:
        rules = (RobotsRule(False, "/private/", 2), RobotsRule(False, "/search", 3))
        entry = Robots(visit.origin, RobotsState.READ, now, now + 10**15, rules)
        return Settled(visit, Reason.FETCHED, now, robots=entry)
    return Settled(visit, Reason.FETCHED, now, took_s=0.1, offers=web.links(visit, new))


async def grow(
    frontier: SqliteFrontier, clock: FakeClock, web: Web, upto: int, cost: Cost, new: int = NEW_WHILE_GROWING
) -> None:
    """Crawl until the web has returned that many URLs."""
    while web.known < upto:
        clock.advance(0.2)
        began = time.process_time()
        visits = await frontier.take(AT_ONCE)
        cost.cpu_s += time.process_time() - began
        done = []
        for visit in visits:
            done.append(settled(visit, clock, web, min(new, upto - web.known)))
            cost.pages += visit.kind is VisitKind.PAGE
        clock.advance(0.1)
        began = time.process_time()
        await frontier.settle(done)
        cost.cpu_s += time.process_time() - began


async def measure(folder: Path, addresses: int, hosts: int) -> Figures:
    clock, web = FakeClock(), Web(hosts)
    early, middle, late = Cost(), Cost(), Cost()
    polite = Politeness(delay_s=1.0)
    async with Database(folder / "state.db", clock, silent) as database:
        frontier = SqliteFrontier(database, FrontierRules(polite, lambda _: True), clock, silent)
        await frontier.open()
        before = written()
        await frontier.offer([Offer(Url(web.new()), How.SEED) for _ in range(min(5000, addresses // 10))])
        await grow(frontier, clock, web, min(EARLY, addresses // 3), Cost())
        await grow(frontier, clock, web, min(3 * EARLY, addresses // 2), early, NEW)
        step = max(1, addresses // 20)
        for upto in range(web.known + step, addresses - 2 * step, step):
            part = Cost()
            await grow(frontier, clock, web, upto, part)
            print(f"{web.known:>12,} known  {part.us():6.0f} us per page", flush=True)
        await grow(frontier, clock, web, addresses - 2 * step, middle)
        print(f"{web.known:>12,} known, from here on {NEW} of {OFFERS} links are new", flush=True)
        await grow(frontier, clock, web, addresses, late, NEW)
        gained = (await frontier.counts()).known
        bytes_written = written() - before
    memory_mb = peak_mb()
    stored, identity = sizes(folder / "state.db", addresses)
    restart_s = await restarted(folder, clock, polite)
    print(f"{gained:,} merged of {web.known:,} found; mean length {mean_length(web):.0f} characters")
    return Figures(addresses, identity, stored, bytes_written / addresses, memory_mb, early.us(), late.us(), restart_s)


async def restarted(folder: Path, clock: FakeClock, polite: Politeness) -> float:
    """After an unclean stop: the time until a visit is leased."""
    began = time.perf_counter()
    async with Database(folder / "state.db", clock, silent) as database:
        frontier = SqliteFrontier(database, FrontierRules(polite, lambda _: True), clock, silent)
        await frontier.open()
        opened_s = time.perf_counter() - began
        clock.advance(2)
        began = time.perf_counter()
        assert await frontier.take(1), "there is something to visit"
        return opened_s + time.perf_counter() - began


def sizes(path: Path, addresses: int) -> tuple[float, float]:
    """Bytes on disk per URL: the whole database, and the identities in it.

    The key of a row of `addresses` is the host's small id and 64 bits of hash. Added to it are one byte each of the
    record's header, the cell's pointer and length, and its share of the unused space in pages.
    """
    connection = sqlite3.connect(path)
    (stored,) = connection.execute(
        "SELECT (SELECT page_count FROM pragma_page_count) * page_size FROM pragma_page_size"
    ).fetchone()
    pages, payload = connection.execute(
        "SELECT sum(pgsize), sum(payload) FROM dbstat WHERE name = 'addresses' AND pagetype = 'leaf'"
    ).fetchone()
    for name, size, unused in connection.execute(
        "SELECT name, sum(pgsize), sum(unused) FROM dbstat GROUP BY name ORDER BY 2 DESC LIMIT 6"
    ):
        print(f"  {name:24} {size / addresses:7.1f} bytes per URL, {unused / size:.0%} empty")
    (free,) = connection.execute("SELECT freelist_count FROM pragma_freelist_count").fetchone()
    print(f"  {'free pages':24} {free * 4096 / addresses:7.1f} bytes per URL")
    connection.close()
    fill = payload / pages
    key = 3 + 8 + 2 + 2 + 2
    return stored / addresses, key / fill


def written() -> int:
    """Bytes this process has passed to write calls: frames of the journal, and pages copied back from it."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("wchar")))


def peak_mb() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 1024


def mean_length(web: Web) -> float:
    picks = random.Random(2)
    texts = [web.text(picks.randrange(web.hosts), picks.randrange(200)) for _ in range(1000)]
    return sum(map(len, texts)) / len(texts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--addresses", type=int, default=10_000_000)
    parser.add_argument("--hosts", type=int, default=None, help="default: one for every hundred URLs")
    parser.add_argument("--folder", default=None, help="where to create the database; default: a temporary folder")
    given = parser.parse_args()
    hosts = given.hosts or max(10, given.addresses // 100)
    relax_garbage_collection()  # as the crawler does
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        found = asyncio.run(measure(Path(folder), given.addresses, hosts))
    print(f"{found.addresses:,} URLs on {hosts:,} hosts, {os.cpu_count()} cores")
    print(f"  {found.identity_bytes:8.1f} bytes of identity per URL, {found.stored_bytes:.1f} with text and state")
    print(f"  {found.written_bytes:8.0f} bytes written per new URL, including the visits that found it")
    print(f"  {found.memory_mb:8.0f} MB of memory at most")
    print(
        f"  {found.late_us:8.0f} us of CPU for take, settle and {OFFERS} offers of a page, {NEW} new "
        f"({found.early_us:.0f} us early)"
    )
    print(f"  {found.restart_s:8.2f} s from the start to the first visit after an unclean stop")
    misses = found.misses()
    print("\n".join(f"MISSED {miss}" for miss in misses) or "every target is met")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
