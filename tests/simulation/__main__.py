"""`python -m tests.simulation --seeds 1000`: the long run. Prints each seed that fails; then it exits with 1."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.simulation.simulate import Kind, simulate
from tests.simulation.test_simulation import memory

from gossamer.store.options import stored_seeds


def main() -> int:
    asked = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    asked.add_argument("--seeds", type=int, default=1000)
    asked.add_argument("--first", type=int, default=0, help="the first seed; with --seeds 1 that one alone")
    asked.add_argument("--hosts", type=int, default=Kind().hosts)
    asked.add_argument("--pages", type=int, default=Kind().pages, help="of a host, about")
    asked.add_argument("--quick", action="store_true", help="do not read pages, to come to more visits")
    given = asked.parse_args()
    visits = crashes = failed = 0
    for number, seed in enumerate(range(given.first, given.first + stored_seeds), 1):
        with tempfile.TemporaryDirectory(dir=memory()) as folder:
            try:
                ran = simulate(seed, Path(folder), kind_of(seed, given))
            except AssertionError as trouble:
                failed += 1
                print(trouble, flush=True)
                continue
        visits, crashes = visits + ran.visits, crashes + ran.crashes
        if number % 25 == 0:
            print(f"{number:,} seeds, {visits:,} visits, {crashes:,} crashes, {failed} failed", flush=True)
    print(f"{stored_seeds:,} seeds, {visits:,} visits, {crashes:,} crashes: {failed} failed")
    return 1 if failed else 0


def kind_of(seed: int, given: argparse.Namespace) -> Kind:
    """Every fourth seed has a clock that is set now and then, every fifth all its hosts on one network address."""
    return Kind(
        hosts=given.hosts,
        pages=given.pages,
        reads=not given.quick,
        steps=seed % 4 == 3,
        shared=1.0 if seed % 5 == 4 else 0.35,
    )


if __name__ == "__main__":
    sys.exit(main())
