"""The graph process: takes facts over a channel, never delays the indexer, and ends with its parent process."""

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
from tests.views.facts.pages import graph_in
from tests.views.facts.pages import thing as page
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
from gossamer.monitor.sqlite_control import SqliteControl
from gossamer.monitor.supervisor import MODULE as INDEXER
from gossamer.monitor.supervisor import lock_views
from gossamer.store.directory import Directory
from gossamer.values.messages import PageFacts
from gossamer.views.facts.checkpoints import newest

MANY = AT_A_TIME + 20
"""Pages that take two messages."""


def pages_in(directory: Directory) -> int:
    with graph_in(directory.graph) as graph:
        return sum(graph.fetched_at(page(number).url) is not None for number in range(2 * MANY))


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[tuple[RemoteFacts, Child]]:
    with remote_facts(Directory(tmp_path), SystemProcesses()) as facts_and_child:
        yield facts_and_child


def test_committed_facts_are_in_the_graph_with_their_position(tmp_path: Path) -> None:
    directory = Directory(tmp_path)
    with remote_facts(directory, SystemProcesses()) as (facts, child):
        assert facts.position == b""
        facts.commit(b"1", [page(number) for number in range(MANY)])
        facts.commit(b"2", [page(MANY)])
        facts.settle()
        assert facts.position == b"2"
    assert child.exit_code() == 0, "it ended by itself"
    assert pages_in(directory) == MANY + 1
    with remote_facts(directory, SystemProcesses()) as (facts, _):
        assert facts.position == b"2"


def test_commits_do_not_wait_and_the_position_is_that_of_stored_facts(remote: tuple[RemoteFacts, Child]) -> None:
    facts, child = remote
    assert not facts.is_busy
    os.kill(child.pid, signal.SIGSTOP)
    try:
        facts.commit(b"1", [page(1)])
        assert (facts.position, facts.is_busy) == (b"", True)
    finally:
        os.kill(child.pid, signal.SIGCONT)
    wait_until(lambda: facts.position == b"1", "the facts were not stored")
    assert not facts.is_busy


def test_messages_are_limited_in_pages_and_in_bytes() -> None:
    large = PageFacts(page(0).url, b" " * MOST_BYTES, 1, 1)
    pages = [page(number) for number in range(MANY)]
    assert [len(some) for some in in_messages(pages)] == [AT_A_TIME, 20]
    assert [len(some) for some in in_messages([pages[0], large, large, pages[1]])] == [2, 1, 1]


