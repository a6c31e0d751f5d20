"""The system manager in a terminal: while a crawl runs, and after it."""

import asyncio
import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.site import PATIENCE_S
from tests.json_answers import decoded

from gossamer.base.clock import SECOND, SystemClock
from gossamer.base.tell import silent
from gossamer.monitor.control import NODE, Control, Vitals
from gossamer.monitor.system import System
from gossamer.store.sqlite.database import Database


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A collection whose crawler was heard of a moment ago, and whose indexer was not."""
    clock = SystemClock()

    async def make() -> None:
        async with Database(tmp_path / "state.db", clock, silent):
            pass

    asyncio.run(make())
    now = clock.now() + 120 * SECOND  # what looks at it may take long to start
    with Control(tmp_path / "control.db", clock) as control:
        control.note(
            [
                Vitals("node-a", NODE, 0, now, now, {"cpu": 40.0, "cores": 2, "memory_total": 8e9, "memory_free": 6e9}),
                Vitals("node-a", "crawler", 7, now, now, {"pages_s": 3.5, "queued": 1_234, "cpu": 20.0, "rss": 5e7}),
                Vitals("node-a", "indexer", 8, now - 200 * SECOND, now, {}),
            ]
        )
    return tmp_path


def top(root: Path, *flags: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "gossamer", "top", "--dir", str(root), *flags],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_once_for_people(root: Path) -> None:
    said = top(root, "--once")
    assert "Crawl: running" in said and "3.5 pages per second" in said and "1,234" in said
    assert "node-a" in said and "2.0 GB of 8.0 GB" in said and "50.0 MB" in said
    assert "no heartbeat since" in said and "trouble: The indexer has stopped responding" in said
    assert "\x1b" not in said, "no colours where there is no terminal"


def test_once_for_programs(root: Path) -> None:
    system = decoded(top(root, "--once", "--json"), System)
    assert {one.name: one.life for one in system.processes}["indexer"] == "silent"
    assert system.totals["pages_s"] == 3.5


@pytest.mark.parametrize("end", ["q", "ctrl-c"])
def test_live_until_told_to_end_and_the_terminal_is_given_back(root: Path, end: str) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "gossamer", "top", "--dir", str(root)]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    try:
        seen = read_until(ours, b"crawler")
        assert b"\x1b[?1049h" in seen, "it has a screen of its own"
        if end == "q":
            os.write(ours, b"q")
        else:
            process.send_signal(signal.SIGINT)
        assert b"\x1b[?1049l" in read_until(ours, b"\x1b[?1049l"), "and gives the old one back"
        assert process.wait(PATIENCE_S) == 0
    finally:
        process.kill()
        process.wait()
        os.close(theirs)
        os.close(ours)


def read_until(terminal: int, wanted: bytes) -> bytes:
    seen = b""
    while wanted not in seen:
        ready, _, _ = select.select([terminal], [], [], PATIENCE_S)
        assert ready, f"never seen: {wanted!r}; but {seen!r}"
        seen += os.read(terminal, 65536)
    return seen


def test_lines_where_there_is_no_terminal(root: Path) -> None:
    command = [sys.executable, "-m", "gossamer", "top", "--dir", str(root), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [decoded(process.stdout.readline(), System) for _ in range(2)]
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
    assert lines[1].at - lines[0].at >= 900_000
