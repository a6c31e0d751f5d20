"""Signals, and two programs on one directory."""

import os
import signal
import time
from pathlib import Path

from tests.cli.site import (
    OPEN,
    PATIENCE_S,
    QUICK,
    Site,
    gossamer,
    harbour,
    is_prompt,
    json_lines,
    page,
    searchable,
    started,
    wait_until,
)

SLOW = (*OPEN, "--delay", "0.2")


def settled(text: str) -> set[str]:
    return {str(event["url"]) for event in json_lines(text) if event["event"] == "visit.settled"}


def test_F_P2_sigterm_drains_within_ten_seconds_and_loses_nothing(tmp_path: Path) -> None:
    root = tmp_path / "c"
    with Site(harbour(people=10), wait_s=0.3).serving() as site:
        crawl = started("crawl", site.root, "--dir", root, *SLOW, "--json")
        wait_until(lambda: len(site.pages_hit()) >= 3, "the crawl did not begin")
        signalled_at = time.monotonic()
        crawl.send_signal(signal.SIGTERM)
        out, err = crawl.communicate(timeout=PATIENCE_S)
        assert is_prompt(time.monotonic() - signalled_at, 10.0)
        assert crawl.returncode == 130 and "stopping: finishing fetches in progress" in err
        first = settled(out)
        assert json_lines(out)[-1]["stopped"] is True
        assert {f"{site.root.rstrip('/')}{path}" for path in site.hits} == first, "fetches in progress were settled"
        pages, found = {url for url in first if not url.endswith("robots.txt")}, searchable(root)
        assert found == pages or (os.getloadavg()[0] > 1.0 and found < pages), "the rest is found after the next run"
        before, site.wait_s = len(site.hits), 0
        done = gossamer("crawl", "--dir", root, *QUICK, "--json")
        assert done.returncode == 0
        assert {f"{site.root.rstrip('/')}{path}" for path in site.hits[before:]}.isdisjoint(first)
        assert len(searchable(root)) == 14


def test_F_P2_a_page_that_hangs_does_not_delay_a_stop(tmp_path: Path) -> None:
    with Site({"/": page("Slow", "It takes its time.")}, wait_s=PATIENCE_S).serving() as site:
        crawl = started("crawl", site.root, "--dir", tmp_path / "c", *SLOW, GOSSAMER_FETCH_TIMEOUT_S="300")
        wait_until(lambda: bool(site.pages_hit()), "the crawl did not begin")
        signalled_at = time.monotonic()
        crawl.send_signal(signal.SIGTERM)
        crawl.communicate(timeout=PATIENCE_S)
        assert is_prompt(time.monotonic() - signalled_at, 10.0) and crawl.returncode == 130


def test_F_P2_sigint_twice_ends_at_once_and_the_next_run_recovers(tmp_path: Path) -> None:
    root = tmp_path / "c"
    with Site(harbour(people=10), wait_s=0.5).serving() as site:
        crawl = started("crawl", site.root, "--dir", root, *SLOW, "--json")
        wait_until(lambda: len(site.pages_hit()) >= 3, "the crawl did not begin")
        crawl.send_signal(signal.SIGINT)
        assert crawl.stderr is not None
        while "stopping" not in (crawl.stderr.readline() or "stopping, and gone"):
            pass
        crawl.send_signal(signal.SIGINT)
        signalled_at = time.monotonic()
        out, _ = crawl.communicate(timeout=PATIENCE_S)
        assert crawl.returncode == 130 and is_prompt(time.monotonic() - signalled_at, 3.0)
        acknowledged = {url for url in settled(out) if not url.endswith("robots.txt")}
        site.wait_s = 0
        done = gossamer("crawl", "--dir", root, *QUICK, "--json")
        assert done.returncode == 0, done.stderr
        assert not acknowledged & settled(done.stdout), "acknowledged pages are not fetched again"
        assert acknowledged <= searchable(root) and len(searchable(root)) == 14


def test_F_P9_a_second_process_is_refused_at_once_naming_the_holder(tmp_path: Path) -> None:
    root = tmp_path / "c"
    with Site(harbour(people=20)).serving() as site:
        crawl = started("crawl", site.root, "--dir", root, *SLOW)
        wait_until(lambda: len(site.pages_hit()) >= 1, "the crawl did not begin")
        with site.held():
            for words in (["crawl", site.root, *OPEN], ["rebuild"]):
                second = gossamer(*words, "--dir", root)
                assert second.returncode == 3
                assert f"is being written by pid {crawl.pid} (crawl, since " in second.stderr
            status = gossamer("status", "--dir", root, "--json").stdout
            assert status.count(str(crawl.pid)) == 1, "commands that only read are not refused"
            os.kill(crawl.pid, signal.SIGKILL)
            crawl.communicate()
        third = gossamer("crawl", "--dir", root, *QUICK)
        assert third.returncode == 0, "the lock of a killed process is taken over"
        assert len(searchable(root)) == 24
