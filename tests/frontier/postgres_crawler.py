"""One crawler of a shared crawl, in a separate process: it takes visits, pretends to make them, settles and logs.

`python -m tests.frontier.postgres_crawler CONNINFO NAME LOG SECONDS`: each line of the log is one visit: its URL,
kind, and when it began and ended by this machine's clock, in microseconds; "out" lines come before the visit is made.
A `.ready` file next to the log shows that it is ready; it begins once there is a file "go", so that all begin together.
"""

import asyncio
import sys
from pathlib import Path

from gossamer.base.clock import SECOND, SystemClock
from gossamer.base.tell import silent
from gossamer.config.slices import Politeness
from gossamer.frontier.api import FrontierRules, LeaseLost
from gossamer.frontier.postgres.frontier import PostgresFrontier
from gossamer.frontier.postgres.presence import Stay
from gossamer.store.postgres.database import SharedDatabase
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Settled, Visit, VisitKind

POLITE = Politeness(delay_s=0.05, jitter=0.0)
HOSTS, PAGES = 40, 12
LEASE_S = 3.0
GO = "go"


def host(number: int) -> str:
    return f"h{number % HOSTS}.test"


def links_of(url: Url) -> list[Url]:
    """Every page links to one page on each of three hosts; all pages can be found from any page."""
    number = int(url.path[1:])
    own = int(url.host.name[1:].partition(".")[0])
    targets = [(own + 1, number), (own + 7, number), (own, number + 1)]
    return [Url(f"http://{host(h)}/{n}") for h, n in targets if n < PAGES]


def settled(visit: Visit, now: int) -> Settled:
    if visit.kind is VisitKind.ROBOTS:
        robots = Robots(visit.origin, RobotsState.MISSING, now, now + 86_400 * SECOND)
        return Settled(visit, Reason.GONE, now, robots=robots)
    offers = tuple(Offer(url, How.LINK, visit.url.id, visit.depth + 1) for url in links_of(visit.url))
    return Settled(visit, Reason.FETCHED, now, offers=offers)


async def crawl(conninfo: str, name: str, log: Path, seconds: float) -> None:
    clock = SystemClock()
    stay = Stay(name, LEASE_S, LEASE_S / 4)
    with log.open("a", buffering=1) as lines:
        async with (
            SharedDatabase(conninfo, clock, silent) as database,
            PostgresFrontier(database, FrontierRules(POLITE, lambda _: True), clock, silent, stay) as frontier,
        ):
            log.with_suffix(".ready").touch()
            while not (log.parent / GO).exists():
                await asyncio.sleep(0.01)
            until_s = clock.elapsed_s() + seconds
            while clock.elapsed_s() < until_s and await frontier.next_at() is not None:
                visits = await frontier.take(8)
                began_at = clock.now()
                lines.writelines(f"out {v.url} {v.kind} {began_at} 0\n" for v in visits)
                await asyncio.sleep(0.005)
                ended_at = clock.now()
                try:
                    await frontier.settle([settled(visit, ended_at) for visit in visits])
                except LeaseLost:
                    continue
                lines.writelines(f"done {v.url} {v.kind} {began_at} {ended_at}\n" for v in visits)


if __name__ == "__main__":
    asyncio.run(crawl(sys.argv[1], sys.argv[2], Path(sys.argv[3]), float(sys.argv[4])))
