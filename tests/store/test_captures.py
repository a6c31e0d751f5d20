"""The catalogue's table."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from gossamer.base.tell import silent
from gossamer.store import captures, tallies
from gossamer.store.sqlite.database import Database
from gossamer.testing import FakeClock
from gossamer.values.capture import Kept, Place, capture_id_of
from gossamer.values.url import Url

T = TypeVar("T")


def kept(text: str, at: int, volume: str = "v1", number: int = 1, is_page: bool = True) -> Kept:
    url = Url(text)
    place = Place(volume, number, number * 100, 90)
    digest = bytes([number]) * 32
    return Kept(capture_id_of(url, at), url, at, place, 200, "text/html", digest, 1234, is_page, None, "big5", "meta")


def with_captures(folder: Path, given: list[Kept], look: Callable[[sqlite3.Connection], T]) -> T:
    async def story() -> T:
        async with Database(folder / "state.db", FakeClock(), silent) as database:
            await database.run(lambda connection: captures.insert(connection, given))
            return await database.run(look)

    return asyncio.run(story())


A, B = "https://a.test/1", "https://b.test/2"


def test_versions_of_an_address_come_newest_first(tmp_path: Path) -> None:
    given = [kept(A, 5, number=1), kept(A, 9, number=2), kept(B, 7, number=3), kept(A, 7, number=4)]
    found = with_captures(tmp_path, given, lambda c: captures.versions(c, Url(A)))
    assert found == [given[1], given[3], given[0]]
    assert with_captures(tmp_path, given, lambda c: captures.latest(c, Url(A))) == given[1]
    assert with_captures(tmp_path, given, lambda c: captures.latest(c, Url("https://a.test/none"))) is None


def test_entering_a_capture_again_changes_nothing(tmp_path: Path) -> None:
    given = [kept(A, 5), kept(B, 6, number=2, is_page=False)]
    assert with_captures(tmp_path, given, lambda c: captures.insert(c, given)) == 0
    counts = with_captures(tmp_path, given, tallies.counts)
    assert (counts.captures, counts.pages) == (2, 1)


def test_captures_are_walked_as_they_lie_in_the_archive(tmp_path: Path) -> None:
    given = [kept(B, 5, "v2", 1), kept(A, 4, "v1", 2), kept(B, 3, "v1", 1), kept(A, 9, "v2", 2)]
    walked = with_captures(tmp_path, given, lambda c: list(captures.in_order(c)))
    assert walked == [given[2], given[1], given[0], given[3]]
    assert with_captures(tmp_path, given, lambda c: list(captures.in_volume(c, "v2"))) == [given[0], given[3]]
    assert with_captures(tmp_path, given, captures.volume_names) == ["v1", "v2"]


def test_the_catalogue_knows_how_far_it_reaches_into_a_volume(tmp_path: Path) -> None:
    given = [kept(A, 5, "v1", 1), kept(B, 6, "v1", 2)]
    assert with_captures(tmp_path, given, lambda c: captures.end_of(c, "v1")) == (3, 290)
    assert with_captures(tmp_path, given, lambda c: captures.end_of(c, "v2")) is None


def test_pages_are_the_newest_page_of_each_address(tmp_path: Path) -> None:
    given = [kept(A, 5, number=1), kept(A, 8, number=2), kept(A, 9, number=3, is_page=False), kept(B, 2, number=4)]
    found = with_captures(tmp_path, given, lambda c: list(captures.pages(c)))
    assert sorted(found, key=lambda one: one.url.text) == [given[1], given[3]]
