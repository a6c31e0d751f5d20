"""A collection looked at: what its copies are worth, and what visits found."""

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
    """A state that remembers these pages."""

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


def test_M_C2_sites_are_told_apart_the_oldest_copies_first(tmp_path: Path) -> None:
    state = remembering(tmp_path, [("quiet.test", [QUIET] * 9), ("busy.test", [BUSY] * 5 + [GONE]), ("no.test", [])])
    found = take_sample(partial(read_only, state), NOW, Visits())
    assert found is not None and found.all.pages == 14 and found.gone == 1 and found.overdue == 5
    assert [one.site for one in found.sites] == ["busy.test", "quiet.test"] and found.site_count == 2
    busy, quiet = found.sites
    assert busy.age_days > 1.0 > quiet.age_days and busy.freshness < 0.3 < 0.9 < quiet.freshness
    assert busy.possible_age_days <= busy.planned_age_days * 1.02 and busy.visits_a_day == pytest.approx(5.0, rel=0.02)
    whole = 5 * busy.age_days + 9 * quiet.age_days
    assert found.all.average_age_days == pytest.approx(whole / 14)


def test_nothing_is_said_where_no_page_comes_again(tmp_path: Path) -> None:
    assert take_sample(partial(read_only, remembering(tmp_path, [("a.test", [GONE])])), NOW, Visits()) is None


def test_of_very_many_pages_a_part_is_looked_at_and_speaks_for_all(tmp_path: Path) -> None:
    connect = partial(read_only, remembering(tmp_path, [("a.test", [BUSY, QUIET] * 1_500)]))
    whole, part = take_sample(connect, NOW, Visits()), take_sample(connect, NOW, Visits(), enough=500)
    assert step_for(connect, 500) == 8 and whole is not None and part is not None
    assert whole.estimated_from == 3_000 and 300 < part.estimated_from < 450
    assert part.all.pages == 8 * part.estimated_from
    assert part.all.visits_a_day == pytest.approx(whole.all.visits_a_day, rel=0.15)
    assert part.all.freshness == pytest.approx(whole.all.freshness, rel=0.15)


def test_what_visits_found_is_counted_once_from_the_catalogue(tmp_path: Path) -> None:
    days = [(kettle(), 200), ("", 304), (kettle("9"), 200), ("", 304), ("gone", 410), ("gone", 404), (kettle("8"), 200)]
    taken = [captured(SHOP, START_AT + day * DAY, body, status) for day, (body, status) in enumerate(days)]
    taken += [captured(OTHER, START_AT, kettle()), captured(OTHER, START_AT + DAY, "busy", 503)]
    taken += [captured(SHOP.robots, START_AT + day * DAY, "none", 404) for day in range(3)]
    directory = collection(tmp_path, taken)
    with closing(read_only(directory.state)) as state:
        found = visits_since(state, "", -1, 0)
        place = newest_place(state)
        nothing = visits_since(state, *place, START_AT)
        late = visits_since(state, "", -1, START_AT + 6 * DAY)
    size, cheaper = len(kettle().encode()), len(kettle("9").encode())
    assert found.visits == 7 and found.changed == 2 and found.unmodified == 2
    assert (found.appeared, found.vanished, found.back) == (2, 1, 1)
    assert found.spared_bytes == size + cheaper
    assert nothing == Visits() and late.visits == 1, "volumes that were rewritten are not counted again"
