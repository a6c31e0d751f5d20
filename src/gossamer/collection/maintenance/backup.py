"""Backups of a collection, from which everything can be restored, made while the crawl runs."""

import errno
import sqlite3
from contextlib import closing

import msgspec

from gossamer.archive.verify import Finding, write_spans
from gossamer.base.environment import Outside
from gossamer.base.errors import DirectoryBusy, DirectoryUnusable
from gossamer.base.files import Files
from gossamer.base.tell import Says, unheard
from gossamer.collection.maintenance.verification import checked_volumes
from gossamer.crawler import learned
from gossamer.monitor import chronicle
from gossamer.plugins import code as plugged
from gossamer.store import captures
from gossamer.store.directory import USERS, Directory, is_ours, keep_private
from gossamer.store.sqlite.database import read_only
from gossamer.store.state import open_state, refuse_shared_state

TRIES = 5
PART = ".part"


class BackedUp(msgspec.Struct, frozen=True):
    volumes: int
    damaged: list[Finding]
    """Records that are damaged in the copy because they are in the collection."""


def back_up(source: Directory, target: Directory, outside: Outside, says: Says = unheard) -> BackedUp:
    """The state first, then every volume as far as that state knows it: volumes only grow, so the two agree.

    If `compact` rewrites a volume in the meantime, the state is copied again, with what it knows beyond what was
    copied before. The copy gets its name only when it is complete and verified: until then it is called `NAME.part`,
    and the next backup removes one that was interrupted.
    """
    refuse_shared_state(source, "backup", f"copy the database with pg_dump, and the folder {source.archive.name}")
    files = outside.files
    making = begun_copy(target, files, "backup")
    tries = (_copied(source, making, outside, says) for _ in range(TRIES))
    copied = next((volumes for volumes in tries if volumes is not None), None)
    if copied is None:
        files.remove(making.root)
        raise DirectoryBusy(f"{source.root} is being compacted, and its volumes change; try again when that is done")
    for name in (source.config.name, source.rules.name, learned.NAME, plugged.NAME, chronicle.NAME):
        if (source.root / name).is_file():
            files.copy(source.root / name, making.root / name)
    damaged = checked_volumes(making, outside, None, lambda words: says(f"the copy: {words}")).findings
    files.rename(making.root, target.root)
    return BackedUp(copied, damaged)


def begun_copy(target: Directory, files: Files, what: str) -> Directory:
    """The empty folder in which a copy is made, until it is complete and gets the name of its target. `what` is made,
    for people. Raises DirectoryUnusable if there is something else."""
    if files.names(target.root):
        raise DirectoryUnusable(f"{target.root} is not empty; name a new directory for the {what}")
    making = Directory(target.root.with_name(target.root.name + PART))
    if foreign := [name for name in files.names(making.root) if not is_ours(name) and name not in USERS]:
        raise DirectoryUnusable(
            f"{making.root} already exists, with {foreign[0]} not made by gossamer; move it, or name another directory"
        )
    keep_private()
    files.remove(making.root)
    for folder in (making.root, making.archive, making.spool):
        files.make_folder(folder)
    return making


def _copied(source: Directory, target: Directory, outside: Outside, says: Says) -> int | None:
    """How many volumes; None if one has disappeared."""
    files = outside.files
    with closing(read_only(source.state)) as live, closing(sqlite3.connect(target.state)) as copy:
        live.backup(copy)  # in one step: in several it would start again whenever the crawl writes
    with closing(open_state(target)) as state:
        known = {name: captures.end_of(state, name) for name in captures.volume_names(state)}
    ends = {name: end[1] for name, end in known.items() if end is not None}
    for name in files.names(target.archive):
        if files.size(target.archive / name) != ends.get(name):
            files.remove(target.archive / name)
    for number, (name, end) in enumerate(ends.items(), 1):
        says(f"copying volume {number} of {len(ends)}")
        if files.size(target.archive / name) == end:
            continue
        try:
            files.copy(source.archive / name, target.archive / name, end)
        except FileNotFoundError:
            if not _is_known(source, name):
                return None
        except OSError as trouble:
            if trouble.errno not in (errno.EIO, errno.EACCES):
                raise
            write_spans(files, target.archive / name, [(source.archive / name, 0, end)])
    return len(ends)


def _is_known(source: Directory, volume: str) -> bool:
    """Whether a missing volume should exist; one that was rewritten has another name."""
    with closing(open_state(source)) as state:
        return volume in captures.volume_names(state)
