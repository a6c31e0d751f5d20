"""Kill a crawl again and again, and check afterwards that nothing was lost.

It is checked by the acknowledgements that the crawl printed, the server's own access log, and the archive.
"""

import json
import os
import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import psutil
from tests.crash import verify
from tests.crash.web import PROFILE, SEED

from gossamer.base.clock import SystemClock
from gossamer.base.files import DiskFiles
from gossamer.base.tell import CRASH_POINTS, CRASH_VARIABLE
from gossamer.demo.server import read_log
from gossamer.monitor.sqlite_control import SqliteControl

TARGETS = ("crawler", "reader", "indexer", "graph process", "all")
MODULES = {
    "reader": "gossamer.workers.child",
    "indexer": "gossamer.indexer.process",
    "graph process": "gossamer.indexer.graph_process",
}
PATIENCE_S = 400.0
POINT_PATIENCE_S = 30.0
CHECKPOINT_PATIENCE_S = 120.0
"""Checkpoints are made at most every 30 s."""
RARE = {"frontier.merged": 2, "checkpoint.renamed": 1, "graph.committed": 1, "links.committed": 1}
"""The most reports of these in a short run: facts and links are committed every four seconds, words every two."""
FEW, MANY = 2, 6
MOST_ROUNDS = 4
IN_CRAWLER = ("frontier.", "archive.", "spool.")
REPOSITORY = Path(__file__).parents[2]


