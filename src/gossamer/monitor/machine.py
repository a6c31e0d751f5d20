"""What the operating system says of this machine and of one process on it; read from /proc where there is one."""

import contextlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec

PROC = Path("/proc")
MHZ_EVERY = 10
"""The speed of the cores is read only every so many times: the file is long where there are many of them."""


class NodeSample(msgspec.Struct, frozen=True):
    """A machine at one moment. Seconds of CPU count from its start, over all cores."""

    name: str
    cores: int = 1
    mhz: float = 0.0
    """The mean of the cores at this moment; 0: not known."""
    busy_s: float = 0.0
    passed_s: float = 0.0
    """Busy and idle together."""
    memory_total: int = 0
    memory_free: int = 0
    """What programs could still have without swapping, not what lies idle."""
    disk_total: int = 0
    disk_free: int = 0


class ProcessSample(msgspec.Struct, frozen=True):
    cpu_s: float
    """Used since it started, in user and kernel mode."""
    rss: int
    """Bytes of memory it holds."""


class Machine(Protocol):
    """Real ones: `ThisMachine` here; `FixedMachine` for tests."""

    def name(self) -> str: ...

    def node(self) -> NodeSample: ...

    def process(self, pid: int) -> ProcessSample | None:
        """None when there is no such process, or it may not be looked at."""
        ...

    def workers_of(self, pid: int, job: str) -> list[int]:
        """The worker processes of `pid` that run this job, oldest first; none where that cannot be seen."""
        ...


class FixedMachine:
    """A machine that says what it was told to; a test changes the fields."""

    def __init__(self, node: NodeSample) -> None:
        self.now = node
        self.processes: dict[int, ProcessSample] = {}
        self.workers: dict[tuple[int, str], list[int]] = {}

    def name(self) -> str:
        return self.now.name

    def node(self) -> NodeSample:
        return self.now

    def process(self, pid: int) -> ProcessSample | None:
        return self.processes.get(pid)

    def workers_of(self, pid: int, job: str) -> list[int]:
        return self.workers.get((pid, job), [])


class ThisMachine:
    """REQUIRES for figures of the disk: `folder` lies on it. One thread at a time."""

    def __init__(self, folder: Path, proc: Path = PROC) -> None:
        self._folder, self._proc = folder, proc
        self._name = os.uname().nodename
        self._mhz = 0.0
        self._asked = 0
        self._jobs: dict[int, str] = {}

    def name(self) -> str:
        return self._name

    def node(self) -> NodeSample:
        busy_s, passed_s = busy_and_passed(self._read("stat"), _ticks())
        total, free = memory_of(self._read("meminfo"))
        if self._asked % MHZ_EVERY == 0:
            self._mhz = mhz_of(self._read("cpuinfo"))
        self._asked += 1
        disk_total, disk_free = self._disk()
        cores = os.cpu_count() or 1
        return NodeSample(
            name=self._name,
            cores=cores,
            mhz=self._mhz,
            busy_s=busy_s,
            passed_s=passed_s,
            memory_total=total,
            memory_free=free,
            disk_total=disk_total,
            disk_free=disk_free,
        )

    def process(self, pid: int) -> ProcessSample | None:
        if said := self._read(f"{pid}/stat"):
            return sample_of(said, _ticks(), os.sysconf("SC_PAGE_SIZE"))
        if pid == os.getpid():  # no /proc: of ourselves the time at least can be had
            spent = os.times()
            return ProcessSample(spent.user + spent.system, 0)
        return None

    def workers_of(self, pid: int, job: str) -> list[int]:
        found: set[int] = set()
        for thread in self._names(f"{pid}/task"):
            found.update(map(int, self._read(f"{pid}/task/{thread}/children").split()))
        self._jobs = {child: self._jobs.get(child) or self._command(child) for child in found}
        return sorted(child for child, command in self._jobs.items() if job in command)

    def _command(self, pid: int) -> str:
        return self._read(f"{pid}/cmdline").replace("\0", " ")

    def _disk(self) -> tuple[int, int]:
        with contextlib.suppress(OSError):
            usage = shutil.disk_usage(self._folder)
            return usage.total, usage.free
        return 0, 0

    def _read(self, name: str) -> str:
        """Empty when it is not there: another system, or a process that has just ended."""
        with contextlib.suppress(OSError):
            return (self._proc / name).read_text(errors="replace")
        return ""

    def _names(self, folder: str) -> Sequence[str]:
        with contextlib.suppress(OSError):
            return os.listdir(self._proc / folder)
        return ()


def _ticks() -> int:
    return os.sysconf("SC_CLK_TCK")


def busy_and_passed(stat: str, ticks: int) -> tuple[float, float]:
    """From the first line of /proc/stat (proc_stat(5)): the fourth and fifth numbers are idle and waiting for disks.
    Guests are counted in user time already."""
    line = stat.partition("\n")[0].split()
    if len(line) < 6 or line[0] != "cpu":
        return 0.0, 0.0
    numbers = [int(word) for word in line[1:9]]
    idle = numbers[3] + numbers[4]
    return (sum(numbers) - idle) / ticks, sum(numbers) / ticks


def memory_of(meminfo: str) -> tuple[int, int]:
    """Total and available bytes (proc_meminfo(5))."""
    found = {"MemTotal": 0, "MemAvailable": 0}
    for line in meminfo.splitlines():
        name, _, rest = line.partition(":")
        if name in found:
            found[name] = int(rest.split()[0]) * 1024
    return found["MemTotal"], found["MemAvailable"]


def mhz_of(cpuinfo: str) -> float:
    speeds = [float(line.partition(":")[2]) for line in cpuinfo.splitlines() if line.startswith("cpu MHz")]
    return sum(speeds) / len(speeds) if speeds else 0.0


def sample_of(stat: str, ticks: int, page_size: int) -> ProcessSample | None:
    """From /proc/PID/stat (proc_pid_stat(5)). The name, in brackets, may hold anything, brackets and spaces too."""
    fields = stat.rpartition(")")[2].split()
    if len(fields) < 22:
        return None
    return ProcessSample((int(fields[11]) + int(fields[12])) / ticks, int(fields[21]) * page_size)
