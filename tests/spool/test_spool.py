"""The spool: synced records are followed in order, and missing ones are read from the archive."""

import errno
import os
import random

import pytest
from tests.archive.samples import capture

from gossamer.archive.catalogue import ArchivePlaces
from gossamer.archive.reader import volumes_in
from gossamer.archive.record import response_record
from gossamer.archive.volumes import Volumes
from gossamer.base.errors import DiskFull, GossamerError
from gossamer.base.files import DiskFiles, Files
from gossamer.base.tell import silent
from gossamer.spool.frames import (
    HEAD_BYTES,
    PIECE_BYTES,
    Follower,
    SpooledRecord,
    SpoolPosition,
    SpoolWriter,
    discard,
    frame,
    frames,
    sound_end,
    spooled_volumes,
)
from gossamer.testing import FakeClock, Fault, FaultyFiles

FILES = DiskFiles()


class ArchiveWithSpool:
    """An archive and its spool, written in groups as by the crawler."""

    def __init__(self, root, files: Files = FILES, roll_at_bytes: int = 1 << 30) -> None:
        self.archive, self.spool = root / "archive", root / "spool"
        self.volumes = Volumes(files, self.archive, FakeClock(), silent, roll_at_bytes)
        self.writer = SpoolWriter(files, self.spool, silent)
        self.number = 0

    def open(self) -> "ArchiveWithSpool":
        self.writer.open(self.volumes.open().last_volume)
        return self

    def group(self, *readings: bytes) -> list[SpooledRecord]:
        mark = self.volumes.position()
        try:
            found = [self.add(reading) for reading in readings]
            self.volumes.sync()
            self.writer.sync()
        except GossamerError:
            self.volumes.back_to(mark)
            self.writer.forget()
            raise
        return found

    def add(self, reading: bytes) -> SpooledRecord:
        self.number += 1
        place = self.volumes.append(response_record(capture(self.number, os.urandom(200))))
        self.writer.append(place, reading)
        return SpooledRecord(place, reading)

    def close(self) -> None:
        self.volumes.close()
        self.writer.close()

    def follower(self) -> Follower:
        return Follower(FILES, self.spool, ArchivePlaces(FILES, self.archive))

    def all(self, at_most: int = 1000) -> list[SpooledRecord]:
        return to_the_end(self.follower(), SpoolPosition(), at_most)


def to_the_end(follower: Follower, position: SpoolPosition, at_most: int) -> list[SpooledRecord]:
    found: list[SpooledRecord] = []
    while fresh := follower.follow(found[-1].after if found else position, at_most):
        assert len(fresh) <= at_most
        found.extend(fresh)
    return found


def without_reading(found: list[SpooledRecord]) -> list[SpooledRecord]:
    return [SpooledRecord(one.place, None) for one in found]


def test_frames_are_followed_in_order_and_only_after_a_sync(tmp_path):
    store = ArchiveWithSpool(tmp_path).open()
    follower = store.follower()
    assert follower.follow(SpoolPosition(), 10) == []
    first = store.group(b"one", b"", b"three")
    assert follower.follow(SpoolPosition(), 2) == first[:2]
    assert follower.follow(first[1].after, 2) == first[2:]
    waiting = store.add(b"four")
    assert follower.follow(first[2].after, 2) == []
    store.volumes.sync()
    store.writer.sync()
    assert follower.follow(first[2].after, 2) == [waiting]
    assert follower.follow(first[0].after, 9) == [*first[1:], waiting]  # any other position is searched for


@pytest.mark.parametrize("at_most", [1, 2, 3, 1000])
def test_following_crosses_volumes(tmp_path, at_most):
    store = ArchiveWithSpool(tmp_path, roll_at_bytes=1500).open()
    written = [one for n in range(6) for one in store.group(b"a%d" % n, b"b%d" % n)]
    assert len(volumes_in(FILES, store.archive)) > 2
    assert store.all(at_most) == written
    store.close()
    store = ArchiveWithSpool(tmp_path).open()
    more = store.group(b"later")
    assert store.all(at_most) == written + more


