"""The contract of the archive, for one folder and for two disks with a copy on each."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.archive.disks import ID

from gossamer.archive.storage import ArchiveFiles, is_volume
from gossamer.base.files import DiskFiles, Files
from gossamer.store.disks import RECORD, ArchiveDirectory, DiskRecord, Marker, mark, write_record
from gossamer.testing import FakeClock

CONTRACT = ("test_volumes", "test_compaction", "test_catalogue", "test_reader", "test_verify")
ONE_COPY = {
    "test_F_P4_a_record_cut_at_any_byte_is_removed_up_to_the_last_complete_one",
    "test_F_P4_a_volume_cut_in_its_first_record_is_deleted",
    "test_records_after_a_cut_go_to_a_new_volume",
    "test_unacknowledged_garbage_is_cut_even_with_complete_records_after_it",
    "test_an_acknowledged_record_that_is_missing_is_reported",
    "test_cuts_and_damage_found_at_start_are_reported_and_returned",
    "test_F_P5_writing_to_a_full_real_disk_continues_when_there_is_room",
}
"""Tests that damage or fill the one folder: another copy makes up for that (`test_copies.py`, `test_real_disks.py`)."""


class TwoDisks:
    """Every folder with volumes is an archive on two disks; the first is the folder itself."""

    def __init__(self, inner: Files) -> None:
        self._inner = inner
        self._archives: dict[Path, ArchiveFiles] = {}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(path: Path, *others: Any) -> Any:
            folder = path if name in ("names", "room", "make_folder") else path.parent
            return getattr(self._archive(folder, is_made=is_volume(path.name)), name)(path, *others)

        return call

    def _archive(self, folder: Path, is_made: bool) -> Files:
        if folder not in self._archives:
            if not is_made and not (folder / RECORD).exists():
                return self._inner
            disks = (folder.name, f"{folder.name}-second-disk")
            for name in disks:
                mark(self._inner, folder.parent / name, Marker(ID))
            write_record(self._inner, folder, DiskRecord(ID, tuple(map(ArchiveDirectory, disks)), 2))
            self._archives[folder] = ArchiveFiles(self._inner, folder, FakeClock())
        return self._archives[folder]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    is_contract = metafunc.module.__name__.rpartition(".")[2] in CONTRACT
    if is_contract and metafunc.function.__name__ not in ONE_COPY:
        metafunc.parametrize("disks", ["one folder", "two disks"], indirect=True)


@pytest.fixture(autouse=True)
def disks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if getattr(request, "param", "one folder") == "two disks":
        monkeypatch.setattr(request.module, "DiskFiles", lambda: TwoDisks(DiskFiles()))
