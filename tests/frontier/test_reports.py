"""What the frontier reports about a URL, a host and a template, field by field."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.frontier.test_ledger import opened, take_next

from gossamer.base.clock import SECOND
from gossamer.base.tell import silent
from gossamer.config.slices import Politeness
from gossamer.frontier.api import FrontierRules, HostState, KnownState, Ledger, Template
from gossamer.frontier.known import depths_of, key_of, known, last_end
from gossamer.frontier.reports import (
    held,
    host_ledger,
    host_state,
    hosts,
    ledger,
    queued,
    templates,
    waits_before,
)
from gossamer.frontier.requeue import rescheduled
from gossamer.frontier.rows import UrlKeys
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.frontier.sqlite.hosts import Quarantine, Rulebook
from gossamer.frontier.sqlite.sieve import IncomingKeys, merge_offers
from gossamer.store.sqlite.database import Database, read_only
from gossamer.testing import FakeClock
from gossamer.values.history import Past, Reschedule, Why
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots, RobotsRule, RobotsState
from gossamer.values.url import Url, id_of
from gossamer.values.visit import Failure, Settled, Yield

HERE = "https://a.test:8443"


def template_of(text: str) -> str:
    return "trap" if "/trap/" in text else "page"


def test_a_url_a_host_and_a_template_are_reported_in_full(tmp_path: Path) -> None:
    async def story() -> dict[str, Any]:
        clock = FakeClock()
        async with (
            Database(tmp_path / "state.db", clock, silent) as database,
            SqliteFrontier(
                database, FrontierRules(Politeness(delay_s=2.0), lambda _: True, template_of=template_of), clock, silent
            ) as frontier,
        ):
            await frontier.offer([Offer(Url(f"{HERE}/"), How.SEED)])
            (robots,) = await take_next(frontier, clock)
            now = clock.now()
            entry = Robots(robots.origin, RobotsState.READ, now, now + 10**15, crawl_delay_s=5.0)
            await frontier.settle([Settled(robots, Reason.FETCHED, now, robots=entry)])
            (page,) = await take_next(frontier, clock)
            clock.advance(1)
            source = id_of(page.url.text)
            links = [Offer(Url(f"{HERE}/{name}"), How.LINK, source, 1) for name in ("b?x", "c", "trap/1")]
            links.append(Offer(Url("http://b.test/"), How.REDIRECT, source, 0, hops=2))
            assert await frontier.offer(links, {source: page.url}) == 4
            done_at, due_at = clock.now(), clock.now() + 600 * SECOND
            more = {"due_at": due_at, "yielded": Yield("page", True, False), "took_s": 1.5}
            await frontier.settle([Settled(page, Reason.TIMEOUT, done_at, detail="slow", **more)])
            await frontier.quarantine("a.test:8443", "trap")
        return {"done_at": done_at, "due_at": due_at, "source": source, "now": clock.now()}

    at = asyncio.run(story())
    reader = read_only(tmp_path / "state.db")
    seed = known(reader, Url(f"{HERE}/"))
    assert seed == KnownState(
        Url(f"{HERE}/"), How.SEED, None, None, 0, 0, 1, Reason.TIMEOUT, "slow", at["done_at"], at["due_at"], True,
        False, seed.priority if seed else None, at["due_at"],
    )  # fmt: skip
    assert known(reader, Url(f"{HERE}/b?x")) == KnownState(
        Url(f"{HERE}/b?x"),
        How.LINK,
        Url(f"{HERE}/"),
        at["source"],
        1,
        0,
        0,
        None,
        "",
        None,
        None,
        True,
        False,
        12,
        None,
    )
    trap = known(reader, Url(f"{HERE}/trap/1"))
    assert trap is not None and (trap.is_queued, trap.is_held) == (False, True)
    other = known(reader, Url("http://b.test/"))
    assert other is not None and (other.how, other.depth, other.hops, other.source) == (
        How.REDIRECT, 0, 2, Url(f"{HERE}/"),
    )  # fmt: skip
    for missing in (f"{HERE}/none", "http://a.test:8443/", "http://none.test/"):
        assert known(reader, Url(missing)) is None and last_end(reader, Url(missing)) == (False, None), missing
        assert key_of(reader, Url(missing)) is None
    assert last_end(reader, Url(f"{HERE}/")) == (True, Reason.TIMEOUT)
    assert last_end(reader, Url(f"{HERE}/c")) == (True, None)
    assert depths_of(reader, [Url(f"{HERE}/c"), Url(f"{HERE}/none"), Url(f"{HERE}/")]) == [1, None, 0]
    row = host_state(reader, "a.test:8443")
    assert row is not None and row == HostState(
        name="a.test:8443", queued=3, held=1, errands=0, leased=False, has_back_queue=row.has_back_queue, band=row.band,
        next_at=row.next_at, ready_at=row.ready_at, later_at=at["due_at"], gap_s=row.gap_s, crawl_delay_s=5.0,
        troubles=1, failing=1, failing_since=at["done_at"], retired_at=None, retired_why=None, visits=2,
        spent_s=1.5, links_in=0,
    )  # fmt: skip
    assert row.gap_s >= 10.0 and row.next_at == at["done_at"] + round(row.gap_s * SECOND)
    assert [one.name for one in hosts(reader)] == ["a.test:8443", "b.test"]
    linked = host_state(reader, "b.test")
    assert linked is not None and linked.links_in == 1 and host_state(reader, "none.test") is None
    of_host = sorted(templates(reader, "a.test:8443"), key=lambda one: one.template)
    assert of_host == sorted(templates(reader), key=lambda one: one.template) == [
        Template("a.test:8443", "page", 1, 1, 0, None), Template("a.test:8443", "trap", 0, 0, 1, at["now"]),
    ]  # fmt: skip
    assert list(templates(reader, "b.test")) == []
    assert list(ledger(reader)) == [host_ledger(reader, "a.test:8443")]
    assert host_ledger(reader, "a.test:8443") == Ledger("a.test:8443", 2, row.gap_s, 5.0, 5.0, 0)
    assert host_ledger(reader, "b.test") is None
    waiting = {f"{HERE}/": 0, f"{HERE}/b?x": 1, f"{HERE}/c": 1, "http://b.test/": 0}
    assert dict(queued(reader)) == waiting
    assert list(held(reader)) == [f"{HERE}/trap/1"] == list(held(reader, "a.test:8443"))
    assert list(held(reader, "b.test")) == []
    before = [waits_before(reader, Url(f"{HERE}/{name}")) for name in ("b?x", "c", "", "trap/1", "none")]
    assert before == [0, 1, None, None, None]
    reader.close()


def rules(amount: int) -> Robots:
    made = tuple(RobotsRule(False, f"/{number}", number) for number in range(amount))
    return Robots("http://a.test", RobotsState.READ, 1, 2, made)


def test_the_rulebook_holds_a_limited_number_of_rules_and_drops_the_longest_unused(tmp_path: Path) -> None:
    async def story() -> None:
        async with Database(tmp_path / "state.db", FakeClock(), silent) as database:

            def work(connection: sqlite3.Connection) -> None:
                book = Rulebook(most_rules=20)
                for host_id in range(1, 4):
                    book.keep(connection, host_id, 1, rules(host_id))
                for host_id, amount in ((7, 9), (8, 9)):
                    book.remember(host_id, 0, rules(amount))
                assert set(book._cache._held) == {(7, 0), (8, 0)}, "twenty, with one for each entry"
                assert book.entry(connection, 7, 0) == rules(9)
                assert book.entry(connection, 1, 1) == rules(1), "from the disk"
                assert set(book._cache._held) == {(7, 0), (1, 1)} and book._cache._weight == 12
                assert book.entry(connection, 9, 0) is None and book._cache._weight == 13
                book.forget([(7, 0), (5, 5)])
                assert set(book._cache._held) == {(1, 1), (9, 0)} and book._cache._weight == 3
                book.remember(1, 1, rules(4))
                assert book._cache._weight == 6
                book.remember(2, 0, rules(99))
                assert set(book._cache._held) == {(2, 0)} and book._cache._weight == 100, (
                    "one entry is held, no matter how large"
                )

            await database.run(work)

    asyncio.run(story())


@pytest.mark.parametrize("is_moved", [False, True])
def test_what_is_stored_for_a_page_whose_revisit_may_be_brought_forward(is_moved: bool) -> None:
    past, url = Past(10, 20, is_page=True), Url("http://a.test/")
    why = next(iter(Why))
    assert rescheduled(past, Reschedule(url, due_at=None), is_moved) == past
    due = rescheduled(past, Reschedule(url, due_at=15, why=why), is_moved)
    assert due == (msgspec.structs.replace(past, due_at=15, why=why.value) if is_moved else past)
    known_then = rescheduled(past, Reschedule(url, due_at=None, threshold=3), is_moved)
    assert known_then.known.threshold == 3 and (known_then.due_at, known_then.link_check) == (20, past.link_check)


def test_a_url_found_several_times_takes_its_least_depth_and_keeps_its_turn(tmp_path: Path) -> None:
    found = (("one", 3), ("two", 1), ("one", 1), ("one", 2))
    offers = [Offer(Url(f"http://a.test/{name}"), How.LINK, None, depth) for name, depth in found]

    def work(connection: sqlite3.Connection) -> None:
        assert merge_offers(connection, [(None, None, offers)], IncomingKeys(UrlKeys())) == 2
        assert depths_of(connection, [offer.url for offer in offers[:2]]) == [1, 1]
        rows = connection.execute("SELECT id FROM queue ORDER BY sequence").fetchall()
        assert [number for (number,) in rows] == [id_of(offer.url.text) for offer in offers[:2]]

    async def story() -> None:
        async with Database(tmp_path / "state.db", FakeClock(), silent) as database:
            await database.run(work)

    asyncio.run(story())


def test_whether_a_url_is_held_depends_on_the_template_of_its_full_text() -> None:
    asked: list[str] = []

    def template(text: str) -> str:
        asked.append(text)
        return "trap" if text == "https://a.test/x" else "page"

    quarantine = Quarantine(template)
    assert not quarantine.is_held(1, 1, "x") and asked == []
    quarantine.remember(1, "a.test", "trap", True)
    quarantine.remember(1, "a.test", "other", True)
    assert quarantine.is_held(1, 1, "x") and not quarantine.is_held(1, 0, "x") and not quarantine.is_held(2, 1, "x")
    assert asked == ["https://a.test/x", "http://a.test/x"]
    quarantine.remember(1, "a.test", "trap", False)
    assert not quarantine.is_held(1, 1, "x")
    quarantine.remember(1, "a.test", "other", False)
    assert not quarantine.is_held(1, 1, "x")


def test_too_many_pages_to_quarantine_at_once_are_quarantined_when_their_turn_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        clock = FakeClock()
        monkeypatch.setattr("gossamer.frontier.sqlite.hosts.MOST_MOVED", 2)
        async with (
            Database(tmp_path / "state.db", clock, silent) as database,
            SqliteFrontier(
                database, FrontierRules(Politeness(delay_s=2.0), lambda _: True, template_of=template_of), clock, silent
            ) as frontier,
        ):
            names = [*(f"trap/{number}" for number in range(6)), "page"]
            await frontier.offer([Offer(Url(f"{HERE}/{name}"), How.SEED) for name in names])
            (robots,) = await take_next(frontier, clock)
            now = clock.now()
            entry = Robots(robots.origin, RobotsState.READ, now, now + 10**15)
            await frontier.settle([Settled(robots, Reason.FETCHED, now, robots=entry)])
            assert await frontier.quarantine("a.test:8443", "trap") == 2
            counts = await frontier.counts()
            assert (counts.queued, counts.quarantined) == (5, 2)
            (page,) = await take_next(frontier, clock)
            assert page.url.path == "/page"
            counts = await frontier.counts()
            assert (counts.queued, counts.quarantined, counts.leased) == (1, 6, 1)
            state = await database.read(lambda c: host_state(c, "a.test:8443"))
            (trap,) = await database.read(lambda c: list(templates(c)))
            assert state is not None and (state.queued, state.held, trap.held) == (1, 6, 6)
            assert await frontier.release("a.test:8443", "trap") == 6
            assert await frontier.release("none.test", "trap") == 0
            counts = await frontier.counts()
            assert (counts.queued, counts.quarantined) == (7, 0)

    asyncio.run(story())


def test_no_more_visits_are_taken_than_asked_for_while_hosts_leave_the_front_queues(tmp_path: Path) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with (
            Database(tmp_path / "state.db", clock, silent) as database,
            SqliteFrontier(database, FrontierRules(Politeness(delay_s=2.0), lambda _: True), clock, silent) as frontier,
        ):
            await frontier.offer([Offer(Url(f"http://h{number}.test/"), How.SEED) for number in range(12)])
            names = set()
            for at_most in (1, 3, 5, 9):
                visits = await frontier.take(at_most)
                assert len(visits) == min(at_most, 12 - len(names))
                names |= {visit.url.host.name for visit in visits}
            assert len(names) == 12

    asyncio.run(story())


def test_a_failure_without_detail_is_reported_without_detail(tmp_path: Path) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with opened(tmp_path, clock) as frontier:
            (page,) = await take_next(frontier, clock)
            at = clock.now()
            await frontier.settle([Settled(page, Reason.DNS, at, due_at=at + SECOND)])
            again = page
            while again.url != page.url or again.taken_at == page.taken_at:
                (again,) = await take_next(frontier, clock)
                await frontier.settle([Settled(again, Reason.FETCHED, clock.now())])
            assert await frontier.failures(page.url) == [Failure(at, Reason.DNS, "")]

    asyncio.run(story())


def test_new_urls_under_a_quarantined_template_are_counted_for_their_own_host(tmp_path: Path) -> None:
    hosts_of = ["a.test", "b.test", "c.test"]

    def template(text: str) -> str:
        scheme, _, name, _ = text.split("/", 3)
        return f"{scheme}{name}"

    async def story() -> None:
        clock = FakeClock()
        async with (
            Database(tmp_path / "state.db", clock, silent) as database,
            SqliteFrontier(
                database, FrontierRules(Politeness(), lambda _: True, template_of=template), clock, silent
            ) as frontier,
        ):
            await frontier.offer([Offer(Url(f"https://{name}/"), How.SEED) for name in hosts_of])
            for name in hosts_of:
                assert await frontier.quarantine(name, f"https:{name}") == 1
            texts = [f"https://{name}/{n}" for at, name in enumerate(hosts_of) for n in range(at + 1)]
            more = [Offer(Url(text), How.LINK) for text in texts]
            await frontier.offer([*more, Offer(Url("http://c.test/plain"), How.LINK)])
            found = await database.read(lambda c: {one.template: one.held for one in templates(c)})
            assert found == {"https:a.test": 2, "https:b.test": 3, "https:c.test": 4}
            counts = await frontier.counts()
            assert (counts.quarantined, counts.queued) == (9, 1)

    asyncio.run(story())
