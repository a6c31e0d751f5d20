"""`make attack`: the real program crawls the hostile web together with honest hosts.

    python -m tests.attack                    20 honest hosts, every behaviour, some minutes
    python -m tests.attack --short            3 honest hosts, a third of the behaviours, speed is not compared

Prints the outcome of each behaviour and the totals. Each failed check is printed as `failed:`, with exit code 1.
"""

import argparse
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from tests.attack import namespace
from tests.attack.crawl import CrawlSpec, crawled
from tests.attack.plan import EVERY_THIRD, Plan
from tests.attack.verdict import Verdict, table

INSIDE = "--inside"
SHORT_S = 240.0
"""Enough for a busy machine; it takes about 30 s."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attack")
    parser.add_argument("--hosts", type=int, default=20, help="honest hosts")
    parser.add_argument("--pages", type=int, default=800, help="honest pages, over all hosts")
    parser.add_argument("--delay", type=float, default=1.0, help="minimum gap of a host in seconds (as by default)")
    parser.add_argument("--seconds", type=float, default=240.0, help="the longest time of the whole attack")
    parser.add_argument("--rounds", type=int, default=2, help="pairs of crawls whose speed is compared")
    parser.add_argument("--short", action="store_true", help="the version in the test suite")
    parser.add_argument("--keep", type=Path, help="keep the collections below this directory")
    parser.add_argument("--no-namespace", action="store_true", help="count dials instead of packets")
    parser.add_argument(INSIDE, action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that servers and crawl are stopped
    if not options.inside:
        if not (why := "not requested" if options.no_namespace else namespace.refusal()):
            namespace.enter("tests.attack", [INSIDE, *sys.argv[1:]])
        print(f"no network namespace here, so packets are not counted, only dials: {why}", flush=True)
    plan = Plan(3, 45, EVERY_THIRD) if options.short else Plan(options.hosts, options.pages)
    spec = CrawlSpec(plan, True, options.inside, options.delay, options.seconds, until="end")
    if options.short:
        spec = replace(spec, delay_s=0.2, most_s=SHORT_S, until="outcomes", timeout_s=6.0)
    with tempfile.TemporaryDirectory(prefix="gossamer-attack-") as scratch:
        root = options.keep or Path(scratch)
        if options.inside:
            namespace.furnish(Path(scratch))
        verdict = attack(root, spec, 0 if options.short else options.rounds)
    print(verdict.summary(), flush=True)
    return 1 if verdict.failures() else 0


def attack(root: Path, spec: CrawlSpec, rounds: int) -> Verdict:
    """Run the whole attack, then pairs of crawls for the speed: honest hosts alone, and with the hostile ones."""
    whole = crawled(root / "whole", spec)
    print(table(whole, spec.plan), flush=True)
    verdict = Verdict(whole, spec)
    for number in range(rounds):
        for is_attacked, speeds in ((False, verdict.alone), (True, verdict.attacked)):
            one = crawled(root / f"{number}-{is_attacked}", replace(spec, is_attacked=is_attacked, until="honest"))
            print(f"round {number + 1}, {'attacked' if is_attacked else 'alone'}: {one.speed:.1f} pages/s", flush=True)
            speeds.append(one)
    return verdict


if __name__ == "__main__":
    sys.exit(main())
