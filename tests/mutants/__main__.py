"""`python -m tests.mutants --mutants 200 --seed 1`: makes one change at a time in a copy of the code, and runs the
tests that reach it. A change that no test notices is a survivor: a missing test, or code that is not needed.

Mutants without an observable effect are listed with the reason in `equivalent.toml`; they are left out of the score,
and must be at most a tenth of the sample. Exit code 1 below --target. Results are kept in --out: `survivors.txt` has
the changes, and an interrupted run continues.
"""

# Why not a library: mutmut changes functions only (tables of ports and IP addresses are module code), forks a process
# that has threads and loops, and needs the whole suite once with every mutant inlined. cosmic-ray edits the files in
# place and runs one fixed command for each mutant. Neither finds the tests that reach a line through a child process.

import argparse
import ctypes
import math
import os
import signal
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.mutants import coverage
from tests.mutants.coverage import Measured
from tests.mutants.mutation import Mutant, mutants_of
from tests.mutants.sample import drawn, in_turn
from tests.mutants.trial import Book, Verdict, failing_anyway, nearest_tests, scores, tried
from tests.mutants.workbench import Workbench

ROOT = Path(__file__).parents[2]
PACKAGE = "src/gossamer"
ROOMS = {
    "rules": ("rules/**/*.py",),
    "fetch": ("fetch/*.py",),
    "frontier": ("frontier/**/*.py",),
    "archive": ("archive/*.py",),
    "access": (
        "web/access/guard.py",
        "web/access/login.py",
        "web/access/tokens.py",
        "web/access/connections.py",
    ),
}
LEFT_OUT = "frontier/postgres"
"""The modules of the PostgreSQL frontier: their decisions will be the pure functions that both stores share, tested by
the contract suite. Until then their score means little."""
HOMES = {"access": "tests/web/"}
TESTS = (
    *(f"{room}/test_*.py" for room in ("rules", "fetch", "frontier", "archive", "contract", "hostile")),
    *(f"conformance/test_{suite}.py" for suite in ("http_responses", "robots_suites", "url_suites", "warc_suites")),
    "collection/test_verify.py",
    *(f"web/test_{part}.py" for part in ("behind_tls", "faults", "gate*", "guard", "many_connections", "tokens")),
)
"""The tests of the rooms. The other tests of the web run the same code without testing it."""
CONFORMANCE = "GOSSAMER_CONFORMANCE"
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
MOST_EQUIVALENT = 0.10
PR_SET_CHILD_SUBREAPER = 36


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--mutants", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", type=float, default=95.0, help="percent of the mutants that must be caught")
    parser.add_argument("--minutes", type=float, default=math.inf, help="try no more mutants after this time")
    parser.add_argument("--rooms", default=",".join(ROOMS), help="try only these rooms of the sample")
    parser.add_argument("--only", default="", help="mutants whose name contains this, instead of a sample")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "out" / "mutants")
    parser.add_argument("--fresh", action="store_true", help="ignore the results of earlier runs")
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGINT):  # child processes are ended, and the copy is removed
        signal.signal(number, lambda code, _: sys.exit(128 + code))
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # it inherits orphans of a run, and ends them
    rooms = all_mutants()
    for name in set(listed()) - {mutant.name for found in rooms.values() for mutant in found}:
        print(f"no such mutant any more, remove it from {EQUIVALENT.name}: {name}", flush=True)
    if options.only:
        sample = {room: [one for one in found if options.only in one.name] for room, found in rooms.items()}
    else:
        sample = drawn(rooms, options.mutants, options.seed)
    sample = {room: found for room, found in sample.items() if room in options.rooms.split(",")}
    if options.fresh:
        (options.out / "verdicts.jsonl").unlink(missing_ok=True)
    os.environ.setdefault(CONFORMANCE, str(ROOT.parent / "shared" / "conformance"))  # the copy is in another folder
    with Workbench(ROOT, PACKAGE) as bench:
        if bench.has_network:
            print("no network namespace here: a mutant of the guard may reach the network", flush=True)
        verdicts = judge(bench, sample, measured(bench, options.out, options.fresh), options.out, options.minutes)
    return report(sample, verdicts, options.out, options.target, f"seed {options.seed}")


def modules() -> dict[str, list[str]]:
    """By room."""
    home = ROOT / PACKAGE
    return {
        room: sorted(
            module
            for pattern in patterns
            for module in (path.relative_to(home).as_posix() for path in home.glob(pattern))
            if not module.startswith(LEFT_OUT)
        )
        for room, patterns in ROOMS.items()
    }


def all_mutants() -> dict[str, list[Mutant]]:
    return {
        room: [mutant for module in names for mutant in mutants_of(module, (ROOT / PACKAGE / module).read_text())]
        for room, names in modules().items()
    }