def test_a_damaged_store_is_reported_with_advice(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    directory = Directory(tmp_path)
    with remote_facts(directory, SystemProcesses()) as (facts, _):
        facts.commit(b"1", [page(1)])
    (directory.graph / "CURRENT").write_text("nonsense")
    with pytest.raises(WorkerLost), remote_facts(directory, SystemProcesses()):
        pass
    err = capfd.readouterr().err
    assert "graph is damaged" in err and "built again from the archive" in err and "Traceback" not in err


def test_an_indexer_that_fails_does_not_wait_for_it(tmp_path: Path) -> None:
    def fail_while_it_is_stopped() -> None:
        with remote_facts(Directory(tmp_path), SystemProcesses()) as (facts, child):
            os.kill(child.pid, signal.SIGSTOP)
            facts.commit(b"1", [page(1)])
            raise DiskFull("elsewhere")

    with pytest.raises(DiskFull):
        fail_while_it_is_stopped()


def test_it_finishes_its_work_after_sigterm(remote: tuple[RemoteFacts, Child]) -> None:
    facts, child = remote
    os.kill(child.pid, signal.SIGTERM)
    facts.commit(b"1", [page(1)])
    facts.settle()
    assert facts.position == b"1"


def test_a_checkpoint_has_the_facts_committed_before_it(tmp_path: Path) -> None:
    directory = Directory(tmp_path)
    with remote_facts(directory, SystemProcesses()) as (facts, _):
        facts.commit(b"1", [page(1)])
        facts.make_checkpoint()
        made = newest(DiskFiles(), directory.checkpoints)
    assert made is not None
    assert len(Store.read_only(str(made.folder))) > 0


def test_calls_after_its_death_raise_an_error(tmp_path: Path) -> None:
    with remote_facts(Directory(tmp_path), SystemProcesses()) as (facts, child):
        os.kill(child.pid, signal.SIGKILL)
        facts.commit(b"1", [page(1)])
        with pytest.raises(WorkerLost, match="keeps the facts"):
            facts.settle()
        with pytest.raises(WorkerLost, match="keeps the facts"):
            facts.make_checkpoint()


@pytest.fixture
def indexer(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """A real indexer over an empty collection."""
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


def child_of(pid: int) -> psutil.Process | None:
    return next((one for one in psutil.Process(pid).children() if MODULE in one.cmdline()), None)


def graph_process_of(pid: int) -> psutil.Process:
    wait_until(lambda: child_of(pid) is not None, "the graph process did not start")
    process = child_of(pid)
    assert process is not None
    return process


def test_an_indexer_that_loses_it_reports_it_and_ends(indexer: "subprocess.Popen[str]", tmp_path: Path) -> None:
    wait_until(lambda: has_heartbeat(Directory(tmp_path)), "the indexer did not start")
    graph_process_of(indexer.pid).kill()
    _, err = indexer.communicate(timeout=PATIENCE_S)
    assert indexer.returncode == 1
    assert err == "the indexer ends: crash: the process that keeps the facts has ended\n"


def has_heartbeat(directory: Directory) -> bool:
    if not directory.control.is_file():
        return False
    with SqliteControl(directory.control, SystemClock()) as control:
        return any(beat.name == "indexer" for beat in control.beats())


def test_it_ends_with_the_indexer_and_the_next_writer_waits_for_that(
    indexer: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    directory = Directory(tmp_path)
    wait_until(lambda: has_heartbeat(directory), "the indexer did not start")
    process = graph_process_of(indexer.pid)
    indexer.kill()
    asyncio.run(lock_views(directory, real_outside(), "the next")).release()
    with graph_in(directory.graph) as graph:
        assert graph.is_empty()
    wait_until(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE, "it outlived the indexer")


def test_the_next_writer_waits_until_it_releases_the_lock(tmp_path: Path) -> None:
    directory, files = Directory(tmp_path), DiskFiles()
    held = files.lock(directory.facts_lock, "a graph process that is ending")
    assert not isinstance(held, str)

    async def wait_for_lock() -> None:
        waiting = asyncio.ensure_future(lock_views(directory, real_outside(), "the next"))
        await asyncio.sleep(0.3)
        assert not waiting.done()
        held.release()
        (await waiting).release()

    asyncio.run(wait_for_lock())


def test_it_writes_nothing_if_its_indexer_is_gone_already(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        other = "1" if os.getpid() != 1 else "2"
        SystemProcesses().start(MODULE, [str(tmp_path), "", other], theirs).wait(PATIENCE_S)
    assert list(tmp_path.iterdir()) == []


def test_both_run_at_lower_priority_than_searches(indexer: "subprocess.Popen[str]") -> None:
    process = graph_process_of(indexer.pid)
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert [os.getpriority(os.PRIO_PROCESS, pid) for pid in (indexer.pid, process.pid)] == [own + INDEXER_NICENESS] * 2
    assert INDEXER_NICENESS < READER_NICENESS, "pages are indexed before more are read"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives each thread a niceness")
def test_merges_of_the_index_run_at_low_priority_and_its_commits_do_not(indexer: "subprocess.Popen[str]") -> None:
    def niceness(is_merging: bool) -> set[int]:
        threads = [number for number, name in threads_of(indexer.pid) if name.startswith(INDEX_MERGES) == is_merging]
        return {os.getpriority(os.PRIO_PROCESS, number) for number in threads}

    wait_until(lambda: niceness(is_merging=True) == {INDEX_MERGES_NICENESS}, "merges do not run at low priority")
    assert niceness(is_merging=False) == {os.getpriority(os.PRIO_PROCESS, 0) + INDEXER_NICENESS}


@pytest.mark.skipif(not BY_SESSION, reason="this kernel does not share out the CPUs by session")
def test_its_session_has_the_priority_of_the_indexer(indexer: "subprocess.Popen[str]") -> None:
    process = graph_process_of(indexer.pid)
    wait_until(lambda: session_of(process.pid)[1] != 0, "its session has normal priority")
    assert session_of(process.pid)[1] == os.getpriority(os.PRIO_PROCESS, 0) + INDEXER_NICENESS
    assert session_of(process.pid)[0] != session_of(indexer.pid)[0]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives each thread a niceness")
def test_only_its_merges_run_at_low_priority(remote: tuple[RemoteFacts, Child]) -> None:
    pid = remote[1].pid
    nice = [(name.startswith(GRAPH_MERGES), os.getpriority(os.PRIO_PROCESS, tid)) for tid, name in threads_of(pid)]
    assert {niceness for is_merging, niceness in nice if is_merging} == {GRAPH_MERGES_NICENESS}
    assert {niceness for is_merging, niceness in nice if not is_merging} == {os.getpriority(os.PRIO_PROCESS, 0)}


def threads_of(pid: int) -> list[tuple[int, str]]:
    names = Path(f"/proc/{pid}/task").glob("*/comm")
    return [(int(name.parent.name), name.read_text().strip()) for name in names]
