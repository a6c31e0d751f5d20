"""Indexers of a cluster share its work: real processes, a real database and real services."""

import asyncio
import random
import shutil
import tempfile
import time
from contextlib import AsyncExitStack, closing
from functools import partial
from pathlib import Path

import pytest
from tests.indexer.clusters import HOUR, START, cluster, of_url, page
from tests.postgres_server import Server, programs, why_absent
from tests.services import opensearch

if why := why_absent():
    pytest.skip(why, allow_module_level=True)

from gossamer.base.clock import SystemClock
from gossamer.base.tell import silent, unheard
from gossamer.collection.collection import Collection
from gossamer.collection.maintenance.cluster_views import make_again
from gossamer.collection.maintenance.view_check import ViewCheck
from gossamer.collection.views import fact_queries
from gossamer.indexer.cluster import ClusterTuning
from gossamer.indexer.process import PublishedState, open_cluster_views
from gossamer.monitor.choice import control_of
from gossamer.search.query import parse
from gossamer.store import captures
from gossamer.store.directory import Directory
from gossamer.store.state import open_state
from gossamer.store.work import MOST_TRIES, backlog, retry_set_aside, set_aside
from gossamer.values.url import Url
from gossamer.views.facts.sparql import QueryLimits
from gossamer.views.links.place import links_reader
from gossamer.views.words.place import words_reader


@pytest.fixture
def shared(tmp_path: Path):
    with cluster(tmp_path) as made:
        yield made


def found(shared, word: str) -> set[str]:
    with closing(words_reader(shared.folder("reader"), SystemClock())) as reader:
        reader.open()
        return {one.card.url.text for one in reader.find(parse(word)).found}


def test_two_indexers_share_200_segments_and_one_is_killed_in_the_middle(shared):
    for segment in range(200):
        given = [page(4 * segment + n, START + segment, links=["http://t.test/"]) for n in range(4)]
        shared.add_segment(given)
    first, _ = shared.start("one"), shared.start("two")
    shared.wait(lambda: 0 < shared.left() < 500, "some of it is done")
    first.kill()
    assert shared.left() > 0
    shared.change("UPDATE work SET leased_until = 0 WHERE leased_by LIKE 'one %%'")  # time passes
    shared.wait_until_done()
    assert shared.documents() == shared.documents("-links") == len(shared.pages_with_facts()) == 800
    assert shared.read("SELECT count(*) FROM origins") == [(800,)]
    assert links_reader(shared.folder("reader"), SystemClock()).about(Url("http://t.test/"))[0].count == 800
    assert shared.read("SELECT count(*) FROM work") == [(0,)]
    shared.wait(lambda: shared.readings() == [], "their readings are not needed any more")


def test_the_version_decides_though_clocks_are_an_hour_apart(shared):
    url = "http://a.test/"
    shared.add_segment([page(1, START + HOUR, "old"), page(2, START, "old"), page(3, START + HOUR, "left")])
    shared.add_segment(
        [page(1, START, "new one"), page(2, START + HOUR, "new two"), of_url("http://s3.test/3", START, b"", 404)]
    )
    shared.change("UPDATE work SET leased_until = 9e18 WHERE volume_id = 1")  # the second goes first
    shared.start("one")
    shared.wait(lambda: shared.left() == 3, "the second segment is indexed")
    shared.change("UPDATE work SET leased_until = NULL")
    shared.wait_until_done()
    assert found(shared, "new") == {"http://s1.test/1", "http://s2.test/2"}
    assert found(shared, "old") == found(shared, "left") == set()
    assert url not in shared.pages_with_facts()
    newest = shared.read("SELECT max(version) FROM captures GROUP BY url ORDER BY 1")
    assert shared.read("SELECT version FROM origins ORDER BY 1") == newest


def test_what_is_not_in_the_catalogue_and_what_was_forgotten_is_never_indexed(shared):
    shared.change("INSERT INTO forgotten VALUES ('http://s2.test/2', false, 0), ('s3.test', true, 0)")
    shared.add_segment([page(n, START, "there") for n in range(1, 5)], uncatalogued=[0])
    shared.start("one")
    shared.wait_until_done()
    assert found(shared, "there") == {"http://s4.test/4"}
    assert shared.pages_with_facts() == {"http://s4.test/4"}


