"""The process that keeps the facts: told over its channel, never waited for, and gone with whoever started it."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from pyoxigraph import Store
from tests.cli.site import PATIENCE_S, wait_until
from tests.views.facts.pages import graph_in, thing
from tests.workers.sessions import BY_SESSION, session_of

from gossamer.base.clock import SystemClock
from gossamer.base.environment import real_outside
from gossamer.base.errors import DiskFull, WorkerLost
from gossamer.base.files import DiskFiles
from gossamer.base.processes import Child, SystemProcesses
from gossamer.base.tuning import (
    GRAPH_MERGES,
    GRAPH_MERGES_NICENESS,
    INDEX_MERGES,
    INDEX_MERGES_NICENESS,
    INDEXER_NICENESS,
    READER_NICENESS,
)
from gossamer.indexer.graph_client import AT_A_TIME, MODULE, MOST_BYTES, RemoteFacts, in_messages, remote_facts
from gossamer.monitor.control import Control
from gossamer.monitor.supervisor import MODULE as INDEXER
from gossamer.monitor.supervisor import lock_views
from gossamer.store.directory import Directory
from gossamer.values.messages import PageFacts
from gossamer.views.facts.checkpoints import newest

MANY = AT_A_TIME + 20
"""Pages that take two messages."""


def pages_in(directory: Directory) -> int:
    with graph_in(directory.graph) as graph:
        return sum(graph.fetched_at(thing(number).url) is not None for number in range(2 * MANY))


@pytest.fixture
def apart(tmp_path: Path) -> Iterator[tuple[RemoteFacts, Child]]:
    with remote_facts(Directory(tmp_path), SystemProcesses()) as both:
        yield both


def test_what_is_committed_is_in_the_graph_with_its_position(tmp_path: Path) -> None:
    directory = Directory(tmp_path)
    with remote_facts(directory, SystemProcesses()) as (facts, child):
        assert facts.position == b""
        facts.commit(b"1", [thing(number) for number in range(MANY)])
        facts.commit(b"2", [thing(MANY)])
        facts.settle()
        assert facts.position == b"2"
    assert child.exit_code() == 0, "it was let finish"
    assert pages_in(directory) == MANY + 1
    with remote_facts(directory, SystemProcesses()) as (facts, _):
        assert facts.position == b"2"


def test_nobody_waits_for_it_and_the_position_is_that_of_what_is_kept(apart: tuple[RemoteFacts, Child]) -> None:
    facts, child = apart
    assert not facts.is_busy
    os.kill(child.pid, signal.SIGSTOP)
    try:
        facts.commit(b"1", [thing(1)])
        assert (facts.position, facts.is_busy) == (b"", True)
    finally:
        os.kill(child.pid, signal.SIGCONT)
    wait_until(lambda: facts.position == b"1", "it was never kept")
    assert not facts.is_busy


def test_messages_are_bounded_in_pages_and_in_bytes() -> None:
    large = PageFacts(thing(0).url, b" " * MOST_BYTES, 1, 1)
    pages = [thing(number) for number in range(MANY)]
    assert [len(some) for some in in_messages(pages)] == [AT_A_TIME, 20]
    assert [len(some) for some in in_messages([pages[0], large, large, pages[1]])] == [2, 1, 1]


def test_a_store_that_cannot_be_opened_is_told_with_what_to_do(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    directory = Directory(tmp_path)
    with remote_facts(directory, SystemProcesses()) as (facts, _):
        facts.commit(b"1", [thing(1)])
    (directory.graph / "CURRENT").write_text("nonsense")
    with pytest.raises(WorkerLost), remote_facts(directory, SystemProcesses()):
        pass
    said = capfd.readouterr().err
    assert "graph is damaged" in said and "built again from the archive" in said and "Traceback" not in said


def test_who_fails_does_not_wait_for_it(tmp_path: Path) -> None:
    def fail_beside_one_that_is_stopped() -> None:
        with remote_facts(Directory(tmp_path), SystemProcesses()) as (facts, child):
            os.kill(child.pid, signal.SIGSTOP)
            facts.commit(b"1", [thing(1)])
            raise DiskFull("elsewhere")

    with pytest.raises(DiskFull):
        fail_beside_one_that_is_stopped()


def test_whoever_stops_every_process_lets_it_finish(apart: tuple[RemoteFacts, Child]) -> None:
    facts, child = apart
    os.kill(child.pid, signal.SIGTERM)
    facts.commit(b"1", [thing(1)])
    facts.settle()
    assert facts.position == b"1"


def test_a_checkpoint_has_what_was_committed_before_it(tmp_path: Path) -> None:
    directory = Directory(tmp_path)
    with remote_facts(directory, SystemProcesses()) as (facts, _):
        facts.commit(b"1", [thing(1)])
        facts.make_checkpoint()
        made = newest(DiskFiles(), directory.checkpoints)
    assert made is not None
    assert len(Store.read_only(str(made.folder))) > 0


def test_its_death_is_told_to_whoever_asks_next(tmp_path: Path) -> None:
    with remote_facts(Directory(tmp_path), SystemProcesses()) as (facts, child):
        os.kill(child.pid, signal.SIGKILL)
        facts.commit(b"1", [thing(1)])
        with pytest.raises(WorkerLost, match="keeps the facts"):
            facts.settle()
        with pytest.raises(WorkerLost, match="keeps the facts"):
            facts.make_checkpoint()


@pytest.fixture
def indexer(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """A real one, over a collection that is still empty."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            child = subprocess.Popen(
                [sys.executable, "-m", INDEXER, str(tmp_path), "", "gossamer", str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stderr=subprocess.PIPE,
                text=True,
            )
        try:
            yield child
        finally:
            child.kill()
            child.communicate()


