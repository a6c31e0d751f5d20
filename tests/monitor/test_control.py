import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gossamer.base.clock import SystemClock
from gossamer.monitor import control as control_room
from gossamer.monitor.control import Beat, Control
from gossamer.testing import FakeClock


def test_a_beat_can_be_read_by_another_process_with_its_time_and_facts(tmp_path: Path) -> None:
    clock = FakeClock()
    with Control(tmp_path / "control.db", clock) as ours, Control(tmp_path / "control.db", clock) as theirs:
        assert ours.beat("crawler", 17, {"pages": 3, "state": "running", "lag_s": 0.5})
        clock.advance(1)
        ours.beat("crawler", 17, {"pages": 4, "state": "running", "lag_s": 0.5})
        ours.beat("indexer", 18, {})
        assert theirs.beats() == [
            Beat("crawler", 17, clock.now(), {"pages": 4, "state": "running", "lag_s": 0.5}),
            Beat("indexer", 18, clock.now(), {}),
        ]


def test_a_command_is_pending_for_its_receiver_until_it_is_done(tmp_path: Path) -> None:
    clock = FakeClock()
    with Control(tmp_path / "control.db", clock) as web, Control(tmp_path / "control.db", clock) as crawler:
        pause = web.ask("pause", because="asked on the page")
        checkpoint = web.ask("checkpoint")
        [command] = crawler.pending("crawler")
        assert (command.id, command.verb, command.args) == (pause, "pause", {"because": "asked on the page"})
        assert [command.id for command in crawler.pending("indexer")] == [checkpoint]
        assert not web.is_done(pause)
        crawler.done(pause)
        assert web.is_done(pause)
        assert crawler.pending("crawler") == []


def test_a_pending_command_is_not_added_twice(tmp_path: Path) -> None:
    with Control(tmp_path / "control.db", FakeClock()) as control:
        first = control.ask("checkpoint")
        assert control.ask("checkpoint") == first
        control.done(first)
        assert control.ask("checkpoint") != first


def test_pause_resume_pause_are_three_commands_and_a_repeated_last_one_is_not_added(tmp_path: Path) -> None:
    with Control(tmp_path / "control.db", FakeClock()) as control:
        ids = [control.ask(verb) for verb in ("pause", "resume", "pause", "pause")]
        assert [command.verb for command in control.pending("crawler")] == ["pause", "resume", "pause"]
        assert ids[3] == ids[2]
        assert control.ask("checkpoint") == control.ask("checkpoint"), "commands to other processes do not matter"


def test_a_new_process_does_not_run_the_commands_of_its_predecessor(tmp_path: Path) -> None:
    with Control(tmp_path / "control.db", FakeClock()) as control:
        control.ask("stop")
        checkpoint = control.ask("checkpoint")
        control.discard_pending("crawler")
        assert control.pending("crawler") == []
        assert [command.id for command in control.pending("indexer")] == [checkpoint]


def test_the_number_of_done_commands_is_bounded(tmp_path: Path) -> None:
    with Control(tmp_path / "control.db", FakeClock()) as control:
        for _ in range(300):
            control.done(control.ask("checkpoint"))
    kept = sqlite3.connect(tmp_path / "control.db").execute("SELECT count(*) FROM commands").fetchone()[0]
    assert kept <= 101


def test_an_unknown_verb_is_refused(tmp_path: Path) -> None:
    with Control(tmp_path / "control.db", FakeClock()) as control, pytest.raises(KeyError):
        control.ask("dance")


def test_a_beat_is_dropped_when_the_database_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_room, "BUSY_S", 0.05)
    with Control(tmp_path / "control.db", FakeClock()) as control:
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
        "from gossamer.base.clock import SystemClock; from gossamer.monitor.control import Control\n"
        "with Control(Path(sys.argv[1]), SystemClock()) as control:\n"
        "    for number in range(50):\n"
        "        assert control.beat(sys.argv[2], os.getpid(), {'n': number})\n"
    )
    path = tmp_path / "control.db"
    processes = [subprocess.Popen([sys.executable, "-c", script, str(path), f"p{n}"]) for n in range(4)]
    assert [one.wait(60) for one in processes] == [0] * 4
    with Control(path, SystemClock()) as control:
        assert [(beat.name, beat.facts) for beat in control.beats()] == [(f"p{n}", {"n": 49}) for n in range(4)]


def test_threads_of_one_process_take_turns(tmp_path: Path) -> None:
    """A beat that is in progress on a thread when its task is cancelled must not share a transaction with the last."""
    with Control(tmp_path / "control.db", SystemClock()) as control, ThreadPoolExecutor(4) as threads:
        written = [threads.submit(control.beat, "crawler", 17, {"pages": page}) for page in range(200)]
        read = [threads.submit(control.beats) for _ in range(50)]
        assert all(beat.result() for beat in written)
        assert all(len(beats.result()) <= 1 for beats in read)
        assert [beat.pid for beat in control.beats()] == [17]


def test_the_commands_to_a_process_can_be_deleted_with_their_arguments(tmp_path: Path) -> None:
    clock = FakeClock()
    with Control(tmp_path / "control.db", clock) as control:
        done, waiting = control.ask("seed", urls=["https://example.org/"]), control.ask("retire", host="example.org")
        control.done(done)
        other = control.ask("checkpoint")
        control.clear("crawler")
        assert control.pending("crawler") == [] and [one.id for one in control.pending("indexer")] == [other]
        assert control.is_done(waiting)
