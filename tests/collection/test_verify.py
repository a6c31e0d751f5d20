"""`gossamer verify`: damage is found and reported, and can be repaired or acknowledged."""

import asyncio
import json
import random
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from tests.archive import past
from tests.archive.test_damage import flipped, overwritten
from tests.cli.conftest import Collection
from tests.cli.site import QUICK, Site, gossamer, json_lines

from gossamer.archive.catalogue import Catalogue
from gossamer.base.environment import real_outside
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent, unheard
from gossamer.cli.upkeep.backup import back_up
from gossamer.collection.maintenance.compact import compact
from gossamer.collection.maintenance.verification import checked_volumes
from gossamer.config.slices import Retain
from gossamer.store.directory import Directory, lock_directory
from gossamer.store.sqlite.database import read_only
from gossamer.store.tallies import counts
from gossamer.values.capture import Kept
from gossamer.values.url import Url
from gossamer.views.facts.checkpoints import DIGESTS
from gossamer.views.words.searcher import Searcher

FILES = DiskFiles()
DAYS = 12


@pytest.fixture(scope="session")
def collection(embedded: Collection) -> Collection:
    """Copied and damaged as files: only with its state in state.db."""
    return embedded


def shop(root: Path) -> tuple[Directory, list[Kept]]:
    taken = [past.captured(past.SHOP, past.START_AT + day * past.DAY, past.kettle(f"{day}.00")) for day in range(DAYS)]
    directory = past.collection(root, taken)
    with Catalogue(directory, FILES) as catalogue:
        return directory, list(catalogue.in_order())


def verified(directory: Directory, *words: object) -> tuple[int, dict]:
    done = gossamer("verify", "--dir", directory.root, "--json", *words)
    return done.returncode, json.loads(done.stdout)


