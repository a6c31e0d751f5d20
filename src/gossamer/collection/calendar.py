"""The calendar of a demonstration whose days are short, kept in its collection for other processes to read."""

from dataclasses import replace

import msgspec

from gossamer.base.clock import DAY_S, SECOND, FastCalendar, Instant, fast_calendar
from gossamer.base.environment import Outside, real_outside
from gossamer.monitor import chronicle
from gossamer.store.directory import Directory

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