def test_a_group_that_crosses_volumes_is_followed_completely(tmp_path):
    store = ArchiveWithSpool(tmp_path, roll_at_bytes=1500).open()
    before = store.group(b"first")
    follower = store.follower()
    assert follower.follow(SpoolPosition(), 9) == before
    frames_added = [store.add(b"%d" % n) for n in range(9)]
    assert len(volumes_in(FILES, store.archive)) > 2
    assert follower.follow(before[-1].after, 99) == []
    store.volumes.sync()
    store.writer.sync()
    assert to_the_end(follower, before[-1].after, 4) == frames_added


def test_polling_with_nothing_new_reads_nothing(tmp_path):
    class Counting(DiskFiles):
        reads = 0

        def read(self, path, offset=0, length=None):
            Counting.reads += 1
            return super().read(path, offset, length)

    store = ArchiveWithSpool(tmp_path).open()
    (last,) = store.group(b"x")
    follower = Follower(Counting(), store.spool, ArchivePlaces(Counting(), store.archive))
    assert follower.follow(SpoolPosition(), 5) == [last]
    Counting.reads = 0
    for _ in range(10):
        assert follower.follow(last.after, 5) == []
    assert Counting.reads == 0
    store.close()
    (later,) = ArchiveWithSpool(tmp_path).open().group(b"y")
    assert follower.follow(last.after, 5) == [later]


def test_a_volume_without_a_spool_file_is_read_from_the_archive(tmp_path):
    store = ArchiveWithSpool(tmp_path, roll_at_bytes=1500).open()
    written = [store.group(b"%d" % n)[0] for n in range(8)]
    store.close()
    names = spooled_volumes(FILES, store.spool)
    gone = names[1]
    discard(FILES, store.spool, gone, silent)
    expected = [SpooledRecord(one.place, None) if one.place.volume == gone else one for one in written]
    assert store.all() == expected
    assert store.all(1) == expected
    for name in names:
        discard(FILES, store.spool, name, silent)
    last = names[-1]
    assert store.all(2) == [one for one in without_reading(written) if one.place.volume != last]
    ArchiveWithSpool(tmp_path).open()  # marks the last volume as finished
    assert store.all(2) == without_reading(written)


def test_records_whose_readings_were_lost_in_a_kill_are_read_from_the_archive(tmp_path):
    store = ArchiveWithSpool(tmp_path).open()
    spooled = store.group(b"one", b"two")
    lost = [store.add(b"three"), store.add(b"four")]
    store.volumes.sync()  # the process is killed here
    follower = store.follower()
    assert follower.follow(SpoolPosition(), 9) == spooled
    assert follower.follow(spooled[-1].after, 9) == []
    restarted = ArchiveWithSpool(tmp_path).open()
    assert to_the_end(follower, spooled[-1].after, 1) == without_reading(lost)
    later = restarted.group(b"five")
    assert restarted.all() == [*spooled, *without_reading(lost), *later]


def test_a_first_volume_whose_spool_was_never_written_is_read_from_the_archive(tmp_path):
    store = ArchiveWithSpool(tmp_path).open()
    lost = [store.add(b"one")]
    store.volumes.sync()
    follower = store.follower()
    assert follower.follow(SpoolPosition(), 9) == []
    ArchiveWithSpool(tmp_path).open()
    assert follower.follow(SpoolPosition(), 9) == without_reading(lost)


def test_a_damaged_reading_is_read_from_the_archive(tmp_path):
    store = ArchiveWithSpool(tmp_path).open()
    written = store.group(*[b"reading %d" % n * 5 for n in range(6)])
    store.close()
    path = store.spool / (written[0].place.volume + ".spool")
    whole = path.read_bytes()
    lengths = [HEAD_BYTES + len(one.reading) for one in written]
    chance = random.Random(3)
    for _ in range(200):
        at = chance.randrange(sum(lengths))
        flipped = bytearray(whole)
        flipped[at] ^= 1 << chance.randrange(8)
        path.write_bytes(flipped)
        hit = next(n for n in range(6) if at < sum(lengths[: n + 1]))
        expected = [SpooledRecord(one.place, None) if n == hit else one for n, one in enumerate(written)]
        assert store.all(chance.choice([1, 2, 100])) == expected


