"""FAULTS X12: a state.db that is damaged or gone is named, and made again from the archive."""

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


def spoil(root: Path, how: str) -> None:
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
def test_F_X12_a_spoilt_state_is_named_and_made_again_from_the_archive(
    how: str, collection: Path, site: Site, tmp_path: Path
) -> None:
    before, whole = status(collection), held(collection)
    spoil(collection, how)
    for words in (
        "status",
        "config show",
        f"why {site.root}",
        "hosts",
        "politeness",
        f"backup {tmp_path}/elsewhere",
        "rebuild",
    ):
        told = gossamer(*words.split(), "--dir", collection)
        assert told.returncode == 3, (words, told.stdout, told.stderr)
        assert "state.db" in told.stderr and f"gossamer rebuild --state --dir {collection}" in told.stderr, words
    told = gossamer("verify", "--dir", collection)
    assert told.returncode == 4 and f"gossamer rebuild --state --dir {collection}" in told.stderr, told.stderr
    assert "state.db: " in told.stdout and "backup" not in told.stderr
    report = json.loads(gossamer("verify", "--json", "--dir", collection).stdout)
    assert not report["is_whole"] and report["databases"][0]["fault"]
    told = gossamer("crawl", *QUICK, "--dir", collection)
    assert told.returncode in (2, 3) and "rebuild --state" in told.stderr, told.stderr
    done = gossamer("rebuild", "--state", "--seed", site.root, "--dir", collection)
    assert done.returncode == 0, done.stderr
    aside = [path.name for path in collection.glob("state.db.damaged-*")]
    assert bool(aside) == (how != "gone") and "every host waits a full gap" in done.stderr
    after = status(collection)
    assert after["captures"] == before["captures"] and after["pages"] == before["pages"]
    assert after["hosts"] == before["hosts"]
    assert held(collection) == whole, "the views are left alone"


def test_F_X12_options_are_read_from_the_damaged_file_or_said_to_be_lost(collection: Path) -> None:
    before = stored_in(collection)
    assert before["crawl.max_pages"].value == 9
    done = gossamer("rebuild", "--state", "--dir", collection)  # of a file that is whole
    assert done.returncode == 0 and stored_in(collection) == before and "config show" not in done.stderr
    spoil(collection, "header")
    done = gossamer("rebuild", "--state", "--dir", collection)
    assert done.returncode == 4 and stored_in(collection) == {}
    assert "options that the collection was given" in " ".join(done.stderr.split())


def test_F_X12_after_that_a_crawl_goes_on_where_it_was(collection: Path, site: Site) -> None:
    visited = set(site.pages_hit())
    spoil(collection, "header")
    assert gossamer("rebuild", "--state", "--seed", site.root, "--dir", collection).returncode == 0
    with closing(sqlite3.connect(collection / "state.db")) as state:
        assert state.execute("SELECT count(*) FROM hosts WHERE next_at > ?", (0,)).fetchone()[0] >= 1
    del site.hits[:]
    done = gossamer("crawl", *QUICK, "--dir", collection)
    assert done.returncode == 0, done.stderr
    assert "/robots.txt" in site.hits, "it is fetched again"
    assert site.pages_hit() and not set(site.pages_hit()) & (visited - {"/"}), "only what was not visited yet"
    assert status(collection)["pages"] == PAGES + 4
    assert gossamer("rebuild", "--dir", collection).returncode == 0


def test_F_X12_verify_says_how_an_empty_state_is_made_again(collection: Path) -> None:
    (collection / "state.db").write_bytes(b"")
    told = gossamer("verify", "--dir", collection)
    assert told.returncode == 4 and f"gossamer rebuild --state --dir {collection}" in told.stderr, told.stderr


def test_what_was_to_be_forgotten_and_the_seeds_are_read_from_the_damaged_file(collection: Path, site: Site) -> None:
    name = f"{site.root}people/1"
    assert gossamer("forget", name, "--yes", "--quick", "--dir", collection).returncode == 0
    done = gossamer("rebuild", "--state", "--dir", collection)  # it is whole: all that is not in the archive is had
    assert done.returncode == 0 and "1 seed\n" in done.stderr and "not found" not in done.stderr, done.stderr
    assert name in gossamer("forget", "--list", "--dir", collection).stdout


def test_F_X12_killed_in_the_middle_it_is_made_whole_by_the_next_run(collection: Path, site: Site) -> None:
    before = status(collection)
    spoil(collection, "header")
    for reached in (1, 2, 3):  # the archive is being read; what was visited is entered; links are offered
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
        told = gossamer("status", "--dir", collection)
        assert told.returncode == 3 and "rebuild --state" in told.stderr, "half a state is never taken for one"
    done = gossamer("rebuild", "--state", "--seed", site.root, "--dir", collection)
    assert done.returncode == 0, done.stderr
    after = status(collection)
    assert [after[name] for name in ("captures", "pages")] == [before[name] for name in ("captures", "pages")]
    assert len(list(collection.glob("state.db.damaged-*"))) == 1, "the damaged file is kept, once"


def test_captures_are_entered_in_batches_that_each_begin_where_the_last_one_ended(
    collection: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, looked_up = status(collection), []
    monkeypatch.setattr(lost_state, "AT_ONCE", 2)
    kept_from = captures.kept_from

    def counted(*given: Any, **named: Any) -> list[Kept]:
        found = kept_from(*given, **named)
        looked_up.extend(one.place for one in found)
        return found

    monkeypatch.setattr(captures, "kept_from", counted)
    done = in_this_process("rebuild", "--state", "--seed", site.root, "--dir", collection)
    assert done.returncode == 0, done.stderr
    assert status(collection)["captures"] == before["captures"] == len(looked_up) == len(set(looked_up))


def test_without_seeds_it_says_so_and_names_the_way(collection: Path) -> None:
    spoil(collection, "gone")
    done = gossamer("rebuild", "--state", "--dir", collection)
    assert done.returncode == 4 and "--seed URL" in done.stderr and "forget --list" in done.stderr


@pytest.mark.parametrize("name", ["links.db", "archive"])
def test_F_X12_what_could_not_be_had_again_is_no_success(collection: Path, name: str) -> None:
    path = next((collection / name).glob("*")) if name == "archive" else collection / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    done = gossamer("rebuild", "--state", "--dir", collection)
    assert done.returncode == 4 and "not found: " in done.stderr and "gossamer rebuild --state" in done.stderr


def test_F_X1_what_is_damaged_in_the_archive_is_counted_and_named(collection: Path, site: Site) -> None:
    directory = Directory(collection)
    with Catalogue(directory, DiskFiles()) as catalogue:
        lost = [kept.place for kept in catalogue.in_order()][2:5:2]
    for place in lost:
        flipped(directory.archive / place.volume, place.offset + place.length // 2)
    spoil(collection, "gone")
    done = gossamer("rebuild", "--state", "--seed", site.root, "--dir", collection)
    assert done.returncode == 4, done.stderr
    assert all(f"damaged: {place.volume} at byte {place.offset}" in done.stderr for place in lost)
    assert "2 damaged records" in done.stderr and f"gossamer verify --dir {collection}" in done.stderr


def test_an_answer_says_how_a_visit_ended() -> None:
    told = {200: Reason.FETCHED, 301: Reason.MOVED, 304: Reason.UNCHANGED, 404: Reason.GONE, 410: Reason.GONE}
    told |= {403: Reason.CLIENT_ERROR}
    assert {status: reason_of(status) for status in told} == told
    assert [reason_of(status) for status in (429, 500, 503)] == [None] * 3
