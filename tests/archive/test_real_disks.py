"""The archive on real file systems of a few hundred kB: full, unmounted, read-only, wiped. Needs root."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.archive.disks import mount, on_disks, small_disk
from tests.archive.samples import capture
from tests.archive.test_copies import Disks, flip, opened

from gossamer.archive.record import response_record
from gossamer.archive.repair import CopyRepair, copies_in
from gossamer.archive.storage import ArchiveFiles
from gossamer.archive.volumes import room_left
from gossamer.base.errors import DiskFull
from gossamer.base.files import DiskFiles
from gossamer.store.disks import sharing
from gossamer.testing import FakeClock

KIB = 1024
NAMES = ("one", "two", "three")


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    with ExitStack() as mounted:
        for name in NAMES:
            mounted.enter_context(small_disk(tmp_path / name, 1024))
        yield tmp_path


def two_copies(root: Path, low_water_kib: int = 0) -> Disks:
    return opened(root, on_disks(root, NAMES, 2, low_water_bytes=low_water_kib * KIB))


def fill(disk: Path, leave: int = 0) -> Path:
    ballast, free = disk / "ballast", os.statvfs(disk)
    ballast.write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - leave)))
    return ballast


def unmount(disk: Path) -> None:
    subprocess.run(["umount", "-l", str(disk)], check=True)


def move(old: Path, new: Path) -> None:
    new.mkdir(exist_ok=True)
    subprocess.run(["mount", "--bind", str(old), str(new)], check=True)
    unmount(old)


def copies_of(disks: Disks) -> dict[str, int]:
    return {at.volume: len(at.whole()) for at in copies_in(disks.files)}


@pytest.mark.parametrize("low_water_kib", [0, 200])
def test_a_full_disk_is_passed_over(root: Path, low_water_kib: int) -> None:
    disks = two_copies(root, low_water_kib)
    disks.write(4)
    fill(root / "one", leave=50_000)
    disks.write_patiently(12)
    fill(root / "two", leave=30_000)
    disks.write_patiently(8)
    disks.volumes.close()
    disks.assert_kept()
    assert len(disks.kept) == 24
    last = max(copies_of(disks))
    assert not (root / "one" / last).exists()


def test_F_X11_all_disks_full_and_room_again(root: Path) -> None:
    disks = two_copies(root, low_water_kib=100)
    with pytest.raises(DiskFull):
        disks.write_patiently(200)
    held = len(disks.kept)
    assert held > 20
    assert not room_left(disks.files, disks.archive, 100 * KIB)
    disks.assert_kept()
    ballast = [fill(root / name) for name in NAMES]
    for _ in range(3):
        with pytest.raises(DiskFull):
            disks.write()
    for path in ballast:
        path.unlink()
    assert len(copies_of(disks)) < 12, "waiting leaves no stubs behind"
    for name in NAMES:  # a MiB more, so that the disk counts as having room again
        subprocess.run(["mount", "-o", "remount,size=3m", str(root / name)], check=True)
    assert room_left(disks.files, disks.archive, 100 * KIB)
    disks.write(20)
    disks.volumes.close()
    disks.assert_kept()
    assert CopyRepair(disks.files).run(is_deep=True) == []
    assert set(copies_of(disks).values()) == {2}


def test_a_disk_that_is_unmounted_while_volumes_are_written_and_mounted_again(root: Path) -> None:
    disks = two_copies(root)
    disks.write(5)
    gone = disks.files.copies(disks.kept[-1][0].volume)[0].parent
    aside = root / "aside"
    move(gone, aside)
    try:
        disks.write_patiently(10)
        assert os.listdir(gone) == [], "nothing is written into the mount point"
        disks.assert_kept()
        before = len(copies_of(disks))
        move(aside, gone)
        disks.write_patiently(5)
        disks.volumes.close()
    finally:
        subprocess.run(["umount", "-l", str(aside)], check=False, capture_output=True)
    disks.assert_kept()
    assert len(copies_of(disks)) >= before
    assert CopyRepair(disks.files).run(is_deep=True) == []
    assert set(copies_of(disks).values()) == {2}
    disks.assert_kept(ArchiveFiles(DiskFiles(), disks.archive, FakeClock()))


def test_a_disk_that_becomes_read_only_keeps_its_copies_for_reading(root: Path) -> None:
    disks = two_copies(root)
    disks.write(5)
    place = disks.kept[0][0]
    bad = disks.files.copies(place.volume)[0].parent
    disks.volumes.close()
    subprocess.run(["mount", "-o", "remount,ro", str(bad)], check=True)
    again = opened(root, ArchiveFiles(DiskFiles(), disks.archive, FakeClock()))
    again.number, again.kept = 100, disks.kept
    again.write_patiently(20)
    again.volumes.close()
    again.assert_kept()
    assert {at.volume for at in copies_in(again.files) if bad in at.sizes} == {place.volume}
    other = next(copy for copy in again.files.copies(place.volume) if copy.parent != bad)
    flip(other, place.offset + 20)
    again.assert_kept(ArchiveFiles(DiskFiles(), disks.archive, FakeClock()))
    again.files.remove(disks.archive / place.volume)
    assert again.files.size(disks.archive / place.volume) is None, "what cannot be deleted yet does not count"
    subprocess.run(["mount", "-o", "remount,rw", str(bad)], check=True)
    CopyRepair(again.files).run()
    assert not (bad / place.volume).exists()


def test_with_one_copy_a_disk_that_becomes_read_only_is_left_as_it_is(root: Path) -> None:
    disks = opened(root, on_disks(root, NAMES, 1))
    disks.write(5)
    bad = disks.files.copies(disks.kept[0][0].volume)[0].parent
    mark = disks.volumes.position()
    disks.volumes.append(response_record(capture(700, os.urandom(400_000))))  # ends the volume, and is undone
    subprocess.run(["mount", "-o", "remount,ro,force", str(bad)], check=False, capture_output=True)
    disks.volumes.back_to(mark)
    disks.write_patiently(8)
    disks.volumes.close()
    subprocess.run(["mount", "-o", "remount,ro", str(bad)], check=True)
    again = opened(root, ArchiveFiles(DiskFiles(), disks.archive, FakeClock()))
    again.number, again.kept = 100, disks.kept
    again.write_patiently(5)
    again.volumes.close()
    again.assert_kept()
    assert len(again.kept) == 18


def test_a_wiped_disk_gets_no_volumes_until_somebody_says_that_it_is_new(root: Path) -> None:
    disks = two_copies(root)
    disks.write(8)
    disks.volumes.close()
    wiped = disks.files.copies(disks.kept[0][0].volume)[0].parent
    unmount(wiped)
    mount(wiped, 1024)
    files = ArchiveFiles(DiskFiles(), disks.archive, FakeClock())
    disks.assert_kept(files)
    assert CopyRepair(files).run() == [], "the copies are made again on the disks that are left"
    assert os.listdir(wiped) == []
    assert set(copies_of(disks).values()) == {2}


def test_directories_on_one_file_system_are_found(root: Path) -> None:
    (root / "one" / "a").mkdir()
    (root / "one" / "b").mkdir()
    folders = {"a": root / "one" / "a", "b": root / "one" / "b", "two": root / "two", "none": root / "none"}
    assert sharing(folders) == [("a", "b")]
