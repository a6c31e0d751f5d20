"""`python -m tests.mutants --mutants 200 --seed 1`: changes one thing at a time in a copy of the code, and runs the
tests that reach it. A change that no test notices is a survivor: a missing test, or code that is not needed.

Mutants that change nothing anyone could observe are listed with the reason in `equivalent.toml`; they are left out of
the score, and may be a tenth of the sample at most. Exit code 1 below --target. What was found is kept in --out:
`survivors.txt` has the changes, and a run that was interrupted goes on.
"""

# Why our own: mutmut changes functions only (our tables of ports and addresses are module code), forks a process that
# has threads and loops, and needs the whole suite once with every mutant inlined. cosmic-ray edits the files in place
# and runs one fixed command for each mutant. Neither finds the tests that reach a line through a child process.

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
from tests.mutants.trial import Book, Verdict, mistaken, nearest_tests, scores, tried
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
        "web/access/tokens.py",
        "web/access/connections.py",
        "web/access/guard.py",
    ),
}
LEFT_OUT = "frontier/postgres"
"""The modules of the PostgreSQL frontier: what they decide becomes the pure functions that both stores share, and the
contract suite of these replaces their tests. Until then their score says nothing worth knowing."""
HOMES = {"access": "tests/web/"}
TESTS = (
    *(f"{room}/test_*.py" for room in ("rules", "fetch", "frontier", "archive", "contract", "hostile")),
    *(f"conformance/test_{suite}.py" for suite in ("http_responses", "robots_suites", "url_suites", "warc_suites")),
    "collection/test_verify.py",
    *(f"web/test_{part}.py" for part in ("behind_tls", "faults", "gate*", "guard", "many_connections", "tokens")),
)
"""Those that are about the rooms. The rest of the web's tests pass through the same doors and ask nothing of them."""
CONFORMANCE = "GOSSAMER_CONFORMANCE"
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
MOST_EQUIVALENT = 0.10
PR_SET_CHILD_SUBREAPER = 36


def main() -> int:
    asked = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    asked.add_argument("--mutants", type=int, default=200)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--target", type=float, default=95.0, help="percent of the mutants that must be caught")
    asked.add_argument("--minutes", type=float, default=math.inf, help="try no more mutants after so long")
    asked.add_argument("--rooms", default=",".join(ROOMS), help="of the sample only these are tried")
    asked.add_argument("--only", default="", help="mutants whose name contains this, instead of a sample")
    asked.add_argument("--out", type=Path, default=ROOT / "bench" / "out" / "mutants")
    asked.add_argument("--fresh", action="store_true", help="forget what earlier runs found")
    given = asked.parse_args()
    for number in (signal.SIGTERM, signal.SIGINT):  # what was started is ended with us, and the copy removed
        signal.signal(number, lambda code, _: sys.exit(128 + code))
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # orphans of a run come to us, and are ended
    rooms = all_mutants()
    for name in set(listed()) - {mutant.name for found in rooms.values() for mutant in found}:
        print(f"no such mutant any more, strike it from {EQUIVALENT.name}: {name}", flush=True)
    if given.only:
        sample = {room: [one for one in found if given.only in one.name] for room, found in rooms.items()}
    else:
        sample = drawn(rooms, given.mutants, given.seed)
    sample = {room: found for room, found in sample.items() if room in given.rooms.split(",")}
    if given.fresh:
        (given.out / "verdicts.jsonl").unlink(missing_ok=True)
    os.environ.setdefault(CONFORMANCE, str(ROOT.parent / "shared" / "conformance"))  # the copy has other neighbours
    with Workbench(ROOT, PACKAGE) as bench:
        if bench.has_network:
            print("no network namespace here: a mutant of what forbids addresses may reach the network", flush=True)
        verdicts = judged(bench, sample, measured(bench, given.out, given.fresh), given.out, given.minutes)
    return told(sample, verdicts, given.out, given.target, f"seed {given.seed}")


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
    """What each test runs, from the last time where its file and the modules that it ran are the same."""
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
            began = time.monotonic()
            coverage.save(kept, key, bench.measure(file), sources)
            known = coverage.load(kept, key, sources) or []
            print(f"  {file}: {len(known)} tests, {time.monotonic() - began:.0f} s", flush=True)
        tests += known
    if is_instrumented:
        for module in sources:
            bench.restore(module)
    return tests


def judged(
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
            began = time.monotonic()
            if began > ends_at:
                print(f"no time is left: {count - number + 1} of {count} were not tried")
                break
            verdict = book.add(mutant, tried(bench, mutant, source, near), near)
            print(f"{number}/{count} {verdict.how:9} {time.monotonic() - began:4.0f} s  {mutant.name}", flush=True)
        verdicts[room].append(verdict)
    wrong = mistaken(bench, [verdict for found in verdicts.values() for verdict in found])
    for name in wrong:
        print(f"fails without any mutant too, and counts for nothing: {name}", flush=True)
    return {
        room: [Verdict(one.mutant, "survived") if one.by in wrong else one for one in found]
        for room, found in verdicts.items()
    }


def listed() -> dict[str, str]:
    """The mutants that change nothing, and why."""
    return {entry["mutant"]: entry["reason"] for entry in tomllib.loads(EQUIVALENT.read_text())["equivalent"]}


def told(
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
    print(f"{late} of those caught ran into a time limit. Survivors: {out / 'survivors.txt'}")
    _, count, same, caught, survived = rows[-1]
    if same > MOST_EQUIVALENT * count:
        print(f"{same} of {count} are said to change nothing: more than a tenth is not believed")
        return 1
    is_whole = count == sum(map(len, sample.values()))
    return 0 if is_whole and 100 * caught >= target * (caught + survived) else 1


if __name__ == "__main__":
    sys.exit(main())
