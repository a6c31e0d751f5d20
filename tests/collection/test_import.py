"""Captures that an import skips because the collection has them."""

import asyncio
from functools import partial
from hashlib import sha256
from pathlib import Path

from gossamer.archive.foreign.records import Aside
from gossamer.base.clock import SECOND, SystemClock
from gossamer.base.tell import silent
from gossamer.collection.maintenance.archive_import import Imported, not_here
from gossamer.store import captures
from gossamer.store.sqlite.database import Database
from gossamer.values.capture import Capture, Kept, Place
from gossamer.values.url import Url

HOME, AT = Url("http://a.test/"), 1_790_000_000 * SECOND


def response(body: bytes, at: int = AT, url: Url = HOME) -> Capture:
    return Capture(url, at, 200, "OK", (), body)


def kept(capture: Capture, number: int) -> Kept:
    place = Place("one.warc.gz", number, number * 100, 100)
    digest = sha256(capture.body).digest()
    return Kept(capture.id, capture.url, capture.fetched_at, place, 200, "text/html", digest, 1, True)


async def imported(root: Path, *groups: list[Capture]) -> list[list[Capture]]:
    """The captures of each group that were new when it was imported."""
    found, number = [], 0
    async with Database(root / "state.db", SystemClock(), silent) as database:
        for group in groups:
            new = await database.read(partial(not_here, group=group))
            await database.run(partial(captures.insert, kept=[kept(one, number + n) for n, one in enumerate(new)]))
            number += len(new)
            found.append(new)
    return found


def test_the_same_url_time_and_body_are_imported_once(tmp_path: Path) -> None:
    elsewhere, later = response(b"x", url=Url("http://b.test/")), response(b"x", AT + SECOND)
    group = [response(b"x"), elsewhere, response(b"x"), later]
    first, second = asyncio.run(imported(tmp_path, group, group))
    assert first == [response(b"x"), elsewhere, later] and second == []


def test_two_responses_within_one_second_are_both_stored_and_recognised_again(tmp_path: Path) -> None:
    group = [response(b"moved"), response(b"page"), response(b"other")]
    first, second, third = asyncio.run(imported(tmp_path, group[:2], group, [*reversed(group)]))
    assert [one.fetched_at - AT for one in first] == [0, 1] and [one.fetched_at - AT for one in second] == [2]
    assert third == []


def test_skipped_records_are_reported() -> None:
    assert Imported(3, 2).in_words() == "3 captures imported, 2 of them pages"
    aside = Aside("a.warc", 1234, "no date", "http://a.test/")
    words = Imported(0, 0, 5, {"warcinfo": 1}, {"no date": 1}, [aside]).in_words()
    assert words.splitlines() == [
        "0 captures imported, 0 of them pages; 5 already here; 1 record set aside (1 no date)",
        "  a.warc, byte 1,234: no date http://a.test/",
    ]
