"""The writer of the archive: rolling, torn ends, full disks, failing syncs."""

import errno
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from tests.archive.samples import body_of, capture, fastwarc_count, passes_gzip, warcio_count

from gossamer.archive.reader import Scanned, Torn, read_capture, scan, volumes_in
from gossamer.archive.record import response_record
from gossamer.archive.verify import write_spans
from gossamer.archive.volumes import ArchiveEnd, Cut, Recovered, Volumes, room_left
from gossamer.base.errors import DiskFull, GossamerError
from gossamer.base.files import DiskFiles, Files
from gossamer.base.tell import Tell, silent
from gossamer.testing import FakeClock, Fault, FaultyFiles
from gossamer.values.capture import Capture, Place


def opened(folder: Path, files: Files | None = None, tell=silent, roll_at_bytes: int = 1 << 30) -> Volumes:
    volumes = Volumes(files or DiskFiles(), folder, FakeClock(), tell, roll_at_bytes)
    volumes.open()
    return volumes


def kept_in(folder: Path) -> list[Capture]:
    """Every capture of every volume; each volume must be valid for three readers."""
    files, found = DiskFiles(), []
    for name in volumes_in(files, folder):
        whole = list(scan(files, folder, name))
        assert not any(isinstance(one, Torn) for one in whole), name
        assert [one.place.number for one in whole] == list(range(len(whole)))
        assert passes_gzip(folder / name)
        assert warcio_count(folder / name) == fastwarc_count(folder / name) == len(whole)
        found.extend(one.capture for one in whole if one.capture is not None)
    return found


def test_an_appended_record_is_read_back_from_its_place(tmp_path):
    volumes = opened(tmp_path)
    written = [capture(n, body_of(n)) for n in range(5)]
    places = [volumes.append(response_record(one)) for one in written]
    volumes.close()
    assert [read_capture(DiskFiles(), tmp_path, place) for place in places] == written
    assert [place.number for place in places] == [1, 2, 3, 4, 5]
    assert places[0].volume == "gossamer-00000001-20231114221320.warc.gz"
    assert kept_in(tmp_path) == written


def test_no_file_is_created_before_the_first_append(tmp_path):
    volumes = opened(tmp_path / "archive")
    volumes.sync()
    volumes.close()
    assert volumes_in(DiskFiles(), tmp_path / "archive") == []


def test_a_full_volume_is_followed_by_the_next(tmp_path):
    events = []
    volumes = opened(tmp_path, roll_at_bytes=1500, tell=lambda event, **facts: events.append(event))
    written = [capture(n, os.urandom(300)) for n in range(12)]
    places = [volumes.append(response_record(one)) for one in written]
    volumes.close()
    names = volumes_in(DiskFiles(), tmp_path)
    assert len(names) > 3
    assert sorted({place.volume for place in places}) == names
    assert all((tmp_path / name).stat().st_size <= 1500 for name in names)
    assert kept_in(tmp_path) == written
    assert events.count("volume.opened") == len(names)
    assert events.count("volume.rolled") == len(names) - 1
    assert events.count("archive.appended") == 12


def test_a_group_is_placed_as_its_records_would_be_one_by_one(tmp_path):
    records = [response_record(capture(n, os.urandom(size))) for n, size in enumerate((300, 300, 300, 3000, 10, 700))]
    one_by_one, together = opened(tmp_path / "one", roll_at_bytes=1500), opened(tmp_path / "all", roll_at_bytes=1500)
    places = [one_by_one.append(record) for record in records]
    assert together.append_all(records) == places
    assert together.append_all([]) == []
    one_by_one.close()
    together.close()
    assert len({place.volume for place in places}) > 2
    assert kept_in(tmp_path / "all") == kept_in(tmp_path / "one")


def test_F_P5_a_group_that_does_not_fit_on_the_disk_is_undone_in_all_its_volumes(tmp_path):
    files = FaultyFiles(DiskFiles(), room_bytes=4000)
    volumes = opened(tmp_path, files, roll_at_bytes=1500)
    volumes.append(response_record(capture(0)))
    volumes.sync()
    mark = volumes.position()
    with pytest.raises(DiskFull):
        volumes.append_all([response_record(capture(n, os.urandom(600))) for n in range(1, 12)])
    volumes.back_to(mark)
    files.grow(100_000)
    volumes.append_all([response_record(capture(n)) for n in (1, 2)])
    volumes.close()
    assert [one.url for one in kept_in(tmp_path)] == [capture(n).url for n in range(3)]


