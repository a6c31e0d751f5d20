"""Each record of a volume is compared with the catalogue: which are intact, which are not, and why."""

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.archive.samples import START_AT, capture

from gossamer.archive.catalogue import ArchivePlaces
from gossamer.archive.reader import read_record, scan
from gossamer.archive.record import metadata_record, response_record, revisit_record
from gossamer.archive.verify import Finding, Whole, repair, verified, write_spans
from gossamer.archive.volumes import Volumes
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.spool.codec import gzip_member
from gossamer.store import captures
from gossamer.store.directory import Directory
from gossamer.store.sqlite.database import Database, read_only
from gossamer.testing import FakeClock
from gossamer.values.capture import Kept, Place
from gossamer.values.history import Original
from gossamer.values.url import Url

FILES = DiskFiles()
BODY = b"<p>One</p>"
DIGEST = hashlib.sha256(BODY).digest()


def archived(folder: Path, records: list[bytes]) -> list[Place]:
    volumes = Volumes(FILES, folder, FakeClock(), silent)
    volumes.open()
    places = volumes.append_all(records)
    volumes.close()
    return places


def kept_at(place: Place, number: int = 0, **changed: Any) -> Kept:
    one = capture(number, BODY)
    kept = Kept(one.id, one.url, one.fetched_at, place, 200, "text/html", DIGEST, len(BODY), True)
    return msgspec.structs.replace(kept, **changed)


def entered(folder: Path, kept: list[Kept]) -> None:
    async def story() -> None:
        async with Database(folder / "state.db", FakeClock(), silent) as database:
            await database.run(lambda connection: captures.insert(connection, kept))

    asyncio.run(story())


def found_in(folder: Path, volume: str) -> list[Whole | Finding]:
    state = read_only(folder / "state.db")
    try:
        return list(verified(FILES, folder / "archive", state, volume))
    finally:
        state.close()


def whys(found: list[Whole | Finding]) -> list[str]:
    return [one.why if isinstance(one, Finding) else "" for one in found]


def test_known_and_unknown_records_are_intact_and_the_first_of_a_volume_is_not_counted(tmp_path: Path) -> None:
    places = archived(tmp_path / "archive", [response_record(capture(n, BODY)) for n in range(4)])
    entered(tmp_path, [kept_at(places[0]), kept_at(places[2], 2)])
    assert found_in(tmp_path, places[0].volume) == [Whole(), Whole(is_known=False), Whole(), Whole(is_known=False)]


RESPONSE = response_record(capture(0, BODY))
ORIGINAL = Original(url=capture(0).url.text, fetched_at=START_AT - 9, digest=DIGEST)
REVISIT = revisit_record(capture(0, b"", status=304), ORIGINAL)
TRACE = metadata_record(capture(0, BODY), [])


@pytest.mark.parametrize(
    ("record", "changed", "why"),
    [
        (RESPONSE, {}, ""),
        (TRACE, {}, ""),
        (RESPONSE, {"digest": b"x" * 32}, "its body does not have the catalogued digest"),
        (TRACE, {"digest": b"x" * 32}, "its body does not have the catalogued digest"),
        (RESPONSE, {"url": Url("http://b.test/")}, "it is a capture of another URL or time"),
        (RESPONSE, {"fetched_at": START_AT + 1}, "it is a capture of another URL or time"),
        (TRACE, {"fetched_at": START_AT + 1}, "it is a capture of another URL or time"),
        (RESPONSE, {"refers_at": START_AT - 9}, "it is not the catalogued revisit record"),
        (REVISIT, {"refers_at": START_AT - 8}, "it is not the catalogued revisit record"),
        (REVISIT, {"refers_at": START_AT - 9, "digest": b"x" * 32},
         "it is not the catalogued revisit record"),
        (REVISIT, {"refers_at": START_AT - 9, "fetched_at": START_AT + 1}, "it is a capture of another URL or time"),
        (REVISIT, {"refers_at": START_AT - 9},
         "it is a revisit, and the capture it refers to is not in the catalogue"),
        (REVISIT, {}, "it is a revisit record instead of a capture"),
        (gzip_member(b"WARC/1.1\r\nWARC-Type: request\r\nContent-Length: 0\r\n\r\n"), {},
         "it is a request record instead of a capture"),
        (gzip_member(b"WARC/1.1\r\nWARC-Type: x"), {}, "not one of our records (it has no WARC header)"),
    ],
)  # fmt: skip
def test_a_record_that_differs_from_the_catalogue_is_reported_with_the_reason(
    tmp_path: Path, record: bytes, changed: dict[str, Any], why: str
) -> None:
    (place,) = archived(tmp_path / "archive", [record])
    kept = kept_at(place, **changed)
    entered(tmp_path, [kept])
    expected = Finding(place.volume, 1, place.offset, place.length, why, kept) if why else Whole()
    (found,) = found_in(tmp_path, place.volume)
    assert found == expected
    if isinstance(found, Finding):
        assert (found.url, found.fetched_at) == (kept.url.text, kept.fetched_at)
    unknown = Finding("v", 1, 2, 3, "why")
    assert (unknown.url, unknown.fetched_at) == ("", None)


