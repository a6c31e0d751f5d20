"""The archive on several disks: copies, their reading and their repair; also with faulty disks and power cuts."""

import errno
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.archive.disks import ID, on_disks
from tests.archive.samples import body_of, capture

from gossamer.archive.checksums import BLOCK_BYTES, ChecksumBuilder, read_checksums, sums_path
from gossamer.archive.copies import DiskRoom, chosen, is_worth_growing
from gossamer.archive.directories import reconcile_ends
from gossamer.archive.reader import Scanned, read_capture, scan, volumes_in
from gossamer.archive.record import response_record
from gossamer.archive.repair import CopyRepair, CopyStep, VolumeCopies, copies_in, next_step, scrubbed, shortage
from gossamer.archive.storage import ArchiveFiles
from gossamer.archive.volumes import ArchiveEnd, Volumes
from gossamer.base.errors import DiskFull, GossamerError
from gossamer.base.files import Appender, DiskFiles, Files
from gossamer.store.disks import MARKER
from gossamer.testing import FakeClock, Fault, FaultyFiles, PowerCuts
from gossamer.values.capture import Capture, Place

MIB = 1 << 20
A, B, C = Path("/a"), Path("/b"), Path("/c")


# Where copies go.


def room(folder: Path, mib: int, device: int | None = None, failed: bool = False) -> DiskRoom:
    return DiskRoom(folder, mib * MIB, device, failed)


def test_a_volume_goes_to_the_roomiest_disks() -> None:
    assert chosen([room(A, 5), room(B, 9), room(C, 7)], 2, MIB) == [B, C]


def test_copies_go_to_different_disks_first() -> None:
    rooms = [room(A, 9, device=1), room(B, 8, device=1), room(C, 2, device=2)]
    assert chosen(rooms, 2, MIB) == [A, C]
    assert chosen(rooms, 3, MIB) == [A, C, B]


def test_full_and_failing_disks_are_passed_over_while_there_are_others() -> None:
    assert chosen([room(A, 9, failed=True), room(B, 0), room(C, 2)], 2, MIB) == [C]
    assert chosen([room(A, 9, failed=True), room(B, 0)], 2, MIB) == [B]
    assert chosen([], 2, MIB) == []


@pytest.mark.parametrize(
    ("rooms", "held", "expected"),
    [
        ([room(A, 9), room(B, 9)], [A, B], True),
        ([room(A, 9), room(B, 9)], [A], False),  # a disk is back
        ([room(A, 9), room(B, 0)], [A], True),  # no other can take a copy
        ([room(A, 0), room(B, 9)], [A], False),
        ([room(A, 0), room(B, 9)], [A, B], False),
        ([room(A, 0), room(B, 0)], [A, B], True),  # nothing better: the crawl waits
        ([room(A, 9), room(B, 9), room(C, 9)], [A, B], True),
    ],
)
def test_a_volume_ends_when_a_new_one_would_be_stored_better(
    rooms: list[DiskRoom], held: list[Path], expected: bool
) -> None:
    assert is_worth_growing(rooms, held, copies=2, low_water_bytes=MIB) is expected


# What is done about a volume.


def at(sizes: dict[Path, int], *sealed: Path) -> VolumeCopies:
    return VolumeCopies("v", sizes, frozenset(sealed))


FREE = {A: 100, B: 200, C: 300}


