"""`make crash KILLS=200`: kill a crawl and the maintenance commands many times, and report whether anything was lost.

A quarter of the kills are for compact, forget, import, rebuild, backup and verify.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.crash import harness, maintenance


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gossamer-crash-") as root:
        rounds = harness.run(options.kills - options.kills // 4, Path(root), options.seed)
        errors = [error for _, found in rounds for error in found.errors()]
        maintained = maintenance.run(options.kills // 4, Path(root) / "maintenance", options.seed)
        errors += maintained.errors
    kills = Counter(kill for one, _ in rounds for kill in one.kills) + maintained.kills
    reached = {point for one, _ in rounds for point in one.reached}
    print(f"{sum(kills.values())} kills in {time.monotonic() - started:.0f} s: {dict(kills)}")
    print(f"crash points reached: {', '.join(sorted(reached))}")
    for name in ("acknowledged", "refetches", "in_flight"):
        print(f"{name}: {sum(getattr(found, name) for _, found in rounds)}")
    for error in errors:
        print("ERROR", error)
    print(f"{len(errors)} errors" if errors else "nothing lost, no duplicates, every gap kept")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
