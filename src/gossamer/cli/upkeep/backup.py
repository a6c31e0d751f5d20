"""`gossamer backup DIR`: a copy from which everything can be restored, also made during a crawl."""

import asyncio
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gossamer.archive.directories import with_archive
from gossamer.base.environment import real_outside
from gossamer.base.tell import silent
from gossamer.cli.flags import Dir
from gossamer.cli.output import Progress, note, report_damage
from gossamer.collection.directory import existing
from gossamer.collection.maintenance.backup import back_up
from gossamer.collection.maintenance.cluster.exports import export_cluster
from gossamer.collection.maintenance.verification import record_of
from gossamer.store.directory import DEFAULT, Directory
from gossamer.store.state import is_cluster
from gossamer.values.format import counted


def backup(
    to: Annotated[Path, Parameter(help="A directory that does not exist yet, or is empty.")], *, dir: Dir = DEFAULT
) -> int:
    source = existing(dir)
    if is_cluster(source):
        return back_up_cluster(source, Directory(to))
    outside = with_archive(source, real_outside())
    with Progress("copying", outside.clock) as progress:
        copied = back_up(source, Directory(to), outside, progress.show)
    code = report_damage([record_of(one, False).in_words() for one in copied.damaged], dir, is_skipped=True)
    volumes = counted(copied.volumes, "volume")
    note(f"{volumes} copied to {to} and verified. Make it searchable with: gossamer rebuild --dir {to}")
    return code


def back_up_cluster(source: Directory, target: Directory) -> int:
    """A collection in a directory, of which `cluster import` makes a cluster again."""
    outside = real_outside()
    with Progress("reading the cluster", outside.clock) as progress:
        done = asyncio.run(export_cluster(source, target, outside, silent, progress.show))
    note(
        f"{counted(done.captures, 'capture')} in {counted(done.volumes, 'volume')} copied to {target.root}, with all "
        "that the cluster knows. To restore it: gossamer cluster init, with empty services, and gossamer cluster "
        f"import {target.root} ADDRESS. Search and facts are made again from the archive.",
        "For backups without a copy of everything each time: pg_dump of the database, and versions kept by the object "
        "storage; neither OpenSearch nor the SPARQL server needs one.",
    )
    return report_damage(done.damaged, target.root)
