"""Merges of the graph let others go first."""

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.app.site import wait_until

from gossamer.app.directory import Directory
from gossamer.app.indexer import MERGING, MERGING_NICENESS
from gossamer.app.indexing import MODULE
from gossamer.processes import Child, SystemProcesses

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives each thread a niceness")


@pytest.fixture
def indexer(tmp_path: Path) -> Iterator[Child]:
    """A real one, over a collection that is still empty."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = SystemProcesses().start(MODULE, [str(Directory(tmp_path).root), "gossamer"], theirs)
        try:
            yield child
        finally:
            child.kill()


def niceness_by_thread(pid: int) -> dict[str, int]:
    names = Path(f"/proc/{pid}/task").glob("*/comm")
    return {name.read_text().strip(): os.getpriority(os.PRIO_PROCESS, int(name.parent.name)) for name in names}


def test_the_indexers_merges_stand_back_and_nothing_else_does(indexer: Child) -> None:
    wait_until(lambda: MERGING_NICENESS in niceness_by_thread(indexer.pid).values(), "nobody stood back")
    wait_until(lambda: set(merging(indexer.pid).values()) == {MERGING_NICENESS}, "not all of them did")
    found = merging(indexer.pid)
    assert found, "the store calls its threads so"
    others = niceness_by_thread(indexer.pid).items() - found.items()
    assert {niceness for _, niceness in others} == {os.getpriority(os.PRIO_PROCESS, 0)}


def merging(pid: int) -> dict[str, int]:
    return {name: nice for name, nice in niceness_by_thread(pid).items() if name.startswith(MERGING)}
