"""The same for a shared frontier: addresses and hosts leave it, counters and all."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.postgres_server import server, why_absent

from gossamer.base.clock import SECOND
from gossamer.base.tell import silent
from gossamer.config.slices import Politeness
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.rows import UrlKeys
from gossamer.rules.canonical import identity_of
from gossamer.rules.learned.traps import template_of
from gossamer.rules.scope import Forgotten, forgotten_of
from gossamer.testing import FakeClock
from gossamer.values.capture import Kept, Place
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Settled, Visit, VisitKind

if why := why_absent():
    pytest.skip(why, allow_module_level=True)

from gossamer.frontier.postgres.frontier import PostgresFrontier
from gossamer.frontier.postgres.hosts import forget
from gossamer.frontier.postgres.presence import Stay
from gossamer.store.postgres.database import SharedDatabase

SHOP, OTHER = "https://shop.test", "https://other.test"


def template(text: str) -> str:
    return template_of(Url(text))


def settled(visit: Visit, clock: FakeClock, number: int) -> Settled:
    now = clock.now()
    if visit.kind is VisitKind.ROBOTS:
        return Settled(visit, Reason.FETCHED, now, robots=Robots(visit.origin, RobotsState.READ, now, now + 10**15))
    kept = Kept(number, visit.url, now, Place("v", number, 0, 1), 200, "text/html", b"d", 1, True)
    return Settled(visit, Reason.FETCHED, now, kept=kept)


async def forgotten_from(conninfo: str, block: Forgotten) -> tuple[int, Any, set[str]]:
    """Ten addresses at each of two hosts, some visited, some held; what goes, the counters after, what is left."""
    clock = FakeClock()
    async with SharedDatabase(conninfo, clock, silent) as database:
        frontier = PostgresFrontier(
            database,
            FrontierRules(
                Politeness(delay_s=1.0, jitter=0.0),
                lambda _: True,
                keys=UrlKeys(identity_of),
                template_of=template,
            ),
            clock,
            silent,
            Stay("one"),
            lambda _: clock.now(),
        )
        await frontier.open()
        texts = [f"{host}/{folder}/{n}" for host in (SHOP, OTHER) for folder in ("a", "list") for n in range(5)]
        await frontier.offer([Offer(Url(text), How.SEED) for text in texts])
        await frontier.quarantine("shop.test", template(f"{SHOP}/list/1"))
        for number in range(6):
            clock.advance(max(0, (await frontier.next_at() or clock.now()) - clock.now()) / SECOND)
            visits = await frontier.take(8)
            await frontier.settle([settled(one, clock, 10 * number + place) for place, one in enumerate(visits)])
        await frontier.close()
        amount = await database.run(lambda connection, _: forget(connection, 0, block, template))
        assert await database.run(lambda connection, _: forget(connection, 0, block, template)) == 0
        rows = await database.run(lambda connection, _: connection.execute("SELECT url FROM addresses").fetchall())
        truth = await database.run(
            lambda connection, _: [
                (connection.execute(sql).fetchone() or (None,))[0]
                for sql in (
                    "SELECT count(*) FROM addresses",
                    "SELECT count(*) FROM queue WHERE lane < 2",
                    "SELECT count(*) FROM queue WHERE lane >= 2",
                    "SELECT count(*) FROM hosts",
                    "SELECT count(*) FROM captures",
                )
            ]
        )
        await frontier.open()
        counts = await frontier.counts()
        assert [counts.known, counts.queued, counts.quarantined, counts.hosts, counts.captures] == truth
        assert counts.settled == counts.known - counts.queued - counts.quarantined == sum(counts.by_reason.values())
        await frontier.close()
        return amount, counts, {url for (url,) in rows}


def test_pages_leave_a_shared_frontier(tmp_path: Path) -> None:
    gone = [f"{SHOP}/a/0", "http://shop.test/a/4?utm_source=x", f"{SHOP}/list/3", f"{SHOP}/never"]
    amount, counts, left = asyncio.run(forgotten_from(server().conninfo_for(tmp_path), forgotten_of([], gone)))
    assert amount == 3 and len(left) == 17 and counts.quarantined == 4 and f"{SHOP}/a/0" not in left


def test_a_host_leaves_a_shared_frontier(tmp_path: Path) -> None:
    block = forgotten_of(["shop.test"], [])
    amount, counts, left = asyncio.run(forgotten_from(server().conninfo_for(tmp_path), block))
    assert amount == 10 and counts.hosts == 1 and counts.quarantined == 0
    assert {Url(url).host.name for url in left} == {"other.test"}
