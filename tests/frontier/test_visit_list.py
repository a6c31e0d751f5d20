"""Visits and hosts listed from any position: in order, each once, and by an index."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gossamer.base.clock import SECOND
from gossamer.base.tell import silent
from gossamer.frontier import reports
from gossamer.frontier.reports import EndedUrl, LastVisit, ListPosition, every_visit, visits
from gossamer.frontier.rows import REASON_CODES
from gossamer.store.sqlite.database import Database
from gossamer.testing import FakeClock
from gossamer.values.link import How
from gossamer.values.outcome import Reason

REASONS = (Reason.FETCHED, Reason.FETCHED, Reason.GONE, Reason.DNS, Reason.ROBOTS)
AMOUNT = 300


@pytest.fixture
def state(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    async def make() -> None:
        async with Database(tmp_path / "state.db", FakeClock(), silent):
            pass

    asyncio.run(make())
    with closing(sqlite3.connect(tmp_path / "state.db", isolation_level=None)) as opened:
        for number in range(7):
            row = (number + 1, f"h{number}.test", number, number * 10, 1 if number == 3 else None, number * SECOND)
            opened.execute(
                "INSERT INTO hosts (id, name, queued, visits, retired_at, gap) VALUES (?, ?, ?, ?, ?, ?)", row
            )
        for number in range(AMOUNT):
            host = number % 7 + 1
            opened.execute(
                "INSERT INTO addresses VALUES (?, ?, 1, ?, 1, NULL, NULL, 2, 0)", (host, number, f"p{number}")
            )
            reason = REASON_CODES[REASONS[number % 5]]
            opened.execute("INSERT INTO ends VALUES (?, ?, ?, 0, ?, NULL, '')", (host, number, reason, number // 3))
        yield opened


def some(state: sqlite3.Connection, amount: int = AMOUNT, **asked: object) -> list[EndedUrl]:
    with closing(visits(state, **asked)) as every:  # type: ignore[arg-type]
        return [one for one, _ in zip(every, range(amount), strict=False)]


def test_visits_are_listed_newest_first_or_oldest_first(state: sqlite3.Connection) -> None:
    newest = [one.position for one in some(state)]
    assert len(newest) == AMOUNT and newest == sorted(newest, reverse=True)
    assert [one.position for one in some(state, is_newest_first=False)] == newest[::-1]
    assert some(state, 1)[0].url.startswith("https://h")


@pytest.mark.parametrize("at_once", [AMOUNT + 1, AMOUNT, 7, 1])
def test_an_export_has_every_visit_once_for_any_batch_size(
    state: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr("gossamer.frontier.reports.AT_ONCE", at_once)
    found = list(every_visit(lambda: sqlite3.connect(tmp_path / "state.db")))
    assert len(found) == AMOUNT
    assert sorted(one.url for one in found) == sorted(f"https://h{n % 7}.test/p{n}" for n in range(AMOUNT))
    gone = next(one for one in found if one.url == "https://h2.test/p2")
    assert gone == LastVisit("https://h2.test/p2", How.LINK, 2, 0, Reason.GONE, "", 0, 0, None)


@pytest.mark.parametrize("is_newest_first", [True, False])
def test_page_by_page_each_visit_is_listed_once_though_many_ended_at_one_instant(
    state: sqlite3.Connection, is_newest_first: bool
) -> None:
    found: list[EndedUrl] = []
    after: ListPosition | None = None
    while page := some(state, 17, after=after, is_newest_first=is_newest_first):
        found += page
        after = page[-1].position
    assert found == some(state, is_newest_first=is_newest_first)


def test_visits_are_filtered_by_reason_host_and_time(state: sqlite3.Connection) -> None:
    assert {one.reason for one in some(state, reasons=[Reason.DNS, Reason.GONE])} == {Reason.DNS, Reason.GONE}
    assert len(some(state, reasons=[Reason.DNS])) == AMOUNT // 5
    mine = some(state, host="h2.test")
    assert mine == [one for one in some(state) if one.host == "h2.test"] and len(mine) > 40
    assert some(state, host="h2.test", after=mine[9].position) == mine[10:]
    assert some(state, host="none.test") == []
    times = {one.ended_at for one in some(state, since_at=10, until_at=12)}
    assert times == {10, 11, 12}


def test_the_visits_of_a_host_too_large_to_sort_are_read_from_the_full_list(
    state: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    sorted_in_memory = some(state, host="h2.test")
    monkeypatch.setattr(reports, "MOST_OF_HOST", 5)
    assert some(state, host="h2.test") == sorted_in_memory


@pytest.mark.parametrize("name", ["newest", "oldest"])
def test_every_page_of_the_list_is_read_from_the_index_at_its_position_without_sorting(
    state: sqlite3.Connection, name: str
) -> None:
    values = {"reason": 1, "since_at": 0, "until_at": 9, "at": 5, "host_id": 1, "id": 1}
    plan = " ".join(row[3] for row in state.execute("EXPLAIN QUERY PLAN " + reports._SQL[name], values))
    assert "USING COVERING INDEX" not in plan and "USING INDEX ends_by_time (reason=? AND settled_at" in plan
    assert "TEMP B-TREE" not in plan and "SCAN" not in plan


@pytest.mark.parametrize("order", ["queued", "visits", "troubles", "gap", "held", "next", "name"])
def test_hosts_are_listed_page_by_page_in_any_order(state: sqlite3.Connection, order: reports.Order) -> None:
    everything = reports.listed_hosts(state, 0, True, order=order)
    assert len(everything) == 7
    found: list[reports.Listed] = []
    after = (reports.LOWEST, "")
    while page := reports.listed_hosts(state, 0, True, order=order, after=after, most=2):
        found += page
        after = (page[-1].rank, page[-1].host.name)
    assert found == everything
    if order == "queued":
        assert [one.host.queued for one in found] == [6, 5, 4, 3, 2, 1, 0]


def test_hosts_are_filtered_by_state_and_name(state: sqlite3.Connection) -> None:
    assert reports.states(state, 0, True) == {"ready": 5, "retired": 1, "done": 1}
    assert [one.host.name for one in reports.listed_hosts(state, 0, True, state="retired")] == ["h3.test"]
    assert [one.host.name for one in reports.listed_hosts(state, 0, True, text="h5")] == ["h5.test"]
