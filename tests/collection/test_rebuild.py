"""`gossamer rebuild` makes new views next to the old ones and swaps them in one step: there are always views."""

import asyncio
import json
import shutil
import signal
import sqlite3
import subprocess
import threading
import urllib.request
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.archive.test_damage import flipped
from tests.cli.site import QUICK, Held, Site, gossamer, harbour, held, page, searchable, started, wait_until

from gossamer.archive.catalogue import Catalogue
from gossamer.base.clock import SystemClock
from gossamer.base.environment import real_outside
from gossamer.base.errors import DiskFull
from gossamer.base.files import DiskFiles
from gossamer.base.tell import CRASH_VARIABLE, REBUILD_POINTS
from gossamer.collection.maintenance.rebuild import ORIGIN, Origin, begin, build_again, origin_of, unfinished
from gossamer.collection.views import search_of
from gossamer.search.query import parse
from gossamer.store import captures, tallies
from gossamer.store.directory import Directory, generations
from gossamer.store.sqlite.database import read_only

AGENT = "gossamer"
PAGES = 24
INDEXER_POINTS = ("index.committed", "links.committed", "graph.committed", "checkpoint.renamed")
POINTS = (*REBUILD_POINTS, *INDEXER_POINTS)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("rebuild") / "collection"
    with Site(harbour(PAGES)).serving() as site:
        done = gossamer("crawl", site.root, *QUICK, "--dir", root)
    assert done.returncode == 0, done.stderr
    return root


@pytest.fixture
def collection(crawled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(crawled, tmp_path / "c"))


@pytest.fixture(scope="module")
def whole(crawled: Path) -> Held:
    return held(crawled)


def rebuilt(root: Path) -> None:
    asyncio.run(build_again(Directory(root), AGENT, real_outside()))


def found_in(root: Path, words: str = "keeper") -> int:
    search = search_of(Directory(root), SystemClock())
    try:
        return search.find(parse(words)).total
    finally:
        search.close()


def names(root: Path) -> set[str]:
    return set(DiskFiles().names(root))


def test_a_rebuild_makes_equal_views_in_a_new_folder_and_removes_the_old(collection: Path, whole: Held) -> None:
    assert gossamer("rebuild", "--dir", collection).returncode == 0
    assert held(collection) == whole
    assert generations(collection) == ["views-0001"]
    assert not names(collection) & {"index", "graph", "checkpoints", "links.db", "views-0001.new"}
    rebuilt(collection)
    assert held(collection) == whole and generations(collection) == ["views-0002"]


@pytest.mark.parametrize("point", POINTS)
def test_a_rebuild_killed_at_any_step_leaves_whole_views_and_is_continued(
    point: str, collection: Path, whole: Held
) -> None:
    killed = subprocess_rebuild(collection, f"{point}:1")
    assert held(collection) == whole, "either the old or the new views"
    if killed.returncode == 0 and point in INDEXER_POINTS:
        return  # the indexer was restarted once, and had little left to do
    assert killed.returncode != 0, f"{point} was not reached"
    begun = unfinished(Directory(collection), DiskFiles())
    assert bool(begun) == (point not in ("rebuild.swapped", "rebuild.removed"))
    done = gossamer("rebuild", "--dir", collection)
    assert done.returncode == 0, done.stderr
    assert ("interrupted" in done.stderr) == bool(begun)
    assert held(collection) == whole
    assert not unfinished(Directory(collection), DiskFiles()) and len(generations(collection)) == 1


def subprocess_rebuild(root: Path, crash_at: str) -> "subprocess.CompletedProcess[str]":
    with started("rebuild", "--dir", root, **{CRASH_VARIABLE: crash_at}) as running:
        out, err = running.communicate(timeout=300)
    assert "Traceback" not in err, err
    return subprocess.CompletedProcess([], running.returncode, out, err)


def test_leftovers_of_a_killed_swap_are_removed_by_the_next_writer(collection: Path, whole: Held) -> None:
    subprocess_rebuild(collection, "rebuild.swapped:1")
    assert names(collection) & {"index", "graph"}, "the process was killed before it removed them"
    with Site({}).serving() as site:
        assert gossamer("crawl", f"{site.root}none", *QUICK, "--dir", collection).returncode in (0, 1)
    assert not names(collection) & {"index", "graph", "checkpoints", "links.db"}
    assert held(collection).cards == whole.cards