def test_a_record_larger_than_a_volume_gets_a_volume(tmp_path):
    volumes = opened(tmp_path, roll_at_bytes=1000)
    written = [capture(n, os.urandom(3000)) for n in range(2)]
    places = [volumes.append(response_record(one)) for one in written]
    volumes.close()
    assert [place.number for place in places] == [1, 1]
    assert kept_in(tmp_path) == written


def test_a_second_start_begins_a_new_volume_even_if_the_clock_was_set(tmp_path):
    for number in range(3):
        volumes = opened(tmp_path)
        volumes.append(response_record(capture(number)))
        volumes.close()
    assert [name[:17] for name in volumes_in(DiskFiles(), tmp_path)] == [f"gossamer-0000000{n}" for n in (1, 2, 3)]
    assert len(kept_in(tmp_path)) == 3


def test_F_P4_a_record_cut_at_any_byte_is_removed_up_to_the_last_complete_one(tmp_path):
    folder = tmp_path / "archive"
    volumes = opened(folder)
    written = [capture(n, body_of(n)) for n in range(3)]
    places = [volumes.append(response_record(one)) for one in written]
    volumes.close()
    name, files = places[0].volume, DiskFiles()
    whole = (folder / name).read_bytes()
    sound = {}
    for end in range(places[2].offset, len(whole)):
        (folder / name).write_bytes(whole[:end])
        found = Volumes(files, folder, FakeClock(), silent).open()
        assert found.last_volume == name
        assert [cut.removed_bytes for cut in found.cuts] == ([end - places[2].offset] if end > places[2].offset else [])
        sound[end] = (folder / name).read_bytes()
    assert set(sound.values()) == {whole[: places[2].offset]}
    assert kept_in(folder) == written[:2]


def test_F_P4_a_volume_cut_in_its_first_record_is_deleted(tmp_path):
    volumes = opened(tmp_path)
    place = volumes.append(response_record(capture()))
    volumes.close()
    for end in (0, 1, 5, 20, place.offset - 1):
        (tmp_path / place.volume).write_bytes((tmp_path / place.volume).read_bytes()[:end])
        found = Volumes(DiskFiles(), tmp_path, FakeClock(), silent).open()
        assert found.last_volume is None
        assert volumes_in(DiskFiles(), tmp_path) == []
        volumes = opened(tmp_path)
        place = volumes.append(response_record(capture()))
        volumes.close()


def test_records_after_a_cut_go_to_a_new_volume(tmp_path):
    volumes = opened(tmp_path)
    first = volumes.append(response_record(capture(1)))
    torn = volumes.append(response_record(capture(2)))
    volumes.close()
    os.truncate(tmp_path / first.volume, torn.offset + 9)
    volumes = opened(tmp_path)
    place = volumes.append(response_record(capture(3)))
    volumes.close()
    assert place.volume > first.volume
    assert kept_in(tmp_path) == [capture(1), capture(3)]


def test_unacknowledged_garbage_is_cut_even_with_complete_records_after_it(tmp_path):
    volumes = opened(tmp_path)
    places = [volumes.append(response_record(capture(n))) for n in range(4)]
    volumes.close()
    path = tmp_path / places[0].volume
    whole = bytearray(path.read_bytes())
    whole[places[2].offset : places[2].offset + 40] = bytes(40)
    path.write_bytes(whole)
    careful = Volumes(DiskFiles(), tmp_path, FakeClock(), silent).open()
    assert careful.cuts == () and len(careful.damaged) == 1
    assert str(places[2].offset) in careful.damaged[0]
    assert path.read_bytes() == whole
    knowing = Volumes(DiskFiles(), tmp_path, FakeClock(), silent).open(_end_after(places[0]))
    assert [cut.offset for cut in knowing.cuts] == [places[2].offset]
    assert kept_in(tmp_path) == [capture(0), capture(1)]


def test_an_acknowledged_record_that_is_missing_is_reported(tmp_path):
    volumes = opened(tmp_path)
    place = volumes.append(response_record(capture()))
    volumes.close()
    os.truncate(tmp_path / place.volume, place.offset)
    found = Volumes(DiskFiles(), tmp_path, FakeClock(), silent).open(_end_after(place))
    assert found.cuts == ()
    assert "before its last settled record" in found.damaged[0]


def test_a_volume_after_the_last_acknowledged_one_may_be_shorter(tmp_path):
    volumes = opened(tmp_path)
    place = volumes.append(response_record(capture(1, os.urandom(5000))))
    volumes.close()
    again = opened(tmp_path)
    later = again.append(response_record(capture(2, b"short")))
    again.close()
    assert later.volume > place.volume
    found = Volumes(DiskFiles(), tmp_path, FakeClock(), silent).open(_end_after(place))
    assert (found.cuts, found.damaged) == ((), ())


