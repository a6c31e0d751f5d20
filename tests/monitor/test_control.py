import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gossamer.base.clock import SystemClock
from gossamer.monitor import sqlite_control as control_room
from gossamer.monitor.sqlite_control import SqliteControl
from gossamer.testing import FakeClock


def test_pause_resume_pause_are_three_commands_and_a_repeated_last_one_is_not_added(tmp_path: Path) -> None:
    with SqliteControl(tmp_path / "control.db", FakeClock()) as control:
        ids = [control.ask(verb) for verb in ("pause", "resume", "pause", "pause")]
        assert [command.verb for command in control.pending("crawler")] == ["pause", "resume", "pause"]
        assert ids[3] == ids[2]
        assert control.ask("checkpoint") == control.ask("checkpoint"), "commands to other processes do not matter"


def test_a_new_process_does_not_run_the_commands_of_its_predecessor(tmp_path: Path) -> None:
    with SqliteControl(tmp_path / "control.db", FakeClock()) as control:
        control.ask("stop")
        checkpoint = control.ask("checkpoint")
        control.discard_pending("crawler")
        assert control.pending("crawler") == []
        assert [command.id for command in control.pending("indexer")] == [checkpoint]


def test_the_number_of_done_commands_is_bounded(tmp_path: Path) -> None:
    with SqliteControl(tmp_path / "control.db", FakeClock()) as control:
        for _ in range(300):
            control.done(control.ask("checkpoint"))
    kept = sqlite3.connect(tmp_path / "control.db").execute("SELECT count(*) FROM commands").fetchone()[0]
    assert kept <= 101


def test_a_beat_is_dropped_when_the_database_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_room, "BUSY_S", 0.05)
    with SqliteControl(tmp_path / "control.db", FakeClock()) as control:
        other = sqlite3.connect(tmp_path / "control.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert not control.beat("crawler", 1, {})
        assert control.beats() == []
        other.execute("ROLLBACK")
        assert control.beat("crawler", 1, {})
        other.close()


def test_many_processes_may_write_beats_at_once(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path\n"
        "from gossamer.base.clock import SystemClock; from gossamer.monitor.sqlite_control import SqliteControl\n"
        "with SqliteControl(Path(sys.argv[1]), SystemClock()) as control:\n"
        "    for number in range(50):\n"
        "        assert control.beat(sys.argv[2], os.getpid(), {'n': number})\n"
    )
    path = tmp_path / "control.db"
    processes = [subprocess.Popen([sys.executable, "-c", script, str(path), f"p{n}"]) for n in range(4)]
    assert [one.wait(60) for one in processes] == [0] * 4
    with SqliteControl(path, SystemClock()) as control:
        assert [(beat.name, beat.facts) for beat in control.beats()] == [(f"p{n}", {"n": 49}) for n in range(4)]


def test_threads_of_one_process_take_turns(tmp_path: Path) -> None:
    """A beat that is in progress on a thread when its task is cancelled must not share a transaction with the last."""
    with SqliteControl(tmp_path / "control.db", SystemClock()) as control, ThreadPoolExecutor(4) as threads:
        written = [threads.submit(control.beat, "crawler", 17, {"pages": page}) for page in range(200)]
        read = [threads.submit(control.beats) for _ in range(50)]
        assert all(beat.result() for beat in written)
        assert all(len(beats.result()) <= 1 for beats in read)
        assert [beat.pid for beat in control.beats()] == [17]