def test_a_poisoned_segment_is_set_aside_and_can_be_tried_again(shared):
    good, bad = shared.add_segment([page(1, START)]), shared.add_segment([page(2, START), page(3, START)])
    whole = {path: path.read_bytes() for path in shared.stored(bad)}
    for path, content in whole.items():
        path.write_bytes(content[:-300] + bytes(300))
    shared.start("one")

    def hurry() -> bool:
        shared.change("UPDATE work SET leased_until = NULL WHERE leased_by IS NULL")
        return shared.left() == 0

    shared.wait(hurry, "it is tried three times")
    with closing(open_state(shared.folder("reader"))) as state:
        aside = set_aside(state)
        assert {(one.volume, one.view, one.first, one.beyond) for one in aside} == {
            (bad, view, 2, 3) for view in ("words", "facts", "links")
        }
        assert all(one.why for one in aside)
        assert [one.set_aside for one in backlog(state)] == [1, 1, 1]
    assert shared.read("SELECT DISTINCT tries FROM work") == [(MOST_TRIES,)]
    assert (shared.documents(), len(shared.pages_with_facts())) == (2, 2), "the rest of it is indexed"
    shared.wait(lambda: shared.readings() == [bad + ".spool"], f"{good} is done")
    for path, content in whole.items():
        path.write_bytes(content)
    shared.write(retry_set_aside)
    shared.wait_until_done()
    assert (shared.documents(), len(shared.pages_with_facts())) == (3, 3)


def test_a_rebuild_by_several_indexers_makes_the_views_again_and_buries_what_the_archive_has_lost(shared):
    for segment in range(20):
        numbers = (2 * segment, 2 * segment + 1)
        shared.add_segment([page(n, START + segment, f"t{n}x", links=["http://t.test/"]) for n in numbers])
    shared.add_segment([page(0, START - HOUR, "changed", links=["http://t.test/"])])
    shared.start("one")
    shared.start("two")
    shared.wait_until_done()
    shared.wait(lambda: shared.readings() == [], "their readings are not needed any more")
    assert found(shared, "t7x") == {"http://s0.test/7"}
    before = shared.read("SELECT * FROM origins ORDER BY id")
    shared.change("DELETE FROM captures WHERE url = 'http://s0.test/7'")
    directory = shared.folder("reader")
    assert asyncio.run(make_again(directory, shared.outside())) == 63
    assert shared.left() == 0
    assert shared.read("SELECT * FROM origins ORDER BY id") == before
    assert found(shared, "changed") == {"http://s0.test/0"}
    assert found(shared, "t7x") == set()
    assert shared.pages_with_facts() == {f"http://s{n % 7}.test/{n}" for n in range(40) if n != 7}
    links = links_reader(directory, SystemClock())
    assert links.about(Url("http://t.test/"))[0].count == 39
    states = asyncio.run(ViewCheck(directory, shared.outside(), never, True).run(unheard))
    assert [(one.name, one.error, one.says) for one in states] == [
        (name, "", "39 of 39 pages") for name in ("words", "links", "facts")
    ]


async def never(place):
    raise AssertionError(f"{place} is in every view")


def test_random_captures_in_random_order_end_as_their_newest_versions(shared):
    chance = random.Random(5)
    newest: dict[str, str] = {}
    for segment in range(30):
        given = {}
        for _ in range(6):
            number, at = chance.randrange(20), START + segment + chance.choice([0, HOUR])
            given[number] = page(number, at, f"t{segment}x{number}")
        shared.add_segment(list(given.values()))
        newest |= {one.url.text: f"t{segment}x{number}" for number, one in given.items()}
    ids = [number for (number,) in shared.read("SELECT id FROM work")]
    chance.shuffle(ids)
    for number in ids:
        shared.change("UPDATE work SET id = DEFAULT WHERE id = %s", number)
    shared.start("one")
    shared.start("two")
    shared.wait_until_done()
    for url, title in newest.items():
        assert found(shared, title) == {url}
    assert len(shared.pages_with_facts()) == len(newest)


def waiting(shared) -> dict[str, int]:
    return dict(shared.read("SELECT view, count(*) FROM work GROUP BY view"))


