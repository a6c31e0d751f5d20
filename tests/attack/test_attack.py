"""A third of the hostile web, crawled by the real program with three honest hosts (`make attack`: all of it)."""

import subprocess
import sys

import pytest
from tests.attack import namespace
from tests.attack.crawl import REPOSITORY
from tests.attack.plan import Plan
from tests.hostile.behaviour import BEHAVIOURS


def test_the_hostile_web_has_at_least_120_behaviours_under_their_ids() -> None:
    own = [one for one in BEHAVIOURS.values() if not one.is_step]
    assert len(own) >= 120 and all(one.says for one in own)
    assert len({one.host for one in own}) == len(own)
    assert all(len(one.host.partition(".")[0]) <= 63 for one in own), "valid host names"


def test_F_X2_X8_honest_hosts_lose_nothing_to_hostile_ones_and_nothing_is_dialled_outside_the_plan() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.attack", "--short"], cwd=REPOSITORY, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    plan = Plan(3, 45, 3)
    assert f"behaviours tried: {len(plan.behaviours)} of {len(plan.behaviours)}" in done.stdout
    assert "outside the plan: 0 (" in done.stdout


def test_packets_to_other_ip_addresses_are_counted() -> None:
    """Without this, a count of no packets would prove nothing: three connections, of which one is planned."""
    if why := namespace.refusal():
        pytest.skip(f"no network namespace here: {why}")
    script = (
        "import socket, time\n"
        "from pathlib import Path\n"
        "import tempfile\n"
        "from tests.attack import namespace\n"
        "with tempfile.TemporaryDirectory() as scratch:\n"
        "    namespace.furnish(Path(scratch))\n"
        "    with namespace.Packets() as packets:\n"
        "        for family, place in ((2, '20.0.0.1'), (2, '169.254.169.254'), (10, 'fd00:ec2::254')):\n"
        "            with socket.socket(family) as dial:\n"
        "                dial.settimeout(5)\n"
        "                dial.connect_ex((place, 80))\n"
        "        time.sleep(0.5)\n"
        "    print(sorted(packets.outside(frozenset({'20.0.0.1'}), (80,))))\n"
    )
    done = subprocess.run(
        [*namespace.ENTER, sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, timeout=100
    )
    assert done.stdout.strip() == "['6 169.254.169.254 port 80', '6 fd00:ec2::254 port 80']", done.stderr
