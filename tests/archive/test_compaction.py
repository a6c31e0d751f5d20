"""Volumes are rewritten without dropped records; a kill between any two steps loses nothing and restores nothing."""

import asyncio
import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import msgspec
import pytest
from tests.archive.samples import START_AT, body_of, capture, fastwarc_count, passes_gzip, warcio_count

from gossamer.archive.catalogue import Catalogue, acknowledged, adopt
from gossamer.archive.compaction import (
    Compaction,
    Rewritten,
    gaps,
    matching,
    next_name,
    outdated,
    pieces,
    retired,
    runs,
    tidy,
)
from gossamer.archive.reader import VOLUME_NAME, generation_of, read_record, scan, stem_of, volumes_in
from gossamer.archive.record import response_record, revisit_record
from gossamer.archive.verify import COPIED_AT_ONCE
from gossamer.archive.volumes import Volumes
from gossamer.base.errors import DiskFull
from gossamer.base.files import DiskFiles, Files
from gossamer.base.tell import Tell, silent
from gossamer.config.slices import Retain
from gossamer.store import captures, tallies
from gossamer.store.captures import records_in
from gossamer.store.directory import Directory
from gossamer.store.sqlite.database import Database, read_only
from gossamer.testing import FakeClock, FaultyFiles
from gossamer.values.capture import Capture, Kept, Place
from gossamer.values.history import Original
from gossamer.values.url import Url

FILES = DiskFiles()
PAGES = 6
VERSIONS = 5
STEPS = ("compaction.written", "compaction.placed", "compaction.switched", "compaction.removed", "compaction.emptied")


def version(page: int, number: int) -> Capture:
    at = START_AT + number * 1_000_000 + page
    return capture(page, fetched_at=at, body=body_of(page * 100 + number))


def kept_of(one: Capture, place: Place, refers_at: int | None = None) -> Kept:
    digest = hashlib.sha256(one.body).digest()
    kept = Kept(one.id, one.url, one.fetched_at, place, one.status, "text/html", digest, len(one.body), True)
    return msgspec.structs.replace(kept, is_page=refers_at is None, refers_at=refers_at)


async def filled(root: Path, database: Database) -> None:
    """One volume for each round of versions, and a last one in which every page is unchanged."""
    for number in range(VERSIONS + 1):
        volumes = Volumes(FILES, root / "archive", FakeClock(START_AT + number * 1_000_000), silent)
        volumes.open()
        entered = []
        for page in range(PAGES):
            one = version(page, number)
            if number < VERSIONS:
                entered.append(kept_of(one, volumes.append(response_record(one))))
            else:
                before = version(page, VERSIONS - 1)
                digest = hashlib.sha256(before.body).digest()
                again = msgspec.structs.replace(one, status=304, body=b"")
                place = volumes.append(revisit_record(again, Original(one.url.text, before.fetched_at, digest)))
                entered.append(kept_of(again, place, before.fetched_at))
        volumes.close()
        await database.run(partial(captures.insert, kept=entered))


async def compacted(root: Path, retain: Retain, tell: Tell = silent, files: Files = FILES) -> list[Rewritten]:
    async with Database(root / "state.db", FakeClock(), silent) as database:
        if not (root / "archive").is_dir():
            await filled(root, database)
        await tidy(database, files, root / "archive", silent)
        Volumes(files, root / "archive", FakeClock(), silent).open(await acknowledged(database))
        await adopt(database, files, root / "archive", silent)
        going = await database.read(partial(retired, retain=retain, now=START_AT))
        rewriting = Compaction(database, files, root / "archive", root / "spool", FakeClock(START_AT), tell)
        return await rewriting.rewrite(going)


def held(root: Path) -> dict[str, bytes]:
    """The body of every capture in the catalogue, by URL and time, read from the catalogued place."""
    with Catalogue(Directory(root), FILES) as catalogue:
        found = {}
        for one in catalogue.in_order():
            record = read_record(FILES, root / "archive", one.place)
            answer = record.capture or (record.again and record.again.answer)
            assert answer and (answer.url, answer.fetched_at) == (one.url, one.fetched_at)
            found[f"{one.url} {one.fetched_at}"] = answer.body
        return found


def expected(last: int) -> dict[str, bytes]:
    found = {}
    for page in range(PAGES):
        for number in range(VERSIONS - last, VERSIONS):
            one = version(page, number)
            found[f"{one.url} {one.fetched_at}"] = one.body
        found[f"{version(page, VERSIONS).url} {version(page, VERSIONS).fetched_at}"] = b""
    return found


