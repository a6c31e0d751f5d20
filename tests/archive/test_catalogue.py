"""The catalogue: captures are found by URL and time, and it is repaired after a crash."""

import asyncio
import gzip
import hashlib

import msgspec
import pytest
from tests.archive.samples import START_AT, capture

from gossamer.archive.catalogue import Catalogue, acknowledged, adopt, may_be_page
from gossamer.archive.record import metadata_record, response_record
from gossamer.archive.volumes import ArchiveEnd, Volumes
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.store import captures
from gossamer.store.directory import Directory
from gossamer.store.sqlite.database import Database
from gossamer.testing import FakeClock
from gossamer.values.capture import Kept, Truncated
from gossamer.values.url import Url

FILES = DiskFiles()


def kept(one, place):
    digest = hashlib.sha256(one.body).digest()
    return Kept(one.id, one.url, one.fetched_at, place, one.status, "text/html", digest, len(one.body), True)


def write(folder, records):
    volumes = Volumes(FILES, folder, FakeClock(), silent)
    volumes.open()
    places = [volumes.append(record) for record in records]
    volumes.close()
    return places


async def acknowledge(database, found):
    await database.run(lambda connection: captures.insert(connection, found))


def test_a_capture_is_found_by_url_and_time(tmp_path):
    url = Url("https://example.org/")
    versions = [capture(n, url=url, body=f"version {n}".encode()) for n in range(3)]
    places = write(tmp_path / "archive", [response_record(one) for one in versions])

    async def story():
        async with Database(tmp_path / "state.db", FakeClock(), silent) as database:
            await acknowledge(database, [kept(*pair) for pair in zip(versions, places, strict=True)])

    asyncio.run(story())
    with Catalogue(Directory(tmp_path), FILES) as catalogue:
        assert catalogue.capture(url) == versions[2]
        assert catalogue.capture(url, START_AT + 1) == versions[1]
        assert catalogue.capture(url, START_AT - 1) is None
        assert catalogue.capture(Url("https://example.org/other")) is None
        assert [one.fetched_at - START_AT for one in catalogue.versions(url)] == [2, 1, 0]
        assert [one.place for one in catalogue.in_order()] == places
        assert [one.place for one in catalogue.pages()] == places[2:]
    with pytest.raises(RuntimeError, match="in a `with`"):
        catalogue.versions(url)


@pytest.mark.parametrize(
    ("status", "truncated", "path", "may_be"),
    [
        (200, None, "/", True), (299, None, "/", True), (200, Truncated.LENGTH, "/", True), (199, None, "/", False),
        (300, None, "/", False), (200, Truncated.TIME, "/", False), (200, Truncated.DISCONNECT, "/", False),
        (200, None, "/robots.txt", False),
    ],
)  # fmt: skip
def test_a_response_that_is_complete_or_cut_by_the_size_limit_may_be_a_page(status, truncated, path, may_be):
    one = capture(status=status, truncated=truncated, url=Url(f"https://example.org{path}"))
    assert may_be_page(one) is may_be


def test_records_archived_but_not_acknowledged_are_adopted_at_start(tmp_path):
    folder = tmp_path / "archive"
    written = [capture(n) for n in range(4)]
    robots = capture(4, url=Url("https://example.org/robots.txt"))
    records = [*map(response_record, [*written, robots]), metadata_record(capture(5), ["https://example.org/x"])]
    places = write(folder, records)

    async def story():
        async with Database(tmp_path / "state.db", FakeClock(), silent) as database:
            assert await acknowledged(database) is None
            await acknowledge(database, [kept(written[0], places[0]), kept(written[1], places[1])])
            end = places[1].offset + places[1].length
            assert await acknowledged(database) == ArchiveEnd(places[1].volume, 3, end)
            assert await adopt(database, FILES, folder, silent) == 4
            assert await adopt(database, FILES, folder, silent) == 0
            return await database.read(lambda connection: list(captures.in_order(connection)))

    found = asyncio.run(story())
    assert [one.place for one in found] == places
    assert [one.is_page for one in found] == [True, True, True, True, False, False]
    assert found[2] == kept(written[2], places[2])
    assert found[5].size == len(capture(5).body)


def test_lists_and_pictures_are_not_adopted_as_pages(tmp_path):
    """Otherwise a list or a picture that was archived just before a crash would stay in the catalogue as a page: the
    repeated fetch adds another row and does not change this one."""
    packed = gzip.compress(b"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'></urlset>")
    bodies = [
        ("application/gzip", packed, ()),
        ("", packed, ()),
        ("application/xml", b"<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'/>", ()),
        ("image/png", b"\x89PNG\r\n\x1a\n", ()),
        ("text/html", gzip.compress(b"<p>words</p>"), (("Content-Encoding", "gzip"),)),
        ("text/html", b"<p>words</p>", ()),
        ("application/pdf", b"%PDF-1.4", ()),  # a reader plugin may make a page of it
    ]
    written = [
        msgspec.structs.replace(capture(n, body=body), headers=(("Content-Type", kind), *coding))
        for n, (kind, body, coding) in enumerate(bodies)
    ]
    write(tmp_path / "archive", [response_record(one) for one in written])

    async def story():
        async with Database(tmp_path / "state.db", FakeClock(), silent) as database:
            await adopt(database, FILES, tmp_path / "archive", silent)
            return await database.read(lambda connection: list(captures.in_order(connection)))

    assert [one.is_page for one in asyncio.run(story())] == [False, False, False, False, True, True, True]


def test_a_lost_catalogue_is_rebuilt_from_all_volumes(tmp_path):
    folder = tmp_path / "archive"
    places = [*write(folder, [response_record(capture(1))]), *write(folder, [response_record(capture(2))])]

    async def story():
        async with Database(tmp_path / "state.db", FakeClock(), silent) as database:
            assert await adopt(database, FILES, folder, silent) == 2

    asyncio.run(story())
    with Catalogue(Directory(tmp_path), FILES) as catalogue:
        assert [one.place for one in catalogue.in_order()] == places
        assert catalogue.capture(capture(2).url) == capture(2)


@pytest.mark.parametrize(
    ("changed", "may_be"),
    [
        ({}, True),
        ({"status": 299}, True),
        ({"status": 300}, False),
        ({"status": 199}, False),
        ({"truncated": Truncated.LENGTH}, True),
        ({"truncated": Truncated.TIME}, False),
        ({"truncated": Truncated.DISCONNECT}, False),
        ({"url": Url("https://example.org/robots.txt")}, False),
    ],
)
def test_a_successful_response_may_be_a_page_unless_time_or_the_connection_cut_it(changed, may_be):
    assert may_be_page(capture(**changed)) is may_be
