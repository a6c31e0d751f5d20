"""An archive on several folders, for tests."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from gossamer.archive.storage import ArchiveFiles
from gossamer.base.files import DiskFiles, Files
from gossamer.base.tell import Tell, silent
from gossamer.store.disks import ArchiveDirectory, DiskRecord, Marker, mark, write_record
from gossamer.testing import FakeClock

ID = "an id"


def on_disks(
    root: Path,
    names: Sequence[str] = ("one", "two"),
    copies: int = 2,
    files: Files | None = None,
    tell: Tell = silent,
    low_water_bytes: int = 0,
) -> ArchiveFiles:
    """The files of the archive in `root / "archive"`, whose volumes are in these folders next to it."""
    inner, archive = files or DiskFiles(), root / "archive"
    inner.make_folder(archive)
    for name in names:
        mark(inner, root / name, Marker(ID))
    listed = tuple(ArchiveDirectory(name) for name in names)
    write_record(inner, archive, DiskRecord(ID, listed, copies, low_water_bytes))
    return ArchiveFiles(inner, archive, FakeClock(), tell)


@contextmanager
def small_disk(folder: Path, kib: int) -> Iterator[Path]:
    """A real file system of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    mount(folder, kib)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False, capture_output=True)


def mount(folder: Path, kib: int) -> None:
    options = ["-t", "tmpfs", "-o", f"size={kib}k,mode=700", "gossamer-test", str(folder)]
    if subprocess.run(["mount", *options], capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here: it needs root")
