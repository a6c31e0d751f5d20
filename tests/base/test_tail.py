"""Append-only files: a failed write is undone, and after a failed sync the file is not used any more."""

import errno

import pytest

from gossamer.base.errors import DiskFull, GossamerError
from gossamer.base.files import DiskFiles, Tail
from gossamer.testing import Fault, FaultyFiles


@pytest.fixture(params=["disk", "no fault", "with room"])
def files(request):
    """The disk, and FaultyFiles without a fault, which must behave like it."""
    inner = DiskFiles()
    return {
        "disk": inner,
        "no fault": FaultyFiles(inner),
        "with room": FaultyFiles(inner, room_bytes=1 << 20),
    }[request.param]


def opened(files, path) -> Tail:
    tail = Tail(files, path)
    tail.open()
    return tail


def test_appended_bytes_are_stored_and_a_reopened_file_is_continued(files, tmp_path):
    tail = opened(files, tmp_path / "log")
    assert (tail.append(b"one"), tail.append(b"two")) == (0, 3)
    tail.sync()
    tail.close()
    again = opened(files, tmp_path / "log")
    assert again.append(b"three") == 6
    again.back_to(4)
    assert again.append(b"!") == 4
    again.close()
    assert files.read(tmp_path / "log") == b"onet!"


def test_other_operations_are_passed_on_to_the_disk(files, tmp_path):
    files.make_folder(tmp_path / "a")
    files.write(tmp_path / "a" / "x", b"12345")
    files.write(tmp_path / "a" / "x", b"1234")
    files.copy(tmp_path / "a" / "x", tmp_path / "a" / "y", 2)
    files.rename(tmp_path / "a" / "y", tmp_path / "a" / "z")
    assert files.names(tmp_path / "a") == ["x", "z"]
    assert (files.size(tmp_path / "a" / "x"), files.size(tmp_path / "a" / "y")) == (4, None)
    assert files.read(tmp_path / "a" / "x", 1, 2) == b"23"
    files.remove(tmp_path / "a" / "z")
    assert files.names(tmp_path / "a") == ["x"]
    assert files.room(tmp_path) > 1000
    lock = files.lock(tmp_path / "lock", "us")
    assert files.lock(tmp_path / "lock", "them") == "us"
    lock.release()


def test_a_short_write_is_undone(tmp_path):
    files = FaultyFiles(DiskFiles(), 2, Fault(errno.ENOSPC, 2))
    tail = opened(files, tmp_path / "log")
    tail.append(b"one")
    with pytest.raises(DiskFull, match="no disk space left to write log"):
        tail.append(b"two")
    assert tail.usable
    tail.append(b"three")
    tail.close()
    assert (tmp_path / "log").read_bytes() == b"onethree"


def test_F_P6_a_failed_sync_truncates_to_the_last_good_one_and_ends_the_file(tmp_path):
    files = FaultyFiles(DiskFiles(), 2, Fault(errno.EIO), on=("sync",))
    tail = opened(files, tmp_path / "log")
    tail.append(b"one")
    tail.sync()
    tail.append(b"two")
    with pytest.raises(GossamerError, match="Input/output error"):
        tail.sync()
    assert not tail.usable
    assert (tmp_path / "log").read_bytes() == b"one"


def test_a_failed_truncation_makes_the_tail_unusable(tmp_path):
    files = FaultyFiles(DiskFiles(), 2, Fault(errno.EIO, 1), on=("append", "cut"), is_lasting=True)
    tail = opened(files, tmp_path / "log")
    tail.append(b"one")
    with pytest.raises(GossamerError):
        tail.append(b"two")
    assert not tail.usable
    tail.close()


def test_a_disk_of_n_bytes_frees_truncated_and_removed_bytes(tmp_path):
    files = FaultyFiles(DiskFiles(), room_bytes=10)
    tail = opened(files, tmp_path / "log")
    tail.append(b"12345678")
    with pytest.raises(DiskFull):
        tail.append(b"abc")
    assert files.room(tmp_path) == 2
    tail.back_to(4)
    tail.append(b"abcdef")
    with pytest.raises(OSError, match="No space"):
        files.write(tmp_path / "other", b"x")
    tail.close()
    files.remove(tmp_path / "log")
    files.write(tmp_path / "other", b"0123456789")
    assert files.room(tmp_path) == 0