def test_a_revisit_whose_original_is_in_the_catalogue_is_intact(tmp_path: Path) -> None:
    first = response_record(capture(0, BODY, fetched_at=START_AT - 9))
    places = archived(tmp_path / "archive", [first, REVISIT])
    before = kept_at(places[0], fetched_at=START_AT - 9, capture_id="before")
    entered(tmp_path, [before, kept_at(places[1], refers_at=START_AT - 9)])
    assert found_in(tmp_path, places[0].volume) == [Whole(), Whole()]


def test_a_missing_empty_or_cut_volume_damages_every_record_in_it(tmp_path: Path) -> None:
    places = archived(tmp_path / "archive", [response_record(capture(n, BODY)) for n in range(2)])
    entered(tmp_path, [kept_at(places[0]), kept_at(places[1], 1)])
    path = tmp_path / "archive" / places[0].volume
    whole = path.read_bytes()
    path.write_bytes(whole[: places[1].offset + 5])
    assert whys(found_in(tmp_path, path.name)) == ["", "the file ends before the record does"]
    path.write_bytes(whole[: places[0].offset])
    assert whys(found_in(tmp_path, path.name)) == ["the file ends before the record does"] * 2
    path.write_bytes(b"")
    found = found_in(tmp_path, path.name)
    assert whys(found) == ["the file is missing or too short", *["the file ends before the record does"] * 2]
    assert isinstance(found[0], Finding) and (found[0].number, found[0].offset, found[0].length) == (
        0, 0, places[0].offset,
    )  # fmt: skip
    path.unlink()
    found = found_in(tmp_path, path.name)
    assert whys(found)[1:] == ["the volume is missing"] * 2
    assert whys(found_in(tmp_path, "gossamer-00000009-20231114221320.warc.gz")) == []


def test_damage_outside_the_catalogue_is_reported_with_its_place(tmp_path: Path) -> None:
    places = archived(tmp_path / "archive", [response_record(capture(n, BODY)) for n in range(4)])
    entered(tmp_path, [kept_at(places[0]), kept_at(places[2], 2)])
    path = tmp_path / "archive" / places[0].volume
    whole = bytearray(path.read_bytes())
    whole[places[1].offset + 20] ^= 255
    path.write_bytes(whole)
    _, bad, good, last = found_in(tmp_path, path.name)
    assert isinstance(bad, Finding) and (bad.number, bad.offset, bad.length, bad.kept) == (
        2, places[1].offset, places[1].length, None,
    )  # fmt: skip
    assert (good, last) == (Whole(), Whole(is_known=False))
    path.write_bytes(bytes(whole) + b"not gzip")
    assert [type(one) for one in found_in(tmp_path, path.name)][:4] == [Whole, Finding, Whole, Whole]
    path.write_bytes(bytes(whole[:-3]))
    assert [type(one) for one in found_in(tmp_path, path.name)] == [Whole, Finding, Whole], "a torn end is not damage"


