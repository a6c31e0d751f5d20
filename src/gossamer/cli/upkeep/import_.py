"""`gossamer import`: archives that others made join the collection, searchable like what was crawled."""

import asyncio
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.console import Console

from gossamer.base.environment import real_outside
from gossamer.base.errors import ConfigError, GossamerError
from gossamer.cli.steps import Working
from gossamer.collection.maintenance.archive_import import (
    take_in,
)
from gossamer.crawler.damage import DAMAGED, tell_damage
from gossamer.store.directory import DEFAULT, Directory, refuse_lost_state
from gossamer.store.options import config_of


def import_archives(
    *archives: Annotated[Path, Parameter(help="WARC or ARC files, compressed or not.")],
    dir: Annotated[Path, Parameter(help="The collection's data directory; created if it does not exist.")] = DEFAULT,
    json: Annotated[bool, Parameter(help="The summary as one JSON object: counts, and each record set aside.")] = False,
) -> int:
    if not archives:
        raise ConfigError("give at least one archive: gossamer import FILE.warc.gz")
    for archive in archives:
        if not archive.is_file():
            raise ConfigError(f"there is no file {archive}")
    refuse_lost_state(Directory(dir))
    settings = config_of(dir).settings
    outside = real_outside()
    with Working("importing", outside.clock) as progress:
        done = asyncio.run(take_in(Directory(dir), archives, settings, outside, progress.says))
    if json:
        print(msgspec.json.encode(done).decode())
    else:
        Console(stderr=True).print(done.in_words(), highlight=False, markup=False, soft_wrap=True)
    if not done.captures and not done.already_here:
        raise GossamerError("nothing was imported: no usable record was found. Are these WARC or ARC files?")
    return tell_damage(done.damaged, dir) or (DAMAGED if done.set_aside else 0)
