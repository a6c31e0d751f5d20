"""A copy of the project in which modules are changed and tests are run. The project's own files are never touched.

Tests run in namespaces of their own where the system allows it: a mutant of the guard may connect to any IP address,
and mounts of a test must not outlive it.
"""

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil
import pytest
from tests.mutants import coverage
from tests.mutants.coverage import Instrument, Measured, Place

MOST_MEMORY = 4 << 30
"""Of all processes of a run together: a run that uses more is ended."""
LONGEST_TEST_S = 60.0
"""A test that takes longer, or fails, without a mutant is left out."""
ALONE = ("unshare", "--net", "--mount", "--", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
NO_SERVER = ("-k", "not postgres")
"""Tests that need a database server are not run: they are slow, and its modules are not mutated."""
MARK = "MUTANTS_ROLE"
COPIED_MODULES = {"plugin.py": "mutants_plugin", "fork_server.py": "mutants_fork_server"}
"""Modules of this folder that run in the copy, and their names there."""


@dataclass(frozen=True)
class Ran:
    """The result of a run: pytest's exit code (None if it was killed) and the lines that the plugin wrote."""

    code: int | None
    lines: Sequence[Mapping[str, Any]]
    output: str
    why_ended: str = ""


class Workbench:
    """`package` is the folder of the modules, such as src/gossamer; `root` has a folder `tests`."""

    def __init__(self, root: Path, package: str) -> None:
        self._root, self._package = root, Path(package)
        self._folder = Path(tempfile.mkdtemp(prefix="mutants-"))
        self.copy = self._folder / "p"
        self._sources: dict[str, str] = {}
        self._written = 0
        self._alone = ALONE if _works(ALONE) else ()
        self._server: _ForkServer | None = None

    def __enter__(self) -> Self:
        self._folder.chmod(0o711)
        self.copy.mkdir()
        top = self._package.parts[0]
        for path in self._root.iterdir():
            if path.name in (top, "tests"):
                shutil.copytree(path, self.copy / path.name, ignore=shutil.ignore_patterns("__pycache__"))
            elif path.name not in (".git", ".hypothesis", ".pytest_cache"):
                (self.copy / path.name).symlink_to(path.resolve())
        package = self.copy / self._package
        self._sources = {path.relative_to(package).as_posix(): path.read_text() for path in package.rglob("*.py")}
        for file, name in COPIED_MODULES.items():
            shutil.copy(Path(__file__).with_name(file), self._import_root / f"{name}.py")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._server:
            self._server.end()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _import_root(self) -> Path:
        return (self.copy / self._package).parent

    @property
    def has_network(self) -> bool:
        return not self._alone

    def write(self, module: str, text: str) -> None:
        """With a unique modification time: compiled modules are recognised by second and size."""
        path = self.copy / self._package / module
        path.write_text(text)
        self._written += 1
        os.utime(path, (time.time(), 1_000_000_000 + self._written))

    def source(self, module: str) -> str:
        """As it was when the copy was made."""
        return self._sources[module]

    def restore(self, module: str) -> None:
        self.write(module, self.source(module))

    def measure(self, test_file: str) -> list[Measured]:
        """Runs a file of tests with instrumented modules. REQUIRES: `instrument` was called."""
        hits = self._folder / "hits"
        ran = self.run([test_file], {"hits": str(hits)}, limit_s=1800)
        if ran.code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
            raise RuntimeError(f"{test_file} was not measured to its end: {ran.why_ended or ran.code}\n{ran.output}")
        unfit = {line["test"] for line in ran.lines if "outcome" in line}
        return [
            Measured(line["test"], line["seconds"], frozenset(str(self._places[number]) for number in line["ran"]))
            for line in ran.lines
            if "ran" in line and line["test"] not in unfit
        ]

    def instrument(self, modules: Sequence[str]) -> None:
        self._places: list[Place] = []
        instrument = Instrument(self._places)
        for module in modules:
            self.write(module, instrument.of(module, self.source(module)))
        hits = self._folder / "hits"
        hits.write_bytes(bytes(max(1, len(self._places))))
        hits.chmod(0o666)
        (self._import_root / f"{coverage.RECORDER}.py").write_text(coverage.TEXT.format(path=str(hits)))

    def run(self, files: Sequence[str], role: Mapping[str, object], limit_s: float) -> Ran:
        """pytest on `files`, ended after `limit_s` or when it takes too much memory."""
        scratch = self._folder / "t"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(exist_ok=True)
        scratch.chmod(0o1777)
        report, role_file = self._folder / "report", self._folder / "role"
        report.write_text("")
        role_file.write_text(json.dumps({**role, "report": str(report)}))
        arguments = ["-p", "mutants_plugin", "-p", "no:cacheprovider", "-p", "no:xdist"]
        arguments += ["--hypothesis-seed=0", "--tb=line", f"--timeout={LONGEST_TEST_S}", *NO_SERVER]
        arguments += ["-x"] if role.get("stops") else []
        if not any("schemathesis" in (self.copy / file).read_text() for file in files):
            arguments += ["-p", "no:schemathesis"]  # its plugin takes as long to load as everything else
        output = self._folder / "output"
        output.write_text("")
        server = self._running_server(role_file, scratch)
        pid = server.fork([*arguments, *files], output)
        try:
            code, why_ended = _watch(server, pid, limit_s)
        finally:
            end_all(str(role_file), spared=server.pid)
        if code is None:
            server.code(60)  # the server's line on the run that was just killed
        lines = [json.loads(line) for line in report.read_text().splitlines()]
        return Ran(code, lines, output.read_text()[-4000:], why_ended)

    def _running_server(self, role_file: Path, scratch: Path) -> "_ForkServer":
        if self._server is None:
            environment = {
                **os.environ,
                "PYTHONPATH": str(self._import_root),
                "PYTHONPYCACHEPREFIX": str(self._folder / "c"),
                "TMPDIR": str(scratch),
                MARK: str(role_file),
            }
            environment.pop("PYTEST_ADDOPTS", None)
            environment.pop("PYTEST_XDIST_WORKER", None)
            self._server = _ForkServer(self._alone, self.copy, environment)
        return self._server


class _ForkServer:
    """The client of `fork_server.py`."""

    def __init__(self, prefix: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [*prefix, sys.executable, "-m", COPIED_MODULES["fork_server.py"]],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        self.pid = self._process.pid

    def fork(self, arguments: Sequence[str], output: Path) -> int:
        """Start a run of pytest; return its process id."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"arguments": arguments, "output": str(output)}).encode() + b"\n")
        return int(self._line()["pid"])

    def code(self, timeout_s: float) -> int | None:
        """The exit code of the run, once it has ended."""
        ready, _, _ = select.select([self._process.stdout], [], [], timeout_s)
        return int(self._line()["code"]) if ready else None

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _line(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the process that forks for each run of tests has ended")
        found: dict[str, Any] = json.loads(line)
        return found


def _watch(server: _ForkServer, pid: int, limit_s: float) -> tuple[int | None, str]:
    """Wait for the end of a run: its exit code, or the reason why it must be ended."""
    ends_at = time.monotonic() + limit_s
    while time.monotonic() < ends_at:
        if (code := server.code(0.5)) is not None:
            return code, ""
        if _memory(pid) > MOST_MEMORY:
            return None, "memory"
    return None, "time"


def _works(command: Sequence[str]) -> bool:
    try:
        return subprocess.run([*command, "true"], capture_output=True, timeout=20, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _memory(pid: int) -> int:
    total = 0
    try:
        for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
            total += process.memory_info().rss - process.memory_info().shared
    except psutil.NoSuchProcess:
        pass
    return total


def end_all(mark: str, spared: int) -> None:
    """Kill all descendants with this mark in their environment, including orphans that were adopted."""
    killed = []
    for child in psutil.Process().children(recursive=True):
        try:
            if child.pid != spared and child.environ().get(MARK) == mark:
                child.kill()
                killed.append(child)
        except psutil.Error:
            continue
    psutil.wait_procs(killed, timeout=60)  # until then they may still write