def test_while_the_search_service_is_away_facts_continue(tmp_path):
    (tmp_path / "opensearch").mkdir()
    own = opensearch.own_server(tmp_path / "opensearch")
    try:
        with cluster(tmp_path, words=own.address) as shared:
            shared.add_segment([page(0, START)])
            shared.start("one")
            shared.wait_until_done()
            own.stop()
            for segment in range(1, 30):
                shared.add_segment([page(10 * segment + n, START + segment) for n in range(10)])
            shared.wait(lambda: "facts" not in waiting(shared), "facts continue")
            assert waiting(shared) == {"words": 29, "links": 29}
            own.start()
            shared.wait_until_done()
            assert shared.documents() == shared.documents("-links") == len(shared.pages_with_facts()) == 291
            assert shared.read("SELECT count(*) FROM work") == [(0,)]
    finally:
        own.stop()


def test_a_view_whose_service_is_away_takes_only_so_many_pages(tmp_path, monkeypatch):
    limits = partial(ClusterTuning, most_waiting=20, records=15, patient_pages=15, poll_s=0, commit_s=0, patient_s=0)
    monkeypatch.setattr("gossamer.indexer.process.ClusterTuning", limits)

    async def index(directory: Directory) -> None:
        outside, stop, state = shared.outside("one"), asyncio.Event(), PublishedState()
        with control_of(directory, outside.clock) as control:
            async with AsyncExitStack() as opened:
                views = await open_cluster_views(
                    opened, directory, never, control=control, outside=outside, tell=silent, state=state, stop=stop
                )
                until = time.monotonic() + 60
                while "facts" in waiting(shared) and time.monotonic() < until:
                    await views.turn()
                    await asyncio.sleep(0.02)
                for _ in range(50):
                    assert not await views.turn(), "there is no room"
                leased = shared.read("SELECT view, sum(beyond - first) FROM work WHERE leased_by <> '' GROUP BY view")
                assert {view for view, _ in leased} == {"words", "links"}
                assert all(records <= 20 + 2 * 15 for _, records in leased)
                assert "views.words" in views.trouble
                stop.set()

    with cluster(tmp_path, words="http://127.0.0.1:1") as shared:
        for segment in range(20):
            shared.add_segment([page(5 * segment + n, START + segment) for n in range(5)])
        asyncio.run(index(shared.folder("one")))
        assert waiting(shared) == {"words": 20, "links": 20}


def test_while_the_database_is_away_nothing_ends_and_later_everything_is_indexed(tmp_path):
    database = Server(Path(tempfile.mkdtemp(prefix="gossamer-pg-")), programs())
    database.make()
    database.start()
    try:
        with cluster(tmp_path, database=database) as shared:
            shared.add_segment([page(0, START)])
            indexer = shared.start("one")
            shared.wait_until_done()
            database.stop()
            late = shared.start("two")
            time.sleep(3)
            assert (indexer.child.poll(), late.child.poll()) == (None, None)
            database.start()
            shared.add_segment([page(1, START), page(2, START)])
            shared.wait_until_done()
            assert (shared.documents(), len(shared.pages_with_facts())) == (3, 3)
    finally:
        database.stop()
        shutil.rmtree(database.folder, ignore_errors=True)


def test_queries_know_where_facts_are_on_their_pages(shared):
    shared.add_segment([page(1, START, "somewhere")])
    shared.start("one")
    shared.wait_until_done()
    directory = shared.folder("reader")
    query = (
        "SELECT ?name (<urn:gossamer:path>(?page, ?it, <http://schema.org/name>, ?name) AS ?path) "
        "{ GRAPH ?page { ?it <http://schema.org/name> ?name } }"
    )

    async def ask():
        async with fact_queries(directory, shared.outside(), QueryLimits()) as queries:
            return await queries.ask(query, "text/csv")

    assert asyncio.run(ask()).body.decode().splitlines() == ["name,path", "somewhere,/html/body/b"]
    with closing(open_state(directory)) as state:
        (kept,) = captures.versions(state, Url("http://s1.test/1"))
    with Collection(directory, shared.outside()) as collection:
        assert "/html/body/b" in collection.fact_places(kept)
