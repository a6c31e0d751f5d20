"""The vitals that a process writes with each beat."""

from pathlib import Path

from tests.monitor.machines import FixedMachine

from gossamer import __version__
from gossamer.monitor.control import NODE, Vitals
from gossamer.monitor.pulse import NodeSample, ProcessReport, ProcessSample, Pulse
from gossamer.monitor.sqlite_control import SqliteControl
from gossamer.testing import FakeClock


def vitals_of(control: SqliteControl) -> dict[str, Vitals]:
    return {one.process: one for one in control.vitals()}


def test_M_A10_each_beat_has_time_cpu_memory_and_disk_of_process_workers_and_node(tmp_path: Path) -> None:
    clock = FakeClock()
    machine = FixedMachine(NodeSample("node-a", 4, 2500.0, 100.0, 400.0, 8_000, 3_000, 90_000, 50_000))
    machine.processes = {7: ProcessSample(10.0, 1_000), 8: ProcessSample(5.0, 500)}
    with SqliteControl(tmp_path / "control.db", clock) as control:
        pulse = Pulse("crawler", 7, control, machine, clock, "reader")
        with pulse.beating():
            assert pulse.beat(ProcessReport({"pages_s": 3.0}, "paused", {"pages": 5}), [8])
            clock.advance(1)
            machine.processes = {7: ProcessSample(10.25, 1_100), 8: ProcessSample(6.0, 500)}
            machine.now = NodeSample("node-a", 4, 2500.0, 103.0, 404.0, 8_000, 2_000, 90_000, 40_000)
            assert pulse.beat(ProcessReport({"pages_s": 4.0}, "", {"pages": 9}), [8])
            now = vitals_of(control)
    crawler, reader, node = now["crawler"], now["reader 1"], now[NODE]
    assert (crawler.node, crawler.pid, crawler.version) == ("node-a", 7, __version__)
    assert crawler.at == clock.now() and crawler.since_at == clock.now() - 1_000_000
    assert crawler.figures == {"pages_s": 4.0, "lost": 0.0, "cpu": 25.0, "cpu_s": 10.25, "rss": 1_100}
    assert reader.figures == {"cpu": 100.0, "cpu_s": 6.0, "rss": 500} and reader.pid == 8
    assert node.figures == {
        "cpu": 75.0, "cores": 4, "mhz": 2500, "memory_total": 8_000, "memory_free": 2_000,
        "disk_total": 90_000, "disk_free": 40_000,
    }  # fmt: skip


def test_a_replaced_worker_is_counted_and_its_successor_takes_its_name(tmp_path: Path) -> None:
    clock = FakeClock()
    machine = FixedMachine(NodeSample("a"))
    with SqliteControl(tmp_path / "control.db", clock) as control:
        pulse = Pulse("crawler", 7, control, machine, clock, "reader")
        with pulse.beating():
            for workers in ([8, 9], [9], [9, 10]):
                pulse.beat(ProcessReport({}), workers)
                clock.advance(1)
            now = vitals_of(control)
            assert (now["reader 1"].pid, now["reader 2"].pid) == (10, 9)
            assert now["crawler"].figures["lost"] == 1
        assert {name: one.state for name, one in vitals_of(control).items()} == {
            NODE: "", "crawler": "ended", "reader 1": "ended", "reader 2": "ended",
        }  # fmt: skip


def test_a_late_beat_does_not_change_the_state_ended(tmp_path: Path) -> None:
    clock = FakeClock()
    with SqliteControl(tmp_path / "control.db", clock) as control:
        pulse = Pulse("indexer", 7, control, FixedMachine(NodeSample("a")), clock)
        with pulse.beating():
            pulse.beat(ProcessReport({}, "", {"positions": {"words": ["v", 3]}}))
        assert not pulse.beat(ProcessReport({}, "", {"positions": {}}))
        [beat] = control.beats()
        assert beat.facts == {"positions": {"words": ["v", 3]}, "state": "ended"}
        assert vitals_of(control)["indexer"].state == "ended"
