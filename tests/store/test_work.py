"""The work of a cluster's indexers, as status, the crawler and commands see it."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.postgres_server import server, why_absent

if why := why_absent():
    pytest.skip(why, allow_module_level=True)

from gossamer.base.clock import SystemClock
from gossamer.base.tell import silent
from gossamer.store.postgres.state import PostgresState, SharedState, connected, open_reader, state_in
from gossamer.store.work import VIEWS, SetAside, add_all, backlog, retry_set_aside, set_aside


@pytest.fixture
def conninfo(tmp_path: Path) -> str:
    found = server().conninfo_for(tmp_path, waits_for_disk=False)

    async def make() -> None:
        async with PostgresState(found, "cluster", SystemClock(), silent):
            pass

    asyncio.run(make())
    with closing(connected(found, "cluster")) as connection:
        for number in (1, 2):
            connection.execute(
                "INSERT INTO volumes (name, object, records, settled_at) VALUES (%s, %s, 11, 1)", [f"v-{number}"] * 2
            )
        connection.execute("INSERT INTO volumes (name, object, records) VALUES ('not settled', 'x', 11)")
        connection.execute(
            "INSERT INTO volumes (name, object, records, settled_at, owner) VALUES ('another', 'y', 11, 1, 'other')"
        )
    return found


@pytest.fixture
def state(conninfo: str) -> Iterator[SharedState]:
    with closing(open_reader(conninfo, "cluster")) as reader:
        yield reader


def write(conninfo: str, statement: str) -> None:
    with closing(connected(conninfo, "cluster")) as connection:
        connection.execute(statement.encode())


def changed(conninfo: str, work) -> int:
    with closing(connected(conninfo, "cluster")) as connection, connection.transaction():
        return work(state_in(connection))


def test_a_view_without_work_has_no_backlog(state):
    assert [(one.view, one.records, one.oldest_at, one.set_aside) for one in backlog(state)] == [
        (view, 0, None, 0) for view in VIEWS
    ]


def test_the_backlog_counts_new_records_by_view_and_says_since_when(conninfo, state):
    write(
        conninfo,
        "INSERT INTO work (volume_id, view, first, beyond, added_at) SELECT id, 'words', 1, 11, 5 FROM volumes",
    )
    words, facts, _ = backlog(state)
    assert (words.records, words.rebuild_records, words.oldest_at) == (40, 0, 5)
    assert words.age_s > 1e9
    assert facts.records == 0


def test_every_settled_segment_of_the_cluster_is_added_for_a_rebuild_and_only_once(conninfo, state):
    assert changed(conninfo, add_all) == 6
    assert changed(conninfo, add_all) == 0, "they wait already"
    assert [(one.records, one.rebuild_records) for one in backlog(state)] == [(0, 20)] * 3
    write(conninfo, "UPDATE work SET leased_by = 'an indexer' WHERE view = 'facts'")
    assert changed(conninfo, add_all) == 2, "what is in progress may have begun before"


def test_what_was_set_aside_is_named_and_can_be_tried_again(conninfo, state):
    assert changed(conninfo, lambda state: add_all(state, ["facts"])) == 2
    write(conninfo, "UPDATE work SET set_aside_at = 7, why = 'it is damaged', tries = 3 WHERE view = 'facts'")
    assert set_aside(state) == [SetAside(f"v-{number}", "facts", 1, 11, 7, "it is damaged") for number in (1, 2)]
    assert [one.set_aside for one in backlog(state)] == [0, 2, 0]
    assert changed(conninfo, retry_set_aside) == 2
    assert (set_aside(state), backlog(state)[1].rebuild_records) == ([], 20)