def test_old_versions_are_dropped_and_the_rest_is_where_the_catalogue_says(tmp_path: Path) -> None:
    done = asyncio.run(compacted(tmp_path, Retain("last", 2)))
    assert len(done) == 3 and sum(one.dropped for one in done) == 3 * PAGES and all(one.freed_bytes > 0 for one in done)
    assert held(tmp_path) == expected(2)
    assert len(volumes_in(FILES, tmp_path / "archive")) == 3  # two with bodies, one with revisits
    with closing(read_only(tmp_path / "state.db")) as state:
        assert tallies.counts(state).captures == 3 * PAGES and tallies.counts(state).pages == PAGES


def test_other_programs_read_a_rewritten_volume_and_kept_records_are_the_same_bytes(tmp_path: Path) -> None:
    asyncio.run(compacted(tmp_path, Retain()))
    folder = tmp_path / "archive"
    first = volumes_in(FILES, folder)[0]
    before = [
        FILES.read(folder / first, one.place.offset, one.place.length)
        for one in scan(FILES, folder, first)
        if isinstance(one.place, Place)
    ]
    size = (folder / first).stat().st_size

    async def without_every_second() -> list[Rewritten]:
        async with Database(tmp_path / "state.db", FakeClock(), silent) as database:
            rows = await database.read(partial(records_in, volume=first))
            gone = {first: {row.offset: row.length for row in rows[::2]}}
            return await Compaction(database, FILES, folder, tmp_path / "spool", FakeClock(), silent).rewrite(gone)

    (done,) = asyncio.run(without_every_second())
    new = folder / done.new
    assert done.new == first.replace(".warc.gz", "-c0001.warc.gz") and done.kept == done.dropped == PAGES // 2
    assert done.freed_bytes == size - new.stat().st_size
    assert passes_gzip(new) and warcio_count(new) == fastwarc_count(new) == 1 + PAGES // 2
    places = [one.place for one in scan(FILES, folder, done.new)]
    assert [FILES.read(new, one.offset, one.length) for one in places[1:]] == before[2::2]
    assert [one.number for one in places] == list(range(len(places)))


def test_compacting_again_changes_nothing(tmp_path: Path) -> None:
    asyncio.run(compacted(tmp_path, Retain("last", 2)))
    names = FILES.names(tmp_path / "archive")
    assert asyncio.run(compacted(tmp_path, Retain("last", 2))) == []
    assert FILES.names(tmp_path / "archive") == names
    asyncio.run(compacted(tmp_path, Retain("last", 1)))
    assert held(tmp_path) == expected(1)


class Interrupted(Exception):
    pass


def interrupting(step: str, at: int) -> Tell:
    count = 0

    def tell(event: str, /, **facts: object) -> None:
        nonlocal count
        count += event == step
        if event == step and count == at:
            raise Interrupted

    return tell


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("at", [1, 2, 3])
def test_interrupted_after_any_step_nothing_is_lost_and_the_next_start_continues(
    tmp_path: Path, step: str, at: int
) -> None:
    with pytest.raises(Interrupted):
        asyncio.run(compacted(tmp_path, Retain("last", 2), interrupting(step, at)))
    left = held(tmp_path)
    assert expected(2).items() <= left.items() <= expected(VERSIONS).items()
    asyncio.run(compacted(tmp_path, Retain("last", 2)))
    assert held(tmp_path) == expected(2)
    folder = tmp_path / "archive"
    assert not [name for name in FILES.names(folder) if name.endswith(".part")]
    assert FILES.names(folder) == volumes_in(FILES, folder)  # no volume twice
    assert sum(warcio_count(folder / name) - 1 for name in volumes_in(FILES, folder)) == 3 * PAGES


