"""`python -m tests.simulation --seeds 1000`: the long run. Prints each seed that fails, and then exits with 1."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.simulation.simulate import Kind, simulate
from tests.simulation.test_simulation import memory


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed; with --seeds 1 that one alone")
    parser.add_argument("--hosts", type=int, default=Kind().hosts)
    parser.add_argument("--pages", type=int, default=Kind().pages, help="pages of a host, on average")
    parser.add_argument("--quick", action="store_true", help="do not read pages, to make more visits")
    options = parser.parse_args()
    visits = crashes = failed = 0
    for number, seed in enumerate(range(options.first, options.first + options.seeds), 1):
        with tempfile.TemporaryDirectory(dir=memory()) as folder:
            try:
                ran = simulate(seed, Path(folder), kind_of(seed, options))
            except AssertionError as error:
                failed += 1
                print(error, flush=True)
                continue
        visits, crashes = visits + ran.visits, crashes + ran.crashes
        if number % 25 == 0:
            print(f"{number:,} seeds, {visits:,} visits, {crashes:,} crashes, {failed} failed", flush=True)
    print(f"{options.seeds:,} seeds, {visits:,} visits, {crashes:,} crashes: {failed} failed")
    return 1 if failed else 0


def kind_of(seed: int, options: argparse.Namespace) -> Kind:
    """Every fourth seed has a clock that is set from time to time, every fifth has all hosts at one IP address."""
    return Kind(
        hosts=options.hosts,
        pages=options.pages,
        reads=not options.quick,
        steps=seed % 4 == 3,
        shared=1.0 if seed % 5 == 4 else 0.35,
    )


if __name__ == "__main__":
    sys.exit(main())
