"""One mutant on trial: the tests nearest to it are run, and it is caught or it survives."""

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.mutants import coverage
from tests.mutants.coverage import Measured, place_of, scopes_at, statement_line
from tests.mutants.mutation import Mutant
from tests.mutants.workbench import Ran, Workbench

SLOW_S = 20.0
"""Slower tests are run only if no other test runs the line."""
BUDGET_S = 30.0
"""For the tests of a mutant, by their time without a mutant, shared fixtures included: nearest and fastest first."""
CAUGHT = ("caught", "import", "time", "memory")


@dataclass(frozen=True)
class Verdict:
    """`how` is one of CAUGHT, or `survived`, or `uncovered` when no test runs the code at all."""

    mutant: str
    how: str
    by: str = ""
    tests: int = 0
    key: str = ""
    """A digest of the module and the tests: the verdict is valid as long as it is the same."""

    @property
    def is_caught(self) -> bool:
        return self.how in CAUGHT


def nearest_tests(mutant: Mutant, source: str, measured: Sequence[Measured], home: str) -> list[Measured]:
    """The tests that run the statement; else its function; for statements run at import, all that use its class or
    module. Tests below `home` come first, then fast ones."""
    found = _covering(mutant, source, measured) or _at_home(mutant, source, measured, home)
    cheap = [test for test in found if test.seconds <= SLOW_S]
    chosen: list[Measured] = []
    files: set[str] = set()
    left_s = BUDGET_S
    for test in sorted(cheap or found, key=lambda one: (not one.name.startswith(home), one.seconds, one.name)):
        cost_s = test.seconds + (0.0 if test.file in files else test.opening_s)
        if not chosen or cost_s <= left_s:
            left_s -= cost_s
            files.add(test.file)
            chosen.append(test)
    return chosen


def _at_home(mutant: Mutant, source: str, measured: Sequence[Measured], home: str) -> list[Measured]:
    """For a module without functions, whose use is not measured: the tests of its room."""
    is_table = not any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in ast.walk(ast.parse(source)))
    return [test for test in measured if test.name.startswith(home)] if is_table else []


def _covering(mutant: Mutant, source: str, measured: Sequence[Measured]) -> list[Measured]:
    tree = ast.parse(source)
    line = statement_line(tree, mutant.line)
    scopes = scopes_at(tree, line)
    place = place_of(mutant.module, scopes, line)
    classes = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    if scopes and scopes[-1][0] not in classes:
        return [test for test in measured if str(place) in test.places] or [
            test for test in measured if place.function in test.functions
        ]
    owners = [f"{place.function}.", f"{mutant.module} "] if scopes else [f"{mutant.module} "]
    for owner in owners:
        if found := [test for test in measured if any(name.startswith(owner) for name in test.functions)]:
            return found
    return []


def tried(bench: Workbench, mutant: Mutant, source: str, tests: Sequence[Measured]) -> Verdict:
    if not tests:
        return Verdict(mutant.name, "uncovered")
    files = list(dict.fromkeys(test.file for test in tests))
    bench.write(mutant.module, mutant.applied(source))
    try:
        for patience in (1, 2):  # a time limit may be reached once because the machine is busy
            role = {
                "stops": True,
                "tests": {test.name: patience * (20 + 10 * (test.seconds + test.opening_s)) for test in tests},
            }
            how, by = _meaning(bench.run(files, role, patience * (120 + 10 * BUDGET_S)))
            if how != "time":
                break
    finally:
        bench.restore(mutant.module)
    one_test = {"tests": {tests[0].name: 600}}
    if how == "import" and _meaning(bench.run(files, one_test, 1200))[0] == "import":
        raise RuntimeError(f"tests that cannot be collected without any mutant: {files}")
    return Verdict(mutant.name, how, by, len(tests))


def failing_anyway(bench: Workbench, verdicts: Sequence[Verdict]) -> set[str]:
    """The tests that caught a mutant but fail without one too: they prove nothing."""
    limits = {verdict.by: 600 for verdict in verdicts if verdict.how in ("caught", "time")}
    if not limits:
        return set()
    ran = bench.run(sorted({name.partition("::")[0] for name in limits}), {"tests": limits}, limit_s=3600)
    return {line["test"] for line in ran.lines if "outcome" in line}


def _meaning(ran: Ran) -> tuple[str, str]:
    failed = next((line for line in ran.lines if line.get("outcome") == "failed"), None)
    if failed:
        return ("time" if "Timeout" in failed["why"] else "caught"), failed["test"]
    if ran.why_ended:
        return ran.why_ended, ""
    if ran.code == 0:
        return "survived", ""
    if ran.code in (1, 2, 3, 4) or (ran.code or 0) < 0:  # with -x an error of collection is 1
        return "import", ran.output.strip().splitlines()[-1][:200] if ran.output.strip() else ""
    raise RuntimeError(f"pytest ended with {ran.code}:\n{ran.output}")


class Book:
    """Verdicts on disk, so that a run continues where the last one ended."""

    def __init__(self, path: Path, root: Path, package: str) -> None:
        self._path, self._root, self._package = path, root, package
        self._verdicts: dict[str, Verdict] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                verdict = Verdict(**json.loads(line))
                self._verdicts[verdict.mutant] = verdict

    def known(self, mutant: Mutant, tests: Sequence[Measured]) -> Verdict | None:
        verdict = self._verdicts.get(mutant.name)
        if verdict is None or verdict.key != self._key(mutant, verdict, tests):
            return None
        return verdict

    def add(self, mutant: Mutant, verdict: Verdict, tests: Sequence[Measured]) -> Verdict:
        kept = Verdict(**{**asdict(verdict), "key": self._key(mutant, verdict, tests)})
        self._verdicts[mutant.name] = kept
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.write(json.dumps(asdict(kept)) + "\n")
        return kept

    def _key(self, mutant: Mutant, verdict: Verdict, tests: Sequence[Measured]) -> str:
        """A caught mutant stays caught by the same test; a survivor is tried again if any test has changed."""
        module = (self._root / self._package / mutant.module).read_bytes()
        if verdict.how in ("caught", "time"):
            return coverage.digest(module, self._text_of(verdict.by))
        files = sorted({self._root / test.file for test in tests})
        return coverage.digest(module, *(path.read_bytes() for path in files if path.is_file())) + str(len(tests))

    def _text_of(self, test: str) -> bytes:
        """The function, without the rest of its file."""
        file, _, name = test.partition("::")
        source = (self._root / file).read_text() if (self._root / file).is_file() else ""
        wanted = name.rpartition("::")[2].partition("[")[0]
        functions = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef))
        found = next((node for node in functions if node.name == wanted), None)
        return (ast.unparse(found) if found else source).encode()


def scores(
    verdicts: Mapping[str, Sequence[Verdict]], equivalent: Mapping[str, str]
) -> list[tuple[str, int, int, int, int]]:
    """For each room and for all: name, mutants tried, without effect, caught, survived."""
    rows = []
    everything = [verdict for found in verdicts.values() for verdict in found]
    for room, found in [*verdicts.items(), ("all", everything)]:
        real = [one for one in found if one.is_caught or one.mutant not in equivalent]
        caught = sum(one.is_caught for one in real)
        rows.append((room, len(found), len(found) - len(real), caught, len(real) - caught))
    return rows