def test_killed_with_kill_9_at_every_step_nothing_is_lost(tmp_path: Path) -> None:
    program = (
        "import asyncio, os, signal, sys; from pathlib import Path\n"
        "from tests.archive.test_compaction import compacted; from gossamer.rules.retention import Retain\n"
        "left = int(sys.argv[2])\n"
        "def tell(event, /, **facts):\n"
        "    global left; left -= event.startswith('compaction.')\n"
        "    if left < 0: os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(compacted(Path(sys.argv[1]), Retain('last', 2), tell))\n"
    )
    asyncio.run(compacted(tmp_path, Retain()))
    command = [sys.executable, "-c", program, str(tmp_path)]
    kills = 0
    for step in (1, 2, 99):  # each process continues where the one before was killed
        done = subprocess.run([*command, str(step)], cwd=Path(__file__).parents[2], env=os.environ, check=False)
        kills += done.returncode == -signal.SIGKILL
        assert expected(2).items() <= held(tmp_path).items()
    assert done.returncode == 0 and kills == 2
    assert held(tmp_path) == expected(2)


def test_a_full_disk_leaves_everything_as_it_was(tmp_path: Path) -> None:
    asyncio.run(compacted(tmp_path, Retain()))
    names = FILES.names(tmp_path / "archive")
    for call in (1, 2):
        full = FaultyFiles(FILES, on=("append", "sync"), fail_at=call)
        with pytest.raises(DiskFull):
            asyncio.run(compacted(tmp_path, Retain("last", 2), files=full))
        assert FILES.names(tmp_path / "archive") == names and held(tmp_path) == expected(VERSIONS)


def test_an_emptied_volume_is_deleted_but_the_last_one_keeps_its_number(tmp_path: Path) -> None:
    asyncio.run(compacted(tmp_path, Retain()))
    folder = tmp_path / "archive"

    async def without(is_unwanted: Callable[[str], bool]) -> None:
        async with Database(tmp_path / "state.db", FakeClock(), silent) as database:
            going = await database.read(lambda c: matching(c, FILES, folder, is_unwanted, silent))
            await Compaction(database, FILES, folder, tmp_path / "spool", FakeClock(), silent).rewrite(going)

    last = volumes_in(FILES, folder)[-1]
    asyncio.run(without(lambda url: True))
    assert volumes_in(FILES, folder) == [next_name(last, [])]
    assert warcio_count(folder / next_name(last, [])) == 1
    volumes = Volumes(FILES, folder, FakeClock(), silent)
    volumes.open()
    assert volumes.append(response_record(capture(1))).volume > last
    volumes.close()

    async def adopted() -> int:
        async with Database(tmp_path / "state.db", FakeClock(), silent) as database:
            await tidy(database, FILES, folder, silent)
            return await adopt(database, FILES, folder, silent)

    assert asyncio.run(adopted()) == 1


def test_a_record_missing_from_the_catalogue_is_found_and_dropped(tmp_path: Path) -> None:
    """A capture imported twice is in two volumes, and the catalogue has only one of them."""
    asyncio.run(compacted(tmp_path, Retain()))
    folder, twice = tmp_path / "archive", [version(1, 0), version(2, 0)]
    volumes = Volumes(FILES, folder, FakeClock(START_AT + 99_000_000), silent)
    volumes.open()
    places = [volumes.append(response_record(one)) for one in twice]
    volumes.close()
    unwanted = Url("https://example.org/page/1").text

    async def story() -> None:
        async with Database(tmp_path / "state.db", FakeClock(), silent) as database:
            entered = [kept_of(one, place) for one, place in zip(twice, places, strict=True)]
            assert await database.run(partial(captures.insert, kept=entered)) == 0
            assert [gap.target for gap in gaps(FILES, folder / places[0].volume, [], silent)][1:] == [
                one.url.text for one in twice
            ]
            going = await database.read(lambda c: matching(c, FILES, folder, lambda url: url == unwanted, silent))
            assert going[places[0].volume] == {places[0].offset: places[0].length}
            await Compaction(database, FILES, folder, tmp_path / "spool", FakeClock(), silent).rewrite(going)
            await tidy(database, FILES, folder, silent)

    asyncio.run(story())
    left = [one for name in volumes_in(FILES, folder) for one in scan(FILES, folder, name)]
    assert unwanted not in {one.capture.url.text for one in left if one.capture}
    assert sum(one.capture is not None and one.capture.id == twice[1].id for one in left) == 2


def test_a_capture_looked_up_before_its_volume_was_rewritten_is_still_read(tmp_path: Path) -> None:
    asyncio.run(compacted(tmp_path, Retain()))
    newest, oldest = version(3, VERSIONS - 1), version(3, 0)
    with Catalogue(Directory(tmp_path), FILES) as catalogue:
        known = {one.fetched_at: one for one in catalogue.versions(newest.url)}
        asyncio.run(compacted(tmp_path, Retain("last", 1)))
        assert catalogue.read(known[newest.fetched_at]) == newest
        assert catalogue.read(known[oldest.fetched_at]) is None


