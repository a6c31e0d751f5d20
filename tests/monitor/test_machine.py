"""What the operating system says, read from /proc as it is and as it might be."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.monitor.machine import (
    FixedMachine,
    Machine,
    NodeSample,
    ProcessSample,
    ThisMachine,
    busy_and_passed,
    memory_of,
    mhz_of,
    sample_of,
)

HAS_PROC = Path("/proc/self/stat").exists()
STAT = "cpu  100 20 30 800 50 0 5 0 7 0\ncpu0 50 10 15 400 25 0 2 0 3 0\n"


def test_idle_and_waiting_for_disks_are_not_busy_and_guests_are_counted_once() -> None:
    assert busy_and_passed(STAT, 100) == (1.55, 10.05)


@pytest.mark.parametrize("said", ["", "intr 1 2 3\n", "cpu\n", "cpu 1 2\n"])
def test_a_stat_that_is_not_there_says_nothing(said: str) -> None:
    assert busy_and_passed(said, 100) == (0.0, 0.0)


def test_memory_that_is_available_counts_as_free() -> None:
    said = "MemTotal:  1000 kB\nMemFree:  10 kB\nMemAvailable:  700 kB\nBuffers: 5 kB\n"
    assert memory_of(said) == (1_024_000, 716_800)
    assert memory_of("") == (0, 0)


def test_the_speed_is_the_mean_of_the_cores() -> None:
    assert mhz_of("processor : 0\ncpu MHz\t\t: 2000.0\nprocessor : 1\ncpu MHz\t\t: 3000.0\n") == 2500.0
    assert mhz_of("Features : fp asimd\n") == 0.0, "not every processor says"


def test_a_process_may_be_called_anything() -> None:
    fields = ["S", *["0"] * 10, "150", "50", *["0"] * 8, "25", "0", "0"]
    assert sample_of(f"7 (a) b (c d)) {' '.join(fields)}", 100, 4096) == ProcessSample(2.0, 25 * 4096)
    assert sample_of("7 (short) S 0", 100, 4096) is None


@pytest.mark.skipif(not HAS_PROC, reason="no /proc here")
def test_this_machine_says_what_it_has(tmp_path: Path) -> None:
    machine = ThisMachine(tmp_path)
    node = machine.node()
    assert node.name == machine.name() == os.uname().nodename
    assert node.cores == os.cpu_count() and node.passed_s > node.busy_s > 0
    assert node.memory_total > node.memory_free > 0 and node.disk_total > node.disk_free > 0
    ours = machine.process(os.getpid())
    assert ours is not None and ours.rss > 10_000_000 and ours.cpu_s > 0
    assert machine.process(2**22 + 1) is None


def test_without_proc_there_is_less_to_say_and_no_failure(tmp_path: Path) -> None:
    machine = ThisMachine(tmp_path / "gone", tmp_path / "no proc")
    node = machine.node()
    assert (node.busy_s, node.memory_total, node.disk_total, node.mhz) == (0.0, 0, 0, 0.0) and node.cores >= 1
    ours = machine.process(os.getpid())
    assert ours is not None and ours.cpu_s > 0 and ours.rss == 0
    assert machine.process(1) is None and machine.workers_of(os.getpid(), "x") == []


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no /proc here")
def test_workers_are_known_by_their_job(tmp_path: Path) -> None:
    waiting = "import sys; sys.stdin.read()"
    crew = [
        subprocess.Popen([sys.executable, "-c", waiting, job], stdin=subprocess.PIPE)
        for job in ("a.b:job", "c.d:job", "a.b:job")
    ]
    try:
        machine = ThisMachine(tmp_path)
        if not (Path("/proc") / str(os.getpid()) / "task" / str(os.getpid()) / "children").exists():
            pytest.skip("this kernel does not tell whose child a process is")
        for _ in range(200):  # until each has become what it was started as
            if len(machine.workers_of(os.getpid(), "a.b:")) == 2:
                break
            machine = ThisMachine(tmp_path)
        assert machine.workers_of(os.getpid(), "a.b:") == sorted([crew[0].pid, crew[2].pid])
        assert machine.workers_of(os.getpid(), "c.d:") == [crew[1].pid]
    finally:
        for one in crew:
            one.communicate()
    assert machine.workers_of(os.getpid(), "a.b:") == []


def test_the_fake_is_a_machine_too() -> None:
    fixed = FixedMachine(NodeSample("node-a", cores=4))
    machine: Machine = fixed
    assert machine.name() == "node-a" and machine.node().cores == 4 and machine.process(1) is None
    fixed.workers[(1, "job")] = [2, 3]
    assert machine.workers_of(1, "job") == [2, 3]
