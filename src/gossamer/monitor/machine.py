"""What the operating system says of this machine and of one process on it, by way of psutil."""

import contextlib
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import msgspec
import psutil

MHZ_EVERY = 10
"""The speed of the cores is read only every so many times: some files for each of them."""
MOST_KNOWN = 1024
"""Processes kept as psutil knows them: to make one asks when it began. A number used again means the new process."""
UNSEEN = (OSError, RuntimeError, psutil.Error)
"""What psutil raises for a figure that is not to be had here: no /proc, another system, a process that has ended."""


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


class FixedMachine:
    """A machine that says what it was told to; a test changes the fields."""

    def __init__(self, node: NodeSample) -> None:
        self.now = node
        self.processes: dict[int, ProcessSample] = {}

    def name(self) -> str:
        return self.now.name

    def node(self) -> NodeSample:
        return self.now

    def process(self, pid: int) -> ProcessSample | None:
        return self.processes.get(pid)


class ThisMachine:
    """REQUIRES for figures of the disk: `folder` lies on it. One thread at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._name = os.uname().nodename
        self._mhz = 0.0
        self._asked = 0
        self._known = lru_cache(MOST_KNOWN)(psutil.Process)

    def name(self) -> str:
        return self._name

    def node(self) -> NodeSample:
        if self._asked % MHZ_EVERY == 0:
            self._mhz = getattr(seen(getattr(psutil, "cpu_freq", type(None))), "current", 0.0)
        self._asked += 1
        busy_s, passed_s = busy_and_passed(seen(psutil.cpu_times))
        memory, disk = seen(psutil.virtual_memory), seen(lambda: psutil.disk_usage(str(self._folder)))
        return NodeSample(
            name=self._name,
            cores=os.cpu_count() or 1,
            mhz=self._mhz,
            busy_s=busy_s,
            passed_s=passed_s,
            memory_total=getattr(memory, "total", 0),
            memory_free=getattr(memory, "available", 0),
            disk_total=getattr(disk, "total", 0),
            disk_free=getattr(disk, "free", 0),
        )

    def process(self, pid: int) -> ProcessSample | None:
        with contextlib.suppress(*UNSEEN):
            found = self._known(pid)
            spent = found.cpu_times()
            return ProcessSample(spent.user + spent.system, found.memory_info().rss)
        if pid == os.getpid():  # no /proc: of ourselves the time at least can be had
            own = os.times()
            return ProcessSample(own.user + own.system, 0)
        return None


def seen(look: Callable[[], Any]) -> Any:
    """None when it is not to be had here."""
    with contextlib.suppress(*UNSEEN):
        return look()
    return None


def busy_and_passed(times: Any) -> tuple[float, float]:
    """Of psutil's times of all cores; waiting for disks is not busy, and guests are counted in user time already."""
    if times is None:
        return 0.0, 0.0
    spent = {name: getattr(times, name) for name in times._fields if not name.startswith("guest")}
    passed_s = sum(spent.values())
    return passed_s - spent["idle"] - spent.get("iowait", 0.0), passed_s
