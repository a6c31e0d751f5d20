"""Replays of the archive: at any time, the facts are those that the graph had then."""

import asyncio
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from tests.archive.past import DAY, HOUR, SHOP, START_AT, captured, collection, kettle, past
from tests.views.digests import facts_digest

from gossamer.base.environment import real_outside
from gossamer.base.errors import QueryRefused
from gossamer.base.tell import silent
from gossamer.collection.history.facts import MOST_PAGES, replay, unheard
from gossamer.reader.reading import done
from gossamer.spool.codec import decode
from gossamer.store.directory import Directory
from gossamer.values.capture import Capture
from gossamer.values.messages import PageFacts, ReadJob
from gossamer.values.page import empty_reading
from gossamer.values.url import Host, Url
from gossamer.views.facts.checkpoints import newest
from gossamer.views.facts.sources import SOURCES
from gossamer.views.facts.store import Graph, opened, page_facts

URLS = [Url(f"https://{host}.test/{path}") for host in ("a", "b") for path in ("", "x", "y?z={|}")]


def body(kind: str, number: int) -> tuple[str, int]:
    match kind:
        case "page":
            return kettle(price=str(number)), 200
        case "silent":
            return kettle(price=str(number)).replace("<title>", '<meta name="robots" content="noindex"><title>'), 200
        case "picture":
            return "\x89PNG\r\n\x1a\n\x00\x00", 200
        case "moved":
            return "", 301
        case "broken":
            return "out of order", 503
        case _:
            return "gone", 410 if number % 2 else 404


KINDS = ["page", "page", "page", "silent", "gone", "gone", "moved", "broken", "picture"]
PASTS = some.lists(
    some.tuples(some.sampled_from(URLS), some.integers(0, 12), some.sampled_from(KINDS), some.integers(0, 3)),
    min_size=1,
    max_size=14,
    unique_by=lambda one: (one[0].text, one[1]),
)


def facts_in(folder: Path) -> list[bytes]:
    checkpoint = newest(real_outside().files, folder / "checkpoints")
    assert checkpoint is not None
    return sorted(b"".join(page_facts(opened(checkpoint.folder))).splitlines())


def live_facts(folder: Path, taken: Sequence[Capture], at: int) -> list[bytes]:
    """The facts of a graph updated capture by capture, as by the indexer: a page that is gone has none."""
    outside = real_outside()
    with Graph(folder / "live", outside.files, outside.clock, silent) as graph:
        for capture in sorted(taken, key=lambda one: one.fetched_at):
            if capture.fetched_at > at or capture.status == 503:
                continue
            if capture.status == 200:
                spooled = done(ReadJob(capture, "read", "all", "gossamer")).reading
                reading = decode(spooled) if spooled else None
            else:
                reading = empty_reading(capture)
            if reading is not None:
                graph.replace([PageFacts(reading.page.url, reading.facts, reading.capture_id, reading.fetched_at)])
        return sorted(b"".join(page_facts(graph.store)).splitlines())


@settings(max_examples=40, deadline=None)
@given(PASTS, some.integers(-1, 13))
def test_M_Z9_a_replay_of_any_time_has_exactly_the_facts_of_that_time(
    events: list[tuple[Url, int, str, int]], hour: int
) -> None:
    at = START_AT + hour * HOUR
    taken = []
    for url, fetched, kind, number in events:
        text, status = body(kind, number)
        kind_of = {"Content_Type": "image/png"} if kind == "picture" else {}
        taken.append(captured(url, START_AT + fetched * HOUR, text.encode("latin-1"), status, **kind_of))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        directory = collection(folder / "collection", taken)
        asyncio.run(replay(past(directory), real_outside(), folder, at, None, MOST_PAGES, unheard))
        assert facts_in(folder) == live_facts(folder, taken, at)


def test_M_Z9_a_page_has_no_facts_while_it_is_gone_and_has_them_again_when_it_is_back(tmp_path: Path) -> None:
    taken = [
        captured(SHOP, START_AT, kettle(price="20.00")),
        captured(SHOP, START_AT + 2 * DAY, "no more", 410),
        captured(SHOP, START_AT + 4 * DAY, kettle(price="25.00")),
        captured(SHOP, START_AT + 6 * DAY, "", 301, Location="https://shop.test/elsewhere"),
    ]
    directory = collection(tmp_path / "collection", taken)
    found = []
    for day in (1, 3, 5, 7):
        folder = tmp_path / str(day)
        asyncio.run(replay(past(directory), real_outside(), folder, START_AT + day * DAY, None, 9, unheard))
        text = b"\n".join(facts_in(folder))
        found.append(b"20.00" in text or b"25.00" in text)
    assert found == [True, False, True, False]


def test_one_site_is_replayed_without_the_others(tmp_path: Path) -> None:
    taken = [captured(url, START_AT, kettle(price=str(number))) for url, number in zip(URLS, count(), strict=False)]
    directory = collection(tmp_path / "collection", taken)
    progress: list[str] = []
    found = asyncio.run(replay(past(directory), real_outside(), tmp_path, START_AT, Host("b.test"), 3, progress.append))
    assert (found.pages, found.unread) == (3, 0) and progress[-1].endswith("3 of 3 pages")
    assert all(b"<https://b.test/" in line for line in facts_in(tmp_path)) and facts_in(tmp_path)


def test_F_P12_three_replays_of_the_same_time_are_equal(tmp_path: Path) -> None:
    taken = [captured(url, START_AT + hour * HOUR, kettle(price=str(hour))) for hour in range(4) for url in URLS]
    directory = collection(tmp_path / "collection", taken)
    found = []
    for turn in range(3):
        folder = tmp_path / str(turn)
        asyncio.run(replay(past(directory), real_outside(), folder, START_AT + 2 * HOUR, None, 9, unheard))
        checkpoint = newest(real_outside().files, folder / "checkpoints")
        assert checkpoint is not None
        found.append((facts_in(folder), facts_digest(opened(checkpoint.folder)), sources(checkpoint.folder)))
    assert found[0] == found[1] == found[2] and len(found[0][0]) == 9 * len(URLS)


def test_too_many_pages_are_refused_before_any_is_read(tmp_path: Path) -> None:
    taken = [captured(url, START_AT, kettle()) for url in URLS]
    directory = collection(tmp_path / "collection", taken)
    with pytest.raises(QueryRefused, match=r"6 pages were current .* --site"):
        asyncio.run(replay(past(directory), real_outside(), tmp_path, START_AT, None, 5, unheard))


def test_an_unreadable_capture_is_counted_and_the_rest_replayed(tmp_path: Path) -> None:
    taken = [captured(SHOP, START_AT, kettle()), captured(URLS[0], START_AT + DAY, kettle())]
    directory = collection(tmp_path / "collection", taken)
    damage_last_record(directory)
    found = asyncio.run(replay(past(directory), real_outside(), tmp_path, START_AT + DAY, None, 9, unheard))
    assert (found.pages, found.unread) == (1, 1)


def sources(folder: Path) -> list[tuple[int, int, bytes]]:
    """The provenance of each fact; empty if replays store none."""
    if not (folder / SOURCES).is_file():
        return []
    with closing(sqlite3.connect(folder / SOURCES)) as held:
        return sorted(held.execute("SELECT id, capture, record FROM records"))


def damage_last_record(directory: Directory) -> None:
    """Overwrite part of the last record."""
    volume = sorted(directory.archive.iterdir())[-1]
    octets = volume.read_bytes()
    volume.write_bytes(octets[:-200] + bytes(200))
