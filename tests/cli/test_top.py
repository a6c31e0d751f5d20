"""`gossamer top`: the state of every process, once and live."""

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
from gossamer.monitor.control import NODE, Vitals
from gossamer.monitor.sqlite_control import SqliteControl
from gossamer.monitor.system import System
from gossamer.store.sqlite.database import Database


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A collection with a fresh heartbeat of its crawler, and an old one of its indexer."""
    clock = SystemClock()

    async def make() -> None:
        async with Database(tmp_path / "state.db", clock, silent):
            pass

    asyncio.run(make())
    now = clock.now() + 120 * SECOND  # the command that reads it may be slow to start
    with SqliteControl(tmp_path / "control.db", clock) as control:
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


def test_once_prints_text(root: Path) -> None:
    out = top(root, "--once")
    assert "Crawl: running" in out and "3.5 pages per second" in out and "1,234" in out
    assert "node-a" in out and "2.0 GB of 8.0 GB" in out and "50.0 MB" in out
    assert "no heartbeat since" in out and "trouble: The indexer has stopped responding" in out
    assert "\x1b" not in out, "no colours where there is no terminal"


def test_once_prints_json(root: Path) -> None:
    system = decoded(top(root, "--once", "--json"), System)
    assert {one.name: one.life for one in system.processes}["indexer"] == "silent"
    assert system.totals["pages_s"] == 3.5


@pytest.mark.parametrize("end", ["q", "ctrl-c"])
def test_live_until_a_key_or_signal_ends_it_and_the_screen_is_restored(root: Path, end: str) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "gossamer", "top", "--dir", str(root)]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    try:
        seen = read_until(ours, b"crawler")
        assert b"\x1b[?1049h" in seen, "it uses the alternate screen"
        if end == "q":
            os.write(ours, b"q")
        else:
            process.send_signal(signal.SIGINT)
        assert b"\x1b[?1049l" in read_until(ours, b"\x1b[?1049l"), "and restores the old one"
        assert process.wait(PATIENCE_S) == 0
    finally:
        process.kill()
        process.wait()
        os.close(theirs)
        os.close(ours)


def read_until(terminal: int, expected: bytes) -> bytes:
    seen = b""
    while expected not in seen:
        ready, _, _ = select.select([terminal], [], [], PATIENCE_S)
        assert ready, f"never seen: {expected!r}; but {seen!r}"
        seen += os.read(terminal, 65536)
    return seen


def test_json_lines_without_a_terminal(root: Path) -> None:
    command = [sys.executable, "-m", "gossamer", "top", "--dir", str(root), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [decoded(process.stdout.readline(), System) for _ in range(2)]
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
    assert lines[1].at - lines[0].at >= 900_000


def test_an_idle_crawl_is_in_the_words_of_the_web_pages(tmp_path: Path) -> None:
    async def make() -> None:
        async with Database(tmp_path / "state.db", SystemClock(), silent):
            pass

    asyncio.run(make())
    said = top(tmp_path, "--once")
    assert "Crawl: idle" in said and "0 known URLs" in said and "0 waiting" in said
    assert decoded(top(tmp_path, "--once", "--json"), System).state == "idle", "programs get the code"
