"""`gossamer backup DIR`: a copy from which everything can be had again, made while the crawl runs."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.progress import track

from gossamer.app.directory import DEFAULT, Directory, existing
from gossamer.app.outside import Outside, real_outside
from gossamer.errors import DirectoryUnusable
from gossamer.store import captures
from gossamer.store.database import read_only


def backup(
    to: Annotated[Path, Parameter(help="A directory that is not there yet, or is empty.")],
    *,
    dir: Annotated[Path, Parameter(help="The collection's data directory.")] = DEFAULT,
) -> int:
    """Copy the archive, the catalogue and the crawl's state to another directory, while the crawl runs.

    The copy is a data directory of its own: `gossamer rebuild --dir COPY` makes its views, and
    `gossamer crawl --dir COPY` goes on from the moment of the backup.
    """
    copied = back_up(existing(dir), Directory(to), real_outside())
    Console(stderr=True).print(f"{copied} volumes copied to {to}. Make it searchable with: gossamer rebuild --dir {to}")
    return 0


def back_up(source: Directory, target: Directory, outside: Outside) -> int:
    """The state first, then every volume as far as that state knows it: volumes only ever grow, so the two agree."""
    files = outside.files
    if files.names(target.root):
        raise DirectoryUnusable(f"{target.root} is not empty; name a new directory for the backup")
    for folder in (target.root, target.archive, target.spool):
        files.make_folder(folder)
    with closing(read_only(source.state)) as live, closing(sqlite3.connect(target.state)) as copy:
        live.backup(copy, pages=4096)
    with closing(read_only(target.state)) as state:
        ends = {name: captures.end_of(state, name) for name in captures.volume_names(state)}
    for name, end in track(ends.items(), "copying volumes", console=Console(stderr=True), transient=True):
        if end is not None:
            files.copy(source.archive / name, target.archive / name, end[1])
    if source.config.is_file():
        files.copy(source.config, target.config)
    return len(ends)
