"""The table of captures."""

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


def with_captures(folder: Path, entries: list[Kept], query: Callable[[sqlite3.Connection], T]) -> T:
    async def story() -> T:
        async with Database(folder / "state.db", FakeClock(), silent) as database:
            await database.run(lambda connection: captures.insert(connection, entries))
            return await database.run(query)

    return asyncio.run(story())


A, B = "https://a.test/1", "https://b.test/2"


def test_versions_of_a_url_are_listed_newest_first(tmp_path: Path) -> None:
    entries = [kept(A, 5, number=1), kept(A, 9, number=2), kept(B, 7, number=3), kept(A, 7, number=4)]
    found = with_captures(tmp_path, entries, lambda c: captures.versions(c, Url(A)))
    assert found == [entries[1], entries[3], entries[0]]
    assert with_captures(tmp_path, entries, lambda c: captures.latest(c, Url(A))) == entries[1]
    assert with_captures(tmp_path, entries, lambda c: captures.latest(c, Url("https://a.test/none"))) is None


def test_inserting_a_capture_again_changes_nothing(tmp_path: Path) -> None:
    entries = [kept(A, 5), kept(B, 6, number=2, is_page=False)]
    assert with_captures(tmp_path, entries, lambda c: captures.insert(c, entries)) == 0
    counts = with_captures(tmp_path, entries, tallies.counts)
    assert (counts.captures, counts.pages) == (2, 1)


def test_captures_are_listed_in_the_order_of_the_archive(tmp_path: Path) -> None:
    entries = [kept(B, 5, "v2", 1), kept(A, 4, "v1", 2), kept(B, 3, "v1", 1), kept(A, 9, "v2", 2)]
    listed = with_captures(tmp_path, entries, lambda c: list(captures.in_order(c)))
    assert listed == [entries[2], entries[1], entries[0], entries[3]]
    assert with_captures(tmp_path, entries, lambda c: list(captures.in_volume(c, "v2"))) == [entries[0], entries[3]]
    assert with_captures(tmp_path, entries, captures.volume_names) == ["v1", "v2"]


def test_the_end_of_the_last_record_of_a_volume_is_known(tmp_path: Path) -> None:
    entries = [kept(A, 5, "v1", 1), kept(B, 6, "v1", 2)]
    assert with_captures(tmp_path, entries, lambda c: captures.end_of(c, "v1")) == (3, 290)
    assert with_captures(tmp_path, entries, lambda c: captures.end_of(c, "v2")) is None


def test_pages_are_the_newest_page_of_each_url(tmp_path: Path) -> None:
    entries = [kept(A, 5, number=1), kept(A, 8, number=2), kept(A, 9, number=3, is_page=False), kept(B, 2, number=4)]
    found = with_captures(tmp_path, entries, lambda c: list(captures.pages(c)))
    assert sorted(found, key=lambda one: one.url.text) == [entries[1], entries[3]]