def keeper_of(pid: int) -> psutil.Process | None:
    return next((one for one in psutil.Process(pid).children() if MODULE in one.cmdline()), None)


def started_keeper(pid: int) -> psutil.Process:
    wait_until(lambda: keeper_of(pid) is not None, "nobody keeps the facts")
    keeper = keeper_of(pid)
    assert keeper is not None
    return keeper


def test_an_indexer_that_loses_it_says_so_and_ends(indexer: "subprocess.Popen[str]", tmp_path: Path) -> None:
    wait_until(lambda: has_beaten(Directory(tmp_path)), "the indexer is not at work")
    started_keeper(indexer.pid).kill()
    _, said = indexer.communicate(timeout=PATIENCE_S)
    assert indexer.returncode == 1
    assert said == "the indexer ends: crash: the process that keeps the facts has ended\n"


def has_beaten(directory: Directory) -> bool:
    if not directory.control.is_file():
        return False
    with Control(directory.control, SystemClock()) as control:
        return any(beat.name == "indexer" for beat in control.beats())


def test_it_dies_with_the_indexer_and_whoever_comes_next_waits_for_that(
    indexer: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    directory = Directory(tmp_path)
    wait_until(lambda: has_beaten(directory), "the indexer is not at work")
    keeper = started_keeper(indexer.pid)
    indexer.kill()
    asyncio.run(lock_views(directory, real_outside(), "the next")).release()
    with graph_in(directory.graph) as graph:
        assert graph.is_empty()
    wait_until(lambda: not keeper.is_running() or keeper.status() == psutil.STATUS_ZOMBIE, "it outlived the indexer")


def test_whoever_comes_next_waits_until_it_lets_go(tmp_path: Path) -> None:
    directory, files = Directory(tmp_path), DiskFiles()
    held = files.lock(directory.facts_lock, "a keeper that is ending")
    assert not isinstance(held, str)

    async def come() -> None:
        coming = asyncio.ensure_future(lock_views(directory, real_outside(), "the next"))
        await asyncio.sleep(0.3)
        assert not coming.done()
        held.release()
        (await coming).release()

    asyncio.run(come())


def test_one_whose_indexer_is_gone_already_touches_nothing(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        nobody = "1" if os.getpid() != 1 else "2"
        SystemProcesses().start(MODULE, [str(tmp_path), "", nobody], theirs).wait(PATIENCE_S)
    assert list(tmp_path.iterdir()) == []


def test_both_stand_back_behind_whoever_searches(indexer: "subprocess.Popen[str]") -> None:
    keeper = started_keeper(indexer.pid)
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert [os.getpriority(os.PRIO_PROCESS, pid) for pid in (indexer.pid, keeper.pid)] == [own + INDEXER_NICENESS] * 2
    assert INDEXER_NICENESS < READER_NICENESS, "pages are not read sooner than they are found"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives each thread a niceness")
def test_merges_of_the_index_stand_back_and_its_commits_do_not(indexer: "subprocess.Popen[str]") -> None:
    def standing(is_merging: bool) -> set[int]:
        threads = [number for number, name in threads_of(indexer.pid) if name.startswith(INDEX_MERGES) == is_merging]
        return {os.getpriority(os.PRIO_PROCESS, number) for number in threads}

    wait_until(lambda: standing(is_merging=True) == {INDEX_MERGES_NICENESS}, "merges take what commits need")
    assert standing(is_merging=False) == {os.getpriority(os.PRIO_PROCESS, 0) + INDEXER_NICENESS}


@pytest.mark.skipif(not BY_SESSION, reason="this kernel does not share out the CPUs by session")
def test_its_session_stands_back_as_the_indexer_does(indexer: "subprocess.Popen[str]") -> None:
    keeper = started_keeper(indexer.pid)
    wait_until(lambda: session_of(keeper.pid)[1] != 0, "its session takes as much as anybody's")
    assert session_of(keeper.pid)[1] == os.getpriority(os.PRIO_PROCESS, 0) + INDEXER_NICENESS
    assert session_of(keeper.pid)[0] != session_of(indexer.pid)[0]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives each thread a niceness")
def test_its_merges_stand_back_and_nothing_else_does(apart: tuple[RemoteFacts, Child]) -> None:
    pid = apart[1].pid
    nice = [
        (name.startswith(GRAPH_MERGES), os.getpriority(os.PRIO_PROCESS, number)) for number, name in threads_of(pid)
    ]
    assert {niceness for is_merging, niceness in nice if is_merging} == {GRAPH_MERGES_NICENESS}
    assert {niceness for is_merging, niceness in nice if not is_merging} == {os.getpriority(os.PRIO_PROCESS, 0)}


def threads_of(pid: int) -> list[tuple[int, str]]:
    names = Path(f"/proc/{pid}/task").glob("*/comm")
    return [(int(name.parent.name), name.read_text().strip()) for name in names]