def test_places_come_from_the_catalogue_and_then_from_the_rest_of_the_volume(tmp_path: Path) -> None:
    places = archived(tmp_path / "archive", [response_record(capture(n, BODY)) for n in range(5)])
    volume = places[0].volume
    first = Place(volume, 0, 0, places[0].offset)
    entered(tmp_path, [kept_at(places[1], 1), kept_at(places[3], 3)])
    known = ArchivePlaces(FILES, tmp_path / "archive", Directory(tmp_path))
    for all_of_it in (known, ArchivePlaces(FILES, tmp_path / "archive")):
        assert list(all_of_it.of(volume)) == [first, *places]
        for number, place in enumerate(places):
            assert list(all_of_it.of(volume, place.offset, number + 1)) == places[number:]
        assert all_of_it.volumes() == all_of_it.known_volumes() == [volume]
    (tmp_path / "archive" / volume).unlink()
    assert known.volumes() == [] and known.known_volumes() == [volume]
    assert list(known.of(volume)) == [places[1], places[3]]
    (tmp_path / "archive" / "other.warc.gz").touch()
    assert known.volumes() == []


def test_a_record_of_a_page_without_a_stored_body_is_read_back(tmp_path: Path) -> None:
    one = capture(0, BODY, headers=(("A", " b"), ("C", "d: e")), status=404, reason="Not Found")
    (place,) = archived(tmp_path / "archive", [metadata_record(one, ["http://b.test/", "http://c.test/"])])
    trace = read_record(FILES, tmp_path / "archive", place).trace
    assert trace is not None
    assert (trace.url, trace.fetched_at, trace.status, trace.reason) == (one.url, one.fetched_at, 404, "Not Found")
    assert (trace.headers, trace.digest, trace.size) == (one.headers, DIGEST, len(BODY))
    assert (trace.address, trace.links) == ("20.0.0.1", ("http://b.test/", "http://c.test/"))
    (place,) = archived(tmp_path / "other", [REVISIT])
    again = read_record(FILES, tmp_path / "other", place).again
    assert again is not None and (again.refers_at, again.digest) == (START_AT - 9, DIGEST)
    assert again.answer == capture(0, b"", status=304)
    kinds = [(one.kind, one.place.number) for one in scan(FILES, tmp_path / "other", place.volume)]  # type: ignore[union-attr]
    assert kinds == [("warcinfo", 0), ("revisit", 1)]
    later = list(scan(FILES, tmp_path / "other", place.volume, place.offset, 7))
    assert [one.place.number for one in later] == [7]  # type: ignore[union-attr]


def test_only_records_that_are_intact_in_the_copy_are_restored(tmp_path: Path) -> None:
    places = archived(tmp_path / "archive", [response_record(capture(n, BODY)) for n in range(4)])
    entered(tmp_path, [kept_at(place, n) for n, place in enumerate(places)])
    path = tmp_path / "archive" / places[0].volume
    whole = path.read_bytes()
    (tmp_path / "copy").mkdir()
    broken = bytearray(whole)
    for place in places[:3]:
        broken[place.offset + 20] ^= 255
    path.write_bytes(broken)
    copied = bytearray(whole)
    copied[places[1].offset + 20] ^= 255
    (tmp_path / "copy" / path.name).write_bytes(copied)
    findings = [one for one in found_in(tmp_path, path.name) if isinstance(one, Finding)]
    assert [one.number for one in findings] == [1, 2, 3]
    state = read_only(tmp_path / "state.db")
    good = repair(FILES, tmp_path / "archive", tmp_path / "copy", state, findings)
    assert [one.number for one in good] == [1, 3]
    assert path.read_bytes() == whole[: places[1].offset] + bytes(
        broken[places[1].offset : places[2].offset]
    ) + whole[places[2].offset :]  # fmt: skip
    assert repair(FILES, tmp_path / "archive", tmp_path / "none", state, findings) == []
    state.close()
    assert sorted(one.name for one in (tmp_path / "archive").iterdir()) == [path.name]


def test_a_file_is_written_from_parts_of_others_with_zeros_for_missing_bytes(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"0123456789")
    (tmp_path / "new").write_bytes(b"before")
    write_spans(
        FILES, tmp_path / "new", [(tmp_path / "one", 2, 5), (tmp_path / "one", 8, 12), (tmp_path / "one", 3, 3)]
    )
    assert (tmp_path / "new").read_bytes() == b"23489\0\0"
