"""What a large frontier needs: heaps, small rows, the ledger, listings, and databases of older schemas."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from bench.frontier import measure

from gossamer.base.clock import SECOND
from gossamer.base.tell import silent
from gossamer.config.slices import Politeness
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.reports import (
    every_end,
    held,
    host_state,
    hosts,
    ledger,
    queued,
    templates,
    waits_before,
)
from gossamer.frontier.sqlite import sieve as sieving
from gossamer.frontier.sqlite.frontier import DEFAULT_SIEVE, SqliteFrontier
from gossamer.frontier.sqlite.sieve import Sieve
from gossamer.store.sqlite.database import Database, migrate, migrations, read_only
from gossamer.testing import FakeClock
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Settled, Visit, VisitKind, Yield


@asynccontextmanager
async def opened(folder: Path, clock: FakeClock, **more: Any) -> AsyncIterator[tuple[SqliteFrontier, Database]]:
    async with Database(folder / "state.db", clock, silent) as database:
        sieve = more.pop("sieve", DEFAULT_SIEVE)
        rules = FrontierRules(**{"politeness": Politeness(delay_s=1.0), "may_enter": lambda _: True, **more})
        async with SqliteFrontier(database, rules, clock, silent, sieve) as frontier:
            yield frontier, database


def seeds(*texts: str) -> list[Offer]:
    return [Offer(Url(text), How.SEED) for text in texts]


def settled(visit: Visit, clock: FakeClock, **more: Any) -> Settled:
    now = clock.now()
    if visit.kind is VisitKind.ROBOTS:
        more = {"robots": Robots(visit.origin, RobotsState.READ, now, now + 10**15)}
    return Settled(visit, more.pop("reason", Reason.FETCHED), now, **more)


async def first_page(frontier: SqliteFrontier, clock: FakeClock) -> Visit:
    while True:
        (visit,) = await frontier.take(1)
        if visit.kind is VisitKind.PAGE:
            return visit
        await frontier.settle([settled(visit, clock)])
        clock.advance(1)


AMOUNTS_IN_HEAPS = "SELECT coalesce(sum(amount), 0), (SELECT sum(waiting) FROM buckets) FROM heaps"


def test_every_url_stored_in_heaps_is_visited_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sieving, "DENSE", 0)

    def links(visit: Visit) -> tuple[Offer, ...]:
        number = int(visit.url.path[1:] or 0)
        host = visit.url.host.name
        texts = [f"https://{host}/{n}" for n in range(number + 1, number + 6)] + [f"https://h{number % 7}.test/1"]
        return tuple(Offer(Url(text), How.LINK, None, 1) for text in texts if number < 40)

    async def story() -> None:
        clock = FakeClock()
        sieve = Sieve(journal_most=10, merge_every_s=30.0)
        async with opened(tmp_path, clock, sieve=sieve, seen_slots=16) as (frontier, database):
            await frontier.offer(seeds(*(f"https://h{n}.test/0" for n in range(7))))
            pages: list[str] = []
            most_heaped = 0
            while (next_at := await frontier.next_at()) is not None:
                clock.advance(max(0, next_at - clock.now()) / SECOND)
                visits = await frontier.take(8)
                pages += [visit.url.text for visit in visits if visit.kind is VisitKind.PAGE]
                done = [
                    settled(visit, clock, offers=links(visit) if visit.kind is VisitKind.PAGE else ())
                    for visit in visits
                ]
                await frontier.settle(done)
                amount, waiting = await database.read(lambda c: c.execute(AMOUNTS_IN_HEAPS).fetchone())
                assert amount == waiting
                most_heaped = max(most_heaped, amount)
            assert most_heaped > 20
            assert len(pages) == len(set(pages)) == 7 * 45
            assert (await frontier.counts()).settled == 7 * 45

    asyncio.run(story())


def test_a_take_that_fails_at_its_end_loses_no_host(tmp_path: Path) -> None:
    """Memory is ahead of the disk inside a transaction; after a rollback they agree again."""
    trigger = "CREATE TEMP TRIGGER failing BEFORE INSERT ON meta BEGIN SELECT RAISE(ABORT, 'an error'); END"

    async def story() -> None:
        clock = FakeClock()
        async with opened(tmp_path, clock) as (frontier, database):
            await frontier.offer(seeds(*(f"https://h{n}.test/1" for n in range(20))))
            out = await frontier.take(3)
            await frontier.settle([settled(out[0], clock)])
            clock.advance(2)
            await database.read(lambda connection: connection.execute(trigger))
            with pytest.raises(sqlite3.IntegrityError, match="an error"):
                await frontier.take(10)
            await database.read(lambda connection: connection.execute("DROP TRIGGER failing"))
            taken = await frontier.take(100)
            hosts_out = {visit.url.host.name for visit in (*taken, *out[1:])}
            assert len(hosts_out) == 20 and len(taken) == 18
            await frontier.settle([settled(visit, clock) for visit in (*taken, *out[1:])])
            assert (await frontier.counts()).leased == 0

    asyncio.run(story())


def test_M_Z4_the_ledger_records_the_gap_promised_and_the_gap_kept(tmp_path: Path) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(tmp_path, clock) as (frontier, _):
            await frontier.offer(seeds(*(f"https://a.test/{n}" for n in range(4)), "https://b.test/"))
            page = await first_page(frontier, clock)
            while page.url.host.name != "a.test":
                await frontier.settle([settled(page, clock)])
                page = await first_page(frontier, clock)
            clock.advance(0.5)
            await frontier.settle([settled(page, clock, took_s=0.5)])
            clock.advance(4)
            page = next(one for one in await frontier.take(5) if one.url.host.name == "a.test")
            await frontier.settle([settled(page, clock, reason=Reason.ROBOTS)])
            reader = read_only(tmp_path / "state.db")
            (found, *_) = ledger(reader)
            state = host_state(reader, "a.test")
            reader.close()
            assert (found.host, found.visits, found.broken, found.gap_s) == ("a.test", 2, 0, 1.0)
            assert found.least_gap_s is not None and found.least_gap_s >= 1.0
            assert state is not None and (state.visits, state.spent_s, state.queued) == (2, 0.5, 2)

    asyncio.run(story())


def test_listings_show_queued_held_and_retired_urls_by_host_and_template(tmp_path: Path) -> None:
    template_of = lambda text: "trap" if "/trap/" in text else "page"  # noqa: E731

    async def story() -> None:
        clock = FakeClock()
        async with opened(tmp_path, clock, template_of=template_of) as (frontier, _):
            await frontier.offer(
                seeds("http://a.test/1", "http://a.test/2", "http://a.test/trap/1", "https://b.test/x?q")
            )
            page = await first_page(frontier, clock)
            await frontier.settle([settled(page, clock, yielded=Yield("page", True, False))])
            await frontier.quarantine("a.test", "trap")
            await frontier.retire("b.test", "gone for good")
            reader = read_only(tmp_path / "state.db")
            left = {text for text, _ in queued(reader)}
            assert left == {"http://a.test/1", "http://a.test/2", "https://b.test/x?q"} - {page.url.text}
            assert list(held(reader)) == list(held(reader, "a.test")) == ["http://a.test/trap/1"]
            states = {state.name: state for state in hosts(reader)}
            assert states["b.test"].retired_why == "gone for good" and states["a.test"].held == 1
            assert host_state(reader, "none.test") is None
            by_name = {one.template: one for one in templates(reader)}
            assert (by_name["trap"].held, by_name["trap"].quarantined_at) == (1, clock.now())
            assert waits_before(reader, Url("http://a.test/trap/1")) is None
            assert {waits_before(reader, Url(text)) for text in left} == {0}
            reader.close()

    asyncio.run(story())


def test_a_link_names_the_page_it_was_found_on_and_is_counted(tmp_path: Path) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(tmp_path, clock) as (frontier, _):
            await frontier.offer(seeds("https://a.test/1"))
            page = await first_page(frontier, clock)
            links = tuple(Offer(Url(text), How.LINK, 5, 1) for text in ("https://a.test/2", "https://b.test/"))
            await frontier.settle([settled(page, clock, offers=links)])
            clock.advance(1)
            await frontier.take(5)
            for text in ("https://a.test/2", "https://b.test/"):
                found = await frontier.known(Url(text))
                assert found is not None and found.source == page.url and found.how is How.LINK
            reader = read_only(tmp_path / "state.db")
            linked_to = host_state(reader, "b.test")
            assert linked_to is not None and linked_to.links_in == 1
            reader.close()

    asyncio.run(story())


OLD = """
INSERT INTO hosts (id, name, lanes, queued, next_at, ready_at) VALUES (-77, 'a.test:8080', 3, 2, 5, 5);
INSERT INTO addresses (host_id, id, url, how, source_id, depth, hops, reason, settled_at, is_queued) VALUES
    (-77, {one}, 'https://a.test:8080/one?x=1', 'seed', NULL, 0, 0, 'fetched', 9, 0),
    (-77, {two}, 'http://a.test:8080/', 'link', {one}, 1, 0, NULL, NULL, 1),
    (-77, {three}, 'https://a.test:8080/three', 'link', {one}, 1, 0, NULL, NULL, 1);