def _end_after(place: Place) -> ArchiveEnd:
    return ArchiveEnd(place.volume, place.number + 1, place.offset + place.length)


def append_all(volumes: Volumes, captures: list[Capture]) -> list[Place]:
    return [volumes.append(response_record(one)) for one in captures]


def groups_through(folder: Path, files: FaultyFiles, groups: list[list[Capture]], small: int) -> list[Place]:
    """Write groups as the journey does: all of a group or none of it, and retry after each failure."""
    volumes = opened(folder, files, roll_at_bytes=small)
    safe: list[Place] = []
    for group in groups:
        for _ in range(4):
            mark = volumes.position()
            try:
                places = append_all(volumes, group)
                volumes.sync()
            except GossamerError:
                volumes.back_to(mark)
                continue
            safe.extend(places)
            break
        else:
            pytest.fail("a group was not written")
    volumes.close()
    return safe


@pytest.mark.parametrize(
    ("code", "written_bytes"), [(errno.ENOSPC, 0), (errno.ENOSPC, 3), (errno.EDQUOT, 200), (errno.EIO, 200)]
)
def test_F_P5_a_full_disk_at_any_write_leaves_every_synced_record_and_no_torn_one(tmp_path, code, written_bytes):
    groups = [[capture(3 * g + n, os.urandom(150)) for n in range(3)] for g in range(3)]
    written = [one for group in groups for one in group]
    calls = FaultyFiles(DiskFiles())
    groups_through(tmp_path / "dry", calls, groups, 1100)
    assert calls.calls > 12
    for k in range(1, calls.calls + 1):
        folder = tmp_path / str(k)
        files = FaultyFiles(DiskFiles(), k, Fault(code, written_bytes))
        safe = groups_through(folder, files, groups, 1100)
        assert [read_capture(DiskFiles(), folder, place) for place in safe] == written
        found = [one for name in volumes_in(files, folder) for one in scan(files, folder, name)]
        assert [one.capture for one in found if isinstance(one, Scanned) and one.capture] == written
        if k % 5 == 1:
            assert kept_in(folder) == written
        shutil.rmtree(folder)


def test_F_P5_a_cut_that_fails_too_leaves_the_torn_end_to_the_next_start(tmp_path):
    volumes = opened(tmp_path)
    volumes.append(response_record(capture(0)))
    volumes.close()
    files = FaultyFiles(DiskFiles(), 3, Fault(errno.EIO, 20), on=("append", "cut"), is_lasting=True)
    volumes = opened(tmp_path, files)
    volumes.append(response_record(capture(1)))
    with pytest.raises(GossamerError, match="refused"):
        volumes.append(response_record(capture(2)))
    files.heal()
    volumes.append(response_record(capture(3)))
    volumes.close()
    names = volumes_in(files, tmp_path)
    assert len(names) == 3
    assert isinstance(list(scan(files, tmp_path, names[1]))[-1], Torn)
    assert Volumes(files, tmp_path, FakeClock(), silent).open(ArchiveEnd(names[0], 2, 0)).cuts[0].volume == names[1]
    assert kept_in(tmp_path) == [capture(0), capture(1), capture(3)]


def test_F_P5_writing_continues_when_a_full_disk_grows(tmp_path):
    files = FaultyFiles(DiskFiles(), room_bytes=4000)
    volumes = opened(tmp_path, files)
    safe, number = [], 0
    while True:
        mark = volumes.position()
        try:
            place = volumes.append(response_record(capture(number, os.urandom(500))))
            volumes.sync()
        except DiskFull:
            volumes.back_to(mark)
            break
        safe.append(place)
        number += 1
    assert number >= 3
    for _ in range(20):  # the journey retries
        with pytest.raises(DiskFull):
            volumes.append(response_record(capture(99, os.urandom(2500))))
    assert not room_left(files, tmp_path, 2000)
    files.grow(100_000)
    assert room_left(files, tmp_path, 2000)
    safe.append(volumes.append(response_record(capture(number))))
    volumes.close()
    assert [one.url for one in kept_in(tmp_path)] == [capture(n).url for n in range(number + 1)]
    assert all(read_capture(files, tmp_path, place) for place in safe)


