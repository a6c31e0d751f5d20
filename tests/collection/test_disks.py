"""A collection whose archive is on several disks, with the real program from the first crawl to the last repair."""

import gzip
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.archive.disks import mount
from tests.archive.test_copies import flip
from tests.cli.site import QUICK, Site, gossamer, harbour, page, searchable, started, wait_until

from gossamer.archive.directories import archive_status, with_archive
from gossamer.archive.reader import VOLUME_NAME
from gossamer.base.environment import real_outside
from gossamer.store.directory import Directory
from gossamer.store.disks import MARKER, RECORD

NAMES = ("one", "two")


@pytest.fixture
def site() -> Iterator[Site]:
    with Site(harbour()).serving() as serving:
        yield serving


def on(tmp_path: Path, *names: str, copies: int = 2) -> dict[str, str]:
    return {
        "GOSSAMER_ARCHIVE_DIRECTORIES": ",".join(str(tmp_path / name) for name in names or NAMES),
        "GOSSAMER_ARCHIVE_COPIES": str(copies),
        "GOSSAMER_ARCHIVE_LOW_WATER_MIB": "0",
    }


def crawled(site: Site, tmp_path: Path, **variables: str) -> Path:
    root = tmp_path / "collection"
    done = gossamer("crawl", site.root, "--dir", root, *QUICK, **(variables or on(tmp_path)))
    assert done.returncode == 0, done.stderr
    assert ("on one file system" in done.stderr) == (not variables)
    return root


def volumes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if VOLUME_NAME.fullmatch(path.name)}


def text_on(*folders: Path) -> str:
    return "".join(
        gzip.decompress(content).decode("utf-8", "replace") for at in folders for content in volumes(at).values()
    )


def verified(root: Path, *words: object, **variables: str) -> tuple[int, dict]:
    done = gossamer("verify", "--dir", root, "--json", *words, **variables)
    return done.returncode, json.loads(done.stdout)


def hints_of(root: Path) -> dict[str, str]:
    return {
        one["code"]: one["words"] for one in json.loads(gossamer("status", "--dir", root, "--json").stdout)["hints"]
    }