INSERT INTO queue VALUES (-77, 0, 0, 1, 1048576, {two}), (-77, 1, 0, 1, 1048577, {three});
INSERT INTO tallies VALUES ('known', 3), ('queued', 2), ('settled', 1), ('hosts', 1), ('reason:fetched', 1);
"""


def test_F_P11_a_crawl_of_an_older_schema_continues(tmp_path: Path) -> None:
    texts = ("https://a.test:8080/one?x=1", "http://a.test:8080/", "https://a.test:8080/three")
    one, two, three = (Url(text).id for text in texts)
    old = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
    migrate(old, migrations()[:2], tmp_path)
    old.executescript(OLD.format(one=one, two=two, three=three))
    waiting = [Offer(Url("https://a.test:8080/journalled"), How.LINK, one, 2), *seeds(*texts)]
    old.execute("INSERT INTO journal (amount, offers) VALUES (4, ?)", (msgspec.msgpack.encode(waiting),))
    entry = Robots("https://a.test:8080", RobotsState.MISSING, 5, 10**18)
    old.execute("INSERT INTO robots VALUES (-77, 1, 5, ?)", (msgspec.msgpack.encode(entry),))
    old.close()

    async def story() -> None:
        clock = FakeClock()
        async with opened(tmp_path, clock) as (frontier, database):
            found = await frontier.known(Url(texts[0]))
            assert found is not None and (found.how, found.reason) == (How.SEED, Reason.FETCHED)
            source = await frontier.known(Url(texts[2]))
            assert source is not None and source.source == Url(texts[0]) and source.is_queued
            pages = set()
            while (next_at := await frontier.next_at()) is not None:
                clock.advance(max(0, next_at - clock.now()) / SECOND)
                visits = await frontier.take(8)
                pages |= {visit.url.text for visit in visits if visit.kind is VisitKind.PAGE}
                assert "https://a.test:8080/robots.txt" not in [visit.url.text for visit in visits]
                await frontier.settle([settled(visit, clock) for visit in visits])
            assert pages == {*texts[1:], "https://a.test:8080/journalled"}
            counts = await frontier.counts()
            assert (counts.known, counts.settled, counts.queued) == (4, 4, 0)
            assert len(dict(await database.read(lambda c: list(every_end(c))))) == 4

    asyncio.run(story())


def test_sizes_stay_within_their_limits_in_a_small_run(tmp_path: Path) -> None:
    """Sizes only: times are for `make bench-frontier`."""
    found = asyncio.run(measure(tmp_path, 12_000, 120))
    assert found.identity_bytes <= 30 and found.stored_bytes <= 300 and found.written_bytes <= 8192
