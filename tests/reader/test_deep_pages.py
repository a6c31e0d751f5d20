"""No depth of nesting or length of chains in a page crashes the process that reads it, on any thread."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.reader.deep_pages import pages

from gossamer.extract.jsonld.local import LONGEST_CHAIN, has_long_chain

ROOT = Path(__file__).parents[2]
SMALL_STACK = 512 * 1024


def read_in_process(count: int, stack: int) -> dict[str, str]:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    command = [sys.executable, str(Path(__file__).with_name("deep_pages.py")), str(count), str(stack)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, f"{ran.returncode} after {ran.stdout[-200:]!r}: {ran.stderr[-500:]}"
    return dict(line.split(": ", 1) for line in ran.stdout.splitlines())


@pytest.mark.parametrize("count", [60, 500, 16_000])
@pytest.mark.parametrize("stack", [0, SMALL_STACK])
def test_F_X4_no_depth_crashes_the_process_and_cut_pages_are_flagged(count, stack):
    flags = read_in_process(count, stack)
    assert flags.keys() == pages(1).keys()
    if count == 16_000:
        unflagged = {name for name, found in flags.items() if not found.strip()}
        assert unflagged <= {"entities", "itemref"}  # neither is cut: one is not parsed, one is read in a loop
        assert all("jsonld-too-deep" in flags[name] for name in ("chain", "chain of @id", "chain of @type", "cycle"))


def chain(length: int) -> dict[str, object]:
    return {**{f"t{at}": f"t{at + 1}:x" for at in range(length - 1)}, f"t{length - 1}": "http://e/"}


def test_F_X4_the_length_of_a_chain_of_terms_is_found_in_any_order():
    assert not has_long_chain(chain(LONGEST_CHAIN))
    assert has_long_chain(chain(LONGEST_CHAIN + 1))
    assert has_long_chain(dict(reversed(chain(LONGEST_CHAIN + 1).items())))
    assert not has_long_chain({f"t{at}": f"http://e/{at}" for at in range(10_000)})
    assert not has_long_chain({"ex": "http://e/", **{f"t{at}": f"ex:{at}" for at in range(10_000)}})
    assert has_long_chain({f"t{at}": f"t{(at + 1) % 1000}:x" for at in range(1000)})
    assert not has_long_chain({"a": "b:x", "b": "a:x", **{f"t{at}": "a:b" for at in range(100)}})