def test_a_whole_life_on_two_disks(site: Site, tmp_path: Path) -> None:
    root, variables = crawled(site, tmp_path), on(tmp_path)
    one, two = tmp_path / "one", tmp_path / "two"
    assert volumes(one) == volumes(two) != {}
    assert volumes(root / "archive") == {}
    assert all((path.stat().st_mode & 0o077) == 0 for disk in (one, two) for path in (disk, *disk.iterdir()))
    pages = searchable(root)
    assert len(pages) == 8
    assert verified(root)[0] == 0

    (name,) = volumes(one)
    flip(one / name, len(volumes(one)[name]) // 2)
    (two / name).chmod(0o644)
    code, report = verified(root)
    assert code == 4
    assert report["damaged"] == [], "every record is read from the other copy"
    assert [(one["volume"], one["directory"]) for one in report["copies"]] == [(name, str(one))]
    assert "damaged block" in report["copies"][0]["why"]
    assert gossamer("export", "warc", "--dir", root, "-o", tmp_path / "all.warc.gz").returncode == 0
    assert gzip.decompress((tmp_path / "all.warc.gz").read_bytes()) == gzip.decompress(volumes(two)[name])
    code, report = verified(root, "--repair")
    assert (code, report["copies"], report["copies_made"]) == (0, [], 1)
    assert volumes(one) == volumes(two)
    assert (two / name).stat().st_mode & 0o077 == 0

    done = gossamer("crawl", "--dir", root, *QUICK, "--again", "all")
    assert done.returncode == 0, done.stderr
    assert len(volumes(one)) == len(volumes(two)) == 2, "the directories stay with the collection"
    assert gossamer("compact", "--dir", root, "--keep", "last:1").returncode == 0
    assert volumes(one) == volumes(two)
    assert verified(root)[0] == 0

    assert "king of knots" in text_on(one) and "king of knots" in text_on(two)
    assert gossamer("forget", f"{site.root}docs/knots", "--dir", root, "--yes").returncode == 0
    assert "king of knots" not in text_on(one, two, root / "archive")
    assert volumes(one) == volumes(two)
    assert verified(root)[0] == 0

    flip(two / max(volumes(two)), 700)
    assert gossamer("backup", tmp_path / "backup", "--dir", root).returncode == 0
    assert not (tmp_path / "backup" / "archive" / RECORD).exists()
    assert verified(tmp_path / "backup")[1]["damaged"] == []
    assert verified(root, "--repair", **variables)[0] == 0

    (root / "state.db").unlink()
    assert "--state" in gossamer("status", "--dir", root).stderr
    (root / "archive" / RECORD).unlink()
    shutil.rmtree(root / "views-0001", ignore_errors=True)
    assert gossamer("rebuild", "--state", "--dir", root, "--seed", site.root, **variables).returncode in (0, 4)
    assert gossamer("rebuild", "--dir", root).returncode == 0
    assert searchable(root) == pages - {f"{site.root}docs/knots"}


def test_an_archive_is_imported_onto_the_disks(site: Site, tmp_path: Path) -> None:
    root = crawled(site, tmp_path / "first", **on(tmp_path / "first", copies=1))
    gossamer("export", "warc", "--dir", root, "-o", tmp_path / "all.warc.gz")
    again = tmp_path / "again"
    done = gossamer("import", tmp_path / "all.warc.gz", "--dir", again, **on(tmp_path))
    assert done.returncode == 0, done.stderr
    assert volumes(tmp_path / "one") == volumes(tmp_path / "two") != {}
    assert searchable(again) == searchable(root)


def test_an_existing_collection_moves_to_disks_and_back(site: Site, tmp_path: Path) -> None:
    root = tmp_path / "collection"
    assert gossamer("crawl", site.root, "--dir", root, *QUICK).returncode == 0
    before, pages = volumes(root / "archive"), searchable(root)
    assert sorted(path.name for path in (root / "archive").iterdir()) == sorted(before)
    code, report = verified(root, "--repair", **on(tmp_path))
    assert (code, report["copies"]) == (0, [])
    assert volumes(tmp_path / "one") == volumes(tmp_path / "two") == before
    assert volumes(root / "archive") == {}
    assert verified(root, "--repair", **on(tmp_path, "one", "three"))[0] == 0
    assert volumes(tmp_path / "two") == {} and volumes(tmp_path / "three") == before
    assert not (tmp_path / "two" / MARKER).exists()
    assert verified(root, "--repair", GOSSAMER_ARCHIVE_DIRECTORIES="archive")[0] == 0
    assert volumes(root / "archive") == before
    assert volumes(tmp_path / "one") == volumes(tmp_path / "three") == {}
    assert searchable(root) == pages
    assert gossamer("crawl", "--dir", root, *QUICK, "--again", "all").returncode == 0
    assert len(volumes(root / "archive")) == 2


def test_a_missing_disk_is_named_and_a_new_one_is_filled(site: Site, tmp_path: Path) -> None:
    root, two = crawled(site, tmp_path), tmp_path / "two"
    before = volumes(two)
    shutil.rmtree(two)
    two.mkdir()
    code, report = verified(root)
    assert code == 4
    assert {one["why"] for one in report["copies"]} == {
        "it is away: its disk is not mounted, or was emptied",
        "has 1 of 2 copies",
    }
    assert report["damaged"] == []
    found = hints_of(root)
    assert "archive-disk-away" in found and str(two) in found["archive-disk-away"]
    assert found["copies-missing"] == f"Volume {min(before)} has 1 of 2 copies."
    assert os.listdir(two) == []
    code, report = verified(root, "--repair", "--new-disk", two)
    assert (code, report["copies"]) == (0, [])
    assert volumes(two) == before
    assert not {"archive-disk-away", "copies-missing"} & hints_of(root).keys()
    assert "copies-on-one-disk" in hints_of(root)


def test_what_is_forgotten_while_a_disk_is_away_is_erased_there_when_it_returns(site: Site, tmp_path: Path) -> None:
    root, two = crawled(site, tmp_path), tmp_path / "two"
    two.rename(tmp_path / "elsewhere")
    done = gossamer("forget", f"{site.root}docs/knots", "--dir", root, "--yes")
    assert done.returncode == 4
    assert f"NOT ERASED YET: 1 volume in {two}" in done.stderr
    (tmp_path / "elsewhere").rename(two)
    assert "king of knots" in text_on(two)
    assert verified(root, "--repair")[0] == 0
    assert "king of knots" not in text_on(tmp_path / "one", two)
    assert volumes(tmp_path / "one") == volumes(two)


def test_a_volume_whose_only_copy_is_away_is_not_rewritten(site: Site, tmp_path: Path) -> None:
    root = crawled(site, tmp_path, **on(tmp_path, copies=1))
    held = next(name for name in NAMES if volumes(tmp_path / name))
    (tmp_path / held).rename(tmp_path / "elsewhere")
    done = gossamer("forget", f"{site.root}docs/knots", "--dir", root, "--yes")
    assert done.returncode not in (0, 4), done.stderr
    assert "mount it" in done.stderr and held in done.stderr
    code, report = verified(root)
    assert (code, report["due_again"]) == (4, 0), "its pages are not fetched again: they are only away"
    (tmp_path / "elsewhere").rename(tmp_path / held)
    assert gossamer("forget", f"{site.root}docs/knots", "--dir", root, "--yes").returncode == 0
    assert "king of knots" not in text_on(tmp_path / "one", tmp_path / "two")
    assert verified(root)[0] == 0


def test_a_running_crawl_makes_missing_copies(site: Site, tmp_path: Path) -> None:
    root = crawled(site, tmp_path)
    for path in (tmp_path / "two").glob("*.warc.gz*"):
        path.unlink()
    with site.held():
        crawl = started("crawl", site.root, "--dir", root, *QUICK, "--again", "all")
        try:
            first = min(volumes(tmp_path / "one"))
            wait_until(lambda: first in volumes(tmp_path / "two"), "the copy was not made")
        finally:
            site.is_open.set()
            out, err = crawl.communicate(timeout=300)
    assert crawl.returncode == 0, (out, err)
    assert volumes(tmp_path / "one") == volumes(tmp_path / "two")
    assert verified(root)[0] == 0


@pytest.mark.parametrize("point", ["archive.appended:5", "archive.synced:2", "spool.appended:4", "frontier.settled:3"])
def test_F_P1_a_crawl_that_is_killed_continues_with_equal_copies(site: Site, tmp_path: Path, point: str) -> None:
    root, variables = tmp_path / "collection", on(tmp_path)
    killed = gossamer("crawl", site.root, "--dir", root, *QUICK, "--json", GOSSAMER_CRASH_AT=point, **variables)
    assert killed.returncode == -9
    lines = [json.loads(line) for line in killed.stdout.splitlines() if line.endswith("}")]
    done = gossamer("crawl", "--dir", root, *QUICK)
    assert done.returncode == 0, done.stderr
    assert len(searchable(root)) == 8
    code, report = verified(root, "--repair")
    assert (code, report["damaged"], report["copies"]) == (0, [], [])
    assert volumes(tmp_path / "one") == volumes(tmp_path / "two")
    settled = {one["url"] for one in lines if one["event"] == "visit.settled" and one["is_page"]}
    assert settled <= searchable(root)


def test_a_repair_that_is_killed_is_completed_by_the_next(site: Site, tmp_path: Path) -> None:
    root, two = crawled(site, tmp_path), tmp_path / "two"
    (name,) = volumes(two)
    for disk in (tmp_path / "one", two):  # a large volume: what follows the records counts as torn
        with (disk / name).open("ab") as file:
            file.write(bytes(64 << 20))
        (disk / f"{name}.sums").unlink()
    assert verified(root, "--repair")[0] in (0, 4)
    before = volumes(two)
    (two / name).unlink()
    repair = started("verify", "--dir", root, "--repair")
    wait_until(lambda: (two / f"{name}.part").exists() or repair.poll() is not None, "nothing was copied")
    repair.kill()
    repair.communicate()
    assert volumes(two) in ({}, before)
    verified(root, "--repair")
    assert volumes(two) == before
    assert not list(two.glob("*.part"))


def test_a_received_collection_cannot_write_elsewhere(site: Site, tmp_path: Path) -> None:
    root = tmp_path / "collection"
    root.mkdir()
    (root / "gossamer.toml").write_text(f'[archive]\ndirectories = ["{tmp_path}/elsewhere"]\n')
    done = gossamer("crawl", site.root, "--dir", root, *QUICK)
    assert "archive.directories" in done.stderr
    assert not (tmp_path / "elsewhere").exists()
    assert len(volumes(root / "archive")) == 1
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / MARKER).write_text('{"collection":"secret","root":""}')
    (root / "archive" / MARKER).write_text('{"collection":"guessed","root":""}')
    directories = [{"path": str(mine)}, {"path": "archive"}]
    record = {"collection": "guessed", "directories": directories, "copies": 1, "low_water_bytes": 0}
    (root / "archive" / RECORD).write_text(json.dumps(record))
    done = gossamer("crawl", "--dir", root, *QUICK, "--again", "all")
    assert done.returncode == 0, done.stderr
    assert os.listdir(mine) == [MARKER]
    assert len(volumes(root / "archive")) == 2


