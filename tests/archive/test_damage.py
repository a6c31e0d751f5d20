"""Damage in a volume: every undamaged record is still read, under its own number, and the others are reported."""

import asyncio
import errno
import gzip
import os
import random
import struct
import zlib
from itertools import accumulate

import pytest
from tests.archive.samples import capture
from tests.archive.test_catalogue import acknowledge, kept

from gossamer.archive.catalogue import ArchivePlaces, adopt
from gossamer.archive.reader import (
    GZIP_MAGIC,
    PROBE_BYTES,
    DamagedBytes,
    Member,
    Scanned,
    Torn,
    members,
    read_capture,
    scan,
    volumes_of,
)
from gossamer.archive.record import response_record
from gossamer.archive.volumes import ArchiveEnd, Volumes
from gossamer.base.errors import ArchiveDamaged
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.spool.frames import Follower, SpoolPosition, SpoolWriter
from gossamer.store import captures
from gossamer.store.directory import Directory
from gossamer.store.sqlite.database import Database
from gossamer.testing import FakeClock

FILES = DiskFiles()


def archive_of(folder, written):
    volumes = Volumes(FILES, folder, FakeClock(), silent)
    volumes.open()
    found = volumes.append_all([response_record(one) for one in written])
    volumes.close()
    return found


def catalogued(state, written, places):
    async def story():
        async with Database(state, FakeClock(), silent) as database:
            await acknowledge(database, [kept(*pair) for pair in zip(written, places, strict=True)])

    asyncio.run(story())


def overwritten(path, at, with_bytes):
    with path.open("r+b") as file:
        file.seek(at)
        file.write(with_bytes)


def flipped(path, at, bit=0):
    whole = path.read_bytes()
    overwritten(path, at, bytes([whole[at] ^ 1 << bit]))