@pytest.mark.parametrize(
    ("found", "wanted", "moves", "expected"),
    [
        (at({A: 9, B: 9}), 2, False, CopyStep("seal")),
        (at({A: 9, B: 9}, A, B), 2, False, None),
        (at({A: 9}, A), 2, False, CopyStep("copy", C)),
        (at({A: 9, B: 4}, A, B), 2, False, CopyStep("copy", B)),
        (at({A: 9, B: 9}, A), 2, False, CopyStep("copy", B)),  # without checksums it is not known to be whole
        (at({A: 9, B: 9, C: 9}, A, B, C), 2, False, CopyStep("drop", A)),  # the fullest disk
        (at({A: 900}, A), 2, False, None),  # no room
        (at({Path("/old"): 9}, Path("/old")), 1, False, None),  # a copy elsewhere counts ...
        (at({Path("/old"): 9}, Path("/old")), 1, True, CopyStep("copy", C)),  # ... unless volumes are to be moved
        (at({Path("/old"): 9, C: 9}, Path("/old"), C), 1, True, CopyStep("drop", Path("/old"))),
    ],
)
def test_one_step_brings_a_volume_closer_to_its_copies(
    found: VolumeCopies, wanted: int, moves: bool, expected: CopyStep | None
) -> None:
    assert next_step(found, [A, B, C], wanted, FREE, moves) == expected


def test_a_volume_with_too_few_copies_is_named() -> None:
    found = shortage(at({A: 9, B: 4}, A, B), 2)
    assert found is not None
    assert found.in_words() == "v: has 1 of 2 copies"
    assert shortage(at({A: 9, B: 9}, A, B), 2) is None


@pytest.mark.parametrize("size", [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 3 * BLOCK_BYTES + 7])
def test_checksums_do_not_depend_on_how_the_bytes_came(size: int) -> None:
    content = os.urandom(size)
    whole, split = ChecksumBuilder(), ChecksumBuilder()
    whole.add(content)
    for start in range(0, size, 1009):
        split.add(content[start : start + 1009])
    assert whole.done(1) == split.done(1)
    assert whole.size == size


# Writing and reading.


class Disks:
    """Volumes on folders, with what was acknowledged."""

    def __init__(self, root: Path, files: ArchiveFiles, roll_at_bytes: int = 300_000) -> None:
        self.root, self.files, self.archive = root, files, root / "archive"
        self.volumes = Volumes(files, self.archive, FakeClock(), lambda *_, **__: None, roll_at_bytes)
        self.kept: list[tuple[Place, Capture]] = []
        self.number = 0

    def write(self, records: int = 1, size: int = 20_000) -> None:
        """As the crawl does: a group that fails for lack of room is undone, and tried again."""
        for _ in range(records):
            one = capture(self.number, os.urandom(size))
            mark = self.volumes.position()
            try:
                place = self.volumes.append(response_record(one))
                self.volumes.sync()
            except DiskFull:
                self.volumes.back_to(mark)
                raise
            self.number += 1
            self.kept.append((place, one))

    def write_patiently(self, records: int = 1, tries: int = 5) -> None:
        for _ in range(records):
            for left in reversed(range(tries)):
                try:
                    self.write()
                    break
                except DiskFull:
                    if not left:
                        raise

    def assert_kept(self, files: Files | None = None) -> None:
        for place, one in self.kept:
            assert read_capture(files or self.files, self.archive, place) == one

    def volumes_on(self, name: str) -> list[str]:
        return volumes_in(DiskFiles(), self.root / name)


def opened(root: Path, files: ArchiveFiles | None = None) -> Disks:
    found = Disks(root, files or on_disks(root))
    found.volumes.open()
    return found


def flip(path: Path, offset: int) -> None:
    content = bytearray(path.read_bytes())
    content[offset] ^= 1
    path.write_bytes(content)


