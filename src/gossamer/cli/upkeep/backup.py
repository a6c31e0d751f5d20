"""`gossamer backup DIR`: a copy from which everything can be restored, also made during a crawl."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gossamer.archive.directories import with_archive
from gossamer.base.environment import real_outside
from gossamer.cli.flags import Dir
from gossamer.cli.output import Progress, note, report_damage
from gossamer.collection.directory import existing
from gossamer.collection.maintenance.backup import back_up
from gossamer.collection.maintenance.verification import record_of
from gossamer.store.directory import DEFAULT, Directory
from gossamer.store.state import refuse_on_cluster
from gossamer.values.format import counted


def backup(
    to: Annotated[Path, Parameter(help="A directory that does not exist yet, or is empty.")], *, dir: Dir = DEFAULT
) -> int:
    source = existing(dir)
    refuse_on_cluster(source, "backup", "back up its database with pg_dump, and copy its object storage")
    outside = with_archive(source, real_outside())
    with Progress("copying", outside.clock) as progress:
        copied = back_up(source, Directory(to), outside, progress.show)
    code = report_damage([record_of(one, False).in_words() for one in copied.damaged], dir, is_skipped=True)
    volumes = counted(copied.volumes, "volume")
    note(f"{volumes} copied to {to} and verified. Make it searchable with: gossamer rebuild --dir {to}")
    return code
