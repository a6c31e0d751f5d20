"""Vitals in the control database: the last of each process, and at most one hour of history."""

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.monitor import sqlite_control as control_room
from gossamer.monitor.control import FIGURES, Vitals
from gossamer.monitor.pulse import CpuTime, numbered, percent
from gossamer.monitor.sqlite_control import SqliteControl
from gossamer.testing import FakeClock


def vitals(clock: FakeClock, process: str = "crawler", state: str = "", node: str = "a", **figures: float) -> Vitals:
    return Vitals(node, process, 7, clock.now(), clock.now(), figures, state, "1.0")


def test_M_A10_exactly_one_hour_is_kept_in_a_long_run(tmp_path: Path) -> None:
    clock = FakeClock()
    with SqliteControl(tmp_path / "control.db", clock) as control:
        sizes = []
        for second in range(9_000):
            assert control.note([vitals(clock, pages=second), vitals(clock, "indexer", pages=second)])
            clock.advance(1)
            if second in (4_000, 8_999):
                [(pages,)] = sqlite3.connect(tmp_path / "control.db").execute("PRAGMA page_count").fetchall()
                sizes.append(pages)
        history = control.history(0)
    assert len(history) == 2 * 3_600 and sizes[0] == sizes[1]
    crawler = [one.figures["pages"] for one in history if one.process == "crawler"]
    assert crawler == list(range(5_400, 9_000)), "oldest first, none missing"


def test_workers_end_with_their_process_and_old_names_are_deleted(tmp_path: Path) -> None:
    clock = FakeClock()
    with SqliteControl(tmp_path / "control.db", clock) as control:
        control.note([vitals(clock, name) for name in ("reader 1", "reader 2", "query worker 1", "crawler")])
        control.end_workers("reader")
        assert {one.process: one.state for one in control.vitals()} == {
            "crawler": "", "query worker 1": "", "reader 1": "ended", "reader 2": "ended",
        }  # fmt: skip
        clock.advance(3_601)
        control.note([vitals(clock, "web")])
        control.end_workers("reader")
        assert [one.process for one in control.vitals()] == ["web"]
    rows = sqlite3.connect(tmp_path / "control.db").execute("SELECT count(*) FROM samples").fetchall()
    assert rows == [(1,)]


def test_a_full_disk_costs_only_beats(tmp_path: Path) -> None:
    clock = FakeClock()
    with SqliteControl(tmp_path / "control.db", clock) as control:
        control.note([vitals(clock, "crawler", pages=1)])
        [(pages,)] = control._connection.execute("PRAGMA page_count").fetchall()
        control._connection.execute(f"PRAGMA max_page_count = {pages}")
        filled = [control.note([vitals(clock, f"reader {n}", words=1.0) for n in range(400)]) for _ in range(3)]
        assert filled == [False, False, False]
        assert [one.process for one in control.vitals()] == ["crawler"], "a beat is written completely or not at all"
        control.end_workers("reader")
        control._connection.execute("PRAGMA max_page_count = 100000")
        assert control.note([vitals(clock, "reader 1")]), "writing works again"


def test_a_locked_database_costs_only_beats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_room, "BUSY_S", 0.05)
    with SqliteControl(tmp_path / "control.db", FakeClock()) as control:
        other = sqlite3.connect(tmp_path / "control.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert not control.note([vitals(FakeClock())])
        control.end_workers("reader")
        other.execute("ROLLBACK")
        assert control.note([vitals(FakeClock())])
        other.close()


def test_cpu_use_is_measured_between_two_times() -> None:
    assert percent(None, CpuTime(10.0, 3.0)) == 0.0
    assert percent(CpuTime(10.0, 3.0), CpuTime(12.0, 4.0)) == 50.0
    assert percent(CpuTime(10.0, 3.0), CpuTime(10.0, 4.0)) == 0.0, "the clock did not advance"
    assert percent(CpuTime(10.0, 3.0), CpuTime(12.0, 1.0)) == 0.0, "another process with the same pid"


@given(st.lists(st.lists(st.integers(1, 30), unique=True, max_size=6), max_size=12))
def test_worker_names_are_reused_and_a_running_worker_keeps_its_name(turns: list[list[int]]) -> None:
    known: dict[int, int] = {}
    for pids in turns:
        now = numbered(pids, known)
        assert now.keys() == set(pids) and len(set(now.values())) == len(pids)
        assert all(now[pid] == known[pid] for pid in pids if pid in known)
        assert all(1 <= number <= 6 for number in now.values()), "never more names than there were workers at once"
        known = now


def test_every_figure_has_a_meaning() -> None:
    assert all(says and not says.endswith(".") for says in FIGURES.values())
