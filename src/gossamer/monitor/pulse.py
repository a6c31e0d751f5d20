"""Heartbeats: once a second a process records its own figures.

Also those of its workers and of its machine.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import psutil

from gossamer import __version__
from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.monitor.control import BEAT_S, NODE, Control, Figures, Vitals
from gossamer.workers.protocol import Barriers

MHZ_EVERY = 10
"""The speed of the cores is read only every so many times: it takes some files for each of them."""
MOST_KNOWN = 1024
"""Cached `psutil.Process` objects: making one reads its start time. It notices when another process has its pid."""
UNAVAILABLE = (OSError, RuntimeError, psutil.Error)
"""What psutil raises for a figure that is not available: no /proc, another system, a process that has ended."""


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
    """What programs could still get without swapping, not only what is unused."""
    disk_total: int = 0
    disk_free: int = 0


class ProcessSample(msgspec.Struct, frozen=True):
    cpu_s: float
    """Used since it started, in user and kernel mode."""
    rss: int
    """Bytes of memory it holds."""


class ThisMachine:
    """REQUIRES for figures of the disk: `folder` is on it. One thread at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._name = os.uname().nodename
        self._mhz = 0.0
        self._reads = 0
        self._known = lru_cache(MOST_KNOWN)(psutil.Process)

    def name(self) -> str:
        return self._name

    def node(self) -> NodeSample:
        if self._reads % MHZ_EVERY == 0:
            self._mhz = getattr(available(getattr(psutil, "cpu_freq", type(None))), "current", 0.0)
        self._reads += 1
        busy_s, passed_s = busy_and_passed(available(psutil.cpu_times))
        memory, disk = available(psutil.virtual_memory), available(lambda: psutil.disk_usage(str(self._folder)))
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
        """None when there is no such process, or its figures may not be read."""
        with contextlib.suppress(*UNAVAILABLE):
            found = self._known(pid)
            used = found.cpu_times()
            return ProcessSample(used.user + used.system, found.memory_info().rss)
        if pid == os.getpid():  # without /proc, a process still knows its own CPU time
            own = os.times()
            return ProcessSample(own.user + own.system, 0)
        return None


def available(read: Callable[[], Any]) -> Any:
    """A figure of psutil; None when this system does not have it."""
    with contextlib.suppress(*UNAVAILABLE):
        return read()
    return None


def busy_and_passed(times: Any) -> tuple[float, float]:
    """Of psutil's times of all cores; waiting for disks is not busy, and guests are counted in user time already."""
    if times is None:
        return 0.0, 0.0
    used = {name: getattr(times, name) for name in times._fields if not name.startswith("guest")}
    passed_s = sum(used.values())
    return passed_s - used["idle"] - used.get("iowait", 0.0), passed_s


class CpuTime(msgspec.Struct, frozen=True):
    """CPU seconds used until some moment; the difference of two gives the use between them."""

    at_s: float
    cpu_s: float


def percent(before: CpuTime | None, now: CpuTime) -> float:
    """Of one core, between the two; 0 when there is nothing to compare with."""
    if before is None or now.at_s <= before.at_s or now.cpu_s < before.cpu_s:
        return 0.0
    return round(100 * (now.cpu_s - before.cpu_s) / (now.at_s - before.at_s), 1)


def numbered(pids: Sequence[int], before: Mapping[int, int]) -> dict[int, int]:
    """A number for each worker, from 1: the one it had, or the lowest free one. So there are few names, however often
    workers are replaced."""
    kept = {pid: before[pid] for pid in pids if pid in before}
    free = (number for number in range(1, 2 * len(pids) + len(kept) + 2) if number not in set(kept.values()))
    return {pid: kept[pid] if pid in kept else next(free) for pid in pids}


@dataclass(frozen=True, slots=True)
class ProcessReport:
    """What a process reports about itself, beyond what its machine knows."""

    figures: Figures
    state: str = ""
    facts: Mapping[str, object] | None = None
    """For the other processes; None: it has nothing for them."""


