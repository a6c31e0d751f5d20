"""The copies of volumes on several disks.

What is damaged or missing, by disk, and its repair from good copies.
"""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from gossamer.archive.directories import archive_status, disk_files, reconcile_ends, renew, retire, with_disks
from gossamer.archive.repair import CopyRepair, DamagedCopy, copies_in, scrubbed, shortage
from gossamer.archive.verify import MISSING, Finding
from gossamer.base.environment import Outside
from gossamer.base.files import Files
from gossamer.base.tell import Says, silent
from gossamer.config.settings import Settings
from gossamer.store.directory import Directory
from gossamer.store.state import is_cluster


@dataclass(frozen=True, slots=True)
class Repairs:
    """What `gossamer verify --repair` was asked for."""

    settings: Settings
    new_disk: Path | None = None
    """A directory whose disk was replaced by an empty one."""


class CopyReport(msgspec.Struct, frozen=True):
    damaged: tuple[DamagedCopy, ...] = ()
    made: int = 0


def checked_copies(directory: Directory, files: Files, volume: str | None, says: Says) -> CopyReport:
    """Reads every copy of every sealed volume. It only reads."""
    copied = disk_files(files)
    if copied is None or copied.record is None:
        return CopyReport()
    found, every = unusable_disks(directory, files), copies_in(copied)
    wanted = [at for at in every if volume in (None, at.volume)]
    for number, at in enumerate(wanted, 1):
        says(f"checking the copies of volume {number} of {len(wanted)}")
        found += scrubbed(copied, at)
        if (at.sealed or at != every[-1]) and (short := shortage(at, copied.wanted)) is not None:
            found.append(short)
    return CopyReport(tuple(found))


def unusable_disks(directory: Directory, files: Files) -> list[DamagedCopy]:
    words = {
        "away": "it is away: its disk is not mounted, or was emptied",
        "foreign": "it holds the volumes of another collection",
    }
    disks = archive_status(directory, files).disks
    return [DamagedCopy("", one.directory, words[one.state]) for one in disks if one.state in words]


def repaired_copies(
    directory: Directory, outside: Outside, repairs: Repairs, volume: str | None, says: Says
) -> tuple[Outside, CopyReport]:
    """Apply the settings, and bring every volume to its copies. REQUIRES: the directory's lock."""
    made = 0

    def tell(event: str, /, **_: object) -> None:
        nonlocal made
        made += event == "copy.made"

    outside = with_disks(directory, repairs.settings, outside, tell)
    files = disk_files(outside.files)
    if files is None:
        return outside, CopyReport()
    if repairs.new_disk is not None:
        renew(directory, files, repairs.new_disk)
    if not is_cluster(directory):  # whose segments are whole or not there
        reconcile_ends(files, None, silent)
    repair, left = CopyRepair(files, tell), list[DamagedCopy]()
    files.erase()
    wanted = [at for at in copies_in(files) if volume in (None, at.volume)]
    for number, at in enumerate(wanted, 1):
        says(f"repairing the copies of volume {number} of {len(wanted)}")
        left += repair.settle(at, moves=True, is_deep=True)
    if volume is None:
        retire(directory, files)
    return outside, CopyReport((*unusable_disks(directory, files), *left), made)


def may_return(directory: Directory, files: Files, finding: Finding) -> bool:
    """Whether a missing volume may be on a disk that is away: its pages need not be fetched again."""
    return finding.why == MISSING and bool(unusable_disks(directory, files))