def spots(place):
    """Positions in the gzip header, the deflate data, the CRC and the length of a record."""
    end = place.offset + place.length
    return [place.offset, place.offset + 2, place.offset + 12, place.offset + place.length // 2, end - 6, end - 2]


def test_F_X1_one_flipped_bit_loses_one_record_and_changes_no_number(tmp_path):
    written = [capture(n, os.urandom(700)) for n in range(8)]
    known = archive_of(tmp_path, written)
    path = tmp_path / known[0].volume
    whole = path.read_bytes()
    for hit in (0, 3, 7):
        for at in spots(known[hit]):
            path.write_bytes(whole)
            flipped(path, at)
            found = list(scan(FILES, tmp_path, path.name))
            assert [one.place for one in found if isinstance(one, Scanned)][1:] == known[:hit] + known[hit + 1 :]
            (bad,) = [one for one in found if not isinstance(one, Scanned)]
            assert (bad.offset, bad.length) == (known[hit].offset, known[hit].length), at
            assert list(ArchivePlaces(FILES, tmp_path).of(path.name))[1:] == known
            with pytest.raises(ArchiveDamaged):
                read_capture(FILES, tmp_path, known[hit])


@pytest.mark.parametrize("start", [0, 4096, 9000])
def test_F_X1_a_zeroed_disk_page_is_one_stretch_of_damage(tmp_path, start):
    written = [capture(n, os.urandom(900)) for n in range(20)]
    known = archive_of(tmp_path, written)
    path = tmp_path / known[0].volume
    before = path.read_bytes()
    overwritten(path, start, bytes(4096))
    after = path.read_bytes()
    found = list(scan(FILES, tmp_path, path.name))
    spans = [slice(place.offset, place.offset + place.length) for place in known]
    whole = [one for one, span in zip(written, spans, strict=True) if before[span] == after[span]]
    assert [one.capture for one in found if isinstance(one, Scanned) and one.capture] == whole
    (bad,) = [one for one in found if isinstance(one, DamagedBytes)]
    touched = [at for at in range(len(before)) if before[at] != after[at]]
    assert bad.offset <= touched[0] and bad.offset + bad.length > touched[-1]
    reported = []
    ((_, pieces),) = volumes_of(FILES, tmp_path, lambda name, damage: reported.append((name, damage)))
    assert len(list(pieces)) == sum(isinstance(one, Scanned) for one in found) and reported == [(path.name, bad)]


def test_F_X1_no_record_outside_a_zeroed_disk_page_is_lost(tmp_path):
    """Zeros within deflate data can often be inflated, with the members after them, as if they were one member."""
    path = tmp_path / "gossamer-00000001-20231114221320.warc.gz"
    for seed in range(60):
        chance = random.Random(seed)
        records = [response_record(capture(number, chance.randbytes(900))) for number in range(12)]
        before = b"".join(records)
        start = chance.randrange(len(before) - 4096)
        after = before[:start] + bytes(4096) + before[start + 4096 :]
        path.write_bytes(after)
        ends = list(accumulate(map(len, records)))
        spans = [slice(end - len(record), end) for record, end in zip(records, ends, strict=True)]
        untouched = [span.start for span in spans if before[span] == after[span]]
        assert [one.offset for one in members(FILES, path) if isinstance(one, Member)] == untouched, seed


@pytest.mark.parametrize("field", [8, 4])
def test_F_X1_damage_in_one_field_of_the_trailer_ends_with_its_member(tmp_path, field):
    path = tmp_path / "gossamer-00000001-20231114221320.warc.gz"
    record = response_record(capture(1))
    path.write_bytes(record * 3)
    overwritten(path, 2 * len(record) - field, b"\xff\xff\xff\xff")
    _, bad, last = members(FILES, path)
    assert isinstance(bad, DamagedBytes) and (bad.offset, bad.length) == (len(record), len(record))
    assert isinstance(last, Member)


def test_F_X1_the_catalogue_keeps_numbers_and_offsets_despite_damage(tmp_path):
    written = [capture(n, os.urandom(900)) for n in range(20)]
    folder, state = tmp_path / "archive", tmp_path / "state.db"
    known = archive_of(folder, written)
    catalogued(state, written[:15], known[:15])
    path = folder / known[0].volume
    overwritten(path, known[4].offset, bytes(known[7].offset - known[4].offset))
    places = ArchivePlaces(FILES, folder, Directory(tmp_path))
    assert list(places.of(path.name))[1:] == known
    assert list(places.of(path.name, known[5].offset, known[5].number)) == known[5:]
    path.unlink()
    assert places.known_volumes() == [path.name] and list(places.of(path.name)) == known[:15]


def test_F_X1_the_follower_reaches_every_record_after_damage_and_in_a_missing_volume(tmp_path):
    folder, state = tmp_path / "archive", tmp_path / "state.db"
    written = [capture(n, os.urandom(900)) for n in range(12)]
    known = archive_of(folder, written[:6]) + archive_of(folder, written[6:])
    catalogued(state, written, known)
    overwritten(folder / known[0].volume, known[1].offset, bytes(3000))
    (folder / known[-1].volume).unlink()
    SpoolWriter(FILES, tmp_path / "spool", silent).open(known[-1].volume)
    follower = Follower(FILES, tmp_path / "spool", ArchivePlaces(FILES, folder, Directory(tmp_path)))
    assert [frame.place for frame in follower.follow(SpoolPosition(), 100)] == known


def test_F_X1_records_of_a_missing_volume_keep_their_places_for_any_batch_size(tmp_path, monkeypatch):
    monkeypatch.setattr("gossamer.archive.catalogue.AT_ONCE", 2)
    folder, state = tmp_path / "archive", tmp_path / "state.db"
    folder.mkdir()
    written = [capture(number) for number in range(7)]
    known = archive_of(folder, written)
    catalogued(state, written, known)
    (folder / known[0].volume).unlink()
    places = ArchivePlaces(FILES, folder, Directory(tmp_path))
    assert list(places.of(known[0].volume)) == known
    assert list(places.of(known[0].volume, known[3].offset, 3)) == known[3:]
    assert places.volumes() == [] and places.known_volumes() == [known[0].volume]


def test_F_X1_a_lost_catalogue_is_rebuilt_past_damage_and_the_damage_is_reported(tmp_path):
    folder = tmp_path / "archive"
    known = archive_of(folder, [capture(n, os.urandom(900)) for n in range(6)])
    flipped(folder / known[0].volume, known[2].offset + 400)
    events = []

    async def story():
        async with Database(tmp_path / "state.db", FakeClock(), silent) as database:
            added = await adopt(database, FILES, folder, lambda event, **facts: events.append((event, facts["offset"])))
            return added, await database.read(lambda connection: list(captures.in_order(connection)))

    added, found = asyncio.run(story())
    assert added == 5 and [one.place for one in found] == known[:2] + known[3:]
    assert events == [("volume.damaged", known[2].offset)]


def test_F_X1_a_missing_volume_is_reported_and_its_serial_is_not_used_again(tmp_path):
    known = archive_of(tmp_path, [capture(1)])
    (tmp_path / known[0].volume).unlink()
    volumes = Volumes(FILES, tmp_path, FakeClock(), silent)
    found = volumes.open(ArchiveEnd(known[0].volume, 2, known[0].offset + known[0].length))
    assert found.damaged == (f"{known[0].volume} is missing",) and found.last_volume == known[0].volume
    assert volumes.append(response_record(capture(2))).volume > known[0].volume


def test_F_X1_a_record_within_a_damaged_record_is_not_taken_for_an_archived_one(tmp_path):
    """A page may itself be a WARC file, stored uncompressed in the volume because it cannot be compressed further."""
    inner, outer = response_record(capture(50)), gzip.decompress(response_record(capture(2, b"X" * 40)))
    stored = zlib.compressobj(0, wbits=31)
    holding = stored.compress(outer.replace(b"X" * 40, inner * 4)) + stored.flush()
    path = tmp_path / "gossamer-00000001-20231114221320.warc.gz"
    first, last = response_record(capture(1)), response_record(capture(3))
    path.write_bytes(first + holding + last)
    flipped(path, len(first) + holding.index(inner) - 9)
    found = list(members(FILES, path))
    assert [type(one) for one in found] == [Member, DamagedBytes, Member]
    assert (found[1].offset, found[1].length) == (len(first), len(holding))


class CountingFiles(DiskFiles):
    def __init__(self):
        self.bytes = 0

    def read(self, path, offset=0, length=None):
        found = super().read(path, offset, length)
        self.bytes += len(found)
        return found


def test_F_X1_zeros_and_false_record_starts_take_time_in_proportion_to_their_size(tmp_path):
    path = tmp_path / "gossamer-00000001-20231114221320.warc.gz"
    record = response_record(capture(1))
    stored = zlib.compressobj(0, wbits=31)
    endless = stored.compress(b"WARC/1.1 " + os.urandom(60_000)) + stored.flush()
    overlapping = (endless[:10] + struct.pack("<BHH", 0, 0x7FFF, 0x8000) + b"WARC/1.1 ") * 40_000
    for garbage in (bytes(4 << 20), GZIP_MAGIC * 300_000, endless[:-9] * 20, overlapping):
        path.write_bytes(garbage + record * 100)
        files = CountingFiles()
        found = list(members(files, path))
        assert isinstance(found[0], DamagedBytes) and found[0].length < len(garbage) + 99 * len(record)
        assert (
            found[0].length == len(garbage) or garbage is overlapping
        )  # some records are passed over unseen, never all
        assert {one.length for one in found[1:]} == {len(record)}
        assert files.bytes < 2 * PROBE_BYTES + 40 * len(garbage)
        path.write_bytes(garbage)
        assert all(isinstance(one, DamagedBytes | Torn) for one in members(FILES, path))


def test_F_X1_bytes_that_the_disk_cannot_read_are_damage(tmp_path):
    known = archive_of(tmp_path, [capture(n, os.urandom(100_000)) for n in range(12)])

    class FailingFiles(DiskFiles):
        def read(self, path, offset=0, length=None):
            at = known[4].offset + 50_000
            if offset <= at < offset + (length or 1):
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return super().read(path, offset, length)

    found = list(scan(FailingFiles(), tmp_path, known[0].volume))
    (bad,) = [one for one in found if isinstance(one, DamagedBytes)]
    assert "Input/output error" in bad.why and bad.offset <= known[4].offset
    read = [one.place.offset for one in found if isinstance(one, Scanned)]
    assert read[-6:] == [place.offset for place in known[6:]]
    with pytest.raises(ArchiveDamaged, match="the disk cannot read it"):
        read_capture(FailingFiles(), tmp_path, known[4])


def test_F_X1_a_record_above_the_size_limit_is_damage_and_the_next_is_read(tmp_path, monkeypatch):
    path = tmp_path / "gossamer-00000001-20231114221320.warc.gz"
    small, large = response_record(capture(1)), gzip.compress(b"WARC/1.0\r\n" + bytes(100_000))
    path.write_bytes(small + large + small)
    limit = len(gzip.decompress(small))
    monkeypatch.setattr("gossamer.archive.reader.MOST_PLAIN_BYTES", limit)
    first, bad, last = members(FILES, path)
    assert bad == DamagedBytes(len(small), len(large), "a record larger than any of ours")
    assert isinstance(first, Member) and len(first.plain) == limit, "a record of exactly the limit is accepted"
    assert last == Member(len(small) + len(large), len(small), first.plain)


def test_F_X1_bytes_after_damage_that_only_look_like_a_record_are_skipped(tmp_path):
    path = tmp_path / "gossamer-00000001-20231114221320.warc.gz"
    record = response_record(capture(1))
    false = gzip.compress(b"not a record", mtime=0) + gzip.compress(b"WARC/1.0", mtime=0)[:-9]
    path.write_bytes(b"garbage" * 9 + false + record)
    bad, last = members(FILES, path)
    assert isinstance(bad, DamagedBytes) and (bad.offset, bad.length) == (0, 63 + len(false))
    assert isinstance(last, Member) and last.length == len(record)
    path.write_bytes(b"garbage" * 9 + false)
    (bad,) = members(FILES, path)
    assert isinstance(bad, DamagedBytes) and bad.length == 63 + len(false)


def test_a_gzip_member_that_is_no_record_is_damage_of_its_own_length(tmp_path):
    path = tmp_path / "gossamer-00000001-20231114221320.warc.gz"
    foreign, record = gzip.compress(b"something else"), response_record(capture(1))
    path.write_bytes(record + foreign + record)
    first, bad, last = members(FILES, path)
    assert isinstance(bad, DamagedBytes) and (bad.offset, bad.length) == (len(record), len(foreign))
    assert isinstance(first, Member) and isinstance(last, Member) and first.plain == last.plain


def test_F_P7_each_of_many_flipped_bits_loses_at_most_its_own_record(tmp_path):
    chance = random.Random(14)
    written = [capture(n, chance.randbytes(300) + b"words " * 60) for n in range(5)]
    known = archive_of(tmp_path, written)
    path = tmp_path / known[0].volume
    whole = path.read_bytes()
    for _ in range(150):
        path.write_bytes(whole)
        at = chance.randrange(known[0].offset, len(whole))
        flipped(path, at, chance.randrange(8))
        hit = next(n for n, place in enumerate(known) if at < place.offset + place.length)
        found = [one.capture for one in scan(FILES, tmp_path, path.name) if isinstance(one, Scanned)][1:]
        assert found in (written, written[:hit] + written[hit + 1 :])
