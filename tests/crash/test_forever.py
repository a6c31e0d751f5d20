"""A crawl that revisits changing pages, killed again and again: nothing acknowledged is lost, views stay correct."""

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from tests.crash import harness, verify

from gossamer.base.files import DiskFiles
from gossamer.demo.server import read_log
from gossamer.store.directory import Directory
from gossamer.store.sqlite.database import read_only
from gossamer.values.history import Past, decoded

POINTS = ("frontier.taken", "archive.synced", "spool.appended", "frontier.settled", "index.committed")
HOSTS, PAGES = 6, 90
PATIENCE_S = 300.0
TURN_S = 12.0
"""Pages are removed between the second turn and the sixth, so some are fetched before, also on a slow machine."""


def start(root: Path, port: int, crash_at: str | None) -> "subprocess.Popen[str]":
    variables = harness.environment_for(crash_at)
    numbers = [str(n) for n in (port, HOSTS, PAGES)]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.crash.child", str(root / "crawl"), *numbers, "forever"],
        stdout=subprocess.PIPE,
        text=True,
        env=variables,
        cwd=harness.REPOSITORY,
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_M_B8_kills_of_an_endless_crawl_lose_nothing(tmp_path: Path) -> None:
    draw, acknowledged = random.Random(5), harness.Acknowledged()
    with harness.serving(tmp_path, HOSTS, PAGES, "--changing", str(TURN_S)) as port:
        for point in POINTS:
            child = start(tmp_path, port, f"{point}:{draw.randint(4, 12)}")
            acknowledged.follow(child)
            harness.ended_within(child, 10.0)
            harness.kill_tree(child)
            child.wait()
            acknowledged.read_to_end()
        child = start(tmp_path, port, None)
        acknowledged.follow(child)
        deadline_s = time.monotonic() + PATIENCE_S
        while not has_seen_all(tmp_path, acknowledged) and time.monotonic() < deadline_s:
            time.sleep(1.0)
        assert child.poll() is None, "the crawl has ended"
        child.send_signal(signal.SIGINT)
        assert harness.ended_within(child, PATIENCE_S)
        acknowledged.read_to_end()
    judge(tmp_path, acknowledged)


def has_seen_all(root: Path, acknowledged: harness.Acknowledged) -> bool:
    """Whether changed pages, unchanged pages and pages that are gone were fetched."""
    outcomes = Counter(str(event.get("outcome")) for event in list(acknowledged.events))
    return outcomes["unchanged"] > 20 and outcomes["gone"] > 0 and any(past.gone for past in pasts_in(root))


def pasts_in(root: Path) -> list[Past]:
    with closing(read_only(Directory(root / "crawl").state)) as state:
        known = [decoded(kept) for (kept,) in state.execute("SELECT past FROM revisits")]
    return [past for past in known if past is not None]


def judge(root: Path, acknowledged: harness.Acknowledged) -> None:
    directory = Directory(root / "crawl")
    settled = [event for event in acknowledged.events if event.get("event") == "visit.settled"]
    outcomes = {str(event["outcome"]) for event in settled}
    assert {"fetched", "unchanged", "gone"} <= outcomes
    assert verify.lost(directory, settled) == []
    assert verify.unreadable(directory) == []
    urls = verify.searchable(directory)
    assert len(urls) == len(set(urls)) > 20
    with closing(read_only(directory.state)) as state:
        assert state.execute("SELECT count(*) FROM hosts WHERE leased").fetchone() == (0,)
    pasts = pasts_in(root)
    assert sum(past.is_page for past in pasts) == len(urls), "the views have the pages that exist, and no others"
    assert any(past.gone for past in pasts)
    hits = read_log(DiskFiles(), root / "access.log")
    assert sum(hit.status == 304 for hit in hits) > 10
    assert verify.differing(root / "crawl") == []
