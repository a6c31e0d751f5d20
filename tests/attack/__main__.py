"""`make attack`: the hostile web crawled beside honest hosts, by the real program.

    python -m tests.attack                    20 honest hosts, every behaviour, some minutes
    python -m tests.attack --short            3 honest hosts, a third of the behaviours, no speed asked for

Prints what came of each behaviour, the totals, and `not met:` for each that is missed; exit code 1 then.
"""

import argparse
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from tests.attack import namespace
from tests.attack.crawl import Wish, crawled
from tests.attack.plan import EVERY_THIRD, Plan
from tests.attack.verdict import Verdict, table

INSIDE = "--inside"
SHORT_S = 240.0
"""For a machine that has much else to do; it takes about 30 s."""


def main() -> int:
    asked = argparse.ArgumentParser(prog="python -m tests.attack")
    asked.add_argument("--hosts", type=int, default=20, help="honest hosts")
    asked.add_argument("--pages", type=int, default=800, help="honest pages, over all hosts")
    asked.add_argument("--delay", type=float, default=1.0, help="seconds between visits to a host (as by default)")
    asked.add_argument("--seconds", type=float, default=240.0, help="the whole attack is stopped after so long")
    asked.add_argument("--rounds", type=int, default=2, help="pairs of crawls whose speed is compared")
    asked.add_argument("--short", action="store_true", help="the version of the test suite")
    asked.add_argument("--keep", type=Path, help="keep the collections below this directory")
    asked.add_argument("--no-namespace", action="store_true", help="count dials instead of packets")
    asked.add_argument(INSIDE, action="store_true", help=argparse.SUPPRESS)
    given = asked.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # servers and crawl are stopped on the way out
    if not given.inside:
        if not (why := "not wanted" if given.no_namespace else namespace.refusal()):
            namespace.enter("tests.attack", [INSIDE, *sys.argv[1:]])
        print(f"no network namespace here, so packets are not counted, only dials: {why}", flush=True)
    plan = Plan(3, 45, EVERY_THIRD) if given.short else Plan(given.hosts, given.pages)
    wish = Wish(plan, True, given.inside, given.delay, given.seconds, until="end")
    if given.short:
        wish = replace(wish, delay_s=0.2, most_s=SHORT_S, until="met", timeout_s=6.0)
    with tempfile.TemporaryDirectory(prefix="gossamer-attack-") as scratch:
        root = given.keep or Path(scratch)
        if given.inside:
            namespace.furnish(Path(scratch))
        verdict = attacked(root, wish, 0 if given.short else given.rounds)
    print(verdict.summary(), flush=True)
    return 1 if verdict.misses() else 0


def attacked(root: Path, wish: Wish, rounds: int) -> Verdict:
    """The whole attack first, then pairs of crawls for the speed: honest hosts alone, and beside the hostile ones."""
    whole = crawled(root / "whole", wish)
    print(table(whole, wish.plan), flush=True)
    verdict = Verdict(whole, wish)
    for number in range(rounds):
        for is_attacked, speeds in ((False, verdict.alone), (True, verdict.beside)):
            one = crawled(root / f"{number}-{is_attacked}", replace(wish, is_attacked=is_attacked, until="honest"))
            print(f"round {number + 1}, {'attacked' if is_attacked else 'alone'}: {one.speed:.1f} pages/s", flush=True)
            speeds.append(one)
    return verdict


if __name__ == "__main__":
    sys.exit(main())
