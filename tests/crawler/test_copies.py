"""Copies that are made again while a crawl runs."""

import asyncio
from pathlib import Path

import pytest
from tests.archive.disks import on_disks
from tests.archive.test_copies import opened

from gossamer.archive.repair import copies_in
from gossamer.archive.storage import ArchiveFiles
from gossamer.base.files import DiskFiles
from gossamer.crawler.copies import AWAY_S, BYTES_S, CopyKeeper
from gossamer.testing import FakeClock

NAMES = ("one", "two", "three")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    disks = opened(tmp_path, on_disks(tmp_path, NAMES))
    disks.write(40)
    disks.volumes.close()
    return tmp_path / "archive"


def keeper_of(archive: Path, clock: FakeClock) -> tuple[CopyKeeper, ArchiveFiles, list[str]]:
    events: list[str] = []
    files = ArchiveFiles(DiskFiles(), archive, clock)
    return CopyKeeper(files, clock, lambda event, **_: events.append(event)), files, events


def held(files: ArchiveFiles) -> set[int]:
    return {len(at.whole()) for at in copies_in(files)}


def test_a_directory_that_went_away_is_waited_for_before_its_copies_are_made_elsewhere(archive: Path) -> None:
    clock = FakeClock()
    keeper, files, events = keeper_of(archive, clock)
    gone = archive.with_name("two")
    gone.rename(archive.with_name("aside"))
    keeper.look()
    assert events == ["disk.away"]
    assert 1 in held(files)
    clock.advance(AWAY_S / 2)
    keeper.look()
    assert 1 in held(files)
    clock.advance(AWAY_S)
    keeper.look()
    assert held(files) == {2}
    archive.with_name("aside").rename(gone)
    keeper.look()
    assert "disk.back" in events and "copy.dropped" in events
    assert held(files) == {2}, "copies that are one too many are deleted"
    before = len(events)
    keeper.look()
    assert len(events) == before


def test_a_directory_that_returns_in_time_costs_nothing(archive: Path) -> None:
    clock = FakeClock()
    keeper, files, events = keeper_of(archive, clock)
    gone = archive.with_name("two")
    gone.rename(archive.with_name("aside"))
    keeper.look()
    archive.with_name("aside").rename(gone)
    clock.advance(2 * AWAY_S)
    keeper.look()
    assert events == ["disk.away", "disk.back"]
    assert held(files) == {2}


def test_repairs_keep_to_their_rate(archive: Path) -> None:
    clock = FakeClock()
    keeper, files, _ = keeper_of(archive, clock)
    lost = sum(path.stat().st_size for path in archive.with_name("one").glob("*.warc.gz"))
    for path in archive.with_name("one").glob("*.warc.gz*"):
        path.unlink()
    before_s = clock.elapsed_s()
    keeper.look()
    assert held(files) == {2}
    assert clock.elapsed_s() - before_s == pytest.approx(2 * lost / BYTES_S, rel=0.01)


def test_it_stops_at_once_and_leaves_no_half_a_copy(archive: Path) -> None:
    keeper, files, _ = keeper_of(archive, FakeClock())
    for path in archive.with_name("one").glob("*.warc.gz*"):
        path.unlink()
    keeper.stopped.set()
    with pytest.raises(Exception, match=r"^$"):
        keeper.look()
    asyncio.run(keeper.run())
    assert not list(archive.with_name("one").glob("*.part"))
    assert min(held(files)) == 1