def test_F_P5_retrying_on_a_full_disk_leaves_no_series_of_empty_volumes(tmp_path):
    files = FaultyFiles(DiskFiles(), room_bytes=1500)
    volumes = opened(tmp_path, files)
    for _ in range(10):
        mark = volumes.position()
        with pytest.raises(DiskFull):
            append_all(volumes, [capture(number, os.urandom(300)) for number in range(10)])
        volumes.back_to(mark)
    assert volumes_in(files, tmp_path) == []


def test_F_P6_after_a_failed_sync_nothing_since_the_last_one_is_trusted(tmp_path):
    files = FaultyFiles(DiskFiles(), 2, Fault(errno.EIO), on=("sync",))
    volumes = opened(tmp_path, files)
    first = volumes.append(response_record(capture(1)))
    volumes.sync()
    volumes.append(response_record(capture(2)))
    with pytest.raises(GossamerError):
        volumes.sync()
    again = volumes.append(response_record(capture(2)))
    volumes.close()
    assert again.volume > first.volume
    assert kept_in(tmp_path) == [capture(1), capture(2)]


def test_the_serial_of_an_undone_volume_is_never_used_again(tmp_path):
    volumes = opened(tmp_path)
    first = volumes.append(response_record(capture(1)))
    volumes.sync()
    mark = volumes.position()
    undone = volumes.append(response_record(capture(2)))
    volumes.back_to(mark)
    place = volumes.append(response_record(capture(3)))
    volumes.close()
    assert undone.volume == first.volume < place.volume
    assert kept_in(tmp_path) == [capture(1), capture(3)]


def test_going_back_works_across_volumes(tmp_path):
    volumes = opened(tmp_path, roll_at_bytes=1200)
    volumes.append(response_record(capture(0, os.urandom(300))))
    volumes.sync()
    mark = volumes.position()
    for number in range(1, 9):
        volumes.append(response_record(capture(number, os.urandom(300))))
    assert len(volumes_in(DiskFiles(), tmp_path)) > 3
    volumes.back_to(mark)
    volumes.back_to(volumes.position())
    volumes.append(response_record(capture(9)))
    volumes.close()
    assert [one.url for one in kept_in(tmp_path)] == [capture(0).url, capture(9).url]


