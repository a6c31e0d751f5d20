"""Signs of life in the control database: the last of each, and an hour of them that never grows."""

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.clock import SECOND
from gossamer.monitor import control as control_room
from gossamer.monitor.control import FIGURES, NODE, Control, Vitals
from gossamer.monitor.pulse import CpuTime, numbered, percent
from gossamer.testing import FakeClock


def vitals(clock: FakeClock, process: str = "crawler", state: str = "", node: str = "a", **figures: float) -> Vitals:
    return Vitals(node, process, 7, clock.now(), clock.now(), figures, state, "1.0")


def test_M_A10_the_last_sign_of_life_of_every_process_of_every_node_is_kept(tmp_path: Path) -> None:
    clock = FakeClock()
    with Control(tmp_path / "control.db", clock) as control:
        said = [vitals(clock, NODE, cpu=40.0), vitals(clock, "crawler", pages=1), vitals(clock, "web", node="b")]
        assert control.note(said)
        clock.advance(1)
        newer = vitals(clock, "crawler", "paused", pages=2)
        assert control.beat("crawler", 7, {"pages": 2}, [newer])
        assert control.vitals() == [said[0], newer, said[2]]
        assert [beat.facts for beat in control.beats()] == [{"pages": 2}]


def test_M_A10_an_hour_is_kept_and_no_more_however_long_it_runs(tmp_path: Path) -> None:
    clock = FakeClock()
    with Control(tmp_path / "control.db", clock) as control:
        sizes = []
        for second in range(9_000):
            assert control.note([vitals(clock, pages=second), vitals(clock, "indexer", pages=second)])
            clock.advance(1)
            if second in (4_000, 8_999):
                [(pages,)] = sqlite3.connect(tmp_path / "control.db").execute("PRAGMA page_count").fetchall()
                sizes.append(pages)
        told = control.history(0)
    assert len(told) == 2 * 3_600 and sizes[0] == sizes[1]
    crawler = [one.figures["pages"] for one in told if one.process == "crawler"]
    assert crawler == list(range(5_400, 9_000)), "oldest first, nothing missing"


def test_M_A10_the_past_is_still_there_after_everybody_has_gone(tmp_path: Path) -> None:
    clock = FakeClock()
    with Control(tmp_path / "control.db", clock) as control:
        control.note([vitals(clock, pages=1)])
    clock.advance(600)
    with Control(tmp_path / "control.db", clock) as control:
        assert [one.figures for one in control.history(0)] == [{"pages": 1}]
        assert control.history(clock.now() - 60 * SECOND) == []
        clock.advance(3_600)
        assert control.history(0) == []


def test_workers_end_with_whoever_started_them_and_old_names_are_forgotten(tmp_path: Path) -> None:
    clock = FakeClock()
    with Control(tmp_path / "control.db", clock) as control:
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


def test_a_full_disk_costs_beats_and_nothing_else(tmp_path: Path) -> None:
    clock = FakeClock()
    with Control(tmp_path / "control.db", clock) as control:
        control.note([vitals(clock, "crawler", pages=1)])
        [(pages,)] = control._connection.execute("PRAGMA page_count").fetchall()
        control._connection.execute(f"PRAGMA max_page_count = {pages}")
        filled = [control.note([vitals(clock, f"reader {n}", words=1.0) for n in range(400)]) for _ in range(3)]
        assert filled == [False, False, False]
        assert [one.process for one in control.vitals()] == ["crawler"], "all of a beat or nothing"
        control.end_workers("reader")
        control._connection.execute("PRAGMA max_page_count = 100000")
        assert control.note([vitals(clock, "reader 1")]), "it goes on by itself"


def test_a_busy_database_costs_beats_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_room, "BUSY_S", 0.05)
    with Control(tmp_path / "control.db", FakeClock()) as control:
        other = sqlite3.connect(tmp_path / "control.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert not control.note([vitals(FakeClock())])
        control.end_workers("reader")
        other.execute("ROLLBACK")
        assert control.note([vitals(FakeClock())])
        other.close()


def test_use_is_told_between_two_moments() -> None:
    assert percent(None, CpuTime(10.0, 3.0)) == 0.0
    assert percent(CpuTime(10.0, 3.0), CpuTime(12.0, 4.0)) == 50.0
    assert percent(CpuTime(10.0, 3.0), CpuTime(10.0, 4.0)) == 0.0, "the clock stood still"
    assert percent(CpuTime(10.0, 3.0), CpuTime(12.0, 1.0)) == 0.0, "another process under the same number"


@given(st.lists(st.lists(st.integers(1, 30), unique=True, max_size=6), max_size=12))
def test_names_of_workers_stay_few_and_a_living_one_keeps_its_own(turns: list[list[int]]) -> None:
    known: dict[int, int] = {}
    for pids in turns:
        now = numbered(pids, known)
        assert now.keys() == set(pids) and len(set(now.values())) == len(pids)
        assert all(now[pid] == known[pid] for pid in pids if pid in known)
        assert all(1 <= number <= 6 for number in now.values()), "never more names than there were workers at once"
        known = now


def test_every_figure_has_a_meaning() -> None:
    assert all(says and not says.endswith(".") for says in FIGURES.values())