@dataclass(slots=True)
class Acknowledged:
    """The lines that the crawl printed, each after the fetch was safely on disk."""

    events: list[dict[str, object]] = field(default_factory=list)
    """Each with `read_at`, in microseconds: what it acknowledges was on disk before."""
    _reader: threading.Thread | None = None

    def follow(self, child: "subprocess.Popen[str]") -> None:
        self._reader = threading.Thread(target=self._read, args=(child.stdout,), daemon=True)
        self._reader.start()

    def read_to_end(self) -> None:
        """Read the last lines of a child that has ended."""
        if self._reader is not None:
            self._reader.join()

    def _read(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                with suppress(ValueError):  # the last line may be cut by the kill
                    self.events.append(json.loads(line) | {"read_at": time.time_ns() // 1000})


@dataclass(slots=True)
class Round:
    """One crawl of the web from start to end, with as many kills as fit."""

    root: Path
    hosts: int
    pages: int
    draw: random.Random
    kills: list[str] = field(default_factory=list)
    reached: list[str] = field(default_factory=list)
    in_flight: int = 0
    acknowledged: Acknowledged = field(default_factory=Acknowledged)
    is_spent: bool = False
    """A crash point was not reached: so little of this web is left that the next kill needs a new one."""
    port: int = 0

    def run(self, plan: list[str]) -> verify.Findings:
        """`plan` is consumed as far as the crawl lasts: each entry is a target, or a crash point."""
        with serving(self.root, self.hosts, self.pages) as self.port:
            was_killed = True
            while plan and was_killed and not self.is_spent:
                was_killed = self._run_to_point(plan) if plan[0] in CRASH_POINTS else self._run_to_kill(plan)
            if was_killed:
                self._last_run()
        hits = read_log(DiskFiles(), self.root / "access.log")
        return verify.findings(
            self.root / "crawl", self.acknowledged.events, hits, self.in_flight, self.hosts, self.pages
        )

    def _run_to_point(self, plan: list[str]) -> bool:
        """The process kills itself at the k-th report of an event. If it is the indexer, wait until the crawler has
        started another, and then kill the whole tree. False: the crawl ended by itself first."""
        point = plan[0]
        restarts = self._restarts()
        most = RARE.get(point, MANY if point.startswith(IN_CRAWLER) else FEW)
        child = self._start(f"{point}:{self.draw.randint(1, most)}")
        needs_checkpoint = point == "checkpoint.renamed"
        until = time.monotonic() + (CHECKPOINT_PATIENCE_S if needs_checkpoint else POINT_PATIENCE_S)
        while child.poll() is None and self._restarts() == restarts and time.monotonic() < until:
            if needs_checkpoint:
                ask_for_checkpoint(self.root / "crawl")
            time.sleep(0.2 if needs_checkpoint else 0.02)
        if child.poll() == 0:
            self.acknowledged.read_to_end()
            return False
        if child.poll() is None and self._restarts() == restarts:
            self.kills.append("all")
            self.is_spent = True
            return self._end(child)
        self.reached.append(point)
        self.kills.append(plan.pop(0))
        return self._end(child)

    def _run_to_kill(self, plan: list[str]) -> bool:
        """Kill readers and indexers of a running crawler; killing the crawler ends this run."""
        child = self._start(None)
        while plan and plan[0] in TARGETS:
            if ended_within(child, self.draw.uniform(0.3, 2.5)):
                assert child.returncode == 0, f"the crawl ended with {child.returncode}, without a kill"
                self.acknowledged.read_to_end()
                return False
            target = plan.pop(0)
            self.kills.append(target)
            if target in MODULES:
                kill_one(child, MODULES[target], self.draw)
            else:
                break
        return self._end(child, tree=target == "all")

    def _end(self, child: "subprocess.Popen[str]", tree: bool = True) -> bool:
        """Kill what still runs, and count the fetches in flight. True, because it was killed."""
        if tree:
            kill_tree(child)
        child.kill()
        child.wait()
        self.acknowledged.read_to_end()
        self.in_flight += leased(self.root / "crawl")
        return True

    def _last_run(self) -> None:
        child = self._start(None)
        if not ended_within(child, PATIENCE_S):
            kill_tree(child)
            raise AssertionError(f"the crawl did not end by itself within {PATIENCE_S:.0f} s of the last kill")
        assert child.returncode == 0, f"the last run ended with exit code {child.returncode}"
        self.acknowledged.read_to_end()

    def _restarts(self) -> int:
        return sum(1 for event in list(self.acknowledged.events) if event.get("event") == "views.restarted")

    def _start(self, crash_at: str | None) -> "subprocess.Popen[str]":
        numbers = [str(n) for n in (self.port, self.hosts, self.pages)]
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.child", str(self.root / "crawl"), *numbers],
            stdout=subprocess.PIPE,
            text=True,
            env=environment_for(crash_at),
            cwd=REPOSITORY,
        )
        self.acknowledged.follow(child)
        return child


def environment_for(crash_at: str | None) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name != CRASH_VARIABLE}
    return environment | ({CRASH_VARIABLE: crash_at} if crash_at else {})


def ended_within(child: "subprocess.Popen[str]", seconds: float) -> bool:
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def kill_tree(child: "subprocess.Popen[str]") -> None:
    """Kill the crawler, its readers, its indexer and the graph process, all at once."""
    with suppress(psutil.NoSuchProcess):
        top = psutil.Process(child.pid)
        for process in [*top.children(recursive=True), top]:
            with suppress(psutil.NoSuchProcess):
                process.kill()


def kill_one(child: "subprocess.Popen[str]", module: str, draw: random.Random) -> None:
    with suppress(psutil.NoSuchProcess):
        parts = [one for one in psutil.Process(child.pid).children(recursive=True) if module in one.cmdline()]
        if parts:
            draw.choice(parts).kill()


def ask_for_checkpoint(directory: Path) -> None:
    """As a SPARQL query on an old checkpoint does."""
    if (directory / "control.db").is_file():
        with SqliteControl(directory / "control.db", SystemClock()) as control:
            control.ask("checkpoint")


def leased(directory: Path) -> int:
    """Fetches in flight at the kill: leased and not settled."""
    if not (directory / "state.db").is_file():
        return 0
    with closing(sqlite3.connect(directory / "state.db", timeout=60)) as state:
        try:
            return int(state.execute("SELECT count(*) FROM hosts WHERE leased").fetchone()[0])
        except sqlite3.OperationalError:  # killed before the first migration
            return 0


@contextmanager
def serving(root: Path, hosts: int, pages: int, *more: str) -> Iterator[int]:
    """The demonstration web in a process of its own, which outlives the crawler, as its log does."""
    port_file = root / "port"
    arguments = ["--seed", str(SEED), "--hosts", str(hosts), "--pages", str(pages), "--profile", PROFILE]
    arguments += ["--log", str(root / "access.log"), "--port-file", str(port_file), *more]
    server = subprocess.Popen([sys.executable, "-m", "gossamer.demo.server", *arguments])
    try:
        until = time.monotonic() + PATIENCE_S
        while not port_file.is_file():
            assert server.poll() is None and time.monotonic() < until, "the demonstration web did not start"
            time.sleep(0.02)
        yield int(port_file.read_text())
    finally:
        server.terminate()
        server.wait()


def plan_of(kills: int, draw: random.Random) -> list[str]:
    """Every crash point, as far as `kills` allows, half of the kills in long runs, and random targets in between.

    The first kill is at a checkpoint, since later ones are made at most every 30 s.
    """
    points = (list(CRASH_POINTS) * kills)[: max(min(kills, len(CRASH_POINTS)), kills // 2)]
    plan = points + [draw.choice(TARGETS) for _ in range(kills - len(points))]
    draw.shuffle(plan)
    if "checkpoint.renamed" in plan:
        plan.remove("checkpoint.renamed")
        plan.insert(0, "checkpoint.renamed")
    return plan


def run(kills: int, root: Path, seed: int, hosts: int = 12, pages: int = 240) -> list[tuple[Round, verify.Findings]]:
    """As many rounds as needed for the kills; each round is verified on its own."""
    draw = random.Random(seed)
    plan = plan_of(kills, draw)
    rounds = []
    while plan:
        assert len(rounds) < MOST_ROUNDS + kills // 10, f"no run of the crawl reached {plan[0]}"
        folder = root / f"round-{len(rounds) + 1}"
        folder.mkdir(parents=True)
        one = Round(folder, hosts, pages, draw)
        rounds.append((one, one.run(plan)))
        print(f"round {len(rounds)}: {len(one.kills)} kills, {rounds[-1][1].in_words()}", flush=True)
    return rounds
