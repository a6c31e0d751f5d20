"""Objects of a cluster's archive are rewritten without records that have left the catalogue, whenever it is stopped."""

import asyncio
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from tests.archive.samples import capture, warcio_count
from tests.segments.cluster import LONG_AGO, Cluster, in_cloud, on_disks
from tests.segments.test_segments import objects, read, some
from tests.services import s3

from gossamer.archive.reader import read_capture
from gossamer.archive.segments.upkeep import Graces
from gossamer.base.errors import ArchiveDamaged
from gossamer.base.tell import Tell, silent
from gossamer.collection.maintenance.cluster.erasure import compact_on_cluster
from gossamer.collection.maintenance.cluster.rewrites import ObjectRewriting
from gossamer.collection.maintenance.compact import Compacted
from gossamer.config.slices import Retain
from gossamer.store import captures, rewrites
from gossamer.store.state import open_database, open_state
from gossamer.values.capture import Capture, Kept, Place

POINTS = ("rewrite.stored", "rewrite.switched", "rewrite.removed")


class Stopped(BaseException):
    """As if the process was killed."""


def stopping_at(event: str) -> Tell:
    def tell(name: str, /, **_: object) -> None:
        if name == event:
            raise Stopped

    return tell


@pytest.fixture(params=["disks", "cloud"])
def found(request: pytest.FixtureRequest, tmp_path: Path) -> Cluster:
    return on_disks(tmp_path) if request.param == "disks" else in_cloud(tmp_path)


def joined(found: Cluster) -> list[list[Place]]:
    """Three segments in one object."""
    places = [found.write(*some(first)) for first in (0, 10, 20)]
    found.upkeep(Graces(LONG_AGO, 1e9, 1e9, 1e9), most_objects=3).run()
    found.upkeep(Graces(LONG_AGO, 1e9, 1e9, 1e9)).run()
    assert len(objects(found)) == 1
    return places


def drop(found: Cluster, *gone: Capture) -> None:
    keys = [(one.url.host.id, one.url.id, one.url.text, one.fetched_at) for one in gone]
    found.run(partial(rewrites.drop_versions, keys=keys))


def rewrite(found: Cluster, tell: Tell = silent) -> Compacted:
    async def done() -> Compacted:
        outside = found.outside()
        async with open_database(found.node(), outside.clock, silent) as database:
            return await ObjectRewriting(found.node(), database, outside, tell).run(lambda _: None)

    return asyncio.run(done())


def catalogue(found: Cluster) -> list[Kept]:
    with closing(open_state(found.node())) as state:
        return list(captures.in_order(state))


def read_all(found: Cluster) -> list[Capture | None]:
    """By the instant of each."""
    return [read(found, one.place) for one in sorted(catalogue(found), key=lambda one: one.fetched_at)]


def bytes_of(found: Cluster) -> bytes:
    storage = found.files().storage
    keys = [f"archive/{name}" for name in sorted(objects(found))]
    return b"".join(storage.read(key, 0, storage.size(key) or 0) for key in keys)


def test_records_are_gone_and_the_others_read_the_same(found: Cluster, tmp_path: Path) -> None:
    places, given = joined(found), [*some(0), *some(10), *some(20)]
    before = objects(found)
    drop(found, given[1], given[7])
    done = rewrite(found)
    assert (done.records, done.volumes, done.kept) == (2, 2, 8)
    left = [one for number, one in enumerate(given) if number not in (1, 7)]
    assert read_all(found) == left
    assert not objects(found) & before, "the old object is deleted at once"
    (tmp_path / "all.warc.gz").write_bytes(bytes_of(found))
    assert warcio_count(tmp_path / "all.warc.gz") == 3 + 13
    with pytest.raises(ArchiveDamaged):
        read(found, places[0][1])
    assert read(found, places[2][0]) == given[10], "a segment without dropped records keeps its name"
    assert found.rows("SELECT count(*) FROM rewrites") == [(0,)]


@pytest.mark.parametrize("point", POINTS)
def test_it_is_continued_after_it_was_stopped(tmp_path: Path, point: str) -> None:
    found = on_disks(tmp_path)
    joined(found)
    given = [*some(0), *some(10), *some(20)]
    drop(found, given[1])
    with pytest.raises(Stopped):
        rewrite(found, stopping_at(point))
    left = [one for one in given if one is not given[1]]
    assert read_all(found) == left
    rewrite(found)
    assert read_all(found) == left and len(objects(found)) == 1
    assert given[1].body not in bytes_of(found)


def test_a_segment_of_which_nothing_is_kept_is_gone(found: Cluster) -> None:
    (place,) = found.write(capture(1))
    found.write(capture(2))
    drop(found, capture(1))
    rewrite(found)
    assert [one.url for one in catalogue(found)] == [capture(2).url] and len(objects(found)) == 1
    assert found.rows("SELECT name FROM segments") == [(catalogue(found)[0].place.volume,)]
    assert list(found.files().storage.names("readings/")) != [place.volume]


def test_views_that_wait_for_a_segment_wait_for_the_new_one(found: Cluster) -> None:
    found.write(*some(0))
    assert found.rows("SELECT view, first, beyond FROM work ORDER BY view") == [
        (view, 1, 6) for view in ("facts", "links", "words")
    ]
    drop(found, some(0)[2])
    rewrite(found)
    work = "SELECT w.view, w.first, w.beyond, s.name FROM work w JOIN segments s ON s.id = w.volume_id ORDER BY view"
    name = catalogue(found)[0].place.volume
    assert found.rows(work) == [(view, 1, 5, name) for view in ("facts", "links", "words")]
    assert list(found.files().storage.names("readings/")) == []
    assert found.rows("SELECT settled_at IS NOT NULL FROM segments") == [(True,)] or found.rows(
        "SELECT settled_at IS NOT NULL FROM segments"
    ) == [(1,)]


def test_damage_beside_it_does_not_prevent_it(tmp_path: Path) -> None:
    found = in_cloud(tmp_path)
    places, given = joined(found), [*some(0), *some(10), *some(20)]
    (path,) = s3.server().objects.glob(f"*/archive/{next(iter(objects(found)))}")
    (base,) = [row[0] for row in found.rows(f"SELECT base FROM segments WHERE name = '{places[2][0].volume}'")]
    content = bytearray(path.read_bytes())
    content[base + places[2][3].offset + 100] ^= 0xFF
    path.write_bytes(content)
    drop(found, given[1])
    rewrite(found)
    kept = catalogue(found)
    assert {one.url for one in kept} == {one.url for one in given if one is not given[1]}
    files = found.files()
    for one in kept:
        if one.url == given[13].url:
            with pytest.raises(ArchiveDamaged):
                read_capture(files, found.node().archive, one.place)
        else:
            assert read_capture(files, found.node().archive, one.place) is not None


def test_compact_keeps_what_the_retention_says(found: Cluster) -> None:
    versions = [capture(1, f"<p>version {number}</p>".encode(), fetched_at=number * 10**9) for number in range(1, 6)]
    for one in versions:
        found.write(one, capture(2, fetched_at=one.fetched_at))
    done = asyncio.run(compact_on_cluster(found.node(), Retain("last", 2), found.outside(), silent))
    assert done.records == 6
    assert [one for one in read_all(found) if one is not None and one.url == versions[0].url] == versions[-2:]
    assert len(catalogue(found)) == 4
    assert found.rows("SELECT number FROM tallies WHERE name = 'captures'") == [(4,)]
    assert b"version 1" not in bytes_of(found)