@dataclass(slots=True)
class Pulse:
    """`with pulse.beating():` One for each process, or for each part of one that has a name. REQUIRES: `control` is
    open. Threads take turns."""

    name: str
    pid: int
    control: Control
    machine: ThisMachine
    clock: Clock
    worker: str = ""
    """What its workers are called; they are sandboxed, so they cannot report themselves."""
    lost: int = 0
    """Workers that are gone."""
    _since_at: dict[int, Instant] = field(default_factory=dict)
    _used: dict[int, CpuTime] = field(default_factory=dict)
    _numbers: dict[int, int] = field(default_factory=dict)
    _last: ProcessReport | None = None
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _is_over: bool = False

    @contextlib.contextmanager
    def beating(self) -> Iterator["Pulse"]:
        """The last heartbeat says that the process ended in order."""
        if self.worker:
            self.control.end_workers(self.worker)
        try:
            yield self
        finally:
            if self.worker:
                self.control.end_workers(self.worker)
            with self._turn:  # a beat whose task was cancelled may still be running on its thread
                self._is_over = True
                facts = self._last.facts if self._last else None
                ended = None if facts is None else {**facts, "state": "ended"}
                self.control.beat(self.name, self.pid, ended, [self._of_process(self.name, self.pid, {}, "ended")])

    def beat(self, report: ProcessReport, workers: Sequence[int] = (), barriers: Barriers | None = None) -> bool:
        """False if it could not be recorded, which harms nothing else. `barriers`: of its workers; None: none runs."""
        if barriers is not None:
            report = replace(report, figures={**report.figures, "barriers_missing": float(barriers.missing_bits)})
        with self._turn:
            if self._is_over:
                return False
            self._last = report
            return self.control.beat(self.name, self.pid, report.facts, self._vitals(report, workers))

    def _vitals(self, report: ProcessReport, workers: Sequence[int]) -> list[Vitals]:
        """Of the process, of each of its workers, and of the machine."""
        self.lost += len(self._numbers.keys() - set(workers))
        self._numbers = numbered(workers, self._numbers)
        mine = {**report.figures, "lost": float(self.lost)} if self.worker else report.figures
        vitals = [self._of_process(self.name, self.pid, mine, report.state)]
        for pid, number in self._numbers.items():
            vitals.append(self._of_process(f"{self.worker} {number}", pid, {}))
        for gone in self._used.keys() - {self.pid, 0, *workers}:
            del self._used[gone]
            self._since_at.pop(gone, None)
        return [*vitals, self._of_node()]

    def _of_process(self, name: str, pid: int, figures: Figures, state: str = "") -> Vitals:
        found = self.machine.process(pid)
        if found is not None:
            cpu = self._percent(pid, CpuTime(self.clock.now() / SECOND, found.cpu_s))
            figures = {**figures, "cpu": cpu, "cpu_s": round(found.cpu_s, 2), "rss": found.rss}
        return self._of(name, pid, figures, state)

    def _of_node(self) -> Vitals:
        node = self.machine.node()
        figures = {
            name: getattr(node, name) for name in ("cores", "memory_total", "memory_free", "disk_total", "disk_free")
        }
        cpu = self._percent(0, CpuTime(node.passed_s, node.busy_s))
        return self._of(NODE, 0, {"cpu": cpu, "mhz": round(node.mhz), **figures})

    def _of(self, name: str, pid: int, figures: Figures, state: str = "") -> Vitals:
        now = self.clock.now()
        since_at = self._since_at.setdefault(pid, now)
        node = self.control.node or self.machine.name()
        return Vitals(node, name, pid, now, since_at, figures, state, __version__)

    def _percent(self, pid: int, now: CpuTime) -> float:
        before, self._used[pid] = self._used.get(pid), now
        return percent(before, now)


@contextlib.contextmanager
def beating_in_thread(pulse: Pulse, report: Callable[[], ProcessReport], workers: Sequence[int] = ()) -> Iterator[None]:
    """For a process whose work blocks its event loop for seconds: a thread beats, so that busy does not look dead."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(BEAT_S):
            pulse.beat(report(), workers)

    with pulse.beating():
        thread = threading.Thread(target=beat, name="pulse", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            pulse.beat(report(), workers)
