"""Watches a crawl's process tree: the peak memory of each process by role, and lost processes."""

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import psutil

ROLES = {
    "tests.attack.child": "crawler",
    "gossamer.workers.child": "reader",
    "gossamer.indexer.process": "indexer",
    "gossamer.indexer.graph_process": "facts",
}
MAY_DIE = ("reader",)
EVERY_S = 0.1


@dataclass(frozen=True, slots=True)
class Observed:
    role: str
    peak: int = 0
    """Bytes: the kernel's high-water mark of resident memory."""


@dataclass
class Tree:
    """`with Tree(pid) as tree`."""

    pid: int
    seen: dict[int, Observed] = field(default_factory=dict)

    def __enter__(self) -> Self:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def peaks(self) -> dict[str, int]:
        """By role."""
        found: dict[str, int] = {}
        for one in self.seen.values():
            found[one.role] = max(found.get(one.role, 0), one.peak)
        return found

    @property
    def counts(self) -> dict[str, int]:
        """Processes by role, over the whole crawl."""
        roles = [one.role for one in self.seen.values()]
        return {role: roles.count(role) for role in dict.fromkeys(roles)}

    @property
    def lost(self) -> list[str]:
        """Roles other than readers whose process was replaced."""
        return [f"{role} ({count} in all)" for role, count in self.counts.items() if role not in MAY_DIE and count > 1]

    def _watch(self) -> None:
        while not self._ended.wait(EVERY_S):
            try:
                family = [root := psutil.Process(self.pid), *root.children(recursive=True)]
            except psutil.Error:
                return
            for process in family:
                self._observe(process)

    def _observe(self, process: psutil.Process) -> None:
        try:
            role = role_of(process.cmdline())  # again each time: a new process is a copy of its parent for a moment
            if role is not None:
                before = self.seen.get(process.pid)
                self.seen[process.pid] = Observed(role, max(before.peak if before else 0, peak_of(process.pid)))
        except (psutil.Error, OSError, IndexError):
            return  # it ended meanwhile


def role_of(command: list[str]) -> str | None:
    """None: it has ended, or has no role."""
    return next((role for module, role in ROLES.items() if module in command), None)


def peak_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2].split()[0]) << 10
