"""A copy of the project in which modules are changed and tests are run. The project's own files are never touched.

Tests run in a network namespace of their own where the system allows it: a mutant of what forbids addresses may dial.
"""

import json
import os
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
from tests.mutants import coverage
from tests.mutants.coverage import Instrument, Measured, Place

MOST_MEMORY = 4 << 30
"""Of all processes of a run: a mutant that asks for more is ended."""
LONGEST_TEST_S = 60.0
"""A test that takes longer, or fails, without any mutant is of no use here."""
ALONE = ("unshare", "--net", "--", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
MARK = "MUTANTS_ROLE"
PLUGIN = Path(__file__).with_name("plugin.py")


@dataclass(frozen=True)
class Ran:
    """What came of a run: pytest's exit code (None when it had to be ended) and the lines that the plugin wrote."""

    code: int | None
    lines: Sequence[Mapping[str, Any]]
    output: str
    why_ended: str = ""


class Workbench:
    """`package` is the folder of the modules, such as src/gossamer; `tests` lies beside it in `root`."""

    def __init__(self, root: Path, package: str) -> None:
        self._root, self._package = root, Path(package)
        self._folder = Path(tempfile.mkdtemp(prefix="mutants-"))
        self.copy = self._folder / "p"
        self._sources: dict[str, str] = {}
        self._written = 0
        self._alone = ALONE if _works(ALONE) else ()

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
        shutil.copy(PLUGIN, self._import_root / "mutants_plugin.py")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _import_root(self) -> Path:
        return (self.copy / self._package).parent

    @property
    def has_network(self) -> bool:
        return not self._alone

    def write(self, module: str, text: str) -> None:
        """With a time of its own: compiled modules are recognised by second and size."""
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
        scratch.mkdir()
        scratch.chmod(0o1777)
        report, role_file = self._folder / "report", self._folder / "role"
        report.write_text("")
        role_file.write_text(json.dumps({**role, "report": str(report)}))
        environment = {
            **os.environ,
            "PYTHONPATH": str(self._import_root),
            "PYTHONPYCACHEPREFIX": str(self._folder / "c"),
            "TMPDIR": str(scratch),
            MARK: str(role_file),
        }
        environment.pop("PYTEST_ADDOPTS", None)
        environment.pop("PYTEST_XDIST_WORKER", None)
        command = [sys.executable, "-m", "pytest", "-p", "mutants_plugin", "-p", "no:cacheprovider", "-p", "no:xdist"]
        command += ["--hypothesis-seed=0", "--tb=line", f"--timeout={LONGEST_TEST_S}"]
        command += ["-x"] if role.get("stops") else []
        if not any("schemathesis" in (self.copy / file).read_text() for file in files):
            command += ["-p", "no:schemathesis"]  # its plugin takes as long to load as all the rest
        with (self._folder / "output").open("w+") as output:
            process = subprocess.Popen(
                [*self._alone, *command, *files],
                cwd=self.copy,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                why_ended = self._watch(process, limit_s)
            finally:
                end_all(str(role_file), process)
            output.seek(0)
            said = output.read()[-4000:]
        lines = [json.loads(line) for line in report.read_text().splitlines()]
        return Ran(None if why_ended else process.returncode, lines, said, why_ended)

    def _watch(self, process: subprocess.Popen[bytes], limit_s: float) -> str:
        """Waits for the end. The reason, when it had to be brought about."""
        ends_at = time.monotonic() + limit_s
        while time.monotonic() < ends_at:
            try:
                process.wait(0.5)
                return ""
            except subprocess.TimeoutExpired:
                if _memory(process.pid) > MOST_MEMORY:
                    return "memory"
        return "time"


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


def end_all(mark: str, process: subprocess.Popen[bytes]) -> None:
    """The process and all below it that bear our mark in their environment, orphans included where we adopt them."""
    for child in [*psutil.Process().children(recursive=True)]:
        try:
            if child.pid == process.pid or child.environ().get(MARK) == mark:
                child.kill()
        except psutil.Error:
            continue
    process.wait()
