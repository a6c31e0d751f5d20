"""The directories of an archive on several disks.

Their record in the collection, and the marker in each.

An empty mount point looks like an empty disk. So a directory counts only while it holds a marker with the collection's
random id; the record remembers it meanwhile. A collection that came from another user cannot name our directories:
it would have to know the id in their markers.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from gossamer.base.errors import DirectoryUnusable
from gossamer.base.files import Files

RECORD = "disks.json"
"""In the collection's folder `archive`."""
MARKER = "gossamer-archive.json"
"""In each directory."""
LOST_AND_FOUND = "lost+found"
"""In the first folder of some file systems."""
DiskState = Literal["there", "away", "foreign"]


class ArchiveDirectory(msgspec.Struct, frozen=True):
    path: str
    """As in the settings: relative ones start at the data directory."""
    is_used: bool = True
    """Whether new volumes may go there: it is still in the settings."""


class DiskRecord(msgspec.Struct, frozen=True):
    """What the last writer with settings recorded; all processes read it, so that none needs the settings."""

    collection: str
    """Random, and the same in each marker."""
    directories: tuple[ArchiveDirectory, ...] = ()
    copies: int = 1
    low_water_bytes: int = 0
    erase: Mapping[str, tuple[str, ...]] = {}
    """Volumes that were deleted while a directory was away or could not be written: deleted there when it returns."""

    def used(self) -> list[str]:
        return [one.path for one in self.directories if one.is_used]

    def with_erased(self, path: str, volumes: Sequence[str]) -> "DiskRecord":
        """The same with these volumes of one directory still to be deleted, and no others."""
        others = {name: names for name, names in self.erase.items() if name != path}
        return msgspec.structs.replace(self, erase=others | ({path: tuple(sorted(volumes))} if volumes else {}))


class Marker(msgspec.Struct, frozen=True):
    collection: str
    root: str = ""
    """Where the collection was, for people, and for one whose record was lost."""


def read_record(files: Files, archive: Path) -> DiskRecord | None:
    """None: the archive is one folder. Raises DirectoryUnusable for a damaged record."""
    try:
        return msgspec.json.decode(files.read(archive / RECORD), type=DiskRecord)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, OSError) as error:
        raise DirectoryUnusable(
            f"{archive / RECORD} cannot be read ({error}). It names the directories of the archive; `gossamer crawl` "
            "makes it again from the setting archive.directories"
        ) from error


def write_record(files: Files, archive: Path, record: DiskRecord) -> None:
    files.write(archive / RECORD, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")


def marker_in(files: Files, folder: Path) -> Marker | None:
    """None: there is none, or it cannot be read."""
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(files.read(folder / MARKER), type=Marker)
    return None


def marked_by(files: Files, folder: Path) -> str | None:
    """The id of the collection whose volumes the directory holds; None: it has no readable marker."""
    found = marker_in(files, folder)
    return found.collection if found is not None else None


def mark(files: Files, folder: Path, marker: Marker) -> None:
    files.make_folder(folder)
    files.write(folder / MARKER, msgspec.json.encode(marker))


def state_of(files: Files, folder: Path, collection: str) -> DiskState:
    found = marked_by(files, folder)
    return "there" if found == collection else "away" if found is None else "foreign"


def located(archive: Path, given: str) -> Path:
    """Where a directory of the settings is."""
    return Path(os.path.normpath(archive.parent / given))


def present(files: Files, archive: Path, record: DiskRecord | None) -> list[Path]:
    """The directories that are there now."""
    paths = [located(archive, one.path) for one in record.directories] if record is not None else []
    return [path for path in paths if record is not None and marked_by(files, path) == record.collection]


def device_of(folder: Path) -> int | None:
    """The file system that holds a folder; None: there is no such folder."""
    with suppress(OSError):
        return folder.stat().st_dev
    return None


def sharing(folders: Mapping[str, Path]) -> list[tuple[str, ...]]:
    """Groups of directories on one file system, by their names: copies there do not survive the loss of that disk."""
    found: dict[int, list[str]] = {}
    for name, folder in folders.items():
        if (device := device_of(folder)) is not None:
            found.setdefault(device, []).append(name)
    return [tuple(names) for names in found.values() if len(names) > 1]