@pytest.fixture
def tiny_disk(tmp_path):
    """A real file system of 256 kB."""
    place = tmp_path / "tiny"
    place.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small tmpfs")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "gossamer-test", str(place)], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"a small tmpfs cannot be mounted here: {mounted.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_F_P5_writing_to_a_full_real_disk_continues_when_there_is_room(tiny_disk):
    ballast = tiny_disk / "ballast"
    ballast.write_bytes(bytes(100_000))
    folder, safe = tiny_disk / "archive", []
    volumes = opened(folder)
    for number in range(1000):
        mark = volumes.position()
        try:
            place = volumes.append(response_record(capture(number, os.urandom(5000))))
            volumes.sync()
        except DiskFull:
            volumes.back_to(mark)
            break
        safe.append(place)
    assert 10 < number < 999
    assert not room_left(DiskFiles(), folder, 64_000)
    ballast.unlink()
    assert room_left(DiskFiles(), folder, 64_000)
    safe.append(volumes.append(response_record(capture(number, os.urandom(5000)))))
    volumes.close()
    assert len(kept_in(folder)) == len(safe) == number + 1


@pytest.mark.parametrize("at_once", [True, False])
def test_a_volume_is_filled_to_its_last_byte_and_not_beyond(tmp_path: Path, at_once: bool) -> None:
    records = [response_record(capture(number)) for number in range(3)]

    def places(limit: int) -> list[Place]:
        volumes = opened(tmp_path / str(limit), roll_at_bytes=limit)
        found = volumes.append_all(records) if at_once else [volumes.append(record) for record in records]
        volumes.close()
        return list(found)

    last = places(1 << 30)[-1]
    end = last.offset + last.length
    assert len({place.volume for place in places(end)}) == 1
    assert [place.number for place in places(end - 1)] == [1, 2, 1]


def open_files(folder: Path) -> list[str]:
    return [one.path for one in psutil.Process().open_files() if one.path.startswith(str(folder))]


@pytest.mark.parametrize("on", ["append", "sync", "cut", "appender"])
def test_no_volume_stays_open_after_any_failure(tmp_path: Path, on: str) -> None:
    groups = [[capture(3 * g + n, os.urandom(150)) for n in range(3)] for g in range(3)]
    for k in (1, 2, 3):
        folder = tmp_path / f"{on}-{k}"
        files = FaultyFiles(DiskFiles(), k, Fault(errno.ENOSPC, 3), on=(on,))
        groups_through(folder, files, groups, 1100)
        assert open_files(folder) == [] and len(kept_in(folder)) == 9
    volumes = opened(tmp_path / "undone", roll_at_bytes=1200)
    mark = volumes.position()
    append_all(volumes, groups[0])
    volumes.back_to(mark)
    assert open_files(tmp_path) == []
    write_spans(DiskFiles(), tmp_path / "spans", [(tmp_path / "none", 0, 5)])
    assert open_files(tmp_path) == []


def events_of(story: Callable[[Tell], object]) -> list[tuple[str, dict[str, object]]]:
    events: list[tuple[str, dict[str, object]]] = []

    def tell(event: str, **facts: object) -> None:
        events.append((event, facts))

    story(tell)
    return events


def test_opening_rolling_syncing_and_cutting_volumes_is_reported(tmp_path: Path) -> None:
    records = [response_record(capture(n, os.urandom(400))) for n in range(3)]

    def writing(tell: Tell) -> None:
        volumes = opened(tmp_path, tell=tell, roll_at_bytes=1500)
        volumes.append(records[0])
        mark = volumes.position()
        volumes.append_all(records[1:])
        volumes.sync()
        volumes.back_to(mark)
        volumes.close()

    events = events_of(writing)
    one, two, three = (f"gossamer-0000000{number}-20231114221320.warc.gz" for number in (1, 2, 3))
    written = [
        [
            ("volume.opened", {"volume": name}),
            ("archive.appended", {"volume": name, "number": 1}),
            ("archive.synced", {"volume": name, "count": 2}),
            ("volume.rolled", {"volume": name, "count": 2}),
        ]
        for name in (one, two, three)
    ]
    undone = [("volume.cut", {"volume": name, "offset": (tmp_path / name).stat().st_size}) for name in (two, three)]
    assert events == [*written[0], *written[1], *written[2][:-1], *undone]


def test_cuts_and_damage_found_at_start_are_reported_and_returned(tmp_path: Path) -> None:
    volumes = opened(tmp_path)
    places = append_all(volumes, [capture(n, os.urandom(300)) for n in range(3)])
    volumes.close()
    path = tmp_path / places[0].volume
    whole = path.read_bytes()
    end = places[2].offset + places[2].length
    later = "gossamer-00000009-20231114221320.warc.gz"

    def start(content: bytes, acknowledged: ArchiveEnd | None) -> tuple[Recovered, list[tuple[str, dict[str, object]]]]:
        path.write_bytes(content)
        found: list[Recovered] = []
        events = events_of(
            lambda tell: found.append(Volumes(DiskFiles(), tmp_path, FakeClock(), tell).open(acknowledged))
        )
        return found[0], events

    assert start(whole, None) == (Recovered(path.name), [])
    assert start(whole, ArchiveEnd(path.name, 4, end)) == (Recovered(path.name), [])
    cut = Cut(path.name, end, 7)
    details = {"volume": path.name, "offset": end, "removed_bytes": 7}
    for acknowledged in (
        None,
        ArchiveEnd(path.name, 4, end),
        ArchiveEnd(path.name, 2, places[0].offset + places[0].length),
    ):
        assert start(whole + whole[:7], acknowledged) == (Recovered(path.name, (cut,)), [("volume.cut", details)])
        assert path.read_bytes() == whole
    broken = bytearray(whole)
    broken[places[1].offset + 20] ^= 255
    recovered, events = start(bytes(broken), None)
    (why,) = recovered.damaged
    assert why.startswith(f"{path.name} is damaged at byte {places[1].offset}: ") and path.read_bytes() == broken
    assert events == [("volume.damaged", {"volume": path.name, "why": why})]
    recovered, events = start(bytes(broken), ArchiveEnd(path.name, 2, places[1].offset))
    assert recovered.cuts == (Cut(path.name, places[1].offset, len(whole) - places[1].offset),)
    assert path.read_bytes() == whole[: places[1].offset]
    recovered, events = start(whole[:-9], ArchiveEnd(path.name, 4, end))
    assert recovered.damaged == (f"{path.name} ends at byte {len(whole) - 9}, before its last settled record does",)
    recovered, events = start(whole, ArchiveEnd(later, 2, 99))
    assert recovered == Recovered(later, (), (f"{later} is missing",))
    assert events == [("volume.damaged", {"volume": later, "why": "it is missing"})]
    recovered, events = start(whole[:5], None)
    assert recovered == Recovered(None, (Cut(path.name, 0, 5),)) and not path.exists()
