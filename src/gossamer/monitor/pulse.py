"""A process takes its own pulse once a second, and that of its workers and its machine, and notes it."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gossamer import __version__
from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.monitor.control import Control
from gossamer.monitor.machine import Machine
from gossamer.monitor.vitals import BEAT_S, NODE, Figures, Spent, Vitals, numbered, percent
from gossamer.workers.barriers import Barriers


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
