"""A crawl whose PostgreSQL server goes away waits without end, says so, and continues when it is back."""

import json
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.site import PATIENCE_S, QUICK, Site, gossamer, page, started
from tests.journey.test_leases import wait_until
from tests.postgres_server import Server, server

from gossamer.base.clock import SystemClock
from gossamer.monitor.sqlite_control import SqliteControl
from gossamer.store.directory import Directory

PATHS = [f"/{number}" for number in range(6)]
PAGES = {"/": page("Start", "Words.", *PATHS)} | {path: page(path, "Words.") for path in PATHS}


@pytest.fixture
def own() -> Iterator[Server]:
    """A server that can be stopped: the one of the other tests must stay."""
    found = Server(Path(tempfile.mkdtemp(prefix="gossamer-pg-")), server().programs)
    found.make()
    found.start()
    yield found
    found.stop()
    shutil.rmtree(found.folder, ignore_errors=True)


def until(crawl: "subprocess.Popen[str]", event: str) -> dict[str, object]:
    """Read its output up to this event."""
    assert crawl.stdout is not None
    for line in crawl.stdout:
        if (found := json.loads(line))["event"] == event:
            return dict(found)
    raise AssertionError(f"no {event}: {crawl.communicate()[1]}")


def state_of(root: Path) -> tuple[str, object]:
    with SqliteControl(Directory(root).control, SystemClock()) as control:
        vitals = next((one for one in control.vitals() if one.process == "crawler"), None)
        beat = next(one for one in control.beats() if one.name == "crawler")
    return vitals.state if vitals is not None else "", beat.facts.get("waits")


def test_a_crawl_is_suspended_while_its_database_is_away_and_then_continues(tmp_path: Path, own: Server) -> None:
    site, root = Site(PAGES), tmp_path / "c"
    with site.serving(), site.held():
        crawl = started("crawl", site.root, "--dir", root, *QUICK, "--database", own.conninfo("s"), "--json")
        wait_until(lambda: "/" in site.hits)
        own.stop()
        assert "no answer since" in str(until(crawl, "database.suspended")["says"])
        wait_until(lambda: state_of(root)[0] == "suspended")
        assert "suspended: the database" in str(state_of(root)[1])
        unread = gossamer("status", "--dir", root)
        assert unread.returncode and "cannot be opened" in unread.stderr and "Traceback" not in unread.stderr
        own.start()
        site.is_open.set()
        until(crawl, "database.back")
        _, errors = crawl.communicate(timeout=PATIENCE_S)
    assert crawl.returncode == 0 and "Traceback" not in errors, errors
    assert set(site.pages_hit()) == {"/", *PATHS}
    assert all(site.hits.count(path) == 1 for path in PATHS) and site.hits.count("/") <= 2
    assert json.loads(gossamer("status", "--dir", root, "--json").stdout)["pages"] == 7


@pytest.mark.parametrize("by", ["signal", "page"])
def test_a_suspended_crawl_stops_when_asked_and_says_what_is_left(tmp_path: Path, own: Server, by: str) -> None:
    site, root = Site(PAGES), tmp_path / "c"
    with site.serving(), site.held():
        crawl = started("crawl", site.root, "--dir", root, *QUICK, "--database", own.conninfo("s"), "--json")
        wait_until(lambda: "/" in site.hits)
        own.stop()
        until(crawl, "database.suspended")
        if by == "signal":
            crawl.send_signal(signal.SIGINT)
        else:
            with SqliteControl(Directory(root).control, SystemClock()) as control:
                control.ask("stop")
        site.is_open.set()
        _, errors = crawl.communicate(timeout=PATIENCE_S)
    assert crawl.returncode == 3 and "Traceback" not in errors, errors
    assert "stopped without it. Nothing acknowledged is lost" in errors and "the indexer ends" not in errors
