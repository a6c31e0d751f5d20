"""Segments of a cluster's archive: written, read by other processes, joined, checked, and removed when not settled."""

import hashlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from tests.archive.samples import body_of, capture, warcio_count
from tests.segments.cluster import AT_ONCE, LONG_AGO, Cluster, in_cloud, on_disks
from tests.services import s3

from gossamer.archive.catalogue import ArchivePlaces
from gossamer.archive.reader import read_capture
from gossamer.archive.segments.upkeep import Graces
from gossamer.base.errors import ArchiveDamaged, DirectoryUnusable
from gossamer.base.tell import Tell, unheard
from gossamer.collection.maintenance.verification import checked_volumes
from gossamer.spool.frames import SUFFIX
from gossamer.store.segments import SegmentLost, alone, settle_segments
from gossamer.store.state import open_state
from gossamer.values.capture import Capture, Place

FORMS: dict[str, Callable[[Path], Cluster]] = {"disks": on_disks, "cloud": in_cloud}
NEVER = Graces()


@pytest.fixture(params=FORMS)
def found(request: pytest.FixtureRequest, tmp_path: Path) -> Cluster:
    return FORMS[request.param](tmp_path)


def some(first: int, amount: int = 5) -> list[Capture]:
    return [capture(number, body_of(number, 3000)) for number in range(first, first + amount)]


def read(found: Cluster, place: Place, name: str = "") -> Capture | None:
    return read_capture(found.files(name), found.node(name).archive, place)


def objects(found: Cluster) -> set[str]:
    return set(found.files().storage.names("archive/"))


def noting(events: list[tuple[str, dict[str, object]]]) -> Tell:
    def tell(event: str, /, **facts: object) -> None:
        events.append((event, facts))

    return tell


def test_what_one_node_writes_every_process_reads(found: Cluster) -> None:
    given = some(0)
    places = found.write(*given)
    assert [place.number for place in places] == [1, 2, 3, 4, 5] and len({place.volume for place in places}) == 1
    assert [read(found, place, "b") for place in places] == given
    directory, files = found.node(), found.files()
    assert list(ArchivePlaces(files, directory.archive, directory).of(places[0].volume))[1:] == places
    assert files.names(directory.archive) == [places[0].volume]
    assert files.size(directory.archive / "gossamer-00000099-20261119120000.warc.gz") is None
    with pytest.raises(ArchiveDamaged, match="there is no such volume"):
        read(found, Place("gossamer-00000099-20261119120000.warc.gz", 1, 0, 10))


def test_two_nodes_never_choose_the_same_name(found: Cluster) -> None:
    names = list[str]()

    def write(node: str, first: int) -> None:
        for number in range(3):
            names.append(found.write(capture(first + number), name=node)[0].volume)

    threads = [threading.Thread(target=write, args=(node, 10 * at)) for at, node in enumerate("abc")]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(set(names)) == 9
    assert len(found.rows("SELECT 1 FROM captures")) == 9


def test_segments_are_never_changed_by_way_of_files(found: Cluster) -> None:
    (place,) = found.write(capture(1))
    files, path = found.files(), found.node().archive / place.volume
    for change in (
        lambda: files.write(path, b""),
        lambda: files.remove(path),
        lambda: files.appender(path),
        lambda: files.rename(path, path.with_suffix(".x")),
    ):
        with pytest.raises(DirectoryUnusable, match="never changed"):
            change()
    copied = found.folder / "copy.warc.gz"
    files.copy(path, copied)
    assert warcio_count(copied) == 2


def test_a_segment_that_was_stored_and_never_settled_is_removed_later(found: Cluster) -> None:
    kept = found.write(*some(0))
    lost = found.write(*some(10), is_settled=False)
    found.upkeep(NEVER).run()
    assert {one[0].volume for one in (kept, lost)} == objects(found), "it may still be settled"
    found.upkeep(AT_ONCE).run()
    assert objects(found) == {kept[0].volume}
    with pytest.raises(SegmentLost):
        found.run(lambda state: settle_segments(state, [lost[0].volume]))
    assert found.rows("SELECT name FROM segments") == [(kept[0].volume,)]
    assert list(found.files().storage.names("readings/")) == [kept[0].volume + SUFFIX]


