"""`make crash KILLS=200`: kill a crawl and the maintenance commands many times, and say whether anything was lost.

A quarter of the kills is for compact, forget, import, rebuild, backup and verify.
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
    asked = argparse.ArgumentParser()
    asked.add_argument("--kills", type=int, default=20)
    asked.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    given = asked.parse_args()
    print(f"seed {given.seed}", flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gossamer-crash-") as root:
        rounds = harness.run(given.kills - given.kills // 4, Path(root), given.seed)
        faults = [fault for _, found in rounds for fault in found.faults()]
        maintained = maintenance.run(given.kills // 4, Path(root) / "maintenance", given.seed)
        faults += maintained.faults
    kills = Counter(kill for one, _ in rounds for kill in one.kills) + maintained.kills
    reached = {point for one, _ in rounds for point in one.reached}
    print(f"{sum(kills.values())} kills in {time.monotonic() - started:.0f} s: {dict(kills)}")
    print(f"crash points reached: {', '.join(sorted(reached))}")
    for name in ("acknowledged", "refetches", "in_flight"):
        print(f"{name}: {sum(getattr(found, name) for _, found in rounds)}")
    for fault in faults:
        print("FAULT", fault)
    print("nothing lost, nothing twice, nobody hurried" if not faults else f"{len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