def test_an_end_truncated_at_any_byte_is_removed(tmp_path):
    store = ArchiveWithSpool(tmp_path).open()
    written = store.group(b"one" * 9, b"two" * 9)
    path = store.spool / (written[0].place.volume + ".spool")
    whole = path.read_bytes()
    first = len(frame(1, 2, 3, b"one" * 9))
    for end in range(first, len(whole)):
        path.write_bytes(whole[:end])
        follower = store.follower()
        assert follower.follow(SpoolPosition(), 9) == written[:1]
        ArchiveWithSpool(tmp_path).open()
        assert path.read_bytes().startswith(whole[:first])
        assert sound_end(FILES, path) == path.stat().st_size
        assert to_the_end(follower, written[0].after, 9) == without_reading(written[1:])


@pytest.mark.parametrize(("code", "written_bytes"), [(errno.ENOSPC, 0), (errno.EIO, 30)])
def test_F_P5_a_full_disk_at_write_k_loses_no_frame_and_repeats_none(tmp_path, code, written_bytes):
    readings = [[b"%d-%d" % (g, n) for n in range(3)] for g in range(3)]

    def run(root, files):
        store = ArchiveWithSpool(root, files, roll_at_bytes=1300).open()
        follower, seen, written = store.follower(), [], []
        for group in readings:
            for _ in range(3):
                try:
                    written += store.group(*group)
                    break
                except GossamerError:
                    seen += follower.follow(seen[-1].after if seen else SpoolPosition(), 99)
        store.close()
        seen += to_the_end(follower, seen[-1].after if seen else SpoolPosition(), 99)
        assert [one.reading for one in written] == [one for group in readings for one in group]
        assert store.all() == written
        assert [one for one in seen if one in written] == written

    counting = FaultyFiles(FILES)
    run(tmp_path / "counting", counting)
    for k in range(1, counting.calls + 1):
        run(tmp_path / str(k), FaultyFiles(FILES, k, Fault(code, written_bytes)))


def test_a_full_disk_at_start_or_stop_loses_nothing(tmp_path):
    files = FaultyFiles(FILES, room_bytes=2000)
    store = ArchiveWithSpool(tmp_path, files).open()
    written = store.group(b"x")
    with pytest.raises(DiskFull):
        store.group(os.urandom(5000))
    store.close()
    files.room_for(10_000)
    again = ArchiveWithSpool(tmp_path, files).open()
    files.grow(50_000)
    assert again.all() == written
    assert again.all() + again.group(b"y") == again.all()


def test_spool_files_that_every_view_has_passed_are_discarded(tmp_path):
    store = ArchiveWithSpool(tmp_path, roll_at_bytes=1500).open()
    written = [store.group(b"%d" % n)[0] for n in range(12)]
    store.close()
    names = spooled_volumes(FILES, store.spool)
    follower = store.follower()
    follower.discard_before([])
    follower.discard_before([SpoolPosition(names[-1], 9), SpoolPosition()])
    assert spooled_volumes(FILES, store.spool) == names
    slow = next(one for one in written if one.place.volume == names[1])
    follower.discard_before([SpoolPosition(names[2], 1), slow.after])
    assert spooled_volumes(FILES, store.spool) == names[1:]


def test_a_frame_longer_than_one_read_is_read_completely(tmp_path):
    store = ArchiveWithSpool(tmp_path).open()
    written = store.group(b"small", os.urandom(2 * PIECE_BYTES + 17), b"small again")
    assert store.all() == written
    assert store.all(1) == written


def test_bytes_that_only_look_like_a_head_are_skipped():
    noise = b"GsF1" * 40
    good = frame(1, 2, 3, b"payload")
    (found,) = frames(noise + good + noise)
    assert (found.at, found.payload) == (len(noise), b"payload")
