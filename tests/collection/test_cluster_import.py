"""`gossamer cluster import` and `export`: a collection grows into a cluster and comes back as it was."""

import asyncio
import shutil
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from tests.cli.site import QUICK, Site, harbour, held
from tests.cluster_services import made_cluster
from tests.collection.relocation import crawled, emptied, indexed, outcomes, run
from tests.segments.cluster import Cluster, on_disks

from gossamer.archive.reader import read_capture
from gossamer.base.environment import real_outside
from gossamer.base.errors import DirectoryBusy, DirectoryUnusable
from gossamer.base.tell import Tell, silent
from gossamer.collection.directory import locked
from gossamer.collection.maintenance.archive_import import import_archives
from gossamer.collection.maintenance.cluster.exports import export_cluster
from gossamer.collection.maintenance.cluster.imports import ClusterImport, import_directory
from gossamer.collection.maintenance.forget import entries_of
from gossamer.config.load import GUARDED
from gossamer.store import captures, forgotten, rewrites, tallies
from gossamer.store.directory import Directory
from gossamer.store.options import config_of, put_options, put_seeds, stored_options, stored_seeds
from gossamer.store.sqlite.database import read_only
from gossamer.store.state import open_state
from gossamer.values.capture import Kept
from gossamer.values.url import Url


class Stopped(BaseException):
    """As if the process was killed."""


def stopping_at(event: str) -> Tell:
    def tell(name: str, /, **_: object) -> None:
        if name == event:
            raise Stopped

    return tell


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("made") / "data"
    with Site(harbour(3)).serving() as site:
        crawled(site, root, "--max-depth", "7")
        run("crawl", "--again", f"{site.root}people/1", "--dir", root, *QUICK)
    return root


@pytest.fixture
def source(made: Path, tmp_path: Path) -> Directory:
    shutil.copytree(made, tmp_path / "source")
    return Directory(tmp_path / "source")


@pytest.fixture
def found(tmp_path: Path) -> Cluster:
    """Its views are nowhere: nothing indexes it."""
    return on_disks(tmp_path, disks=1, copies=1)


def imported(source: Directory, found: Cluster, tell: Tell = silent) -> ClusterImport:
    return asyncio.run(import_directory(source, found.node(), real_outside(), tell))


def catalogue(directory: Directory) -> list[Kept]:
    with closing(open_state(directory)) as state:
        return sorted(captures.in_order(state), key=lambda one: (one.url.text, one.fetched_at))


def without_place(kept: Kept) -> tuple[object, ...]:
    return tuple(getattr(kept, name) for name in Kept.__struct_fields__ if name != "place")


def test_a_collection_grows_into_a_cluster_is_backed_up_and_restored_in_another(tmp_path: Path) -> None:
    first, copy, back = (tmp_path / name for name in ("first", "copy", "back"))
    with Site(harbour(4)).serving() as site:
        crawled(site, first)
    (first / "rules.txt").write_text("skip path = /never/\n")
    with made_cluster(tmp_path / "services") as services:
        assert "captures copied" in run("cluster", "import", first, services.address)
        indexed(services)
        assert "Keeper 1" in run("search", "lamps", "--dir", services.address)
        assert outcomes(first) == outcomes(services.folder)
        assert "To restore it" in run("backup", copy, "--dir", services.address)
        emptied(services)
    with made_cluster(tmp_path / "others") as others:
        run("cluster", "import", copy, others.address)
        indexed(others)
        run("cluster", "export", others.address, back)
        emptied(others)
    assert held(back) == held(first)
    assert outcomes(back) == outcomes(first)
    assert (back / "rules.txt").read_text() == (first / "rules.txt").read_text()
    with closing(read_only(first / "state.db")) as before, closing(read_only(back / "state.db")) as after:
        assert tallies.counts(after) == tallies.counts(before)
        assert stored_seeds(after) == stored_seeds(before)
        names = [[one.url for one in captures.in_order(state)] for state in (before, after)]
        assert names[0] == names[1]
    assert "is whole" in run("verify", "--dir", back) or run("verify", "--dir", back)


def test_the_command_imports_archives_into_a_cluster_and_nodes_index_them(made: Path, tmp_path: Path) -> None:
    with made_cluster(tmp_path / "services") as services:
        volumes = sorted((made / "archive").glob("*.warc.gz"))
        said = run("import", *volumes, "--dir", services.address)
        assert "captures imported" in said
        indexed(services)
        assert "Keeper 1" in run("search", "lamps", "--dir", services.address)
        assert "0 captures imported" in run("import", *volumes, "--dir", services.address)
        emptied(services)