def test_M_Z9_pages_as_they_were_are_shown_from_the_versions_that_are_left(tmp_path: Path) -> None:
    asyncio.run(compacted(tmp_path, Retain("last", 2)))
    url = version(2, 0).url
    with Catalogue(Directory(tmp_path), FILES) as catalogue:
        then = [catalogue.capture(url, version(2, number).fetched_at) for number in range(VERSIONS + 1)]
    assert then == [None, None, None, version(2, 3), version(2, 4), version(2, 4)]


def test_a_rewritten_volume_sorts_before_the_old_one_and_after_the_one_before(tmp_path: Path) -> None:
    old = "gossamer-00000007-20261115101010.warc.gz"
    first, second = next_name(old, []), next_name(next_name(old, []), [])
    assert "gossamer-00000006-20261115101010.warc.gz" < first < second < old
    for name in (old, first, "gossamer-00000006-20261115101010.warc.gz"):
        (tmp_path / name).write_bytes(b"")
    assert volumes_in(FILES, tmp_path) == ["gossamer-00000006-20261115101010.warc.gz", first]


def test_when_all_versions_are_kept_nothing_is_dropped_or_read() -> None:
    assert retired(None, Retain("all"), 0) == {}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spans", "found"),
    [
        ([], []),
        ([(5, 3)], [[(5, 3)]]),
        ([(0, 5), (5, 3), (8, 1)], [[(0, 5), (5, 3), (8, 1)]]),
        ([(0, 5), (6, 3), (9, 1), (20, 2)], [[(0, 5)], [(6, 3), (9, 1)], [(20, 2)]]),
        ([(0, 5), (4, 3)], [[(0, 5)], [(4, 3)]]),
    ],
)
def test_adjacent_records_are_copied_together(spans: list[tuple[int, int]], found: list[list[tuple[int, int]]]) -> None:
    assert list(runs(spans)) == found


def test_the_name_of_a_rewritten_volume_counts_the_rewrites() -> None:
    stem = "gossamer-00000003-20231114221320"
    first = f"{stem}-c0001.warc.gz"
    assert next_name(f"{stem}.warc.gz", []) == first
    assert next_name(f"{stem}.warc.gz", [first]) == f"{stem}-c0002.warc.gz" == next_name(first, [])
    assert next_name(f"{stem}-c9999.warc.gz", []) == f"{stem}-c10000.warc.gz"


def test_half_written_volumes_are_recognized_by_their_names(tmp_path: Path) -> None:
    names = ["gossamer-00000001-20231114221320-c0001.warc.gz.part", "gossamer-00000001-20231114221320.warc.gz",
             "other.part", "gossamer-00000002-20231114221320.warc.gz.part"]  # fmt: skip
    for name in names:
        (tmp_path / name).touch()
    assert sorted(outdated(FILES, tmp_path)) == [names[0], names[3]]
    assert [name for name in names if VOLUME_NAME.fullmatch(name)] == [names[1]]
    assert (generation_of(names[1]), generation_of(names[0].removesuffix(".part")), generation_of("x")) == (0, 1, 0)
    assert stem_of(names[0]) == stem_of(names[1]) == "gossamer-00000001-20231114221320"


class Unreadable(DiskFiles):
    def read(self, path: Path, offset: int = 0, length: int | None = None) -> bytes:
        if offset == 10:
            raise OSError(5, "Input/output error", str(path))
        return super().read(path, offset, length)


def test_unreadable_or_missing_bytes_are_copied_as_zeros(tmp_path: Path) -> None:
    path = tmp_path / "v"
    path.write_bytes(b"x" * 20)
    assert b"".join(pieces(FILES, path, 5, 25)) == b"x" * 15 + bytes(5)
    assert b"".join(pieces(Unreadable(), path, 10, 15)) == bytes(5)
    assert list(pieces(FILES, path, 5, 5)) == []
    large = tmp_path / "large"
    large.write_bytes(bytes(range(256)) * (3 * COPIED_AT_ONCE // 512))
    parts = list(pieces(FILES, large, 7, 3 * COPIED_AT_ONCE // 2))
    assert b"".join(parts) == large.read_bytes()[7:] and max(map(len, parts)) == COPIED_AT_ONCE
