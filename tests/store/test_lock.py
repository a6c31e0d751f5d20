"""A data directory has one writer at a time."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.base.errors import DirectoryBusy
from gossamer.base.files import DiskFiles
from gossamer.store.directory import hold, holder_in_words

HOLDER = """
import sys
from pathlib import Path
from gossamer.base.files import DiskFiles
from gossamer.store.directory import hold
lock = hold(DiskFiles(), Path(sys.argv[1]), "pid 4711 (gossamer crawl, since noon)")
print("held", flush=True)
sys.stdin.read()
"""


def test_F_P9_a_second_writer_is_refused_with_the_holder_and_a_killed_one_is_replaced(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        with pytest.raises(DirectoryBusy, match=r"pid 4711 \(gossamer crawl, since noon\)"):
            hold(DiskFiles(), tmp_path, "us")
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.communicate()
    lock = hold(DiskFiles(), tmp_path, "us")
    with pytest.raises(DirectoryBusy, match="us"):
        hold(DiskFiles(), tmp_path, "them")
    lock.release()
    hold(DiskFiles(), tmp_path, "them").release()


def test_the_holder_is_named_by_pid_command_and_time() -> None:
    assert holder_in_words(7, "crawl", "2026-11-15T08:00:00Z") == "pid 7 (crawl, since 2026-11-15T08:00:00Z)"


def test_a_full_disk_leaves_no_lock_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as at:
        at.setattr(os, "pwrite", full)
        open_before = sorted(os.listdir("/proc/self/fd"))
        with pytest.raises(OSError, match="No space left"):
            hold(DiskFiles(), tmp_path, "us")
        assert sorted(os.listdir("/proc/self/fd")) == open_before
    hold(DiskFiles(), tmp_path, "us").release()