def test_every_record_is_in_two_copies_before_it_is_acknowledged(tmp_path: Path) -> None:
    disks = opened(tmp_path)
    for _ in range(40):
        disks.write()
        for name in ("one", "two"):
            place, one = disks.kept[-1]
            assert read_capture(DiskFiles(), tmp_path / name, place) == one
    disks.volumes.close()
    assert disks.volumes_on("one") == disks.volumes_on("two") == volumes_in(disks.files, disks.archive)
    assert disks.volumes_on("archive") == []
    assert all(len(at.sealed) == 2 for at in copies_in(disks.files))
    for name in disks.volumes_on("one"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_volumes_are_spread_over_the_disks(tmp_path: Path) -> None:
    class Uneven(DiskFiles):
        def room(self, folder: Path) -> int:
            return 10 * MIB - sum(one.stat().st_size for one in folder.iterdir())

    disks = opened(tmp_path, on_disks(tmp_path, ("one", "two", "three"), copies=1, files=Uneven()))
    disks.write(90)
    disks.volumes.close()
    held = [len(disks.volumes_on(name)) for name in ("one", "two", "three")]
    assert min(held) >= 1 and max(held) - min(held) <= 1
    disks.assert_kept()


@pytest.mark.parametrize("damage", ["flipped byte", "cut", "deleted", "zeros"])
def test_a_damaged_copy_is_read_from_the_other_and_replaced(tmp_path: Path, damage: str) -> None:
    disks = opened(tmp_path)
    disks.write(20)
    disks.volumes.close()
    place, _ = disks.kept[3]
    path = tmp_path / "one" / place.volume
    before = path.read_bytes()
    match damage:
        case "flipped byte":
            flip(path, place.offset + 50)
        case "cut":
            os.truncate(path, place.offset + 50)
        case "deleted":
            path.unlink()
        case "zeros":
            path.write_bytes(bytes(len(before)))
    files = ArchiveFiles(DiskFiles(), disks.archive, FakeClock())
    disks.assert_kept(files)
    for name in volumes_in(files, disks.archive):
        assert all(isinstance(one, Scanned) for one in scan(files, disks.archive, name))
    first = next(at for at in copies_in(files) if at.volume == place.volume)
    named = [*scrubbed(files, first), *([one] if (one := shortage(first, 2)) else [])]
    assert named and all(one.directory in ("", str(tmp_path / "one")) for one in named)
    assert CopyRepair(files).run(is_deep=True) == []
    assert path.read_bytes() == before


def test_two_damaged_copies_make_one_good_volume(tmp_path: Path) -> None:
    disks = opened(tmp_path)
    disks.write(12, size=22_000)
    disks.volumes.close()
    place, _ = disks.kept[0]
    one, two = (tmp_path / name / place.volume for name in ("one", "two"))
    before = one.read_bytes()
    flip(one, 100)
    flip(two, BLOCK_BYTES + 100)
    disks.assert_kept()
    assert CopyRepair(disks.files).run(is_deep=True) == []
    assert one.read_bytes() == two.read_bytes() == before


def test_a_block_damaged_in_every_copy_is_named_and_nothing_is_written_over(tmp_path: Path) -> None:
    disks = opened(tmp_path)
    disks.write(12)
    disks.volumes.close()
    paths = [tmp_path / name / disks.kept[0][0].volume for name in ("one", "two")]
    for path in paths:
        flip(path, 100)
    before = [path.read_bytes() for path in paths]
    left = CopyRepair(disks.files).run(is_deep=True)
    assert {one.directory for one in left} == {str(tmp_path / "one"), str(tmp_path / "two")}
    assert [path.read_bytes() for path in paths] == before


def test_a_reader_that_was_open_before_sees_a_repaired_volume(tmp_path: Path) -> None:
    disks = opened(tmp_path)
    disks.write(3)
    disks.volumes.close()
    place, one = disks.kept[0]
    reader = ArchiveFiles(DiskFiles(), disks.archive, FakeClock())
    assert read_capture(reader, disks.archive, place) == one
    content = bytearray((tmp_path / "one" / place.volume).read_bytes())
    content[-1] ^= 1
    part = disks.archive / f"{place.volume}.part"
    with_part = disks.files.appender(part)
    with_part.append(bytes(content))
    with_part.sync()
    with_part.close()
    disks.files.rename(part, disks.archive / place.volume)
    assert all((tmp_path / name / place.volume).read_bytes() == content for name in ("one", "two"))
    assert reader.read(disks.archive / place.volume, len(content) - 1, 1) == content[-1:]


def test_a_collection_that_gets_disks_is_seen_by_readers_that_were_open_before(tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    reader = ArchiveFiles(DiskFiles(), tmp_path / "archive", FakeClock())
    assert volumes_in(reader, tmp_path / "archive") == []
    disks = opened(tmp_path)
    disks.write(2)
    disks.assert_kept(reader)
    assert volumes_in(reader, tmp_path / "archive") == disks.volumes_on("one")


def test_a_record_of_the_volume_that_is_being_written_is_read_from_the_copy_that_has_it(tmp_path: Path) -> None:
    disks = opened(tmp_path)
    disks.write(4)
    place, _ = disks.kept[1]
    for name, kept in zip(("one", "two"), disks.kept[1:3], strict=True):
        flip(tmp_path / name / place.volume, kept[0].offset + kept[0].length // 2)
    disks.assert_kept()
    disks.assert_kept(ArchiveFiles(DiskFiles(), disks.archive, FakeClock()))


def test_a_rewritten_volume_whose_disk_fills_in_the_middle_has_no_torn_copy(tmp_path: Path) -> None:
    on_disks(tmp_path)
    tight = OneBadDisk(DiskFiles(), tmp_path / "one", room_bytes=1500)
    disks = opened(tmp_path, ArchiveFiles(tight, tmp_path / "archive", FakeClock()))
    name = "gossamer-00000001-20231114221320.warc.gz"
    written = disks.files.appender(disks.archive / f"{name}.part")
    for _ in range(3):
        written.append(bytes(1000))
        written.sync()
    written.close()
    disks.files.rename(disks.archive / f"{name}.part", disks.archive / name)
    assert [at.sizes for at in copies_in(disks.files)] == [{tmp_path / "two": 3000}]
    assert disks.files.names(disks.archive) == [name]


# Disks that fail.


class OneBadDisk(FaultyFiles):
    """Only calls below one folder fail."""

    def __init__(self, inner: Files, bad: Path, **how: object) -> None:
        super().__init__(inner, **how)  # type: ignore[arg-type]
        self._real, self.bad = inner, bad

    def appender(self, path: Path) -> Appender:
        return super().appender(path) if path.parent == self.bad else self._real.appender(path)

    def write(self, path: Path, data: bytes) -> None:
        (super() if path.parent == self.bad else self._real).write(path, data)


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EROFS])
@pytest.mark.parametrize("call", ["append", "sync"])
@pytest.mark.parametrize("fail_at", [1, 2, 3, 9, 30])
def test_a_disk_that_fails_at_any_call_loses_nothing_and_the_other_goes_on(
    tmp_path: Path, code: int, call: str, fail_at: int
) -> None:
    faulty = OneBadDisk(
        DiskFiles(), tmp_path / "one", fail_at=fail_at, fault=Fault(code, 100), on={call}, is_lasting=True
    )
    on_disks(tmp_path)
    disks = opened(tmp_path, ArchiveFiles(faulty, tmp_path / "archive", FakeClock()))
    disks.write_patiently(40)
    disks.volumes.close()
    disks.assert_kept()
    assert len(disks.volumes_on("two")) < 12, "a failing disk does not end a volume with each record"
    fresh = ArchiveFiles(DiskFiles(), disks.archive, FakeClock())
    disks.assert_kept(fresh)
    assert CopyRepair(fresh).run(is_deep=True) == []
    assert disks.volumes_on("one") == disks.volumes_on("two")


@pytest.mark.parametrize("call", ["append", "sync"])
def test_with_one_copy_a_failing_disk_ends_its_volume_and_another_disk_takes_the_next(
    tmp_path: Path, call: str
) -> None:
    on_disks(tmp_path, copies=1)
    files = ArchiveFiles(DiskFiles(), tmp_path / "archive", FakeClock())
    bad = files.rooms()[0].folder
    faulty = OneBadDisk(DiskFiles(), bad, fail_at=5, fault=Fault(errno.EIO), on={call}, is_lasting=True)
    disks = opened(tmp_path, ArchiveFiles(faulty, tmp_path / "archive", FakeClock()))
    disks.write_patiently(30)
    disks.volumes.close()
    disks.assert_kept()


def test_an_error_of_the_only_disk_is_reported_as_before(tmp_path: Path) -> None:
    on_disks(tmp_path, ("one",), copies=1)
    faulty = OneBadDisk(DiskFiles(), tmp_path / "one", fail_at=4, fault=Fault(errno.EIO), on={"append"})
    disks = opened(tmp_path, ArchiveFiles(faulty, tmp_path / "archive", FakeClock()))
    with pytest.raises(GossamerError, match="the disk refused to write"):
        disks.write(5)


def test_a_failed_disk_gets_volumes_again_after_a_while(tmp_path: Path) -> None:
    on_disks(tmp_path)
    clock = FakeClock()
    faulty = OneBadDisk(DiskFiles(), tmp_path / "one", fail_at=3, fault=Fault(errno.EIO), on={"append"})
    disks = opened(tmp_path, ArchiveFiles(faulty, tmp_path / "archive", clock))
    disks.write_patiently(5)
    assert len(disks.volumes_on("two")) == 1
    clock.advance(100)
    disks.write_patiently(2)
    disks.volumes.close()
    assert disks.volumes_on("two")[-1] in disks.volumes_on("one")
    assert len(disks.volumes_on("two")) == 2


# Directories that come and go.


def test_an_empty_mount_point_is_not_an_empty_disk(tmp_path: Path) -> None:
    disks = opened(tmp_path)
    disks.write(4)
    (tmp_path / "two").rename(tmp_path / "elsewhere")
    (tmp_path / "two").mkdir()
    disks.write_patiently(4)
    disks.volumes.close()
    assert os.listdir(tmp_path / "two") == []
    disks.assert_kept()
    assert {one.in_words().partition(": ")[2] for one in CopyRepair(disks.files).run()} == {"has 1 of 2 copies"}
    assert os.listdir(tmp_path / "two") == []
    (tmp_path / "two").rmdir()
    (tmp_path / "elsewhere").rename(tmp_path / "two")
    assert CopyRepair(disks.files).run() == []
    assert disks.volumes_on("one") == disks.volumes_on("two")


def test_the_marker_of_another_collection_keeps_us_out(tmp_path: Path) -> None:
    on_disks(tmp_path)
    (tmp_path / "two" / MARKER).write_text('{"collection":"another"}')
    disks = opened(tmp_path, ArchiveFiles(DiskFiles(), tmp_path / "archive", FakeClock()))
    disks.write(4)
    disks.volumes.close()
    assert os.listdir(tmp_path / "two") == [MARKER]


def test_a_volume_that_was_deleted_while_a_disk_was_away_is_deleted_when_it_returns(tmp_path: Path) -> None:
    disks = opened(tmp_path)
    disks.write(3)
    disks.volumes.close()
    (name,) = disks.volumes_on("one")
    (tmp_path / "two").rename(tmp_path / "elsewhere")
    disks.files.refresh()
    disks.files.remove(disks.archive / name)
    (tmp_path / "elsewhere").rename(tmp_path / "two")
    fresh = ArchiveFiles(DiskFiles(), disks.archive, FakeClock())
    assert volumes_in(fresh, disks.archive) == []
    assert fresh.size(disks.archive / name) is None
    CopyRepair(fresh).run()
    assert disks.volumes_on("two") == []
    assert not sums_path(tmp_path / "two" / name).exists()
    assert fresh.record is not None and not fresh.record.erase


def test_more_and_fewer_copies_are_reached_by_repair(tmp_path: Path) -> None:
    disks = opened(tmp_path, on_disks(tmp_path, ("one", "two", "three"), copies=1))
    disks.write(30)
    disks.volumes.close()
    for copies in (3, 2, 1, 2):
        files = on_disks(tmp_path, ("one", "two", "three"), copies)
        assert CopyRepair(files).run() == []
        assert {len(at.sizes) for at in copies_in(files)} == {copies}
        disks.assert_kept(files)


def test_an_old_archive_counts_as_a_copy_until_its_volumes_are_moved(tmp_path: Path) -> None:
    plain = Volumes(DiskFiles(), tmp_path / "archive", FakeClock(), lambda *_, **__: None, 100_000)
    plain.open()
    written = [capture(number, body_of(number)) for number in range(20)]
    places = [plain.append(response_record(one)) for one in written]
    plain.close()
    files = on_disks(tmp_path)
    assert [read_capture(files, tmp_path / "archive", place) for place in places] == written
    assert CopyRepair(files).run() == []
    assert all(tmp_path / "archive" in at.sizes and len(at.sizes) == 2 for at in copies_in(files))
    assert CopyRepair(files).run(moves=True) == []
    assert all(set(at.sizes) == {tmp_path / "one", tmp_path / "two"} for at in copies_in(files))
    assert [read_capture(files, tmp_path / "archive", place) for place in places] == written


def test_a_copy_that_does_not_fit_is_reported_and_leaves_nothing(tmp_path: Path) -> None:
    disks = opened(tmp_path)
    disks.write(4)
    disks.volumes.close()
    (name,) = disks.volumes_on("two")
    (tmp_path / "two" / name).unlink()
    tight = OneBadDisk(DiskFiles(), tmp_path / "two", room_bytes=1000)
    files = ArchiveFiles(tight, disks.archive, FakeClock())
    (left,) = CopyRepair(files).run()
    assert left.why == "has 1 of 2 copies"
    assert disks.volumes_on("two") == []
    assert not any(one.endswith(".part") for one in os.listdir(tmp_path / "two"))


# Power cuts.


@pytest.mark.parametrize("kind", PowerCuts.KINDS)
def test_F_P4_a_power_cut_at_any_moment_keeps_what_was_acknowledged_in_equal_copies(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "disks"
    root.mkdir()
    states: list[tuple[dict[Path, bytes | None], dict[Path, bytes | None], list[tuple[Place, Capture]]]] = []
    disks: list[Disks] = []

    def look() -> None:
        if disks:  # the two disks lose power together, but one may have kept what the other lost
            states.append((calls.state(kind), calls.state("kept"), list(disks[0].kept)))

    calls = PowerCuts(root, look)
    files = on_disks(root, files=DiskFiles(calls))
    disks.append(opened(root, files))
    disks[0].write(9)
    disks[0].volumes.close()
    assert len(states) > 20
    for number, (lost, whole, kept) in enumerate(states):
        for is_second_better in (False, True):
            again = tmp_path / f"after-{number}-{is_second_better}"
            restore(again, {**lost, **{p: c for p, c in whole.items() if is_second_better and p.parts[0] == "two"}})
            survive(again, kept)
            shutil.rmtree(again)


def restore(root: Path, state: dict[Path, bytes | None]) -> None:
    root.mkdir()
    for path, content in sorted(state.items()):
        if content is None:
            (root / path).mkdir()
        else:
            (root / path).write_bytes(content)


def survive(root: Path, kept: Sequence[tuple[Place, Capture]]) -> None:
    """A start after the cut, as `open_archive` does it."""
    archive = root / "archive"
    files = ArchiveFiles(DiskFiles(), archive, FakeClock())
    end = None
    if kept:
        place = kept[-1][0]
        end = ArchiveEnd(place.volume, place.number + 1, place.offset + place.length)
    reconcile_ends(files, end, lambda *_, **__: None)
    volumes = Volumes(files, archive, FakeClock(), lambda *_, **__: None, 300_000)
    assert volumes.open(end).damaged == ()
    for place, one in kept:
        for folder in (archive, root / "one", root / "two"):
            reader = files if folder == archive else DiskFiles()
            assert read_capture(reader, folder, place) == one
    one = capture(900)
    place = volumes.append(response_record(one))
    volumes.close()
    assert read_capture(files, archive, place) == one
    assert CopyRepair(files).run(is_deep=True) == []
    for at in copies_in(files):
        assert len({(folder / at.volume).read_bytes() for folder in at.sizes}) == 1
        assert len(at.sealed) == 2


def test_what_follows_damage_in_every_copy_is_never_cut(tmp_path: Path) -> None:
    disks = opened(tmp_path)
    disks.write(6)
    paths = [tmp_path / name / disks.kept[0][0].volume for name in ("one", "two")]
    for number, path in enumerate(paths):  # the same record in both, and another end
        flip(path, disks.kept[2][0].offset + 40 + number)
    os.truncate(paths[1], disks.kept[5][0].offset)
    assert CopyRepair(ArchiveFiles(DiskFiles(), disks.archive, FakeClock())).run() == []
    files = ArchiveFiles(DiskFiles(), disks.archive, FakeClock())
    for place, one in (*disks.kept[:2], *disks.kept[3:]):
        assert read_capture(files, disks.archive, place) == one
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_copies_that_ended_at_different_records_are_joined(tmp_path: Path) -> None:
    disks = opened(tmp_path)
    disks.write(6)
    one, two = (tmp_path / name / disks.kept[0][0].volume for name in ("one", "two"))
    before = one.read_bytes()
    flip(one, disks.kept[1][0].offset + 40)
    os.truncate(two, disks.kept[4][0].offset + 10)
    files = ArchiveFiles(DiskFiles(), disks.archive, FakeClock())
    reconcile_ends(files, None, lambda *_, **__: None)
    assert one.read_bytes() == two.read_bytes() == before


def test_a_torn_end_is_cut_on_every_copy_to_the_same_length(tmp_path: Path) -> None:
    disks = opened(tmp_path)
    disks.write(6)
    last = disks.kept[-1][0]
    paths = [tmp_path / name / last.volume for name in ("one", "two")]
    os.truncate(paths[0], last.offset + 10)
    os.truncate(paths[1], last.offset + 500)
    files = ArchiveFiles(DiskFiles(), disks.archive, FakeClock())
    reconcile_ends(files, None, lambda *_, **__: None)
    Volumes(files, disks.archive, FakeClock(), lambda *_, **__: None).open()
    assert [path.stat().st_size for path in paths] == [last.offset] * 2


def test_checksums_of_a_volume_that_was_cut_afterwards_do_not_count(tmp_path: Path) -> None:
    disks = opened(tmp_path)
    disks.write(6)
    disks.volumes.close()
    last = disks.kept.pop()[0]
    for name in ("one", "two"):
        os.truncate(tmp_path / name / last.volume, last.offset)  # and a power cut brought the checksums back
    files = ArchiveFiles(DiskFiles(), disks.archive, FakeClock())
    reconcile_ends(files, None, lambda *_, **__: None)
    assert read_checksums(DiskFiles(), tmp_path / "one" / last.volume) is None
    disks.assert_kept(files)
    assert CopyRepair(files).run() == []


Wrong = Callable[[Path], None]
WRONG: dict[str, Wrong] = {
    "missing": lambda path: path.unlink(),
    "damaged": lambda path: flip(path, 40),
    "another kind": lambda path: path.write_bytes(b"x" * 60),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_copy_without_good_checksums_is_checked_with_those_of_another(tmp_path: Path, wrong: str) -> None:
    disks = opened(tmp_path)
    disks.write(6)
    disks.volumes.close()
    (name,) = disks.volumes_on("one")
    WRONG[wrong](sums_path(tmp_path / "one" / name))
    flip(tmp_path / "one" / name, disks.kept[2][0].offset + 30)
    files = ArchiveFiles(DiskFiles(), disks.archive, FakeClock())
    disks.assert_kept(files)
    assert CopyRepair(files).run(is_deep=True) == []
    assert read_checksums(DiskFiles(), tmp_path / "one" / name) is not None
    assert files.record is not None and files.record.collection == ID
