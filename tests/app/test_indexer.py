"""The indexer: its merges let others go first, and it reads again by the settings of the collection."""

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.app.site import wait_until

from gossamer.app.directory import Directory
from gossamer.app.indexer import MERGING, MERGING_NICENESS, settings_of
from gossamer.app.indexing import MODULE
from gossamer.app.settings import Settings
from gossamer.processes import Child, SystemProcesses


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


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives each thread a niceness")
def test_the_indexers_merges_stand_back_and_nothing_else_does(indexer: Child) -> None:
    wait_until(lambda: MERGING_NICENESS in niceness_by_thread(indexer.pid).values(), "nobody stood back")
    wait_until(lambda: set(merging(indexer.pid).values()) == {MERGING_NICENESS}, "not all of them did")
    found = merging(indexer.pid)
    assert found, "the store calls its threads so"
    others = niceness_by_thread(indexer.pid).items() - found.items()
    assert {niceness for _, niceness in others} == {os.getpriority(os.PRIO_PROCESS, 0)}


def merging(pid: int) -> dict[str, int]:
    return {name: nice for name, nice in niceness_by_thread(pid).items() if name.startswith(MERGING)}


def test_what_is_read_again_is_read_by_the_settings_of_the_collection(tmp_path: Path) -> None:
    told: list[str] = []
    (tmp_path / "gossamer.toml").write_text("[readers]\nwall_s = 17\n")
    assert settings_of(Directory(tmp_path), lambda event, **_: told.append(event)).readers.wall_s == 17
    assert told == []
    (tmp_path / "gossamer.toml").write_text("[readers\n")
    assert settings_of(Directory(tmp_path), lambda event, **_: told.append(event)) == Settings()
    assert told == ["views.settings-unread"]