@pytest.mark.parametrize("what", ["another collection", "not empty", "a file", "twice", "too few"])
def test_a_directory_that_cannot_be_used_is_refused_with_the_reason(site: Site, tmp_path: Path, what: str) -> None:
    names, says = ("one", "two"), ""
    match what:
        case "another collection":
            crawled(site, tmp_path)
            says = "another collection"
        case "not empty":
            (tmp_path / "two").mkdir()
            (tmp_path / "two" / "letter.txt").write_text("mine")
            says = "letter.txt"
        case "a file":
            (tmp_path / "two").write_text("mine")
            says = "cannot be used"
        case "twice":
            names, says = ("one", "x/../one"), "the same"
        case "too few":
            names, says = ("one",), "needs 2 directories"
    done = gossamer("crawl", site.root, "--dir", tmp_path / "other", *QUICK, **on(tmp_path, *names))
    assert done.returncode != 0
    assert says in done.stderr


def test_a_damaged_record_is_made_again_from_the_settings(site: Site, tmp_path: Path) -> None:
    root, variables = crawled(site, tmp_path), on(tmp_path)
    record = root / "archive" / RECORD
    record.write_text("{")
    assert "cannot be read" in gossamer("status", "--dir", root).stderr
    assert gossamer("crawl", "--dir", root, *QUICK, **variables).returncode == 0
    assert verified(root)[0] == 0


