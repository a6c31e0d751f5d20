"""`gossamer import`: archives that others made join the collection, searchable like what was crawled."""

import asyncio
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack
from functools import partial
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
from gossamer.app.plugged import reopened
from gossamer.app.plugins import job_for
from gossamer.app.readers import reader_pool
from gossamer.app.settings import Settings
from gossamer.app.working import Working
from gossamer.archive.foreign import PASSED_OVER, foreign
from gossamer.archive.volumes import Volumes
from gossamer.errors import ConfigError, GossamerError, WorkerLost
from gossamer.read_job import ReadDone, ReadJob, kept_at
from gossamer.spool.spool import SpoolWriter
from gossamer.store import captures
from gossamer.store.database import Database
from gossamer.values.capture import Capture, Kept
from gossamer.values.tell import silent
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
    taken, pages, skipped = asyncio.run(take_in(Directory(dir), archives, settings, real_outside()))
    if not taken:
        raise GossamerError("nothing was taken in: no usable record was found. Are these WARC or ARC files?")
    words = f"{taken:,} captures taken in, {pages:,} of them pages"
    Console(stderr=True).print(words + (f"; {skipped:,} records skipped" if skipped else ""), highlight=False)
    return 0


async def take_in(
    directory: Directory, archives: tuple[Path, ...], settings: Settings, outside: Outside
) -> tuple[int, int, int]:
    """Captures, pages among them, and records that could not be used."""
    lock = lock_directory(directory, outside, "import")
    skipped: Counter[str] = Counter()
    taken = pages = 0
    try:
        async with AsyncExitStack() as opened:
            database = await opened.enter_async_context(Database(directory.state, outside.clock, silent))
            await opened.enter_async_context(indexer_running(directory, outside, silent, settings.agent))
            archive = await open_archive(opened, directory, settings, database, outside, silent)
            job = job_for(reopened(directory.root, outside.files))
            readers = await opened.enter_async_context(reader_pool(settings, outside, silent, job))
            progress = opened.enter_context(Working("importing", outside.clock))
            for group in groups_of(archives, skipped):
                kept = await keep(group, settings, readers, *archive)
                await database.run(partial(captures.insert, kept=kept))
                taken += len(kept)
                pages += sum(one.is_page for one in kept)
                progress.says(f"importing: {taken:,} captures, {pages:,} pages")
    finally:
        lock.release()
    return taken, pages, sum(number for reason, number in skipped.items() if reason not in PASSED_OVER)


def groups_of(archives: tuple[Path, ...], skipped: Counter[str]) -> Iterator[list[Capture]]:
    captured = (capture for archive in archives for capture in foreign(archive, skipped))
    while group := list(islice(captured, GROUP)):
        yield group


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
