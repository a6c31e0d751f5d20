"""The figures of the operating system, also where some are missing."""

import os
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import psutil
import pytest
from tests.monitor.machines import FixedMachine

from gossamer.monitor import pulse as module
from gossamer.monitor.pulse import NodeSample, ThisMachine, busy_and_passed

Linux = namedtuple("Linux", "user nice system idle iowait irq softirq steal guest guest_nice")
Mac = namedtuple("Mac", "user nice system idle")


def test_idle_and_waiting_for_disks_are_not_busy_and_guests_are_counted_once() -> None:
    assert busy_and_passed(Linux(1.0, 0.25, 0.5, 8.0, 0.5, 0.0, 0.125, 0.5, 0.75, 0.25)) == (2.375, 10.875)
    assert busy_and_passed(Mac(1.0, 0.25, 0.5, 8.0)) == (1.75, 9.75)
    assert busy_and_passed(None) == (0.0, 0.0)


def test_the_figures_of_this_machine_are_read(tmp_path: Path) -> None:
    machine = ThisMachine(tmp_path)
    node = machine.node()
    assert node.name == machine.name() == os.uname().nodename
    assert node.cores == os.cpu_count() and node.passed_s > node.busy_s > 0
    assert node.memory_total > node.memory_free > 0 and node.disk_total > node.disk_free > 0
    ours = machine.process(os.getpid())
    assert ours is not None and ours.rss > 10_000_000 and ours.cpu_s > 0
    assert machine.process(2**22 + 1) is None


@pytest.mark.parametrize("kind", [FileNotFoundError, RuntimeError, NotImplementedError, psutil.AccessDenied])
def test_figures_that_the_system_does_not_give_are_zero(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    def refuse(*_: object, **__: object) -> object:
        raise kind

    for name in ("cpu_times", "cpu_freq", "virtual_memory", "disk_usage", "Process"):
        monkeypatch.setattr(psutil, name, refuse)
    machine = ThisMachine(tmp_path)
    assert machine.node() == NodeSample(os.uname().nodename, cores=os.cpu_count() or 1)
    ours = machine.process(os.getpid())
    assert ours is not None and ours.cpu_s > 0 and ours.rss == 0
    assert machine.process(1) is None


def test_a_missing_folder_has_no_disk_figures(tmp_path: Path) -> None:
    node = ThisMachine(tmp_path / "gone").node()
    assert (node.disk_total, node.disk_free) == (0, 0) and node.memory_total > 0


def test_an_unknown_speed_of_the_cores_is_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "cpu_freq", lambda: None)
    assert ThisMachine(tmp_path).node().mhz == 0.0
    monkeypatch.delattr(psutil, "cpu_freq")
    assert ThisMachine(tmp_path).node().mhz == 0.0


def test_the_speed_is_read_every_tenth_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[float] = []
    freq = namedtuple("freq", "current")
    monkeypatch.setattr(psutil, "cpu_freq", lambda: freq(calls.append(1.0) or 1000.0 * len(calls)))
    machine = ThisMachine(tmp_path)
    assert [machine.node().mhz for _ in range(module.MHZ_EVERY + 1)] == [1000.0] * module.MHZ_EVERY + [2000.0]


def test_a_process_that_has_ended_has_no_figures(tmp_path: Path) -> None:
    machine = ThisMachine(tmp_path)
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    try:
        figures = machine.process(child.pid)
        assert figures is not None and figures.rss > 0
    finally:
        child.communicate()
    assert machine.process(child.pid) is None


def test_the_fake_has_the_interface_of_a_machine() -> None:
    fixed = FixedMachine(NodeSample("node-a", cores=4))
    assert fixed.name() == "node-a" and fixed.node().cores == 4 and fixed.process(1) is None
