"""A disk that is full for a while: every process waits and continues (FAULTS X11). On a real, small file system."""

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.cli.site import PATIENCE_S, QUICK, Site, gossamer, page, searchable, started, wait_until

MIB = 1 << 20
PAGES = 60


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    options = ["-t", "tmpfs", "-o", "size=256m,mode=700", "tmpfs", str(disk)]
    if subprocess.run(["mount", *options], capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here: it needs root")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def free(disk: Path) -> int:
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize


@contextmanager
def filled(disk: Path, leave: int) -> Iterator[None]:
    """Fill the disk up to `leave` bytes, and again when space is freed: merges end, and databases remove files."""
    over, full = threading.Event(), threading.Event()

    def fill() -> None:
        with (disk / "ballast").open("wb", buffering=0) as ballast:
            while not over.wait(0.005):
                with suppress(OSError):  # another process took the space first
                    for piece in (MIB, 4096):
                        while free(disk) - leave >= piece:
                            ballast.write(bytes(piece))
                    full.set()

    filler = threading.Thread(target=fill)
    filler.start()
    try:
        assert full.wait(PATIENCE_S)
        yield
    finally:
        over.set()
        filler.join()
        (disk / "ballast").unlink()


def web() -> dict[str, str]:
    """Pages of about 30 kB without a word in common, so that none looks like a trap."""
    names = [f"/{chr(97 + number % 26)}{number}/of-{number * number}" for number in range(PAGES)]
    texts = [" ".join(f"w{number * 2000 + word:x}" for word in range(4000)) for number in range(PAGES)]
    pages = {name: page(f"Lamp {text[:9]}", text) for name, text in zip(names, texts, strict=True)}
    return {"/": page("Start", "All of them.", *pages), **pages}


def state_of(root: Path) -> dict[str, object]:
    status = json.loads(gossamer("status", "--dir", root, "--json").stdout)
    return {process["name"]: process for process in status["processes"]} | {"hints": status["hints"]}


@pytest.mark.parametrize(("leave", "low_water_mib"), [(20 * MIB, "40"), (0, "0")], ids=["below the limit", "no byte"])
def test_F_X11_a_crawl_waits_while_the_disk_is_full_and_loses_nothing(
    small_disk: Path, leave: int, low_water_mib: str
) -> None:
    root, site = small_disk / "collection", Site(web())
    with site.serving():
        crawl = started(
            "crawl", site.root, "--dir", root, *QUICK, "--json", GOSSAMER_ARCHIVE_LOW_WATER_MIB=low_water_mib
        )
        try:
            wait_until(lambda: len(site.hits) > PAGES // 4, "the crawl did not start")
            site.is_open.clear()  # the crawl cannot end before the disk is full
            with filled(small_disk, leave):
                site.is_open.set()
                hits = -1
                while hits != len(site.hits):  # until nothing more is fetched for a while
                    hits = len(site.hits)
                    time.sleep(3)
                assert crawl.poll() is None, crawl.communicate()
                assert hits < PAGES
                if leave:
                    assert state_of(root)["crawler"]["low_disk"] is True  # type: ignore[index]
                assert state_of(root)["hints"], "status says that the disk is full"
                if not leave:
                    time.sleep(20)  # longer than an indexer takes to fail six times
                assert crawl.poll() is None, crawl.communicate()
            out, err = crawl.communicate(timeout=300)
        finally:
            crawl.kill()
    assert crawl.returncode == 0, err
    assert "Traceback" not in err, err
    events = [json.loads(line) for line in out.splitlines()]
    assert {event["event"] for event in events} & {"disk.low", "disk.full"}
    assert len(searchable(root)) == PAGES + 1
    settled = {event["url"] for event in events if event["event"] == "visit.settled" and event["is_page"]}
    assert settled == searchable(root)
