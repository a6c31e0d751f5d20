"""`gossamer rebuild`: make the views again from the archive, which is the truth."""

import asyncio
import os
from contextlib import closing
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from gossamer.app.config import FILE_NAME, load
from gossamer.app.directory import DEFAULT, Directory, existing, lock_directory
from gossamer.app.indexing import become_the_one, indexer_running
from gossamer.app.outside import Outside, real_outside
from gossamer.app.working import Working
from gossamer.archive.compaction import tidy
from gossamer.archive.reader import volumes_in
from gossamer.errors import GossamerError
from gossamer.monitor.control import Control
from gossamer.spool.spool import SpoolWriter
from gossamer.store import tallies
from gossamer.store.database import Database, read_only
from gossamer.values.tell import silent

SAYS = "reading the archive again"


def rebuild(
    *,
    dir: Annotated[Path, Parameter(help="The collection's data directory.")] = DEFAULT,
) -> int:
    agent = load(dir / FILE_NAME, os.environ, {}).settings.agent
    pages = asyncio.run(build_again(existing(dir), agent, real_outside()))
    Console(stderr=True).print(f"search, facts and links are made again, from {pages:,} captures of pages")
    return 0


async def build_again(directory: Directory, agent: str, outside: Outside) -> int:
    lock = lock_directory(directory, outside, "rebuild")
    try:
        (await become_the_one(directory, outside, "rebuild")).release()  # an indexer may still be at the old views
        async with Database(directory.state, outside.clock, silent) as database:
            await tidy(database, outside.files, directory.archive, silent)
        for path in [*directory.views(), directory.spool]:
            outside.files.remove(path)
        for folder in directory.folders():
            outside.files.make_folder(folder)
        mark_finished(directory, outside)
        return await followed(directory, agent, outside)
    finally:
        lock.release()


def mark_finished(directory: Directory, outside: Outside) -> None:
    """Nobody writes: the last volume is whole, and the views need not wait for more of it."""
    volumes = volumes_in(outside.files, directory.archive)
    SpoolWriter(outside.files, directory.spool, silent).open(volumes[-1] if volumes else None)


async def followed(directory: Directory, agent: str, outside: Outside) -> int:
    """Run the indexer until nothing is left to read, showing how far it is. The pages it took."""
    with closing(read_only(directory.state)) as state:
        total = tallies.counts(state).pages
    with Control(directory.control, outside.clock) as control, Working(SAYS, outside.clock) as progress:
        async with indexer_running(directory, outside, silent, agent) as indexer:
            finishing = asyncio.ensure_future(indexer.finish())
            while not finishing.done():
                await outside.clock.sleep(0.2)
                progress.says(f"{SAYS}: {pages_told(control, indexer.pid):,} of {total:,} pages")
            if code := await finishing:
                raise GossamerError(f"the indexer ended with exit code {code}; the archive is whole: rebuild again")
        return pages_told(control, indexer.pid)


def pages_told(control: Control, pid: int | None) -> int:
    told = [beat for beat in control.beats() if beat.name == "indexer" and beat.pid == pid]
    return int(str(told[0].facts.get("pages", 0))) if told else 0
