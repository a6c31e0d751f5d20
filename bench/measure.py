"""Measures a process and all it starts: CPU seconds, and memory while it runs."""

import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

BYTECODE = Path(__file__).parent / "out" / "bytecode"


@dataclass(slots=True)
class Measured:
    cpu_s: float
    wall_s: float
    peak_mib: float
    output: str
    exit_code: int
    cpu_by_part: dict[str, float] = field(default_factory=dict)


def run(module: str, arguments: list[str], cpu: int | None = None, every_s: float = 2.0) -> Measured:
    """Run `python -m module arguments` to its end; on one CPU with all its children if `cpu` is given.

    Samples are rare: this process may run on the other thread of the same core, where any work it does slows the
    measured process, the more so the more processes that one has.

    CPU seconds are those the kernel counted for it and its waited-for children; memory is the largest sum of
    proportional set sizes (PSS) over the tree, so shared pages count once.

    Bytecode is kept with the results of the benchmarks, as an installed program has it: in an environment that writes
    none, every process of either side would compile its sources at each start.
    """
    started = time.monotonic()
    on_cpu = None if cpu is None else lambda: os.sched_setaffinity(0, {cpu})
    command = [sys.executable, "-m", module, *arguments]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=on_cpu, env=environment())
    watch = _Watch(child.pid, every_s)
    watch.start()
    assert child.stdout is not None
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    watch.ended.set()
    watch.join()
    return Measured(
        usage.ru_utime + usage.ru_stime,
        time.monotonic() - started,
        watch.peak / 2**20,
        output,
        child.returncode,
        watch.cpu,
    )


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(BYTECODE)}


def compile_once(*modules: str) -> None:
    """So that neither side compiles, in its first turn, what later turns find compiled."""
    subprocess.run([sys.executable, "-c", f"import {', '.join(modules)}"], env=environment(), check=True)


class _Watch(threading.Thread):
    def __init__(self, pid: int, every_s: float) -> None:
        super().__init__(daemon=True)
        self._pid, self._every_s = pid, every_s
        self.ended = threading.Event()
        self.peak = 0
        self.cpu: dict[str, float] = {}

    def run(self) -> None:
        while not self.ended.wait(self._every_s):
            try:
                top = psutil.Process(self._pid)
                tree = [top, *top.children(recursive=True)]
            except psutil.NoSuchProcess:
                return
            self.peak = max(self.peak, sum(self._look(one) for one in tree))

    def _look(self, process: psutil.Process) -> int:
        try:
            times = process.cpu_times()
            self.cpu[f"{part_of(process)} {process.pid}"] = times.user + times.system
            return int(process.memory_full_info().pss)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            return 0


def part_of(process: psutil.Process) -> str:
    line = process.cmdline()
    module = line[line.index("-m") + 1] if "-m" in line else "process"
    if module == "gossamer.cluster.child":  # PARENT MODULE
        module = line[line.index("-m") + 3]
    parts = {
        "tests.cluster.node": "node",
        "tests.cluster.crawler": "crawler",
        "gossamer.workers.child": "reader",
        "gossamer.indexer.process": "indexer",
        "gossamer.indexer.graph_process": "graph",
    }
    return parts.get(module, "crawler")