def test_a_node_whose_segment_was_given_up_before_it_was_known_writes_another(
    found: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It froze after its object was stored, for longer than any grace."""
    files, spoilt = found.files("a"), list[str]()
    put = files.storage.put

    def frozen(key: str, content: bytes) -> None:
        put(key, content)
        if key.startswith("archive/") and not spoilt:
            spoilt.append(key.removeprefix("archive/"))
            found.upkeep(AT_ONCE, name="b").run()

    monkeypatch.setattr(files.storage, "put", frozen)
    places = found.write(*some(0), files=files)
    assert places[0].volume not in spoilt
    assert [read(found, place) for place in places] == some(0)
    found.upkeep(AT_ONCE).run()
    assert objects(found) == {places[0].volume}


def test_readings_that_no_view_waits_for_are_removed(found: Cluster) -> None:
    done, waiting = (found.write(*some(first))[0].volume for first in (0, 10))
    found.run(
        lambda state: state.execute(
            "DELETE FROM work WHERE volume_id = (SELECT id FROM segments WHERE name = ?)", (done,)
        )
    )
    found.upkeep(AT_ONCE).run()
    assert list(found.files().storage.names("readings/")) == [waiting + SUFFIX]


def test_joined_segments_read_the_same_and_the_object_is_a_warc_file(found: Cluster, tmp_path: Path) -> None:
    given = [some(first) for first in (0, 10, 20)]
    places = [found.write(*captures) for captures in given]
    before = objects(found)
    reader = found.files()
    assert read_capture(reader, found.node().archive, places[1][2]) == given[1][2], "it remembers the old place"
    found.upkeep(Graces(unsettled_s=1e9, unknown_s=1e9, check_every_s=1e9), most_objects=3).run()
    (joined,) = objects(found) - before
    held = found.rows("SELECT object, base FROM segments ORDER BY name")
    assert {name for name, _ in held} == {joined} and [base for _, base in held] == sorted(base for _, base in held)
    assert objects(found) == before | {joined}, "readers may hold the old places"
    found.upkeep(Graces(LONG_AGO, 1e9, 1e9, 1e9)).run()
    assert objects(found) == {joined}
    again = [[read_capture(reader, found.node().archive, place) for place in some_places] for some_places in places]
    assert again == given == [[read(found, place) for place in some_places] for some_places in places]
    storage = found.files().storage
    (tmp_path / "joined.warc.gz").write_bytes(
        storage.read(f"archive/{joined}", 0, storage.size(f"archive/{joined}") or 0)
    )
    assert warcio_count(tmp_path / "joined.warc.gz") == 18


def test_joined_objects_are_joined_again_until_they_are_large(found: Cluster) -> None:
    places = [found.write(*some(10 * number, 2))[0] for number in range(9)]
    for _ in range(5):
        found.upkeep(most_bytes=20_000, most_objects=2).run()
    sizes = found.rows("SELECT bytes FROM objects WHERE retired_at IS NULL")
    assert all(size <= 20_000 for (size,) in sizes) and len(sizes) < 5
    assert [read(found, place) for place in places] == [capture(10 * n, body_of(10 * n, 3000)) for n in range(9)]
    assert len(objects(found)) == len(sizes)


def test_a_join_that_was_interrupted_is_done_again(found: Cluster) -> None:
    places = [found.write(*some(first)) for first in (0, 10)]
    events = list[tuple[str, dict[str, object]]]()

    class Dies(Exception):
        pass

    def dies(event: str, /, **facts: object) -> None:
        events.append((event, facts))
        if event == "join.stored" and len(events) < 3:
            raise Dies

    with pytest.raises(Dies):
        found.upkeep(NEVER, tell=dies).run()
    assert len(objects(found)) == 3 and len(found.rows("SELECT 1 FROM objects")) == 2
    found.upkeep(NEVER).run()
    assert {name for (name,) in found.rows("SELECT object FROM segments")} <= objects(found)
    for _ in range(2):
        found.upkeep(AT_ONCE).run()
    assert len(objects(found)) == 1
    assert [[read(found, place) for place in one] for one in places] == [some(0), some(10)]


def test_only_one_node_joins(found: Cluster) -> None:
    for first in (0, 10):
        found.write(*some(first))
    with closing(open_state(found.node("b"))) as state, alone(state, "change") as is_ours:
        assert is_ours
        found.upkeep().run()
        assert len(objects(found)) == 2
    found.upkeep(NEVER).run()
    assert len(objects(found)) == 3


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def test_damage_in_one_copy_is_repaired_from_the_other(tmp_path: Path) -> None:
    found = on_disks(tmp_path)
    places = found.write(*some(0))
    copies = [tmp_path / f"disk-{number}" / places[0].volume for number in range(2)]
    whole = copies[0].read_bytes()
    damage(copies[0])
    assert [read(found, place) for place in places] == some(0)
    found.upkeep(Graces(1e9, 1e9, 1e9, LONG_AGO), most_objects=99).check(open_state(found.node()))
    assert [one.read_bytes() for one in copies] == [whole, whole]
    assert found.rows("SELECT damage FROM objects WHERE checked_at IS NOT NULL") == [(None,)]


def test_the_copies_of_a_lost_disk_are_made_again(tmp_path: Path) -> None:
    found = on_disks(tmp_path, disks=3)
    places = [found.write(*some(first))[0] for first in (0, 10, 20)]
    lost = tmp_path / "disk-1"
    names = {one.name for one in lost.glob("*.warc.gz")}
    lost.rename(tmp_path / "broken")
    assert names and all(read(found, place) is not None for place in places)
    found.upkeep(Graces(1e9, 1e9, 1e9, 1e9), most_objects=99).run()
    for place in places:
        assert sum((tmp_path / disk / place.volume).exists() for disk in ("disk-0", "disk-2")) == 2


def test_damage_in_every_copy_is_named_and_not_joined(tmp_path: Path) -> None:
    store = s3.server()
    found = in_cloud(tmp_path)
    places = [found.write(*some(first)) for first in (0, 10)]
    path = store.objects_for(tmp_path) / "archive" / places[0][0].volume
    damage(path)
    events = list[tuple[str, dict[str, object]]]()
    found.upkeep(Graces(1e9, 1e9, 1e9, LONG_AGO), tell=noting(events)).run()
    assert "object.damaged" in [event for event, _ in events]
    (row,) = found.rows("SELECT name, damage FROM objects WHERE damage IS NOT NULL")
    assert row[0] == places[0][0].volume and "digest" in row[1]
    assert len(objects(found)) == 2
    assert read(found, places[1][0]) == some(10)[0]


def test_the_digest_of_a_segment_is_that_of_its_bytes(found: Cluster) -> None:
    (place,) = found.write(capture(1))
    files = found.files()
    content = files.read(found.node().archive / place.volume)
    ((digest, size, records),) = found.rows("SELECT digest, bytes, records FROM segments")
    assert (bytes(digest), size, records) == (hashlib.sha256(content).digest(), len(content), 2)


def test_small_lasting_files_are_the_same_on_every_node(found: Cluster) -> None:
    one, two = found.files("a"), found.files("b")
    here, there = found.node("a").root, found.node("b").root
    for name in ("rules.txt", "token", "contexts/own.jsonld", "filter.py", "collection.id"):
        one.write(here / name, name.encode())
        assert two.read(there / name) == name.encode() and two.size(there / name) == len(name)
        assert not (here / name).exists()
    assert "rules.txt" in two.names(there) and two.names(there / "contexts") == ["own.jsonld"]
    one.write(here / "learned", b"of this node")
    assert two.size(there / "learned") is None and (here / "learned").exists()
    two.remove(there / "rules.txt")
    assert one.size(here / "rules.txt") is None
    with pytest.raises(FileNotFoundError):
        one.read(here / "rules.txt")


@pytest.mark.parametrize("at", ["record", "first record"])
def test_verify_names_the_damage_of_a_segment(at: str, tmp_path: Path) -> None:
    found = in_cloud(tmp_path)
    places = [found.write(*some(first)) for first in (0, 10)]
    checked = checked_volumes(found.node(), found.outside(), None, unheard)
    assert (len(checked.volumes), checked.records, checked.findings) == (2, 10, [])
    path = s3.server().objects_for(tmp_path) / "archive" / places[0][0].volume
    content = bytearray(path.read_bytes())
    content[places[0][2].offset + 60 if at == "record" else 5] ^= 0xFF  # 5: the time in the gzip header
    path.write_bytes(content)
    (one,) = checked_volumes(found.node(), found.outside(), None, unheard).findings
    assert one.volume == places[0][0].volume
    assert (one.number, bool(one.url)) == ((3, True) if at == "record" else (0, False))


def test_a_reader_in_the_middle_of_a_join_reads_every_capture(found: Cluster) -> None:
    """Objects are joined and the old ones deleted at once, again and again, while a process reads."""
    given = {place: one for n in range(6) for place, one in zip(found.write(*some(10 * n)), some(10 * n), strict=True)}
    files, folder, is_over = found.files("reader"), found.node("reader").archive, threading.Event()
    wrong = list[object]()

    def read_on() -> None:
        rounds = 0
        while not is_over.is_set() or rounds < 2:
            rounds += 1
            for place, expected in given.items():
                if (seen := read_capture(files, folder, place)) != expected:
                    wrong.append(seen)

    with ThreadPoolExecutor(2) as threads:
        reading = [threads.submit(read_on) for _ in range(2)]
        try:
            for most_objects in (2, 3, 6, 2):
                found.upkeep(AT_ONCE, most_objects=most_objects).run()
        finally:
            is_over.set()
        for one in reading:
            one.result(60)
    assert wrong == [] and len(objects(found)) < 6
