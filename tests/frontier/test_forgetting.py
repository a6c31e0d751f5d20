"""Forgetting removes URLs and hosts from the frontier and its counters, as if they had never been found."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from importlib import resources
from pathlib import Path

import pytest

from gossamer.base.clock import SECOND
from gossamer.base.tell import silent
from gossamer.config.slices import Politeness
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.rows import UrlKeys
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.frontier.sqlite.maintenance import forget
from gossamer.frontier.sqlite.sieve import IncomingKeys, Sieve, fill_heaps, journal, waiting_in
from gossamer.rules.canonical import identity_of
from gossamer.rules.learned.traps import template_of
from gossamer.store import forgotten, tallies
from gossamer.store.forgotten import Forgotten, ForgottenEntry, forgotten_of
from gossamer.store.options import put_seeds, stored_seeds
from gossamer.store.sqlite.database import Database, migrations
from gossamer.testing import FakeClock
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Settled, VisitKind

SHOP, OTHER = "https://shop.test", "https://other.test"
COUNTED = {
    tallies.KNOWN: "SELECT count(*) FROM addresses",
    tallies.QUEUED: "SELECT count(*) FROM queue WHERE lane < 2",
    tallies.QUARANTINED: "SELECT count(*) FROM queue WHERE lane >= 2",
    tallies.HOSTS: "SELECT count(*) FROM hosts",
    tallies.RETIRED: "SELECT count(*) FROM hosts WHERE retired_at IS NOT NULL",
}


def template(text: str) -> str:
    return template_of(Url(text))


@asynccontextmanager
async def crawled(folder: Path, clock: FakeClock, visits: int = 12) -> AsyncIterator[Database]:
    """Two hosts: some pages of each are visited, some queued, some quarantined; one host is retired."""
    async with Database(folder / "state.db", clock, silent) as database:
        frontier = SqliteFrontier(
            database,
            FrontierRules(Politeness(delay_s=1.0), lambda _: True, keys=UrlKeys(identity_of), template_of=template),
            clock,
            silent,
            Sieve(journal_most=1),
        )
        async with frontier:
            texts = [f"{host}/{folder}/{n}" for host in (SHOP, OTHER) for folder in ("a", "list") for n in range(5)]
            await frontier.offer([Offer(Url(text), How.SEED) for text in texts])
            await frontier.quarantine("shop.test", template(f"{SHOP}/list/1"))
            for _ in range(visits):
                clock.advance(max(0, (await frontier.next_at() or clock.now()) - clock.now()) / SECOND)
                done = []
                for visit in await frontier.take(8):
                    now = clock.now()
                    robots = Robots(visit.origin, RobotsState.READ, now, now + 10**15)
                    is_robots = visit.kind is VisitKind.ROBOTS
                    reason = Reason.GONE if visit.url.text.endswith("1") else Reason.FETCHED
                    done.append(Settled(visit, reason, now, robots=robots if is_robots else None))
                await frontier.settle(done)
            await frontier.retire("shop.test", "asked for")
        yield database


def assert_counts_are_true(connection: sqlite3.Connection) -> None:
    counts = tallies.counts(connection)
    for name, sql in COUNTED.items():
        assert getattr(counts, name) == connection.execute(sql).fetchone()[0], name
    waiting = connection.execute("SELECT count(*) FROM queue").fetchone()[0]
    assert counts.settled == counts.known - waiting
    assert sum(counts.by_reason.values()) == connection.execute("SELECT count(*) FROM ends").fetchone()[0]
    for host_id, queued, held in connection.execute("SELECT id, queued, held FROM hosts").fetchall():
        rows = connection.execute("SELECT lane FROM queue WHERE host_id = ?", (host_id,)).fetchall()
        assert (queued, held) == (sum(lane < 2 for (lane,) in rows), sum(lane >= 2 for (lane,) in rows))
    (known,) = connection.execute("SELECT sum(known) FROM buckets").fetchone()
    assert known == counts.known


def texts(connection: sqlite3.Connection) -> set[str]:
    return {
        text
        for (text,) in connection.execute("SELECT name || '/' || text FROM addresses JOIN hosts ON hosts.id = host_id")
    }


@pytest.mark.parametrize("visits", [1, 3, 6, 12])
def test_queued_visited_and_quarantined_pages_are_forgotten(tmp_path: Path, visits: int) -> None:
    gone = [f"{SHOP}/a/0", f"{SHOP}/a/1", f"{SHOP}/list/3", "http://shop.test/a/4?utm_source=x", f"{SHOP}/never"]

    async def story() -> None:
        async with crawled(tmp_path, FakeClock(), visits) as database:
            before = await database.read(texts)
            block = forgotten_of([], gone)
            assert await database.run(partial(forget, block=block, template_of=template)) == 4
            assert await database.read(texts) == before - {
                "shop.test/a/0", "shop.test/a/1", "shop.test/list/3", "shop.test/a/4",
            }  # fmt: skip
            await database.read(assert_counts_are_true)
            held = await database.read(lambda c: c.execute("SELECT held FROM templates WHERE held > 0").fetchall())
            assert held == [(4,)]
            assert await database.run(partial(forget, block=block, template_of=template)) == 0

    asyncio.run(story())


@pytest.mark.parametrize("visits", [3, 12])
def test_a_host_is_forgotten_with_all_its_data(tmp_path: Path, visits: int) -> None:
    async def story() -> None:
        async with crawled(tmp_path, FakeClock(), visits) as database:
            block = forgotten_of(["shop.test"], [])
            assert await database.run(partial(forget, block=block, template_of=template)) == 10
            assert {text.partition("/")[0] for text in await database.read(texts)} == {"other.test"}
            await database.read(assert_counts_are_true)
            rows = await database.read(
                lambda c: [
                    c.execute(f"SELECT count(DISTINCT host_id) FROM {table}").fetchone()[0]
                    for table in ("robots", "ends", "templates", "errands")
                ]
            )
            assert rows == [1, 1, 0, 0]

    asyncio.run(story())


def test_offers_that_are_not_yet_entered_are_forgotten_too(tmp_path: Path) -> None:
    async def story() -> None:
        async with crawled(tmp_path, FakeClock(), visits=2) as database:
            offers = [Offer(Url(f"{host}/new/{n}"), How.LINK) for host in (SHOP, OTHER) for n in range(3)]
            block = Forgotten(frozenset(), frozenset({"shop.test/new/1", "other.test/new/2"}))
            keys = IncomingKeys(UrlKeys(identity_of))
            await database.run(lambda c: journal(c, [(None, None, offers)], len(offers)))
            await database.run(partial(forget, block=block, template_of=template))
            assert (await database.read(waiting_in)).journalled == 4
            await database.run(lambda c: fill_heaps(c, keys))
            assert (await database.read(waiting_in)).heaped == 4
            block = forgotten_of(["other.test"], [f"{SHOP}/new/0"])
            await database.run(partial(forget, block=block, template_of=template))
            assert (await database.read(waiting_in)).heaped == 1
            left = await database.read(lambda c: c.execute("SELECT sum(amount) FROM heaps").fetchone())
            assert left == (1,)

    asyncio.run(story())


def test_a_forgotten_url_is_removed_from_the_seeds(tmp_path: Path) -> None:
    async def story() -> None:
        async with Database(tmp_path / "state.db", FakeClock(), silent) as database:
            await database.run(lambda c: put_seeds(c, [Url(f"{SHOP}/"), Url(f"{OTHER}/a"), Url(f"{OTHER}/b")], "host"))
            entries = [ForgottenEntry("shop.test", True, 1), ForgottenEntry("http://other.test/a", False, 2)]
            await database.run(partial(forgotten.put, entries=entries))
            assert await database.read(stored_seeds) == [(Url(f"{OTHER}/b"), "host")]
            assert await database.read(forgotten.every) == entries
            assert (await database.read(forgotten.block)).has(Url(f"{OTHER}/a?utm_source=mail"))
            assert not await database.run(partial(forgotten.allow, entry=ForgottenEntry("other.test", True, 0)))
            assert await database.run(partial(forgotten.allow, entry=ForgottenEntry(f"{OTHER}/a", False, 0)))
            assert await database.read(forgotten.every) == entries[:1]

    asyncio.run(story())


def test_forgetting_deletes_from_every_table_about_urls() -> None:
    """Fails when a new table about URLs is missing from the forgetting statements."""
    connection = sqlite3.connect(":memory:")
    for script in migrations():
        connection.executescript(script)
    known = (resources.files("gossamer.frontier.sqlite") / "maintenance.sql").read_text()
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    about = []
    for (table,) in tables:
        columns = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        if {"host_id", "id"} <= columns:
            about.append(table)
    assert {"addresses", "ends", "queue", "revisits"} <= set(about)
    assert [table for table in about if f"DELETE FROM {table} " not in known] == []