@pytest.fixture
def real_disks(tmp_path: Path) -> Iterator[Path]:
    for name in NAMES:
        (tmp_path / name).mkdir()
        mount(tmp_path / name, 8 * 1024)
    try:
        yield tmp_path
    finally:
        for name in (*NAMES, "aside"):
            subprocess.run(["umount", "-l", str(tmp_path / name)], check=False, capture_output=True)


def fill(disk: Path, leave: int) -> None:
    free = os.statvfs(disk)
    (disk / "lost+found").write_bytes(bytes(free.f_bavail * free.f_frsize - leave))


def test_F_X11_a_crawl_waits_while_all_disks_are_full_and_continues(real_disks: Path, site: Site) -> None:
    root, variables = real_disks / "collection", on(real_disks)
    for name in NAMES:
        fill(real_disks / name, leave=8192)  # room for the marker, and for nothing else
    crawl = started("crawl", site.root, "--dir", root, *QUICK, "--json", **variables)
    lines: list[str] = []
    try:
        assert crawl.stdout is not None
        for line in crawl.stdout:
            lines.append(line)
            if json.loads(line)["event"] == "disk.full":
                break
        for name in NAMES:
            (real_disks / name / "lost+found").unlink()
        out, err = crawl.communicate(timeout=300)
    finally:
        crawl.kill()
    assert crawl.returncode == 0, err
    assert len(searchable(root)) == 8
    assert verified(root, "--repair")[0] == 0
    assert volumes(real_disks / "one") == volumes(real_disks / "two")
    assert "disk.full" in lines[-1] and out


def test_a_disk_that_is_unmounted_during_a_crawl_and_mounted_again(real_disks: Path) -> None:
    names = [f"/{chr(97 + number % 26)}{number}/of-{number * number}" for number in range(120)]
    texts = [" ".join(f"w{number * 300 + word:x}" for word in range(300)) for number in range(120)]
    pages = {name: page(f"Lamp {text[:9]}", text) for name, text in zip(names, texts, strict=True)}
    many = Site({"/": page("Start", "All.", *names), **pages})
    two, aside = real_disks / "two", real_disks / "aside"
    aside.mkdir()
    with many.serving():
        root = real_disks / "collection"
        crawl = started("crawl", many.root, "--dir", root, *QUICK, "--json", **on(real_disks))
        try:
            wait_until(lambda: len(many.hits) > 20, "the crawl did not start")
            many.is_open.clear()
            subprocess.run(["mount", "--bind", str(two), str(aside)], check=True)
            subprocess.run(["umount", "-l", str(two)], check=True)
            many.is_open.set()
            wait_until(lambda: len(many.hits) > 60, "the crawl did not go on")
            assert os.listdir(two) == []
            many.is_open.clear()
            subprocess.run(["mount", "--bind", str(aside), str(two)], check=True)
            subprocess.run(["umount", "-l", str(aside)], check=True)
            many.is_open.set()
            _, err = crawl.communicate(timeout=300)
        finally:
            crawl.kill()
    assert crawl.returncode == 0, err
    assert len(searchable(root)) == 121
    directory = Directory(root)
    assert verified(root, "--repair", **on(real_disks))[1]["copies"] == []
    assert volumes(real_disks / "one") == volumes(two)
    status = archive_status(directory, with_archive(directory, real_outside()).files)
    assert [one.state for one in status.disks] == ["there", "there"]
    assert (status.short, status.shared) == ((), ())
