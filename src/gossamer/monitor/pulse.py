"""A process takes its own pulse once a second, and that of its workers and its machine, and notes it."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import msgspec
import psutil

from gossamer import __version__
from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.monitor.control import BEAT_S, NODE, Control, Figures, Spent, Vitals, numbered, percent
from gossamer.workers.protocol import Barriers

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


@dataclass(frozen=True, slots=True)
class ProcessReport:
    """What a process says of itself, beyond what its machine knows."""

    figures: Figures
    state: str = ""
    facts: Mapping[str, object] | None = None
    """For the other processes; None: there is nothing they want to know."""


def guarded(said: ProcessReport, barriers: Barriers | None) -> ProcessReport:
    """With the barriers around its workers, if any is up."""
    if barriers is None:
        return said
    return replace(said, figures={**said.figures, "barriers_missing": float(barriers.missing_bits)})


@dataclass(slots=True)
class Pulse:
    """`with pulse.beating():` One for each process, or for each part of one that has a name. REQUIRES: `control` is
    open. Threads take turns."""

    name: str
    pid: int
    control: Control
    machine: Machine
    clock: Clock
    worker: str = ""
    """What its workers are called; they are locked in, and cannot speak for themselves."""
    lost: int = 0
    """Workers that are gone."""
    _since_at: dict[int, Instant] = field(default_factory=dict)
    _spent: dict[int, Spent] = field(default_factory=dict)
    _numbers: dict[int, int] = field(default_factory=dict)
    _node_spent: tuple[float, float] | None = None
    _last: ProcessReport | None = None
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _is_over: bool = False

    @contextlib.contextmanager
    def beating(self) -> Iterator["Pulse"]:
        """At the end it is said that this was the end, and no fault."""
        if self.worker:
            self.control.end_workers(self.worker)
        try:
            yield self
        finally:
            if self.worker:
                self.control.end_workers(self.worker)
            with self._turn:  # a beat whose task was cancelled may still be under way on its thread
                self._is_over = True
                facts = self._last.facts if self._last else None
                ended = None if facts is None else {**facts, "state": "ended"}
                self._note(ended, [self._of_process(self.name, self.pid, {}, "ended")])

    def beat(self, said: ProcessReport, workers: Sequence[int] = ()) -> bool:
        """Whether it could be noted; if not, nothing else is wrong."""
        with self._turn:
            if self._is_over:
                return False
            self._last = said
            return self._note(said.facts, self.taken(said, workers))

    def taken(self, said: ProcessReport, workers: Sequence[int] = ()) -> list[Vitals]:
        """The pulse of the process, of each of its workers, and of the machine."""
        self.lost += len(self._numbers.keys() - set(workers))
        self._numbers = numbered(workers, self._numbers)
        mine = {**said.figures, "lost": float(self.lost)} if self.worker else said.figures
        vitals = [self._of_process(self.name, self.pid, mine, said.state)]
        for pid, number in self._numbers.items():
            vitals.append(self._of_process(f"{self.worker} {number}", pid, {}, ""))
        for gone in self._spent.keys() - {self.pid, *workers}:
            del self._spent[gone]
            self._since_at.pop(gone, None)
        return [*vitals, self._of_node()]

    def _of_process(self, name: str, pid: int, figures: Figures, state: str) -> Vitals:
        now = self.clock.now()
        since_at = self._since_at.setdefault(pid, now)
        found = self.machine.process(pid)
        if found is not None:
            spent = Spent(now / SECOND, found.cpu_s)
            cpu = percent(self._spent.get(pid), spent)
            self._spent[pid] = spent
            figures = {**figures, "cpu": cpu, "cpu_s": round(found.cpu_s, 2), "rss": found.rss}
        return Vitals(self.machine.name(), name, pid, now, since_at, figures, state, __version__)

    def _of_node(self) -> Vitals:
        found, now = self.machine.node(), self.clock.now()
        before, self._node_spent = self._node_spent, (found.busy_s, found.passed_s)
        cpu = 0.0
        if before is not None and found.passed_s > before[1]:
            cpu = round(100 * (found.busy_s - before[0]) / (found.passed_s - before[1]), 1)
        figures = {
            "cpu": cpu,
            "cores": found.cores,
            "mhz": round(found.mhz),
            "memory_total": found.memory_total,
            "memory_free": found.memory_free,
            "disk_total": found.disk_total,
            "disk_free": found.disk_free,
        }
        return Vitals(found.name, NODE, 0, now, self._since_at.setdefault(0, now), figures, "", __version__)

    def _note(self, facts: Mapping[str, object] | None, vitals: Sequence[Vitals]) -> bool:
        if facts is None:
            return self.control.note(vitals)
        return self.control.beat(self.name, self.pid, facts, vitals)


@contextlib.contextmanager
def beating_by_itself(pulse: Pulse, say: Callable[[], ProcessReport], workers: Sequence[int] = ()) -> Iterator[None]:
    """For a process whose work holds its event loop for seconds: a thread beats, so that busy is not taken for dead."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(BEAT_S):
            pulse.beat(say(), workers)

    with pulse.beating():
        thread = threading.Thread(target=beat, name="pulse", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            pulse.beat(say(), workers)
