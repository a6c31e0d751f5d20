"""How fast a frontier on PostgreSQL is: offers, takes and settlements per second, by one crawler and by several.

`python -m bench.frontier_postgres [--addresses N] [--hosts N] [--crawlers N]`: starts Debian's server in a temporary
folder, with every commit synced, and prints the figures next to those the design was based on. It takes some seconds.
With `--growth STEP` one crawler's frontier grows to that many URLs, and after each step the cost of a page and the
bytes on disk are printed: both should stay flat.
"""

import argparse
import asyncio
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import psutil
import psycopg
from tests.postgres_server import Server, server

from gossamer.base.clock import SECOND, Clock, SystemClock
from gossamer.base.tell import silent
from gossamer.config.slices import Politeness
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.postgres.frontier import PostgresFrontier
from gossamer.frontier.postgres.presence import Stay
from gossamer.store.postgres.database import SharedDatabase
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Settled, Visit, VisitKind

DESIGN = {"offers": "96-134 thousand bare inserts per second", "leases": "65-83 thousand bare leases per second"}
WORDS = ("people", "archive", "2026", "research", "article", "notes", "index", "history", "projects", "review")
GROUP = 64
LINKS = 40
GROUPS = 40


def address(number: int, hosts: int) -> Url:
    """Deterministic, spread over the hosts, about 75 characters long."""
    words = "/".join(WORDS[number // 10**place % 10] for place in range(4))
    return Url(f"https://www.site-{number % hosts}.example/{words}/{number:x}-{WORDS[number % 7]}.html")


def settled(visit: Visit, now: int, offers: Sequence[Offer] = ()) -> Settled:
    if visit.kind is VisitKind.ROBOTS:
        robots = Robots(visit.origin, RobotsState.MISSING, now, now + 86_400 * SECOND)
        return Settled(visit, Reason.GONE, now, took_s=0.1, robots=robots)
    return Settled(visit, Reason.FETCHED, now, took_s=0.1, offers=tuple(offers))


async def opened(stack: AsyncExitStack, conninfo: str, name: str, clock: Clock) -> PostgresFrontier:
    database = await stack.enter_async_context(SharedDatabase(conninfo, clock, silent))
    polite = Politeness(delay_s=0.0, jitter=0.0)
    frontier = PostgresFrontier(
        database, FrontierRules(polite, lambda _: True, seen_slots=1 << 16), clock, silent, Stay(name)
    )
    return await stack.enter_async_context(frontier)


async def offer_all(crew: Sequence[PostgresFrontier], addresses: int, hosts: int, known: int = 0) -> None:
    """Each crawler offers its share of those beyond `known`, 10,000 at a time."""

    async def share(frontier: PostgresFrontier, first: int) -> None:
        numbers = range(known + first, addresses, len(crew))
        for start in range(0, len(numbers), 10_000):
            offers = [Offer(address(n, hosts), How.LINK, 1, 1) for n in numbers[start : start + 10_000]]
            await frontier.offer(offers)

    await asyncio.gather(*[share(frontier, first) for first, frontier in enumerate(crew)])


async def visit_all(crew: Sequence[PostgresFrontier], groups: int, clock: Clock, addresses: int, hosts: int) -> int:
    """Take and settle groups of visits, with 40 links per page, a quarter of them new; returns the number of visits."""

    async def work(frontier: PostgresFrontier, number: int) -> int:
        made = 0
        for group in range(groups):
            visits = await frontier.take(GROUP)
            now = clock.now()
            done = []
            for place, visit in enumerate(visits):
                new = addresses + ((number * groups + group) * GROUP + place) * LINKS
                numbers = [n if n % 4 == 0 else n % addresses for n in range(new, new + LINKS)]
                links = [Offer(address(n, hosts), How.LINK, visit.url.id, 2) for n in numbers]
                done.append(settled(visit, now, links))
            await frontier.settle(done)
            made += len(done)
        return made

    return sum(await asyncio.gather(*[work(frontier, number) for number, frontier in enumerate(crew)]))


def backends(running: Server) -> list[psutil.Process]:
    """The server's processes, including those of the connections; not those that vacuum, which come and go."""
    assert running.process is not None
    found = []
    for process in psutil.Process(running.process.pid).children():
        with suppress(psutil.NoSuchProcess):
            if "autovacuum" not in " ".join(process.cmdline()):
                found.append(process)
    return found


class RoomyServer(Server):
    """With as much memory as a server of its size is usually given."""

    def options(self) -> dict[str, str]:
        return super().options() | {"shared_buffers": "4GB", "max_wal_size": "8GB"}


def cpu_s(processes: Sequence[psutil.Process]) -> float:
    used = 0.0
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            used += times.user + times.system
    return used


async def measure(running: Server, addresses: int, hosts: int, crawlers: int) -> None:
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        own = psutil.Process()
        conninfo = running.conninfo(f"bench{crawlers}")
        crew = [await opened(stack, conninfo, f"crawler {n}", clock) for n in range(crawlers)]
        began_s = clock.elapsed_s()
        await offer_all(crew, addresses, hosts)
        offered_s = clock.elapsed_s() - began_s
        for robots in range(-(-hosts // GROUP)):
            visits = await crew[robots % crawlers].take(GROUP)
            await crew[robots % crawlers].settle([settled(visit, clock.now()) for visit in visits])
        began_s = clock.elapsed_s()
        visits = await crew[0].take(hosts // 2)
        took_s = clock.elapsed_s() - began_s
        taken = len(visits)
        await crew[0].settle([settled(visit, clock.now()) for visit in visits])
        began_s, client_s, server_s = clock.elapsed_s(), cpu_s([own]), cpu_s(backends(running))
        made = await visit_all(crew, 10, clock, addresses, hosts)
        visited_s = clock.elapsed_s() - began_s
        client_s, server_s = cpu_s([own]) - client_s, cpu_s(backends(running)) - server_s
    print(f"{crawlers} crawler(s), {addresses:,} URLs on {hosts:,} hosts, every commit synced")
    print(f"  new URLs offered                  {addresses / offered_s:>9,.0f} per second   ({DESIGN['offers']})")
    print(f"  leased in one take                {taken / took_s:>9,.0f} per second   ({DESIGN['leases']})")
    rate, each_us = made / visited_s, visited_s / made * 1e6
    print(f"  take + settle + {LINKS} links per page   {rate:>9,.0f} per second   {each_us:,.0f} us")
    print(f"    CPU per page: the crawler {client_s / made * 1e6:,.0f} us, the server {server_s / made * 1e6:,.0f} us")


async def grow(running: Server, addresses: int, hosts: int, step: int) -> None:
    """Print the cost at each size. The links of the pages that are visited in between count as URLs too."""
    clock, own = SystemClock(), psutil.Process()
    async with AsyncExitStack() as stack:
        crew = [await opened(stack, running.conninfo("growth"), "crawler", clock)]
        visited = 0
        for known in range(0, addresses, step):
            began = clock.elapsed_s(), cpu_s([own]), cpu_s(backends(running))
            await offer_all(crew, known + step, hosts, known)
            offered = clock.elapsed_s(), cpu_s([own]), cpu_s(backends(running))
            if not known:
                for _ in range(-(-hosts // GROUP)):
                    await crew[0].settle([settled(visit, clock.now()) for visit in await crew[0].take(GROUP)])
            before = cpu_s([own]), cpu_s(backends(running))
            made = await visit_all(crew, GROUPS, clock, addresses + visited * LINKS, hosts)
            visited += made
            after = cpu_s([own]), cpu_s(backends(running))
            offers = [(late - early) / step * 1e6 for early, late in zip(began, offered, strict=True)]
            pages = [(late - early) / made * 1e6 for early, late in zip(before, after, strict=True)]
            print(
                f"{known + step:>12,} URLs  {size_of(running, 'growth') / (known + step + visited * LINKS // 4):5,.0f} "
                f"bytes each   an offer: {offers[0]:4,.0f} us, CPU {offers[1]:4,.0f} here, {offers[2]:4,.0f} in the "
                f"server   a page: CPU {pages[0]:5,.0f} us here, {pages[1]:5,.0f} in the server",
                flush=True,
            )


def size_of(running: Server, schema: str) -> int:
    """Bytes of all its tables and indexes."""
    with psycopg.connect(running.conninfo(schema), autocommit=True) as connection:
        row = connection.execute(
            "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c WHERE c.relkind = 'r' "
            "AND c.relnamespace = current_schema()::regnamespace"
        ).fetchone()
    assert row is not None
    return int(row[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--addresses", type=int, default=100_000)
    parser.add_argument("--hosts", type=int, default=2_000)
    parser.add_argument("--crawlers", type=int, default=3)
    parser.add_argument("--growth", type=int, metavar="STEP", help="grow to --addresses in steps of so many URLs")
    given = parser.parse_args()
    if given.growth:
        folder = Path(tempfile.mkdtemp(prefix="gossamer-pg-"))
        running = RoomyServer(folder, server().programs)
        try:
            running.make()
            running.start()
            asyncio.run(grow(running, given.addresses, given.hosts, given.growth))
        finally:
            running.stop()
            shutil.rmtree(folder, ignore_errors=True)
        return
    for crawlers in sorted({1, given.crawlers}):
        asyncio.run(measure(server(), given.addresses, given.hosts, crawlers))


if __name__ == "__main__":
    main()
