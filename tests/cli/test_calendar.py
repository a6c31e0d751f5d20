"""The calendar of a demonstration, read by another process."""

from dataclasses import replace
from pathlib import Path

from tests.monitor.chronicles import START_AT

from gossamer.base.clock import DAY, SECOND, fast_calendar
from gossamer.base.environment import real_outside
from gossamer.base.files import DiskFiles
from gossamer.collection.directory import NAME, KeptCalendar, keep, outside_of, resumed
from gossamer.monitor import chronicle
from gossamer.monitor.chronicle import Chronicle
from gossamer.store.directory import Directory
from gossamer.testing import FakeClock

DAY_S = 4.0
NO_PROCESS = 2**22 + 1
"""Higher than any process id."""


def test_another_process_sees_the_same_date_while_the_demonstration_runs(tmp_path: Path) -> None:
    clock = FakeClock(START_AT + 400 * DAY)
    outside = replace(real_outside(), clock=clock)
    calendar = fast_calendar(clock, DAY_S, START_AT)
    keep(calendar, Directory(tmp_path), outside)
    clock.pause(3 * DAY_S)
    kept = KeptCalendar(START_AT, clock.now() - round(3 * DAY_S * SECOND), DAY_S, outside.processes.own_pid())
    seen = resumed(kept, Directory(tmp_path), outside)
    assert abs(seen.now() - calendar.now()) < SECOND and abs(seen.now() - (START_AT + 3 * DAY)) < SECOND
    assert seen.lasting_s(86_400) == DAY_S
    assert outside_of(Directory(tmp_path)).calendar is not None


def test_after_the_demonstration_the_date_is_that_of_its_last_heartbeat(tmp_path: Path) -> None:
    clock = FakeClock(START_AT + 400 * DAY)
    outside = replace(real_outside(), clock=clock)
    chronicle.write(
        DiskFiles(), tmp_path, Chronicle().with_run(START_AT, True).with_heartbeat(START_AT + 9 * DAY, 5, is_over=True)
    )
    ended = resumed(KeptCalendar(START_AT, clock.now() - DAY, DAY_S, NO_PROCESS), Directory(tmp_path), outside)
    assert ended.now() == START_AT + 9 * DAY and ended.lasting_s(60.0) == 60.0


def test_without_a_calendar_or_with_a_damaged_one_the_real_date_is_used(tmp_path: Path) -> None:
    assert outside_of(Directory(tmp_path)).calendar is None
    for damaged in (b"", b"{", b'{"start_at": 1}', b'{"start_at":1,"began_at":1,"day_s":0,"pid":1}'):
        (tmp_path / NAME).write_bytes(damaged)
        assert outside_of(Directory(tmp_path)).calendar is None
