"""A collection's data directory.

Opened if it exists, upgraded to the present schema, with its own calendar.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import msgspec

from gossamer.archive.directories import with_archive
from gossamer.base.clock import DAY_S, SECOND, FastCalendar, Instant, SystemClock, fast_calendar, in_words
from gossamer.base.environment import Outside, real_outside
from gossamer.base.errors import DirectoryUnusable, GossamerError
from gossamer.base.files import DiskFiles
from gossamer.monitor import chronicle
from gossamer.plugins.code import admit_schemes
from gossamer.store.address import shown
from gossamer.store.directory import Directory, hold, holder_in_words, lock_directory, refuse_lost_state
from gossamer.store.documents import refresh_copies, refuse_no_cluster
from gossamer.store.sqlite.database import bring_up_to_date, is_older
from gossamer.store.state import is_cluster, open_state
from gossamer.store.statements import State

T = TypeVar("T")


def existing(root: Path) -> Directory:
    """A directory that a crawl or an import has made, or the scratch folder of a cluster. Raises DirectoryUnusable,
    saying what to do, when it is not."""
    directory = Directory(root)
    if is_cluster(directory):
        refuse_no_cluster(directory, shown(root))
        refresh_copies(directory)
        admit_schemes(root, with_archive(directory, real_outside()).files)
        return directory
    refuse_lost_state(directory)
    if not directory.is_begun:
        raise DirectoryUnusable(
            f"there is no collection in {root}. Make one with `gossamer crawl URL --dir {root}`, "
            "or name another directory with --dir."
        )
    upgrade(directory)
    admit_schemes(root, DiskFiles())  # its URLs may have schemes that only its plug-ins know
    return directory


def upgrade(directory: Directory) -> None:
    """Gives a collection of an older version the present schema. One that another process writes to, that we may not
    write, or that is damaged is left as it is: the command that reads it says what to do."""
    with suppress(OSError, GossamerError):
        if is_older(directory.state):
            words = holder_in_words(os.getpid(), "update", in_words(SystemClock().now()))
            lock = hold(DiskFiles(), directory.root, words)
            try:
                bring_up_to_date(directory.state)
            finally:
                lock.release()


@contextmanager
def locked(directory: Directory, outside: Outside, command: str) -> Iterator[None]:
    """The caller is the directory's one writer. Raises DirectoryBusy, naming the other. A cluster has many writers:
    its database keeps them apart."""
    if is_cluster(directory):
        yield
        return
    lock = lock_directory(directory, outside, command)
    try:
        yield
    finally:
        lock.release()


def read_state(directory: Directory, read: Callable[[State], T], empty: T) -> T:
    """What `read` finds in the state; `empty` before a first crawl."""
    if not directory.is_begun:
        return empty
    with closing(open_state(directory)) as state:
        return read(state)


NAME = "calendar.json"


class KeptCalendar(msgspec.Struct, frozen=True):
    start_at: Instant
    """The date at which it started, or was resumed,"""
    began_at: Instant
    """when the wall clock said this."""
    day_s: float
    """How long a day lasts."""
    pid: int
    """Of the demonstration: its calendar stops when it ends."""


def keep(calendar: FastCalendar, directory: Directory, outside: Outside) -> None:
    """Store a calendar that has just started."""
    kept = KeptCalendar(calendar.start_at, outside.clock.now(), calendar.day_s, outside.processes.own_pid())
    outside.files.make_folder(directory.root)
    outside.files.write(directory.root / NAME, msgspec.json.encode(kept))


def outside_of(directory: Directory) -> Outside:
    """Clock, files and processes for a command that reads a collection, with the collection's own calendar if it has a
    readable one."""
    outside = with_archive(directory, real_outside())
    if outside.files.size(directory.root / NAME) is None:
        return outside
    try:
        kept = msgspec.json.decode(outside.files.read(directory.root / NAME), type=KeptCalendar)
    except (OSError, msgspec.MsgspecError):
        return outside
    return replace(outside, calendar=resumed(kept, directory, outside)) if kept.day_s > 0 else outside


def resumed(kept: KeptCalendar, directory: Directory, outside: Outside) -> FastCalendar:
    """As fast as in the demonstration while that runs; afterwards from its last recorded moment, at normal speed."""
    if outside.processes.is_alive(kept.pid):
        passed_s = (outside.clock.now() - kept.began_at) / SECOND
        return FastCalendar(outside.clock, kept.day_s, outside.clock.elapsed_s() - passed_s, kept.start_at)
    runs = chronicle.read(outside.files, directory.root).runs
    return fast_calendar(outside.clock, DAY_S, max(kept.start_at, runs[-1].heard_at if runs else 0))