def measured(bench: Workbench, out: Path, fresh: bool) -> list[Measured]:
    """What each test runs; measured earlier if its file and the modules that it ran are unchanged."""
    sources = {module: bench.source(module) for found in modules().values() for module in found}
    tests: list[Measured] = []
    is_instrumented = False
    for path in sorted(path for pattern in TESTS for path in (ROOT / "tests").glob(pattern)):
        file = path.relative_to(ROOT).as_posix()
        kept = out / "coverage" / f"{file.replace('/', '.')}.json"
        key = coverage.digest((bench.copy / file).read_bytes())
        known = None if fresh else coverage.load(kept, key, sources)
        if known is None:
            if not is_instrumented:
                bench.instrument(list(sources))
                is_instrumented = True
            started = time.monotonic()
            coverage.save(kept, key, bench.measure(file), sources)
            known = coverage.load(kept, key, sources) or []
            print(f"  {file}: {len(known)} tests, {time.monotonic() - started:.0f} s", flush=True)
        tests += known
    if is_instrumented:
        for module in sources:
            bench.restore(module)
    return tests


def judge(
    bench: Workbench, sample: Mapping[str, Sequence[Mutant]], tests: Sequence[Measured], out: Path, minutes: float
) -> dict[str, list[Verdict]]:
    equivalent = listed()
    book = Book(out / "verdicts.jsonl", bench.copy, PACKAGE)
    verdicts: dict[str, list[Verdict]] = {room: [] for room in sample}
    count, ends_at = sum(map(len, sample.values())), time.monotonic() + 60 * minutes
    for number, (room, mutant) in enumerate(in_turn(sample), 1):
        source = bench.source(mutant.module)
        near = nearest_tests(mutant, source, tests, HOMES.get(room, f"tests/{room}/"))
        verdict = Verdict(mutant.name, "the same") if mutant.name in equivalent else book.known(mutant, near)
        if verdict is None:
            started = time.monotonic()
            if started > ends_at:
                print(f"no time is left: {count - number + 1} of {count} were not tried")
                break
            verdict = book.add(mutant, tried(bench, mutant, source, near), near)
            print(f"{number}/{count} {verdict.how:9} {time.monotonic() - started:4.0f} s  {mutant.name}", flush=True)
        verdicts[room].append(verdict)
    wrong = failing_anyway(bench, [verdict for found in verdicts.values() for verdict in found])
    for name in wrong:
        print(f"fails without a mutant too, and is ignored: {name}", flush=True)
    return {
        room: [Verdict(one.mutant, "survived") if one.by in wrong else one for one in found]
        for room, found in verdicts.items()
    }


def listed() -> dict[str, str]:
    """The mutants without an observable effect, and why."""
    return {entry["mutant"]: entry["reason"] for entry in tomllib.loads(EQUIVALENT.read_text())["equivalent"]}


def report(
    sample: Mapping[str, Sequence[Mutant]],
    verdicts: Mapping[str, Sequence[Verdict]],
    out: Path,
    target: float,
    title: str,
) -> int:
    equivalent = listed()
    rows = scores(verdicts, equivalent)
    print(f"\n{title}: {'room':10} {'mutants':>8} {'change nothing':>15} {'caught':>7} {'survived':>9} {'score':>8}")
    for room, count, same, caught, survived in rows:
        score = f"{100 * caught / (caught + survived):.1f} %" if caught + survived else "-"
        print(f"{'':{len(title)}}  {room:10} {count:8} {same:15} {caught:7} {survived:9} {score:>8}")
    by_name = {mutant.name: mutant for mutants in sample.values() for mutant in mutants}
    lines = []
    for verdict in (one for found in verdicts.values() for one in found if not one.is_caught):
        mutant = by_name[verdict.mutant]
        reason = equivalent.get(verdict.mutant, verdict.how)
        lines.append(f"{PACKAGE}/{mutant.module}:{mutant.line} {mutant.where} ({mutant.operator})\n  {mutant.name}\n")
        lines.append(f"- {mutant.before}\n+ {mutant.after}\n  {reason}, {verdict.tests} tests\n\n")
    (out / "survivors.txt").write_text("".join(lines))
    late = sum(verdict.how == "time" for found in verdicts.values() for verdict in found)
    print(f"{late} of the caught ones ran into a time limit. Survivors: {out / 'survivors.txt'}")
    _, count, same, caught, survived = rows[-1]
    if same > MOST_EQUIVALENT * count:
        print(f"{same} of {count} are listed as without effect: at most a tenth is accepted")
        return 1
    is_whole = count == sum(map(len, sample.values()))
    return 0 if is_whole and 100 * caught >= target * (caught + survived) else 1


if __name__ == "__main__":
    sys.exit(main())