def test_records_are_the_same_and_a_second_import_adds_nothing(source: Directory, found: Cluster) -> None:
    done = imported(source, found)
    here, there = catalogue(source), catalogue(found.node())
    assert list(map(without_place, there)) == list(map(without_place, here)) and done.captures == len(here)
    files, disk = found.files(), real_outside().files
    for one, other in zip(here, there, strict=True):
        record = files.read(found.node().archive / other.place.volume, other.place.offset, other.place.length)
        assert record == disk.read(source.archive / one.place.volume, one.place.offset, one.place.length)
        assert read_capture(files, found.node().archive, other.place) is not None
    volumes = len({one.place.volume for one in here})
    work = found.rows("SELECT view, count(*), bool_and(is_rebuild) FROM work GROUP BY view ORDER BY view")
    assert work == [(view, volumes, 1) for view in ("facts", "links", "words")]
    again = imported(source, found)
    assert (again.captures, again.already_here) == (0, len(here))
    assert catalogue(found.node()) == there and len(found.rows("SELECT 1 FROM work")) == 3 * volumes
    with closing(open_state(source)) as one, closing(open_state(found.node())) as other:
        assert tallies.counts(one) == tallies.counts(other)
        assert sorted(stored_seeds(one)) == sorted(stored_seeds(other))
        options = stored_options(other)
        given = {name: option.value for name, option in stored_options(one).items() if name not in GUARDED}
        assert {name: options[name].value for name in given} == given
    assert any(words.startswith("fetch.allow_addresses") for words in done.left_out), "it is not allowed there"


@pytest.mark.parametrize("point", ["import.stored", "import.added"])
def test_an_import_that_was_stopped_is_completed(source: Directory, found: Cluster, point: str) -> None:
    with pytest.raises(Stopped):
        imported(source, found, stopping_at(point))
    imported(source, found)
    assert list(map(without_place, catalogue(found.node()))) == list(map(without_place, catalogue(source)))
    with closing(open_state(source)) as one, closing(open_state(found.node())) as other:
        assert tallies.counts(one) == tallies.counts(other)


def test_what_the_cluster_has_of_later_stays_the_newest(source: Directory, found: Cluster) -> None:
    here = catalogue(source)
    page = next(one for one in here if one.url.path == "/people/1")
    body = read_capture(real_outside().files, source.archive, page.place)
    assert body is not None
    found.write(type(body)(body.url, here[-1].fetched_at + 10**9, 200, "OK", body.headers, b"<p>newer</p>"))
    imported(source, found)
    sql = f"SELECT fetched_at FROM captures WHERE url = '{page.url.text}' ORDER BY version"
    instants = [at for (at,) in found.rows(sql)]
    assert len(instants) == 3 and instants == sorted(instants)


def test_an_older_archive_of_another_program_does_not_replace_newer_pages(source: Directory, found: Cluster) -> None:
    here = catalogue(source)
    page = next(one for one in here if one.url.path == "/people/1")
    body = read_capture(real_outside().files, source.archive, page.place)
    assert body is not None
    found.write(type(body)(body.url, here[-1].fetched_at + 10**9, 200, "OK", body.headers, b"<p>newer</p>"))
    archives = tuple(source.archive / name for name in real_outside().files.names(source.archive))
    done = asyncio.run(import_archives(found.node(), archives, config_of(found.node().root).settings, real_outside()))
    assert done.captures > 5 and done.pages > 5
    sql = f"SELECT fetched_at FROM captures WHERE url = '{page.url.text}' ORDER BY version"
    assert [at for (at,) in found.rows(sql)][-1] == here[-1].fetched_at + 10**9


def test_settings_of_the_cluster_stay_and_the_others_are_taken_over(source: Directory, found: Cluster) -> None:
    source.config.write_text("[crawl]\nmax_depth = 3\n[politeness]\ndelay_s = 4.0\n")
    (source.root / "vocabulary.ttl").write_text("<http://a.test/b> a <http://a.test/c> .\n")
    found.run(partial(put_options, given={"politeness.delay_s": 2.0}, now=1))
    done = imported(source, found)
    assert "crawl.max_depth" in done.settings and "vocabulary.ttl" in done.files
    assert any(words.startswith("politeness.delay_s") for words in done.left_out)
    with closing(open_state(found.node())) as state:
        assert stored_options(state)["politeness.delay_s"].value == 2.0


def test_it_is_refused_while_a_crawl_writes_and_when_the_cluster_has_forgotten_a_page(
    source: Directory, found: Cluster
) -> None:
    with locked(source, real_outside(), "crawl"), pytest.raises(DirectoryBusy):
        imported(source, found)
    url = next(one.url for one in catalogue(source) if one.url.path == "/people/1")
    found.run(partial(forgotten.put, entries=entries_of([url.text], 1)))
    with pytest.raises(DirectoryUnusable, match="has forgotten"):
        imported(source, found)
    assert catalogue(found.node()) == []


def test_an_export_has_nothing_that_was_dropped_meanwhile(source: Directory, found: Cluster, tmp_path: Path) -> None:
    imported(source, found)
    there = catalogue(found.node())
    gone = there[0]
    found.run(lambda state: put_seeds(state, [Url("http://seed.test/")], "host"))
    key = (gone.url.host.id, gone.url.id, gone.url.text, gone.fetched_at)
    found.run(partial(rewrites.drop_versions, keys=[key]))
    target = Directory(tmp_path / "target")
    with pytest.raises(DirectoryUnusable, match="run it again"):
        asyncio.run(export_cluster(found.node(), target, real_outside(), silent))
    assert not target.root.exists() and not (tmp_path / "target.part").exists()
