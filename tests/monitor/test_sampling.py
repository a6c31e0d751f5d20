"""Samples of a collection: how fresh its copies are, and the findings of visits."""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from tests.archive.past import DAY, SHOP, START_AT, captured, collection, kettle

from gossamer.base.clock import DAY_S, SystemClock
from gossamer.base.tell import silent
from gossamer.monitor.chronicle import Visits
from gossamer.monitor.samples import newest_place, step_for, take_sample, visits_since
from gossamer.recrawl.rates import observed
from gossamer.store.sqlite.database import Database, read_only
from gossamer.values.history import History, Past, VisitFinding, encoded, packed
from gossamer.values.url import Url, id_of

OTHER = Url("https://shop.test/other")
NOW = START_AT + 10 * DAY


def past(days_ago: float, every: float, changes: bool, gone: int = 0) -> Past:
    history = History()
    for _ in range(10):
        history = observed(history, VisitFinding(0, every * DAY_S, changes))
    visited_at = NOW - round(days_ago * DAY)
    return Past(visited_at, visited_at + round(every * DAY), is_page=True, history=packed(history), gone=gone)


def remembering(root: Path, sites: Sequence[tuple[str, Sequence[Past]]]) -> Path:
    """A `state.db` with the history of these pages."""

    def work(connection: sqlite3.Connection) -> None:
        for host_id, (name, pasts) in enumerate(sites, 1):
            connection.execute("INSERT INTO hosts (id, name) VALUES (?, ?)", (host_id, name))
            rows = [(host_id, id_of(f"{name}/{number}"), encoded(one)) for number, one in enumerate(pasts)]
            connection.executemany("INSERT INTO revisits (host_id, id, past) VALUES (?, ?, ?)", rows)

    async def write() -> None:
        async with Database(root / "state.db", SystemClock(), silent) as database:
            await database.run(work)

    asyncio.run(write())
    return root / "state.db"


BUSY, QUIET, GONE = past(2.0, 1.0, True), past(2.0, 9.0, False), past(1.0, 1.0, False, gone=2)


def test_M_C2_sites_are_listed_with_the_oldest_copies_first(tmp_path: Path) -> None:
    state = remembering(tmp_path, [("quiet.test", [QUIET] * 9), ("busy.test", [BUSY] * 5 + [GONE]), ("no.test", [])])
    sample = take_sample(partial(read_only, state), NOW, Visits())
    assert sample is not None and sample.all.pages == 14 and sample.gone == 1 and sample.overdue == 5
    assert [one.site for one in sample.sites] == ["busy.test", "quiet.test"] and sample.site_count == 2
    busy, quiet = sample.sites
    assert busy.age_days > 1.0 > quiet.age_days and busy.freshness < 0.3 < 0.9 < quiet.freshness
    assert busy.possible_age_days <= busy.planned_age_days * 1.02 and busy.visits_a_day == pytest.approx(5.0, rel=0.02)
    total = 5 * busy.age_days + 9 * quiet.age_days
    assert sample.all.average_age_days == pytest.approx(total / 14)


def test_there_is_no_sample_when_no_page_is_revisited(tmp_path: Path) -> None:
    assert take_sample(partial(read_only, remembering(tmp_path, [("a.test", [GONE])])), NOW, Visits()) is None


def test_a_large_collection_is_estimated_from_a_part_of_its_pages(tmp_path: Path) -> None:
    connect = partial(read_only, remembering(tmp_path, [("a.test", [BUSY, QUIET] * 1_500)]))
    whole, part = take_sample(connect, NOW, Visits()), take_sample(connect, NOW, Visits(), enough=500)
    assert step_for(connect, 500) == 8 and whole is not None and part is not None
    assert whole.estimated_from == 3_000 and 300 < part.estimated_from < 450
    assert part.all.pages == 8 * part.estimated_from
    assert part.all.visits_a_day == pytest.approx(whole.all.visits_a_day, rel=0.15)
    assert part.all.freshness == pytest.approx(whole.all.freshness, rel=0.15)


def test_the_findings_of_visits_are_counted_once_from_the_catalogue(tmp_path: Path) -> None:
    days = [(kettle(), 200), ("", 304), (kettle("9"), 200), ("", 304), ("gone", 410), ("gone", 404), (kettle("8"), 200)]
    captures = [captured(SHOP, START_AT + day * DAY, body, status) for day, (body, status) in enumerate(days)]
    captures += [captured(OTHER, START_AT, kettle()), captured(OTHER, START_AT + DAY, "busy", 503)]
    captures += [captured(SHOP.robots, START_AT + day * DAY, "none", 404) for day in range(3)]
    directory = collection(tmp_path, captures)
    with closing(read_only(directory.state)) as state:
        visits = visits_since(state, "", -1, 0)
        place = newest_place(state)
        nothing = visits_since(state, *place, START_AT)
        late = visits_since(state, "", -1, START_AT + 6 * DAY)
    size, cheaper = len(kettle().encode()), len(kettle("9").encode())
    assert visits.visits == 7 and visits.changed == 2 and visits.unmodified == 2
    assert (visits.appeared, visits.vanished, visits.back) == (2, 1, 1)
    assert visits.spared_bytes == size + cheaper
    assert nothing == Visits() and late.visits == 1, "volumes that were rewritten are not counted again"
