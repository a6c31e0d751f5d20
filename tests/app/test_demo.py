"""The first thing a newcomer runs."""

import json
import os
import re
import signal
import urllib.request
from pathlib import Path

import pytest
from tests.app.site import PATIENCE_S, gossamer, started


def test_the_demo_goes_on_serving_after_its_crawl_until_it_is_told_to_stop(tmp_path: Path) -> None:
    demo = started("demo", "--pages", "40", "--traps", "0", "--dir", tmp_path / "demo", "--port", "0")
    try:
        assert demo.stderr is not None
        told = ""
        while "Ctrl-C ends the demo" not in told:
            line = demo.stderr.readline()
            assert line, f"the demo ended by itself: {told}"
            told += line
        links = set(re.findall(r"http://127\.0\.0\.1:\d+/\?token=[\w-]+", told))
        assert len(links) == 1, "the link that was printed first still holds"
        with urllib.request.urlopen(links.pop(), timeout=PATIENCE_S) as page:
            assert page.status == 200 and b"Gossamer" in page.read()
        demo.send_signal(signal.SIGINT)
        demo.communicate(timeout=PATIENCE_S)
        assert demo.returncode == 0
    finally:
        demo.kill()
        demo.communicate()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_web_that_changes_is_kept_up_with_and_everything_is_checked(tmp_path: Path) -> None:
    """Two weeks in half a minute. On a machine that has no time for it some pages may not be met: what was must be
    right all the same."""
    where = tmp_path / "demo"
    ran = started(
        "demo", "--changing", "--exit", "--json", "--dir", where, "--port", "0", "--pages", "60", "--day", "1.5",
        "--days", "14",
    )  # fmt: skip
    out, said = ran.communicate(timeout=PATIENCE_S)
    found = json.loads(out)
    wrong = ("taken_for_changes", "prices_missed", "still_shown", "politeness_violations")
    assert {name: found[name] for name in wrong} == {name: [] for name in wrong}
    least_visits, least_spared = (100, 0.5) if os.getloadavg()[0] < 1.0 else (60, 0.1)
    assert found["visits"] > least_visits and found["spared_share"] >= least_spared
    assert ran.returncode == (0 if found["passes"] else 4)
    assert "day " in said and "of the bytes not sent" in said and "Traceback" not in said
    told = json.loads(gossamer("freshness", "--dir", where, "--json").stdout)
    assert len(told["samples"]) >= 2 and told["runs"][0]["comes_back"] and told["visits"]["visits"] > least_visits
