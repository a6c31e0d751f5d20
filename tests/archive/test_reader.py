"""Reading back: at a place, along a volume, and how damage is reported."""

import contextlib
import os
import random

import pytest
from tests.archive.samples import body_of, capture

from gossamer.archive.catalogue import ArchivePlaces
from gossamer.archive.reader import Torn, read_capture, scan, scanned, target_in, volumes_of
from gossamer.archive.record import metadata_record, response_record
from gossamer.archive.volumes import Volumes
from gossamer.base.errors import ArchiveDamaged
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.testing import FakeClock
from gossamer.values.capture import Place

FILES = DiskFiles()


def never(volume, damage):
    raise AssertionError(f"{volume} is undamaged, but {damage} was reported")


def archive_of(folder, captures):
    volumes = Volumes(FILES, folder, FakeClock(), silent)
    volumes.open()
    found = [volumes.append(response_record(one)) for one in captures]
    volumes.close()
    return found


def test_a_volume_is_scanned_from_any_record_on(tmp_path):
    written = [capture(n, body_of(n, 90_000)) for n in range(6)]
    known = archive_of(tmp_path, written)
    whole = list(scan(FILES, tmp_path, known[0].volume))
    assert [one.kind for one in whole] == ["warcinfo"] + ["response"] * 6
    assert [one.place for one in whole[1:]] == known
    later = list(scan(FILES, tmp_path, known[0].volume, known[3].offset, known[3].number))
    assert [one.capture for one in later] == written[3:]
    assert list(ArchivePlaces(FILES, tmp_path).of(known[0].volume, known[3].offset, known[3].number)) == known[3:]


def test_a_torn_end_is_reported_and_not_raised(tmp_path):
    known = archive_of(tmp_path, [capture(n) for n in range(3)])
    os.truncate(tmp_path / known[0].volume, known[2].offset + 10)
    *whole, torn = scan(FILES, tmp_path, known[0].volume)
    assert [one.place.number for one in whole] == [0, 1, 2]
    assert torn == Torn(known[2].offset, 10)
    assert list(ArchivePlaces(FILES, tmp_path).of(known[0].volume))[1:] == known[:2]


def test_an_invalid_place_is_damage_and_not_a_crash(tmp_path):
    (known,) = archive_of(tmp_path, [capture()])
    for wrong in (
        Place(known.volume, 1, known.offset + 1, known.length),
        Place(known.volume, 1, known.offset, known.length - 1),
        Place(known.volume, 1, 0, known.offset + known.length),
        Place(known.volume, 1, 10**9, 10),
        Place("gossamer-00000009-20231114221320.warc.gz", 1, 0, 10),
        Place("../../etc/passwd", 1, 0, 10),
    ):
        with pytest.raises(ArchiveDamaged):
            read_capture(FILES, tmp_path, wrong)


def test_F_P7_a_flipped_bit_is_detected_or_changes_nothing(tmp_path):
    chance = random.Random(7)
    written = [capture(n, body_of(n, 300)) for n in range(3)]
    known = archive_of(tmp_path, written)
    path = tmp_path / known[0].volume
    whole = path.read_bytes()
    for _ in range(1000):
        flipped = bytearray(whole)
        at = chance.randrange(known[0].offset, len(whole))
        flipped[at] ^= 1 << chance.randrange(8)
        path.write_bytes(flipped)
        number = next(n for n, place in enumerate(known) if at < place.offset + place.length)
        with contextlib.suppress(ArchiveDamaged):
            assert read_capture(FILES, tmp_path, known[number]) == written[number]


def test_a_record_with_metadata_only_has_no_capture(tmp_path):
    volumes = Volumes(FILES, tmp_path, FakeClock(), silent)
    volumes.open()
    place = volumes.append(metadata_record(capture(), []))
    volumes.close()
    assert read_capture(FILES, tmp_path, place) is None


def test_an_export_is_a_warc_file_with_the_same_bytes(tmp_path):
    known = archive_of(tmp_path / "archive", [capture(n) for n in range(4)])
    ((name, pieces),) = volumes_of(FILES, tmp_path / "archive", never)
    assert (name, b"".join(pieces)) == (known[0].volume, (tmp_path / "archive" / name).read_bytes())


def test_an_export_leaves_out_a_torn_end(tmp_path):
    known = archive_of(tmp_path, [capture(n) for n in range(3)])
    os.truncate(tmp_path / known[0].volume, known[2].offset + 10)
    ((_, pieces),) = volumes_of(FILES, tmp_path, never)
    assert len(b"".join(pieces)) == known[2].offset


@pytest.mark.parametrize(
    ("plain", "why"),
    [
        (b"nothing at all", "it has no WARC header"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "it has no WARC header"),
        (b"WARC/1.1\r\nno colon here\r\n\r\n", "a header without a colon"),
        (b"WARC/1.1\r\nWARC-Type: response\r\n\r\n", "content-length"),
        (b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 9\r\n\r\nabc", "3 of 9 bytes"),
        (b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: -1\r\n\r\nabc", "of -1 bytes"),
        (b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 3\r\n\r\nabc", "the HTTP header does not end"),
    ],
)
def test_an_invalid_record_is_refused_with_the_reason(plain, why):
    place = Place("gossamer-00000001-20231114221320.warc.gz", 3, 70, 80)
    with pytest.raises(ArchiveDamaged) as trouble:
        scanned(place, plain)
    assert why in str(trouble.value) and "at byte 70" in str(trouble.value)


def test_the_url_of_a_record_is_known_without_reading_it_all():
    head = b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/\r\nContent-Length: 0\r\n\r\n"
    assert target_in(head) == ("response", "http://a.test/")
    assert target_in(b"WARC/1.1\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n") == ("warcinfo", "")
    assert target_in(b"garbage") == ("", "")
