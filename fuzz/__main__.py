"""Fuzz every extractor for a while: `python -m fuzz --seconds 60 [NAME ...]`.

Each target runs in a process of its own and starts from its seeds and from what earlier runs found (fuzz/out). An input
that breaks something is kept under fuzz/found; with the fix it belongs among the pages of tests/hostile/found.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

from fuzz.seeds import words_of, write_seeds
from gossamer.extract.source import SYNTAXES

HERE = Path(__file__).parent
OUT = HERE / "out"
FOUND = HERE / "found"
SUITES = Path(os.environ.get("GOSSAMER_CONFORMANCE", HERE.parents[1] / "shared" / "conformance"))
LONGEST_INPUT = 8_192
SLOWEST_S = 10
"""An input this small that takes so long counts as broken too; ordinary ones take a thousandth of it."""
NAMES = (*SYNTAXES, "page")
_RUNS = re.compile(rb"stat::number_of_executed_units:\s*(\d+)")


def fuzz(name: str, seconds: int) -> int:
    """Returns how many inputs broke it."""
    corpus, found = OUT / name, FOUND / name
    found.mkdir(parents=True, exist_ok=True)
    before = set(found.iterdir())
    write_seeds(name, corpus, SUITES)
    words = OUT / f"{name}.dict"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in words_of(name)))
    arguments = [
        str(corpus),
        f"-dict={words}",
        f"-artifact_prefix={found}/",
        f"-max_total_time={seconds}",
        f"-max_len={LONGEST_INPUT}",
        f"-timeout={SLOWEST_S}",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
        "-verbosity=1",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "fuzz.one", name, *arguments], capture_output=True, cwd=HERE.parent, check=False
    )
    broken = set(found.iterdir()) - before
    runs = _RUNS.search(done.stderr)
    print(f"{name:14s}{int(runs[1]) if runs else 0:>10,} inputs, {len(broken)} broke it", flush=True)
    if done.returncode:
        print((done.stdout + done.stderr).decode("utf-8", "replace")[-3000:])
    return len(broken) + (done.returncode != 0 and not broken)


def _escaped(word: str) -> str:
    return word.replace("\\", "\\\\").replace('"', '\\"')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(NAMES)}")
    given = parser.parse_args()
    return int(sum([fuzz(name, given.seconds) for name in given.names or NAMES]) > 0)


if __name__ == "__main__":
    sys.exit(main())
