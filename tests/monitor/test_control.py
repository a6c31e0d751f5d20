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


def test_a_beat_is_seen_by_another_reader_with_its_instant_and_facts(tmp_path: Path) -> None:
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


def test_a_command_waits_for_the_one_it_is_meant_for_until_it_is_done(tmp_path: Path) -> None:
    clock = FakeClock()
    with Control(tmp_path / "control.db", clock) as web, Control(tmp_path / "control.db", clock) as crawler:
        pause = web.ask("pause", because="asked on the page")
        wanted = web.ask("checkpoint")
        [command] = crawler.pending("crawler")
        assert (command.id, command.verb, command.args) == (pause, "pause", {"because": "asked on the page"})
        assert [command.id for command in crawler.pending("indexer")] == [wanted]
        assert not web.is_done(pause)
        crawler.done(pause)
        assert web.is_done(pause)
        assert crawler.pending("crawler") == []


def test_what_already_waits_is_not_asked_twice(tmp_path: Path) -> None:
    with Control(tmp_path / "control.db", FakeClock()) as control:
        first = control.ask("checkpoint")
        assert control.ask("checkpoint") == first
        control.done(first)
        assert control.ask("checkpoint") != first


def test_pause_resume_pause_are_three_commands_and_the_last_word_counts(tmp_path: Path) -> None:
    with Control(tmp_path / "control.db", FakeClock()) as control:
        asked = [control.ask(verb) for verb in ("pause", "resume", "pause", "pause")]
        assert [command.verb for command in control.pending("crawler")] == ["pause", "resume", "pause"]
        assert asked[3] == asked[2]
        assert control.ask("checkpoint") == control.ask("checkpoint"), "another addressee has another last word"


def test_a_process_that_starts_does_not_obey_what_its_predecessor_was_asked(tmp_path: Path) -> None:
    with Control(tmp_path / "control.db", FakeClock()) as control:
        control.ask("stop")
        wanted = control.ask("checkpoint")
        control.discard_pending("crawler")
        assert control.pending("crawler") == []
        assert [command.id for command in control.pending("indexer")] == [wanted]


def test_done_commands_do_not_pile_up(tmp_path: Path) -> None:
    with Control(tmp_path / "control.db", FakeClock()) as control:
        for _ in range(300):
            control.done(control.ask("checkpoint"))
    kept = sqlite3.connect(tmp_path / "control.db").execute("SELECT count(*) FROM commands").fetchone()[0]
    assert kept <= 101


def test_an_unknown_verb_is_refused(tmp_path: Path) -> None:
    with Control(tmp_path / "control.db", FakeClock()) as control, pytest.raises(KeyError):
        control.ask("dance")


def test_a_beat_is_given_up_rather_than_waited_for_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_room, "BUSY_S", 0.05)
    with Control(tmp_path / "control.db", FakeClock()) as control:
        other = sqlite3.connect(tmp_path / "control.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert not control.beat("crawler", 1, {})
        assert control.beats() == []
        other.execute("ROLLBACK")
        assert control.beat("crawler", 1, {})
        other.close()


def test_many_processes_may_open_and_beat_at_once(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path\n"
        "from gossamer.base.clock import SystemClock; from gossamer.monitor.control import Control\n"
        "with Control(Path(sys.argv[1]), SystemClock()) as control:\n"
        "    for number in range(50):\n"
        "        assert control.beat(sys.argv[2], os.getpid(), {'n': number})\n"
    )
    path = tmp_path / "control.db"
    crew = [subprocess.Popen([sys.executable, "-c", script, str(path), f"p{n}"]) for n in range(4)]
    assert [one.wait(60) for one in crew] == [0] * 4
    with Control(path, SystemClock()) as control:
        assert [(beat.name, beat.facts) for beat in control.beats()] == [(f"p{n}", {"n": 49}) for n in range(4)]


def test_threads_of_one_process_take_turns(tmp_path: Path) -> None:
    """A beat under way on a thread when its task is cancelled must not meet the last one in one transaction."""
    with Control(tmp_path / "control.db", SystemClock()) as control, ThreadPoolExecutor(4) as threads:
        said = [threads.submit(control.beat, "crawler", 17, {"pages": page}) for page in range(200)]
        read = [threads.submit(control.beats) for _ in range(50)]
        assert all(beat.result() for beat in said)
        assert all(len(beats.result()) <= 1 for beats in read)
        assert [beat.pid for beat in control.beats()] == [17]


def test_what_was_asked_of_a_process_can_be_cleared_with_the_names_in_it(tmp_path: Path) -> None:
    clock = FakeClock()
    with Control(tmp_path / "control.db", clock) as control:
        done, waiting = control.ask("seed", urls=["https://example.org/"]), control.ask("retire", host="example.org")
        control.done(done)
        other = control.ask("checkpoint")
        control.clear("crawler")
        assert control.pending("crawler") == [] and [one.id for one in control.pending("indexer")] == [other]
        assert control.is_done(waiting)
