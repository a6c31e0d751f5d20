"""FAULTS X12: a damaged or missing state.db is reported, and restored from the archive."""

import json
import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.archive.test_damage import flipped
from tests.cli.site import QUICK, Site, gossamer, harbour, held, in_this_process

from gossamer.archive.catalogue import Catalogue
from gossamer.base.files import DiskFiles
from gossamer.collection.maintenance import lost_state
from gossamer.frontier.sqlite.maintenance import reason_of
from gossamer.store import captures
from gossamer.store.directory import Directory
from gossamer.store.options import stored_in
from gossamer.values.capture import Kept
from gossamer.values.outcome import Reason

PAGES = 12


@pytest.fixture(scope="module")
def site() -> "Site":
    with Site(harbour(PAGES)).serving() as serving:
        yield serving


@pytest.fixture(scope="module")
def crawled(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("state") / "c"
    done = gossamer("crawl", site.root, *QUICK, "--max-pages", 9, "--dir", root)
    assert done.returncode == 0, done.stderr
    return root


@pytest.fixture
def collection(crawled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(crawled, tmp_path / "c"))


def status(root: Path) -> dict[str, object]:
    return dict(json.loads(gossamer("status", "--json", "--dir", root).stdout))


def damage(root: Path, how: str) -> None:
    path = root / "state.db"
    for tail in ("-wal", "-shm"):
        path.with_name(path.name + tail).unlink(missing_ok=True)
    if how == "gone":
        path.unlink()
    elif how == "header":
        path.write_bytes(b"\0" * 100 + path.read_bytes()[100:])
    else:
        path.write_bytes(path.read_bytes()[:5000])


@pytest.mark.parametrize("how", ["gone", "header", "short"])
def test_F_X12_a_damaged_state_is_reported_and_restored_from_the_archive(
    how: str, collection: Path, site: Site, tmp_path: Path
) -> None:
    before, whole = status(collection), held(collection)
    damage(collection, how)
    for words in (
        "status",
        "config show",
        f"why {site.root}",
        "hosts",
        "politeness",
        f"backup {tmp_path}/elsewhere",
        "rebuild",
    ):
        done = gossamer(*words.split(), "--dir", collection)
        assert done.returncode == 3, (words, done.stdout, done.stderr)
        assert "state.db" in done.stderr and f"gossamer rebuild --state --dir {collection}" in done.stderr, words
    done = gossamer("verify", "--dir", collection)
    assert done.returncode == 4 and f"gossamer rebuild --state --dir {collection}" in done.stderr, done.stderr
    assert "state.db: " in done.stdout and "backup" not in done.stderr
    report = json.loads(gossamer("verify", "--json", "--dir", collection).stdout)
    assert not report["is_whole"] and report["databases"][0]["fault"]
    done = gossamer("crawl", *QUICK, "--dir", collection)
    assert done.returncode in (2, 3) and "rebuild --state" in done.stderr, done.stderr
    done = gossamer("rebuild", "--state", "--seed", site.root, "--dir", collection)
    assert done.returncode == 0, done.stderr
    aside = [path.name for path in collection.glob("state.db.damaged-*")]
    assert bool(aside) == (how != "gone") and "every host waits a full gap" in done.stderr
    after = status(collection)
    assert after["captures"] == before["captures"] and after["pages"] == before["pages"]
    assert after["hosts"] == before["hosts"]
    assert held(collection) == whole, "the views are unchanged"


def test_F_X12_options_are_read_from_the_damaged_file_or_reported_as_lost(collection: Path) -> None:
    before = stored_in(collection)
    assert before["crawl.max_pages"].value == 9
    done = gossamer("rebuild", "--state", "--dir", collection)  # of an intact file
    assert done.returncode == 0 and stored_in(collection) == before and "config show" not in done.stderr
    damage(collection, "header")
    done = gossamer("rebuild", "--state", "--dir", collection)
    assert done.returncode == 4 and stored_in(collection) == {}
    assert "options that the collection was given" in " ".join(done.stderr.split())


def test_F_X12_after_a_restore_a_crawl_continues_where_it_was(collection: Path, site: Site) -> None:
    fetched = set(site.pages_hit())
    damage(collection, "header")
    assert gossamer("rebuild", "--state", "--seed", site.root, "--dir", collection).returncode == 0
    with closing(sqlite3.connect(collection / "state.db")) as state:
        assert state.execute("SELECT count(*) FROM hosts WHERE next_at > ?", (0,)).fetchone()[0] >= 1
    del site.hits[:]
    done = gossamer("crawl", *QUICK, "--dir", collection)
    assert done.returncode == 0, done.stderr
    assert "/robots.txt" in site.hits, "robots.txt is fetched again"
    assert site.pages_hit() and not set(site.pages_hit()) & (fetched - {"/"}), "only pages that were not fetched yet"
    assert status(collection)["pages"] == PAGES + 4
    assert gossamer("rebuild", "--dir", collection).returncode == 0


def test_F_X12_verify_says_how_an_empty_state_is_restored(collection: Path) -> None:
    (collection / "state.db").write_bytes(b"")
    done = gossamer("verify", "--dir", collection)
    assert done.returncode == 4 and f"gossamer rebuild --state --dir {collection}" in done.stderr, done.stderr


def test_erased_pages_and_seeds_are_read_from_the_old_file(collection: Path, site: Site) -> None:
    name = f"{site.root}people/1"
    assert gossamer("forget", name, "--yes", "--quick", "--dir", collection).returncode == 0
    done = gossamer("rebuild", "--state", "--dir", collection)  # of an intact file: nothing is lost
    assert done.returncode == 0 and "1 seed\n" in done.stderr and "not found" not in done.stderr, done.stderr
    assert name in gossamer("forget", "--list", "--dir", collection).stdout


def test_F_X12_an_interrupted_restore_is_completed_by_the_next_run(collection: Path, site: Site) -> None:
    before = status(collection)
    damage(collection, "header")
    for reached in (1, 2, 3):  # reading the archive; entering fetched pages; offering links
        killed = gossamer(
            "rebuild",
            "--state",
            "--seed",
            site.root,
            "--dir",
            collection,
            GOSSAMER_CRASH_AT=f"state.progress:{reached}",
        )
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        done = gossamer("status", "--dir", collection)
        assert done.returncode == 3 and "rebuild --state" in done.stderr, "a partial state is never used"
    done = gossamer("rebuild", "--state", "--seed", site.root, "--dir", collection)
    assert done.returncode == 0, done.stderr
    after = status(collection)
    assert [after[name] for name in ("captures", "pages")] == [before[name] for name in ("captures", "pages")]
    assert len(list(collection.glob("state.db.damaged-*"))) == 1, "one copy of the damaged file is kept"


def test_captures_are_entered_in_batches_without_gaps_or_overlaps(
    collection: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, looked_up = status(collection), []
    monkeypatch.setattr(lost_state, "AT_ONCE", 2)
    kept_from = captures.kept_from

    def counted(*values: Any, **named: Any) -> list[Kept]:
        found = kept_from(*values, **named)
        looked_up.extend(one.place for one in found)
        return found

    monkeypatch.setattr(captures, "kept_from", counted)
    done = in_this_process("rebuild", "--state", "--seed", site.root, "--dir", collection)
    assert done.returncode == 0, done.stderr
    assert status(collection)["captures"] == before["captures"] == len(looked_up) == len(set(looked_up))


def test_without_seeds_the_option_to_give_them_is_named(collection: Path) -> None:
    damage(collection, "gone")
    done = gossamer("rebuild", "--state", "--dir", collection)
    assert done.returncode == 4 and "--seed URL" in done.stderr and "forget --list" in done.stderr


@pytest.mark.parametrize("name", ["links.db", "archive"])
def test_F_X12_an_incomplete_restore_is_no_success(collection: Path, name: str) -> None:
    path = next((collection / name).glob("*")) if name == "archive" else collection / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    done = gossamer("rebuild", "--state", "--dir", collection)
    assert done.returncode == 4 and "not found: " in done.stderr and "gossamer rebuild --state" in done.stderr


def test_F_X1_damage_in_the_archive_is_counted_and_reported(collection: Path, site: Site) -> None:
    directory = Directory(collection)
    with Catalogue(directory, DiskFiles()) as catalogue:
        lost = [kept.place for kept in catalogue.in_order()][2:5:2]
    for place in lost:
        flipped(directory.archive / place.volume, place.offset + place.length // 2)
    damage(collection, "gone")
    done = gossamer("rebuild", "--state", "--seed", site.root, "--dir", collection)
    assert done.returncode == 4, done.stderr
    assert all(f"damaged: {place.volume} at byte {place.offset}" in done.stderr for place in lost)
    assert "2 damaged records" in done.stderr and f"gossamer verify --dir {collection}" in done.stderr


def test_the_outcome_of_a_fetch_follows_from_the_status() -> None:
    expected = {200: Reason.FETCHED, 301: Reason.MOVED, 304: Reason.UNCHANGED, 404: Reason.GONE, 410: Reason.GONE}
    expected |= {403: Reason.CLIENT_ERROR}
    assert {status: reason_of(status) for status in expected} == expected
    assert [reason_of(status) for status in (429, 500, 503)] == [None] * 3
