"""A frontier restored from the archive, and how many new pages a page has led to."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from gossamer.base.clock import SECOND
from gossamer.base.tell import silent
from gossamer.config.slices import Politeness
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.rows import UrlKeys
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.frontier.sqlite.maintenance import enter_found, enter_visited, settle_restored
from gossamer.frontier.sqlite.sieve import IncomingKeys
from gossamer.store.sqlite.database import Database
from gossamer.testing import FakeClock
from gossamer.values.capture import Kept, Place
from gossamer.values.history import MOST_NEW, Past
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Settled, Visit, VisitKind

VISITED = {
    "/ok": 200, "/old": 304, "/moved": 301, "/gone": 410, "/no": 403, "/later": 429, "/broken": 500,
    "/robots.txt": 200,
}  # fmt: skip


def kept(path: str, status: int, at: int) -> Kept:
    return Kept(path, Url(f"http://a.test{path}"), at, Place("v", 1, 0, 9), status, "text/html", b"d" * 32, 9, True)


def test_visited_pages_are_not_queued_and_the_rest_wait_for_the_gap_of_their_host(tmp_path: Path) -> None:
    async def story() -> None:
        clock = FakeClock()
        now = clock.now()
        async with Database(tmp_path / "state.db", clock, silent) as database:

            def restore(connection: sqlite3.Connection) -> tuple[int, int]:
                keys = IncomingKeys(UrlKeys())
                enter_visited(connection, [kept(path, status, now - 5) for path, status in VISITED.items()], keys)
                pages = [Offer(Url(f"http://a.test/{name}"), How.LINK, None, 1) for name in ("ok", "new", "later")]
                found = enter_found(connection, pages, keys), enter_found(connection, pages, keys)
                settle_restored(connection, now + 60 * SECOND)
                return found

            assert await database.run(restore) == (1, 0)
            ends = await database.read(lambda c: c.execute("SELECT settled_at, failures, due_at FROM ends").fetchall())
            assert set(ends) == {(now - 5, 0, None)}
            async with SqliteFrontier(
                database, FrontierRules(Politeness(delay_s=1.0), lambda _: True), clock, silent
            ) as frontier:
                counts = await frontier.counts()
                assert (counts.known, counts.queued, counts.settled) == (8, 3, 5)
                assert {reason: many for reason, many in counts.by_reason.items() if many} == {
                    "fetched": 1, "unchanged": 1, "moved": 1, "gone": 1, "client-error": 1,
                }  # fmt: skip
                assert await frontier.next_at() == now + 60 * SECOND
                known = await frontier.known(Url("http://a.test/gone"))
                assert known is not None and known.reason is Reason.GONE

    asyncio.run(story())


@pytest.mark.parametrize(
    ("before", "offered", "new"),
    [
        (None, ["/new"], None),
        (Past(1, 2, is_page=True), [], None),
        (Past(1, 2, is_page=True), ["/known"], None),
        (Past(1, 2, is_page=True), ["/new"], 1),
        (Past(1, 2, is_page=True), ["/new", "/known", "/newer"], 2),
        (Past(1, 2, is_page=True), [f"/{number}" for number in range(MOST_NEW + 5)], MOST_NEW),
    ],
)
def test_a_revisited_page_records_how_many_new_pages_it_led_to(
    tmp_path: Path, before: Past | None, offered: list[str], new: int | None
) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with (
            Database(tmp_path / "state.db", clock, silent) as database,
            SqliteFrontier(database, FrontierRules(Politeness(delay_s=1.0), lambda _: True), clock, silent) as frontier,
        ):
            await frontier.offer([Offer(Url(f"http://a.test{path}"), How.SEED) for path in ("/", "/known")])
            frontier.set_rules(lambda _: True)  # empties the table of recently seen URLs
            while True:
                next_at = await frontier.next_at()
                assert next_at is not None
                clock.advance(max(0, next_at - clock.now()) / SECOND)
                for visit in await frontier.take(1):
                    now = clock.now()
                    if visit.kind is VisitKind.ROBOTS:
                        robots = Robots(visit.origin, RobotsState.READ, now, now + 10**15)
                        await frontier.settle([Settled(visit, Reason.FETCHED, now, robots=robots)])
                        continue
                    offers = tuple(Offer(Url(f"http://a.test{path}"), How.LINK, None, 1) for path in offered)
                    again = Visit(visit.url, visit.kind, visit.taken_at, past=before)
                    past = Past(1, 2, is_page=True)
                    await frontier.settle([Settled(again, Reason.FETCHED, now, offers=offers, past=past)])
                    (found,) = await frontier.pasts([visit.url])
                    assert found == (past if new is None else past.led(new))
                    return

    asyncio.run(story())
