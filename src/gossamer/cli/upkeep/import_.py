"""`gossamer import`: adds pages from WARC, ARC and TREC files of other programs to a collection."""

import asyncio
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gossamer.base.environment import real_outside
from gossamer.base.errors import ConfigError, GossamerError
from gossamer.cli.flags import NewDir
from gossamer.cli.output import Progress, note, report_damage
from gossamer.collection.maintenance.archive_import import import_archives
from gossamer.crawler.damage import DAMAGED
from gossamer.store.directory import DEFAULT, Directory, refuse_lost_state
from gossamer.store.options import config_of
from gossamer.values.format import json_bytes


def import_(
    *archives: Annotated[Path, Parameter(help="WARC, ARC, TREC Web or TREC Text files, compressed or not.")],
    dir: NewDir = DEFAULT,
    json: Annotated[bool, Parameter(help="The summary as one JSON object: counts, and each record set aside.")] = False,
) -> int:
    if not archives:
        raise ConfigError("give at least one archive: gossamer import FILE.warc.gz")
    if missing := next((archive for archive in archives if not archive.is_file()), None):
        raise ConfigError(f"there is no file {missing}")
    refuse_lost_state(Directory(dir))
    outside = real_outside()
    with Progress("importing", outside.clock) as progress:
        done = asyncio.run(import_archives(Directory(dir), archives, config_of(dir).settings, outside, progress.show))
    if json:
        print(json_bytes(done).decode())
    else:
        note(done.in_words())
    if not done.captures and not done.already_here:
        raise GossamerError("nothing was imported: no usable record was found. Are these WARC, ARC or TREC files?")
    return report_damage(done.damaged, dir) or (DAMAGED if done.set_aside else 0)
