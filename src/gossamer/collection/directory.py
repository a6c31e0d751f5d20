"""A collection's data directory: opened where it exists, brought up to date, with its own calendar."""

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec

from gossamer.base.clock import DAY_S, SECOND, FastCalendar, Instant, SystemClock, fast_calendar, in_words
from gossamer.base.environment import Outside, real_outside
from gossamer.base.errors import DirectoryUnusable, GossamerError
from gossamer.base.files import DiskFiles
from gossamer.monitor import chronicle
from gossamer.plugins.code import admit_schemes
from gossamer.store.directory import Directory, hold, holder_in_words, refuse_lost_state
from gossamer.store.sqlite.database import bring_up_to_date, is_older


def existing(root: Path) -> Directory:
    """A directory that a crawl or an import has made. Raises DirectoryUnusable, saying what to do, when it is not."""
    directory = Directory(root)
    refuse_lost_state(directory)
    if not directory.is_begun:
        raise DirectoryUnusable(
            f"there is no collection in {root}. Make one with `gossamer crawl URL --dir {root}`, "
            "or name another directory with --dir."
        )
    bring_up(directory)
    admit_schemes(root, DiskFiles())  # its addresses may be of schemes that are no other collection's
    return directory


def bring_up(directory: Directory) -> None:
    """A collection of an older version gets the present schema, once. While somebody writes to it, where we may not, or
    where it is damaged, it is left as it is: the command that reads it says what to do."""
    with suppress(OSError, GossamerError):
        if is_older(directory.state):
            words = holder_in_words(os.getpid(), "update", in_words(SystemClock().now()))
            lock = hold(DiskFiles(), directory.root, words)
            try:
                bring_up_to_date(directory.state)
            finally:
                lock.release()


NAME = "calendar.json"


class KeptCalendar(msgspec.Struct, frozen=True):
    start_at: Instant
    """The date at which it began, or went on,"""
    began_at: Instant
    """when the clock on the wall said this."""
    day_s: float
    """What a day lasts."""
    pid: int
    """Of the demonstration: when it has ended, its days have too."""


def keep(calendar: FastCalendar, directory: Directory, outside: Outside) -> None:
    """Just begun."""
    kept = KeptCalendar(calendar.start_at, outside.clock.now(), calendar.day_s, outside.processes.own_pid())
    outside.files.make_folder(directory.root)
    outside.files.write(directory.root / NAME, msgspec.json.encode(kept))


def outside_of(directory: Directory) -> Outside:
    """The seams for a command that reads a collection: its dates are by the collection's own calendar, if it has one.
    A calendar that cannot be read is none."""
    outside = real_outside()
    if outside.files.size(directory.root / NAME) is None:
        return outside
    try:
        kept = msgspec.json.decode(outside.files.read(directory.root / NAME), type=KeptCalendar)
    except (OSError, msgspec.MsgspecError):
        return outside
    return replace(outside, calendar=going(kept, directory, outside)) if kept.day_s > 0 else outside


def going(kept: KeptCalendar, directory: Directory, outside: Outside) -> FastCalendar:
    """While the demonstration runs, as fast as there; after it, from the last moment that it told of on, by the wall
    clock."""
    if outside.processes.is_alive(kept.pid):
        passed_s = (outside.clock.now() - kept.began_at) / SECOND
        return FastCalendar(outside.clock, kept.day_s, outside.clock.elapsed_s() - passed_s, kept.start_at)
    runs = chronicle.read(outside.files, directory.root).runs
    return fast_calendar(outside.clock, DAY_S, max(kept.start_at, runs[-1].heard_at if runs else 0))
