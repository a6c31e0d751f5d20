"""`gossamer import`: archives that others made join the collection, searchable like what was crawled."""

import asyncio
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.console import Console

from gossamer.app.assemble import open_archive
from gossamer.app.config import FILE_NAME, load
from gossamer.app.directory import DEFAULT, Directory, lock_directory
from gossamer.app.indexing import indexer_running
from gossamer.app.outside import Outside, real_outside
from gossamer.app.plugged import job_for, reopened
from gossamer.app.readers import reader_pool
from gossamer.app.settings import Settings
from gossamer.app.working import Working
from gossamer.archive.foreign import PASSED_OVER, foreign
from gossamer.archive.volumes import Volumes
from gossamer.clock import Instant
from gossamer.errors import ConfigError, GossamerError, WorkerLost
from gossamer.read_job import ReadDone, ReadJob, kept_at
from gossamer.rules.forgotten import NOTHING, Forgotten
from gossamer.spool.spool import SpoolWriter
from gossamer.store import captures, forgotten
from gossamer.store.database import Database
from gossamer.values.capture import Capture, Kept
from gossamer.values.tell import silent
from gossamer.values.url import Url
from gossamer.workers.pool import Pool

GROUP = 64


def import_archives(
    *archives: Annotated[Path, Parameter(help="WARC or ARC files, compressed or not.")],
    dir: Annotated[Path, Parameter(help="The collection's data directory; made when it is not there.")] = DEFAULT,
) -> int:
    if not archives:
        raise ConfigError("name at least one archive: gossamer import FILE.warc.gz")
    for archive in archives:
        if not archive.is_file():
            raise ConfigError(f"there is no file {archive}")
    settings = load(dir / FILE_NAME, os.environ, {}).settings
    done = asyncio.run(take_in(Directory(dir), archives, settings, real_outside()))
    if not done.captures and not done.already_here:
        raise GossamerError("nothing was taken in: no usable record was found. Are these WARC or ARC files?")
    Console(stderr=True).print(done.in_words(), highlight=False)
    return 0


@dataclass(frozen=True, slots=True)
class TakenIn:
    captures: int = 0
    pages: int = 0
    """Among the captures."""
    already_here: int = 0
    """The same answer of the same address at the same instant: left out."""
    skipped: int = 0
    """Records that could not be used."""

    def in_words(self) -> str:
        words = f"{self.captures:,} captures taken in, {self.pages:,} of them pages"
        words += f"; {self.already_here:,} already here" if self.already_here else ""
        return words + (f"; {self.skipped:,} records skipped" if self.skipped else "")


async def take_in(directory: Directory, archives: tuple[Path, ...], settings: Settings, outside: Outside) -> TakenIn:
    lock = lock_directory(directory, outside, "import")
    skipped: Counter[str] = Counter()
    taken = pages = already_here = 0
    try:
        async with AsyncExitStack() as opened:
            database = await opened.enter_async_context(Database(directory.state, outside.clock, silent))
            await opened.enter_async_context(indexer_running(directory, outside, silent, settings.agent))
            archive = await open_archive(opened, directory, settings, database, outside, silent)
            job = job_for(reopened(directory.root, outside.files))
            readers = await opened.enter_async_context(reader_pool(settings, outside, silent, job))
            progress = opened.enter_context(Working("importing", outside.clock))
            block = await database.read(forgotten.block)
            for group in groups_of(archives, skipped, block):
                new = await database.read(partial(not_here, group=group))
                already_here += len(group) - len(new)
                kept = await keep(new, settings, readers, *archive)
                await database.run(partial(captures.insert, kept=kept))
                taken += len(kept)
                pages += sum(one.is_page for one in kept)
                progress.says(f"importing: {taken:,} captures, {pages:,} pages")
    finally:
        lock.release()
    unusable = sum(number for reason, number in skipped.items() if reason not in PASSED_OVER)
    return TakenIn(taken, pages, already_here, unusable)


def groups_of(archives: tuple[Path, ...], skipped: Counter[str], block: Forgotten = NOTHING) -> Iterator[list[Capture]]:
    """What was to be forgotten is left out."""

    def wanted(capture: Capture) -> bool:
        skipped["forgotten"] += (is_out := block.has(capture.url))
        return not is_out

    captured = filter(wanted, (capture for archive in archives for capture in foreign(archive, skipped)))
    while group := list(islice(captured, GROUP)):
        yield group


def not_here(connection: sqlite3.Connection, group: Sequence[Capture]) -> list[Capture]:
    """Those that the collection has not got. Two answers of one address at one instant, which archives that count in
    seconds hold, are a microsecond apart here: an instant tells which capture is meant."""
    known: dict[Url, dict[Instant, bytes]] = {}
    new = []
    for capture in group:
        if (held := known.get(capture.url)) is None:
            versions = captures.versions(connection, capture.url)
            held = known[capture.url] = {one.fetched_at: one.digest for one in versions}
        digest, at = sha256(capture.body).digest(), capture.fetched_at
        while at in held and held[at] != digest:
            at += 1
        if at not in held:
            held[at] = digest
            new.append(msgspec.structs.replace(capture, fetched_at=at))
    return new


async def keep(
    group: list[Capture], settings: Settings, readers: Pool, volumes: Volumes, spool: SpoolWriter
) -> list[Kept]:
    """Read, archive and spool one group; synced on return."""
    done = await asyncio.gather(*(read(capture, settings, readers) for capture in group))
    kept = []
    for capture, one in zip(group, done, strict=True):
        place = volumes.append(one.record)
        spool.append(place, one.reading)
        kept.append(kept_at(place, capture, one))
    volumes.sync()
    spool.sync()
    return kept


async def read(capture: Capture, settings: Settings, readers: Pool) -> ReadDone:
    """A capture that no reader survives is kept unread."""
    is_page = 200 <= capture.status < 300 and capture.url != capture.url.robots
    job = ReadJob(capture, "read" if is_page else "store", settings.crawl.keep, settings.agent)
    try:
        answer = await readers.call(msgspec.msgpack.encode(job))
    except WorkerLost:
        answer = await readers.call(msgspec.msgpack.encode(msgspec.structs.replace(job, task="store")))
    return msgspec.msgpack.decode(answer, type=ReadDone)
