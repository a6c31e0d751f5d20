"""Backups: every restore gives the same state, also of a backup made while volumes are rewritten."""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.archive import past
from tests.cli.conftest import Collection
from tests.cli.site import held

from gossamer.archive.catalogue import Catalogue
from gossamer.base.environment import Outside, real_outside
from gossamer.base.errors import DirectoryBusy, DirectoryUnusable
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.cli.upkeep.backup import back_up
from gossamer.collection.maintenance.backup import BackedUp
from gossamer.collection.maintenance.compact import compact
from gossamer.collection.maintenance.rebuild import build_again
from gossamer.config.slices import Retain
from gossamer.store.directory import Directory

AGENT = "Gossamer"


@pytest.fixture(scope="session")
def collection(embedded: Collection) -> Collection:
    """Copied and damaged as files: only with its state in state.db."""
    return embedded


def dump(root: Path) -> list[str]:
    with closing(sqlite3.connect(root / "state.db")) as state:
        return list(state.iterdump())


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_F_P12_a_backup_restored_three_times_gives_the_same_state_each_time(
    collection: Collection, tmp_path: Path
) -> None:
    copy, outside = Directory(tmp_path / "copy"), real_outside()
    back_up(Directory(collection.root), copy, outside)
    before = contents(copy.root)
    views, states = [], []
    for number in range(3):
        restored = tmp_path / f"restored-{number}"
        shutil.copytree(copy.root, restored)
        asyncio.run(build_again(Directory(restored), AGENT, outside))
        views.append(held(restored))
        states.append(dump(restored))
    assert contents(copy.root) == before
    assert views[0] == views[1] == views[2] == held(collection.root)
    assert states[0] == states[1] == states[2]


class CompactedMeanwhile(DiskFiles):
    """A disk on which a compaction runs after the state is copied and before the volumes are."""

    def __init__(self, directory: Directory, times: int) -> None:
        super().__init__()
        self.directory, self.times = directory, times

    def copy(self, old: Path, new: Path, length: int | None = None) -> None:
        if self.times > 0 and old.name.endswith(".warc.gz"):
            self.times -= 1
            versions = 1 + self.times
            asyncio.run(compact(self.directory, Retain("last", versions), AGENT, real_outside(), silent))
        super().copy(old, new, length)


@pytest.mark.parametrize("times", [1, 9])
def test_a_backup_during_a_compaction_starts_again_or_reports_it(tmp_path: Path, times: int) -> None:
    taken = [past.captured(past.SHOP, past.START_AT + day * past.DAY, past.kettle(f"{day}.00")) for day in range(12)]
    directory, copy = past.collection(tmp_path / "data", taken), Directory(tmp_path / "copy")
    real = real_outside()
    outside = Outside(real.clock, real.chance, CompactedMeanwhile(directory, times), real.processes)
    if times > 1:
        with pytest.raises(DirectoryBusy, match="try again"):
            back_up(directory, copy, outside)
        assert not copy.root.exists() and DiskFiles().names(tmp_path) == ["data"]
        return
    assert back_up(directory, copy, outside) == BackedUp(1, [])
    with Catalogue(copy, DiskFiles()) as catalogue:
        assert [catalogue.read(one) for one in catalogue.versions(past.SHOP)] == taken[-1:]


def test_F_P1_an_interrupted_backup_never_has_the_name_of_a_complete_one(
    collection: Collection, tmp_path: Path
) -> None:
    class Interrupted(DiskFiles):
        def copy(self, old: Path, new: Path, length: int | None = None) -> None:
            raise KeyboardInterrupt

    copy, real = Directory(tmp_path / "copy"), real_outside()
    with pytest.raises(KeyboardInterrupt):
        back_up(Directory(collection.root), copy, Outside(real.clock, real.chance, Interrupted(), real.processes))
    assert not copy.root.exists() and DiskFiles().names(tmp_path) == ["copy.part"]
    assert back_up(Directory(collection.root), copy, real).damaged == []
    assert DiskFiles().names(tmp_path) == ["copy"]


def test_a_folder_with_other_files_is_not_taken_for_an_unfinished_backup(
    collection: Collection, tmp_path: Path
) -> None:
    (tmp_path / "copy.part").mkdir()
    (tmp_path / "copy.part" / "letters.txt").write_text("mine")
    with pytest.raises(DirectoryUnusable, match="letters"):
        back_up(Directory(collection.root), Directory(tmp_path / "copy"), real_outside())
    assert (tmp_path / "copy.part" / "letters.txt").read_text() == "mine"
