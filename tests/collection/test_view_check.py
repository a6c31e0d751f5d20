"""`gossamer verify` compares every view with the catalogue, up to the position of the view."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.conftest import Collection
from tests.cli.site import QUICK, Site, gossamer, harbour, started
from tests.collection.test_verify import damage
from tests.views.words.damaged import damage_entry

from gossamer.archive.catalogue import Catalogue
from gossamer.base.clock import SECOND
from gossamer.base.environment import real_outside
from gossamer.base.files import DiskFiles
from gossamer.base.tell import CRASH_VARIABLE, silent
from gossamer.cli.upkeep.backup import back_up
from gossamer.indexer.updates import position_in
from gossamer.monitor.control import Vitals
from gossamer.monitor.sqlite_control import SqliteControl
from gossamer.spool.frames import SpoolPosition
from gossamer.store.directory import Directory, lock_directory
from gossamer.values.capture import Kept
from gossamer.values.url import Url
from gossamer.views.facts.sources import SOURCES
from gossamer.views.facts.store import Graph
from gossamer.views.words.writer import IndexWriter

FILES = DiskFiles()
VIEWS = ("index", "links.db", "graph", "checkpoints")


@pytest.fixture(scope="session")
def collection(embedded: Collection) -> Collection:
    """Copied and damaged as files: only with its state in state.db."""
    return embedded


@pytest.fixture
def directory(collection: Collection, tmp_path: Path) -> Directory:
    return Directory(Path(shutil.copytree(collection.root, tmp_path / "data")))


def checked(root: Path) -> tuple[int, dict[str, dict]]:
    done = gossamer("verify", "--dir", root, "--json")
    return done.returncode, {one["name"]: one for one in json.loads(done.stdout)["views"]}


def assert_whole(root: Path) -> None:
    done = gossamer("verify", "--dir", root)
    assert done.returncode == 0 and "missing" not in done.stdout, done.stdout + done.stderr


def page(directory: Directory, tail: str) -> Kept:
    with Catalogue(directory, FILES) as catalogue:
        return next(kept for kept in catalogue.pages() if kept.url.text.endswith(tail))


def drop_words(directory: Directory, url: Url) -> None:
    writer = IndexWriter(directory.index, FILES, silent)
    writer.open()
    writer.remove(url)
    writer.commit(writer.position)
    writer.close()


def drop_links(directory: Directory, url: Url) -> None:
    with closing(sqlite3.connect(directory.links)) as links, links:
        links.execute("DELETE FROM sources WHERE id = ?", (url.id,))


def drop_facts(directory: Directory, url: Url) -> None:
    with Graph(directory.graph, FILES, real_outside().clock, silent) as graph:
        graph.remove(url)


def drop_checkpoint_facts(directory: Directory, url: Url) -> None:
    (copy,) = directory.checkpoints.glob("facts-*")
    shutil.copy(directory.graph / SOURCES, copy)
    with Graph(copy, FILES, real_outside().clock, silent) as graph:
        graph.remove(url)
    (copy / "sizes.json").unlink()  # with it the checkpoint would be reported as damaged instead


@pytest.mark.parametrize(
    ("name", "drop"), list(zip(VIEWS, (drop_words, drop_links, drop_facts, drop_checkpoint_facts), strict=True))
)
def test_F_X1_a_page_missing_from_a_view_is_reported(
    directory: Directory, name: str, drop: Callable[[Directory, Url], None]
) -> None:
    for old in sorted(directory.checkpoints.glob("facts-*"))[:-1]:
        shutil.rmtree(old)
    kept = page(directory, "docs/knots")
    drop(directory, kept.url)
    code, views = checked(directory.root)
    assert code == 4
    assert {view: one["missing"] for view, one in views.items()} == {view: int(view == name) for view in VIEWS}
    assert views[name]["missing_urls"] == [kept.url.text]
    shown = gossamer("verify", "--dir", directory.root)
    assert shown.returncode == 4 and f"missing: {kept.url.text}" in shown.stdout
    assert f"gossamer rebuild --dir {directory.root}" in shown.stderr


def test_F_X1_an_incomplete_view_is_complete_after_a_rebuild_and_the_list_of_urls_is_limited(tmp_path: Path) -> None:
    root = tmp_path / "data"
    with Site(harbour(30)).serving() as site:
        assert gossamer("crawl", site.root, "--dir", root, *QUICK).returncode == 0
    directory = Directory(root)
    with Catalogue(directory, FILES) as catalogue:
        urls = [kept.url for kept in catalogue.pages()]
    writer = IndexWriter(directory.index, FILES, silent)
    writer.open()
    for url in urls[:25]:
        writer.remove(url)
    writer.commit(writer.position)
    writer.close()
    code, views = checked(root)
    assert (code, views["index"]["missing"], len(views["index"]["missing_urls"])) == (4, 25, 20)
    assert gossamer("rebuild", "--dir", root).returncode == 0
    assert_whole(root)


def test_a_view_that_is_behind_is_not_an_error_and_the_advice_is_to_catch_up(directory: Directory) -> None:
    path = directory.index / "position"
    at = position_in(path.read_bytes())
    path.write_bytes(json.dumps([at.volume, 3]).encode())
    with Catalogue(directory, FILES) as catalogue:
        ahead = sum(
            SpoolPosition(one.place.volume, one.place.number) >= SpoolPosition(at.volume, 3)
            for one in catalogue.pages()
        )
    code, views = checked(directory.root)
    assert (code, views["index"]["behind"], views["index"]["missing"]) == (0, ahead, 0) and ahead
    assert "gossamer crawl" in views["index"]["mend"] and "gossamer rebuild" in views["index"]["mend"]
    assert views["index"]["position"] == [at.volume, 3]
    lock = lock_directory(directory, real_outside(), "crawl")
    code, views = checked(directory.root)
    lock.release()
    assert (code, views["index"]["behind"], views["index"]["mend"]) == (0, ahead, "")
    assert "another process" in views["index"]["says"] and "another process" in views["graph"]["says"]


def test_no_page_is_missing_after_a_kill_or_any_command_that_rewrites(tmp_path: Path) -> None:
    """A noindex page has no words in the index, and does not count as missing."""
    root, pages = tmp_path / "data", harbour(12)
    pages["/people/3"] = pages["/people/3"].replace("<head>", '<head><meta name="robots" content="noindex">')
    with Site(pages).serving() as site:
        with started("crawl", site.root, "--dir", root, *QUICK, **{CRASH_VARIABLE: "archive.synced:3"}) as killed:
            killed.communicate(timeout=300)
        assert killed.returncode != 0
        assert_whole(root)
        assert gossamer("crawl", "--dir", root, *QUICK).returncode == 0
        assert_whole(root)
        assert gossamer("export", "warc", "--dir", root, "--out", tmp_path / "all.warc.gz").returncode == 0
        assert gossamer("forget", f"{site.root}people/1", "--yes", "--quick", "--dir", root).returncode == 0
        assert_whole(root)
    assert gossamer("compact", "--keep", "last:1", "--dir", root).returncode == 0
    assert_whole(root)
    assert gossamer("rebuild", "--dir", root).returncode == 0
    assert_whole(root)
    assert gossamer("import", tmp_path / "all.warc.gz", "--dir", tmp_path / "other").returncode == 0
    assert_whole(tmp_path / "other")


def test_F_X1_views_made_while_a_record_was_damaged_lack_its_page_after_a_repair_until_rebuilt(
    directory: Directory, tmp_path: Path
) -> None:
    back_up(directory, copy := Directory(tmp_path / "copy"), real_outside())
    kept = page(directory, "docs/knots")
    damage(directory, kept)
    assert gossamer("rebuild", "--dir", directory.root).returncode == 4
    repaired = gossamer("verify", "--dir", directory.root, "--repair-from", copy.root)
    assert repaired.returncode == 4 and "repaired: " in repaired.stdout
    assert f"gossamer rebuild --dir {directory.root}" in repaired.stderr
    code, views = checked(directory.root)
    assert code == 4 and {one["missing"] for one in views.values()} == {1}
    assert gossamer("rebuild", "--dir", directory.root).returncode == 0
    assert_whole(directory.root)


def test_a_repair_of_records_that_the_views_have_needs_no_rebuild(directory: Directory, tmp_path: Path) -> None:
    back_up(directory, copy := Directory(tmp_path / "copy"), real_outside())
    damage(directory, page(directory, "docs/knots"))
    repaired = gossamer("verify", "--dir", directory.root, "--repair-from", copy.root)
    assert repaired.returncode == 0 and "rebuild" not in repaired.stderr, repaired.stderr


def test_verify_names_pages_with_unreadable_index_entries(directory: Directory) -> None:
    url = page(directory, "/").url
    damage_entry(directory.index, url)
    code, views = checked(directory.root)
    assert code == 4
    assert views["index"]["unreadable"] == 1 and views["index"]["unreadable_urls"] == [url.text]
    assert "what it holds of 1 page cannot be read" in views["index"]["fault"] and views["index"]["mend"]
    for words in ((), ("--json",)):
        done = gossamer("search", "fish", *words, "--dir", directory.root)
        assert "1 result skipped" in done.stderr and "gossamer verify" in done.stderr
    assert gossamer("rebuild", "--dir", directory.root).returncode == 0
    assert_whole(directory.root)


def test_status_calls_no_view_damaged_that_an_indexer_is_about_to_make(directory: Directory) -> None:
    shutil.rmtree(directory.checkpoints)
    assert "it is missing" in gossamer("status", "--dir", directory.root).stdout
    with SqliteControl(directory.control, real_outside().clock) as control:
        control.beat("indexer", os.getpid(), {})
    assert "it is missing" not in gossamer("status", "--dir", directory.root).stdout


@pytest.mark.parametrize("began_s", [1, 300])
def test_a_search_calls_no_view_damaged_that_the_first_indexer_is_about_to_make(
    directory: Directory, began_s: int
) -> None:
    """Its process may still be starting when the first pages of a crawl are stored."""
    shutil.rmtree(directory.index)
    clock = real_outside().clock
    assert gossamer("search", "fish", "--dir", directory.root).returncode == 3
    with SqliteControl(directory.control, clock) as control:
        began_at = clock.now() - began_s * SECOND
        control.note([Vitals("here", "crawler", os.getpid(), clock.now(), began_at, {})])
    done = gossamer("search", "fish", "--dir", directory.root)
    assert done.returncode == (1 if began_s == 1 else 3) and ("damaged" in done.stderr) is (began_s == 300), done.stderr