def test_F_X1_a_continued_rebuild_counts_the_damage_of_all_its_runs(collection: Path) -> None:
    directory = Directory(collection)
    with Catalogue(directory, DiskFiles()) as catalogue:
        lost = [kept.place for kept in catalogue.in_order()][3]
    flipped(directory.archive / lost.volume, lost.offset + lost.length // 2)
    assert subprocess_rebuild(collection, "rebuild.built:1").returncode != 0
    done = gossamer("rebuild", "--dir", collection)
    assert "interrupted" in done.stderr and done.returncode == 4, done.stderr
    assert "1 damaged record skipped" in done.stderr and f"at byte {lost.offset}" in done.stderr


def test_search_answers_throughout_a_rebuild_and_then_from_the_new_views(collection: Path) -> None:
    search, over = search_of(Directory(collection), SystemClock(), refresh_s=0.0), threading.Event()
    totals: list[int] = []

    def search_repeatedly() -> None:
        while not over.is_set():
            totals.append(search.find(parse("keeper")).total)
            totals.append(found_in(collection))

    searching = threading.Thread(target=search_repeatedly)
    searching.start()
    try:
        rebuilt(collection)
        rebuilt(collection)
    finally:
        over.set()
        searching.join()
    assert set(totals) == {PAGES}
    assert search.find(parse("keeper")).total == PAGES
    search.close()


def test_a_running_server_continues_and_uses_the_new_views(collection: Path) -> None:
    def get(path: str) -> dict[str, object]:
        with urllib.request.urlopen(site + path, timeout=60) as response:
            return dict(json.load(response))

    def facts() -> object:
        query = "SELECT%20(COUNT(*)%20AS%20%3Fn)%20WHERE%20%7B%3Fs%20%3Fp%20%3Fo%7D"
        found = get(f"sparql?query={query}")
        return found["results"]["bindings"][0]["n"]["value"]  # type: ignore[index,call-overload]

    with started("serve", "--dir", collection, "--port", "0") as server:
        try:
            assert server.stdout is not None
            site = server.stdout.readline().split()[2].partition("?")[0]
            before = facts()
            assert get("search.json?q=keeper")["total"] == PAGES
            rebuilt(collection)
            assert not (collection / "index").exists()
            assert facts() == before
            wait_until(lambda: get("search.json?q=keeper")["total"] == PAGES, "search stopped answering")
            rebuilt(collection)
            assert facts() == before and get("search.json?q=keeper")["total"] == PAGES
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=60)


class FullDisk(DiskFiles):
    def room(self, folder: Path) -> int:
        return 1000


def test_without_disk_space_it_is_refused_with_figures_and_the_old_views_stay(collection: Path, whole: Held) -> None:
    outside = replace(real_outside(), files=FullDisk())
    with pytest.raises(DiskFull, match=r"need about [\d,]+ MB .* --discard-old"):
        asyncio.run(build_again(Directory(collection), AGENT, outside))
    assert held(collection) == whole and not unfinished(Directory(collection), DiskFiles())


def test_the_old_views_can_be_discarded_first(collection: Path, whole: Held) -> None:
    assert gossamer("rebuild", "--discard-old", "--dir", collection).returncode == 0
    assert held(collection) == whole


def test_an_unfinished_rebuild_is_continued_if_the_archive_has_only_grown(collection: Path) -> None:
    directory, files = Directory(collection), DiskFiles()
    origin = origin_of(directory, AGENT, real_outside())
    making, is_resumed = begin(directory, origin, files, is_fresh=False)
    assert making.fixed_views == "views-0001.new" and not is_resumed
    grown = Origin(origin.program, origin.reads, {**origin.volumes, "gossamer-00000009-20300101000000.warc.gz": 7})
    assert begin(directory, grown, files, is_fresh=False)[1]
    (making.index / "left").touch()
    (name, _) = next(iter(origin.volumes.items()))
    rewritten = Origin(origin.program, origin.reads, {name.replace(".warc", "-c0001.warc"): 5})
    for other in (rewritten, Origin("0.0", origin.reads, origin.volumes), Origin(origin.program, "", origin.volumes)):
        (making.index / "left").touch()
        assert not begin(directory, other, files, is_fresh=False)[1]
        assert not (making.index / "left").exists(), "it starts from scratch"
    assert not begin(directory, origin, files, is_fresh=True)[1]
    (making.views_folder / ORIGIN).write_bytes(b"\x00")
    assert not begin(directory, origin, files, is_fresh=False)[1], "its origin is unknown"


def test_forgetting_discards_unfinished_views(collection: Path) -> None:
    directory = Directory(collection)
    begin(directory, origin_of(directory, AGENT, real_outside()), DiskFiles(), is_fresh=False)
    rebuilt(collection)
    begin(directory, origin_of(directory, AGENT, real_outside()), DiskFiles(), is_fresh=False)
    host = next(iter(searchable(collection))).partition("://")[2].partition("/")[0]
    assert gossamer("forget", f"http://{host}/people/1", "--yes", "--dir", collection).returncode == 0
    assert found_in(collection) == PAGES - 1 and not unfinished(directory, DiskFiles())


@pytest.mark.parametrize("is_older", [False, True])
def test_a_page_that_readers_failed_to_read_is_read_by_the_next_rebuild(tmp_path: Path, is_older: bool) -> None:
    """`is_older`: the collection is of a version that did not mark such captures in its catalogue."""
    root = tmp_path / "collection"
    with Site({"/": page("Keeper", "the keeper of the light " + "<p>lamp" * 300_000)}).serving() as site:
        gossamer("crawl", site.root, *QUICK, "--dir", root, GOSSAMER_READERS_WALL_S="0.1")
    directory = Directory(root)
    with closing(read_only(directory.state)) as state:
        assert [one.is_page for one in captures.unread(state)] == [False]
        assert tallies.counts(state).pages == 0
    if is_older:
        with closing(sqlite3.connect(directory.state)) as state:
            state.executescript(
                "DROP INDEX captures_unread; ALTER TABLE captures DROP COLUMN is_unread; PRAGMA user_version = 11;"
            )
    done = gossamer("rebuild", "--dir", root)
    assert done.returncode == 0 and "1 capture that could not be read before can be read now" in done.stderr
    assert found_in(root) == 1
    with closing(read_only(directory.state)) as state:
        assert captures.unread(state) == [] and tallies.counts(state).pages == 1
    again = gossamer("rebuild", "--dir", root)
    assert again.returncode == 0 and "could not be read" not in again.stderr and found_in(root) == 1