def damage(directory: Directory, kept: Kept) -> Path:
    path = directory.archive / kept.place.volume
    flipped(path, kept.place.offset + kept.place.length // 2)
    return path


def test_F_X1_an_intact_collection_has_no_findings(collection: Collection) -> None:
    code, report = verified(Directory(collection.root))
    with closing(read_only(collection.root / "state.db")) as state:
        assert (code, report["is_whole"], report["records"]) == (0, True, counts(state).captures)
    assert report["damaged"] == []
    assert [one["name"] for one in report["views"]] == ["index", "links.db", "graph", "checkpoints"]
    assert not any(one["behind"] or one["missing"] or one["mend"] for one in report["views"])


def test_F_X1_a_damaged_record_is_reported_until_it_is_acknowledged(tmp_path: Path) -> None:
    directory, known = shop(tmp_path / "data")
    damage(directory, known[5])
    for _ in range(2):
        code, report = verified(directory)
        (one,) = report["damaged"]
        assert (code, report["records"], one["number"]) == (4, DAYS - 1, known[5].place.number)
        assert (one["url"], one["fetched_at"][:10]) == (past.SHOP.text, "2026-11-06")
    assert "1" in gossamer("status", "--dir", directory.root, "--json").stdout
    assert json.loads(gossamer("status", "--dir", directory.root, "--json").stdout)["unacknowledged"] == 1
    shown = gossamer("verify", "--dir", directory.root)
    assert shown.returncode == 4 and past.SHOP.text in shown.stdout
    assert "--repair-from" in shown.stderr and "--acknowledge" in shown.stderr
    code, report = verified(directory, "--acknowledge")
    assert (code, report["damaged"][0]["is_acknowledged"]) == (0, True)
    assert verified(directory)[0] == 0
    damage(directory, known[7])
    code, report = verified(directory)
    assert (code, [one["is_acknowledged"] for one in report["damaged"]]) == (4, [True, False])


@pytest.mark.parametrize("how", ["zeroed page", "truncated", "deleted", "zeros", "header"])
def test_F_X1_damage_of_every_kind_is_found_and_repaired_from_a_backup(tmp_path: Path, how: str) -> None:
    directory, known = shop(tmp_path / "data")
    copy = Directory(tmp_path / "copy")
    back_up(directory, copy, real_outside())
    path = directory.archive / known[0].place.volume
    whole = path.read_bytes()
    match how:
        case "zeroed page":
            overwritten(path, known[2].place.offset + 10, bytes(4096)[: len(whole) // 2])
        case "truncated":
            path.write_bytes(whole[: known[6].place.offset + 9])
        case "deleted":
            path.unlink()
        case "zeros":
            path.write_bytes(bytes(len(whole)))
        case "header":
            flipped(path, 0)
    code, report = verified(directory)
    assert code == 4 and report["damaged"]
    lost = {one["number"] for one in report["damaged"] if one["url"]}
    assert len(lost) + report["records"] == DAYS
    code, report = verified(directory, "--repair-from", copy.root)
    assert (code, report["damaged"], report["records"]) == (0, [], DAYS)
    assert path.read_bytes() == whole and FILES.names(directory.archive) == [path.name]
    assert verified(directory)[0] == 0


def test_F_X1_views_made_while_a_record_was_damaged_are_outdated_until_a_rebuild(tmp_path: Path) -> None:
    directory, known = shop(tmp_path / "data")
    copy = Directory(tmp_path / "copy")
    back_up(directory, copy, real_outside())
    damage(directory, known[-1])
    assert gossamer("rebuild", "--dir", directory.root).returncode == 4
    for words in (("--repair-from", copy.root), ()):
        code, report = verified(directory, *words)
        assert (code, report["damaged"]) == (4, [])
        assert [(one["outdated"], one["missing"]) for one in report["views"]] == [(1, 0)] * 4
        assert all("gossamer rebuild" in one["mend"] for one in report["views"])
    assert gossamer("rebuild", "--dir", directory.root).returncode == 0
    assert verified(directory)[0] == 0


def test_F_X1_a_damaged_copy_repairs_nothing(tmp_path: Path) -> None:
    directory, known = shop(tmp_path / "data")
    copy = Directory(tmp_path / "copy")
    back_up(directory, copy, real_outside())
    for one in (directory, copy):
        damage(one, known[3])
    damage(directory, known[8])
    code, report = verified(directory, "--repair-from", copy.root)
    assert code == 4 and [one["number"] for one in report["damaged"]] == [known[3].place.number]
    assert [one["number"] for one in report["repaired"]] == [known[8].place.number]


def test_F_X1_while_another_process_writes_verify_reads_but_marks_nothing(tmp_path: Path) -> None:
    directory, known = shop(tmp_path / "data")
    damage(directory, known[1])
    lock = lock_directory(directory, real_outside(), "crawl")
    code, report = verified(directory)
    assert (code, report["is_marked"], len(report["damaged"])) == (4, False, 1)
    assert gossamer("verify", "--dir", directory.root, "--acknowledge").returncode == 3
    lock.release()


def test_F_X1_a_backup_reports_damage_and_has_all_other_records(tmp_path: Path) -> None:
    directory, known = shop(tmp_path / "data")
    damage(directory, known[4])
    done = gossamer("backup", tmp_path / "copy", "--dir", directory.root)
    assert done.returncode == 4 and past.SHOP.text in done.stderr and "gossamer verify" in done.stderr
    assert verified(Directory(tmp_path / "copy"))[1]["records"] == DAYS - 1
    (directory.archive / known[0].place.volume).unlink()
    done = gossamer("backup", tmp_path / "second", "--dir", directory.root)
    assert done.returncode == 4 and "missing" in done.stderr


def test_F_X1_compaction_drops_marks_with_their_records_and_works_on_truncated_volumes(tmp_path: Path) -> None:
    directory, known = shop(tmp_path / "data")
    path = damage(directory, known[-2])
    path.write_bytes(path.read_bytes()[: known[-1].place.offset + 5])
    assert verified(directory)[0] == 4
    assert verified(directory, "--acknowledge")[0] == 0
    done = asyncio.run(compact(directory, Retain("last", 4), "Gossamer", real_outside(), silent))
    assert done.records == DAYS - 4 and done.damaged
    code, report = verified(directory)
    assert (code, report["records"]) == (0, 2)
    assert [one["fetched_at"][:10] for one in report["damaged"]] == ["2026-11-11", "2026-11-12"]


def test_F_X1_forget_and_import_report_the_damage_they_find(tmp_path: Path) -> None:
    urls = [Url(f"https://{name}.example/") for name in ("first", "second", "other")]
    directory = past.collection(tmp_path / "data", [past.captured(url, past.START_AT, b"<p>words") for url in urls])
    with Catalogue(directory, FILES) as catalogue:
        other = list(catalogue.in_order())[-1]
    warc = Path(shutil.copy(directory.archive / other.place.volume, tmp_path / "given.warc.gz"))
    damage(directory, other)
    for url, more in zip(urls, (["--quick"], []), strict=False):
        forgotten = gossamer("forget", url.text, "--yes", *more, "--dir", directory.root)
        assert forgotten.returncode == 4 and "damaged: " in forgotten.stderr, forgotten.stderr
        assert "gossamer verify" in forgotten.stderr
    (volume,) = directory.archive.glob("*.warc.gz")
    volume.write_bytes(volume.read_bytes()[: volume.stat().st_size // 2])
    imported = gossamer("import", warc, "--dir", directory.root)
    assert imported.returncode == 4 and volume.name in imported.stderr and "gossamer verify" in imported.stderr


def test_F_X1_compact_reports_how_many_of_the_copied_records_are_damaged(tmp_path: Path) -> None:
    directory, known = shop(tmp_path / "data")
    for one in (known[2], known[-2], known[-3]):
        damage(directory, one)
    done = gossamer("compact", "--keep", "last:4", "--dir", directory.root)
    assert done.returncode == 4 and "2 damaged records" in done.stderr, done.stderr
    assert past.SHOP.text in done.stderr and f"gossamer verify --dir {directory.root}" in done.stderr


@pytest.mark.parametrize("how", ["short", "gone"])
def test_F_X1_damage_found_by_a_crawl_is_reported_and_shown_by_status(tmp_path: Path, how: str) -> None:
    root = tmp_path / "data"
    with Site({"/": '<a href="/a">a</a>', "/a": "<p>words of a</p>"}).serving() as site:
        assert gossamer("crawl", site.root, "--dir", root, *QUICK).returncode == 0
        directory = Directory(root)
        (path,) = directory.archive.glob("*.warc.gz")
        if how == "short":
            path.write_bytes(path.read_bytes()[:-20])
        else:
            path.unlink()
        site.hits.clear()
        done = gossamer("crawl", "--dir", root, *QUICK)
        assert done.returncode == 4 and done.stderr.count("the archive is damaged") == 1, done.stderr
        assert "gossamer verify" in done.stderr and path.name in done.stderr
        assert site.pages_hit() == (["/a"] if how == "short" else ["/", "/a"]), "lost pages are fetched again"
        shown = json.loads(gossamer("status", "--json", "--dir", root).stdout)
        assert shown["unacknowledged"] == (1 if how == "short" else 3)
        assert "damaged records in the archive" in gossamer("status", "--dir", root).stdout
    code, report = verified(directory)
    assert code == 4 and sum(bool(one["url"]) for one in report["damaged"]) == shown["unacknowledged"]


def test_F_X1_damage_found_at_the_start_is_an_event_in_json(tmp_path: Path) -> None:
    directory, known = shop(tmp_path / "data")
    path = directory.archive / known[-1].place.volume
    path.write_bytes(path.read_bytes()[: known[-1].place.offset + 5])
    events = json_lines(gossamer("crawl", "--dir", directory.root, "--json", *QUICK).stdout)
    (event,) = [one for one in events if one["event"] == "volume.damaged"]
    assert event["volume"] == path.name and "ends at byte" in str(event["why"])


def test_F_X1_export_skips_damaged_records(tmp_path: Path) -> None:
    directory, known = shop(tmp_path / "data")
    damage(directory, known[4])
    out = tmp_path / "all.warc.gz"
    done = gossamer("export", "warc", "--dir", directory.root, "--out", out)
    assert done.returncode == 4 and "1 damaged record skipped" in done.stderr
    assert str(known[4].place.offset) in done.stderr
    assert out.stat().st_size == (directory.archive / known[0].place.volume).stat().st_size - known[4].place.length


def test_F_X1_the_page_of_a_damaged_capture_is_fetched_again_by_the_next_crawl(tmp_path: Path) -> None:
    root = tmp_path / "data"
    with Site(
        {"/": '<a href="/a">a</a><a href="/b">b</a>', "/a": "<p>words of a</p>", "/b": "<p>words of b</p>"}
    ).serving() as site:
        assert gossamer("crawl", site.root, "--dir", root, *QUICK).returncode == 0
        directory, url = Directory(root), Url(site.root + "a")
        with Catalogue(directory, FILES) as catalogue:
            kept = catalogue.kept(url)
        assert kept is not None
        damage(directory, kept)
        code, report = verified(directory)
        assert (code, report["due_again"], report["damaged"][0]["url"]) == (4, 1, url.text)
        why = gossamer("why", url.text, "--dir", root)
        assert "damaged" in why.stdout
        site.hits.clear()
        assert gossamer("crawl", "--dir", root, *QUICK).returncode == 0
        assert site.pages_hit() == ["/a"]
    with Catalogue(directory, FILES) as catalogue:
        capture = catalogue.capture(url)
    assert capture is not None and b"words of a" in capture.body
    code, report = verified(directory)
    assert (code, report["due_again"]) == (4, 0)


def test_F_X1_rebuild_uses_every_intact_record_and_reports_the_others(collection: Collection, tmp_path: Path) -> None:
    root = tmp_path / "data"
    shutil.copytree(collection.root, root)
    directory = Directory(root)
    with Catalogue(directory, FILES) as catalogue:
        pages = list(catalogue.pages())
    lost = pages[len(pages) // 2]
    damage(directory, lost)
    done = gossamer("rebuild", "--dir", root)
    assert done.returncode == 4 and "gossamer verify" in done.stderr
    assert lost.place.volume in done.stderr and f"at byte {lost.place.offset}" in done.stderr
    searchers = [Searcher(Directory(one).index) for one in (collection.root, root)]
    for searcher in searchers:
        searcher.open()
    assert searchers[1].pages == searchers[0].pages - 1


def test_F_X12_every_table_of_the_graph_is_checked_and_a_truncated_manifest_is_reported(
    collection: Collection, tmp_path: Path
) -> None:
    directory = Directory(tmp_path / "data")
    shutil.copytree(collection.root, directory.root)
    assert verified(directory)[0] == 0
    tables, (manifest,) = list(directory.graph.glob("*.sst")), directory.graph.glob("MANIFEST-*")
    assert len(tables) >= 9, "one for each order of the facts"
    for path in tables:
        flipped(path, path.stat().st_size // 3)
        code, report = verified(directory)
        graph = report["views"][2]
        assert code == 4 and path.name in graph["fault"] and "gossamer rebuild" in graph["mend"]
        flipped(path, path.stat().st_size // 3)
    whole = manifest.read_bytes()
    manifest.write_bytes(whole[: len(whole) // 2])
    code, report = verified(directory)
    assert code == 4 and manifest.name in report["views"][2]["fault"]
    manifest.write_bytes(whole)
    (directory.graph / DIGESTS).unlink()
    code, report = verified(directory)
    assert code == 0 and f"{len(tables)} tables not in {DIGESTS}" in report["views"][2]["says"]


def test_F_P7_flipped_bits_are_found_or_harmless(tmp_path: Path) -> None:
    directory, known = shop(tmp_path / "data")
    path, chance = directory.archive / known[0].place.volume, random.Random(7)
    whole = path.read_bytes()
    with Catalogue(directory, FILES) as catalogue:
        before = [catalogue.read(one) for one in known]
    outside = real_outside()
    for _ in range(150):
        path.write_bytes(whole)
        flipped(path, chance.randrange(len(whole)), chance.randrange(8))
        found = checked_volumes(directory, outside, None, unheard).findings
        assert len(found) <= 1
        if not found:
            with Catalogue(directory, FILES) as catalogue:
                assert [catalogue.read(one) for one in known] == before
