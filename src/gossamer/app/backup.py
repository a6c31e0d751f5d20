"""`gossamer backup DIR`: a copy from which everything can be had again, made while the crawl runs."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from gossamer.app import plugged, remembering
from gossamer.app.directory import DEFAULT, Directory, existing
from gossamer.app.outside import Outside, real_outside
from gossamer.app.working import Working
from gossamer.errors import DirectoryUnusable
from gossamer.store import captures
from gossamer.store.database import read_only


def backup(
    to: Annotated[Path, Parameter(help="A directory that is not there yet, or is empty.")],
    *,
    dir: Annotated[Path, Parameter(help="The collection's data directory.")] = DEFAULT,
) -> int:
    copied = back_up(existing(dir), Directory(to), real_outside())
    volumes = "1 volume" if copied == 1 else f"{copied:,} volumes"
    says = f"{volumes} copied to {to}. Make it searchable with: gossamer rebuild --dir {to}"
    Console(stderr=True).print(says, highlight=False, markup=False, soft_wrap=True)
    return 0


def back_up(source: Directory, target: Directory, outside: Outside) -> int:
    """The state first, then every volume as far as that state knows it: volumes only ever grow, so the two agree."""
    files = outside.files
    if files.names(target.root):
        raise DirectoryUnusable(f"{target.root} is not empty; name a new directory for the backup")
    for folder in (target.root, target.archive, target.spool):
        files.make_folder(folder)
    with closing(read_only(source.state)) as live, closing(sqlite3.connect(target.state)) as copy:
        live.backup(copy)  # in one step: in several it would begin again whenever the crawl has written
    with closing(read_only(target.state)) as state:
        ends = {name: captures.end_of(state, name) for name in captures.volume_names(state)}
    with Working("copying", outside.clock) as progress:
        for number, (name, end) in enumerate(ends.items(), 1):
            progress.says(f"copying volume {number} of {len(ends)}")
            if end is not None:
                files.copy(source.archive / name, target.archive / name, end[1])
    for name in (source.config.name, source.rules.name, remembering.NAME, plugged.NAME):
        if (source.root / name).is_file():
            files.copy(source.root / name, target.root / name)
    return len(ends)
