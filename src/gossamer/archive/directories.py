"""Applies the settings `archive.directories` and `archive.copies` to a collection.

Called by the process that writes it.

They stay with the collection: a command without them, or to which they are withheld, uses what the record says.
`archive.directories = ["archive"]` goes back to the one folder.
"""

import shutil
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import msgspec

from gossamer.archive.checksums import read_checksums
from gossamer.archive.repair import VolumeCopies, copies_in, reconcile
from gossamer.archive.segments.files import ClusterFiles
from gossamer.archive.segments.storage import DirectoryObjects, ObjectStorage
from gossamer.archive.storage import ArchiveFiles, archive_files
from gossamer.archive.volumes import ArchiveEnd
from gossamer.base.clock import Clock
from gossamer.base.environment import Outside, random_token
from gossamer.base.errors import ConfigError, DirectoryUnusable, GossamerError
from gossamer.base.files import Files
from gossamer.base.tell import Tell, silent
from gossamer.config.settings import Settings
from gossamer.store.directory import Directory
from gossamer.store.disks import (
    LOST_AND_FOUND,
    MARKER,
    ArchiveDirectory,
    DiskRecord,
    Marker,
    device_of,
    located,
    mark,
    marker_in,
    read_record,
    sharing,
    state_of,
    write_record,
)
from gossamer.store.document_files import DocumentFiles, SharedReader
from gossamer.store.options import config_of
from gossamer.store.segments import in_turn
from gossamer.store.state import is_cluster, open_state

LOCAL = "file://"
"""Begins the address of a storage that is a directory."""
NO_CLIENT = "archive.storage needs obstore, which is not installed: pip install gossamer[cluster]"


def with_archive(directory: Directory, outside: Outside) -> Outside:
    """The same, with files that know the disks of this collection's archive, or the storage of its cluster. For
    everything that reads it."""
    if is_cluster(directory):
        return with_cluster(directory, outside, silent)
    return replace(outside, files=archive_files(outside.files, directory.archive, outside.clock))


def with_disks(directory: Directory, settings: Settings, outside: Outside, tell: Tell = silent) -> Outside:
    """The same, after these settings were applied; the plain disk if there are no directories, and never were.

    REQUIRES: the directory's lock. Raises ConfigError for a directory that cannot be used."""
    if is_cluster(directory):
        return with_cluster(directory, outside, tell, settings)
    files = outside.files.inner if isinstance(outside.files, ArchiveFiles) else outside.files
    try:
        before = read_record(files, directory.archive)
    except DirectoryUnusable:
        before = None
        if not settings.archive.directories:
            raise
    copies, given = settings.archive.copies, len(settings.archive.directories)
    if copies > max(given, 1) and (given or before is None):
        raise ConfigError(
            f"archive.copies = {copies} needs {copies} directories in archive.directories; it has {given}"
        )
    if before is None and not given:
        return replace(outside, files=files)
    record = before
    if settings.archive.directories:
        record = recorded(directory, settings, files, before)
    if record is not None and record != before:
        files.make_folder(directory.archive)
        write_record(files, directory.archive, record)
    found = archive_files(files, directory.archive, outside.clock, tell)
    found.erase()
    if found.wanted > 1 and (shared := sharing({str(folder): folder for folder in found.used()})):
        tell("disks.shared", directories=shared[0])
    return replace(outside, files=found)


def with_cluster(directory: Directory, outside: Outside, tell: Tell, settings: Settings | None = None) -> Outside:
    """The same, with the archive and the documents of the cluster. `settings`: new directories are marked."""
    if isinstance(outside.files, ClusterFiles):
        return outside
    reader = SharedReader(directory)
    documents = DocumentFiles(outside.files, directory, reader)

    def open_storage() -> ObjectStorage:
        given = settings or config_of(directory.root).settings
        address = given.archive.storage
        if address and given.archive.directories:
            raise ConfigError("archive.storage and archive.directories are both set: a cluster has one archive")
        if address and not address.startswith(LOCAL):
            return cloud_storage(address, outside.clock, tell)
        if settings is not None or read_record(documents, directory.archive) is None:
            with closing(open_state(directory)) as state, in_turn(state, "directories"):
                apply_record(directory, given, documents)
        return DirectoryObjects(archive_files(documents, directory.archive, outside.clock, tell), outside.clock, tell)

    return replace(outside, files=ClusterFiles(documents, directory, reader, open_storage))


def apply_record(directory: Directory, settings: Settings, files: Files) -> None:
    """Store the record of a cluster's directories, for all nodes. Raises ConfigError."""
    before = read_record(files, directory.archive)
    if address := settings.archive.storage:
        given = replace(settings.archive, directories=(unquote(address.removeprefix(LOCAL)),), copies=1)
        settings = replace(settings, archive=given)
    directories, copies = settings.archive.directories, settings.archive.copies
    if not directories:
        raise ConfigError(
            "this cluster has no archive yet: `gossamer cluster init` takes --archive, with the address of an object "
            "storage or a directory that all nodes reach"
        )
    if relative := [one for one in directories if not Path(one).is_absolute()]:
        raise ConfigError(f"archive.directories: {relative[0]} must be an absolute path, the same on every node")
    if copies > len(directories):
        raise ConfigError(f"archive.copies = {copies} needs {copies} directories in archive.directories")
    record = recorded(directory, settings, files, before)
    if record != before:
        write_record(files, directory.archive, record)


def cloud_storage(address: str, clock: Clock, tell: Tell) -> ObjectStorage:
    try:
        from gossamer.archive.segments.cloud import CloudObjects
    except ImportError as missing:
        raise GossamerError(NO_CLIENT) from missing
    return CloudObjects(address, clock, tell)


def recorded(directory: Directory, settings: Settings, files: Files, before: DiskRecord | None) -> DiskRecord:
    """The record for these settings; new directories are marked."""
    given = tuple(dict.fromkeys(settings.archive.directories))
    folders = {path: located(directory.archive, path) for path in given}
    if len(set(folders.values())) < len(given):
        raise ConfigError("archive.directories: two of the directories are the same")
    known = {one.path for one in before.directories} if before is not None else set()
    collection = before.collection if before is not None else _own_id(directory, files, list(folders.values()))
    for path, folder in folders.items():
        if path not in known:
            _prepare(directory, files, folder, collection)
    others = [one.path for one in before.directories if one.path not in given] if before is not None else []
    listed = [*(ArchiveDirectory(path) for path in given), *(ArchiveDirectory(path, is_used=False) for path in others)]
    return msgspec.structs.replace(
        before or DiskRecord(collection),
        directories=tuple(listed),
        copies=settings.archive.copies,
        low_water_bytes=settings.archive.low_water_mib << 20,
    )


def _own_id(directory: Directory, files: Files, folders: Sequence[Path]) -> str:
    """A new id; or the one in the markers, if the record was lost and the directories are this collection's."""
    markers = [found for folder in folders if (found := marker_in(files, folder)) is not None]
    root = str(directory.root.absolute())
    if markers and len({one.collection for one in markers}) == 1:
        if all(one.root == root for one in markers) or not directory.is_begun:
            return markers[0].collection
    return random_token(16)


def _prepare(directory: Directory, files: Files, folder: Path, collection: str) -> None:
    """Mark a directory that is new in the settings. One that is not empty is refused."""
    if (found := marker_in(files, folder)) is not None:
        if found.collection != collection:
            raise ConfigError(
                f"archive.directories: {folder} holds volumes of another collection ({found.root}); name another folder"
            )
        return
    try:
        foreign = [name for name in files.names(folder) if name not in (LOST_AND_FOUND, MARKER)]
        if foreign and folder != directory.archive:
            raise ConfigError(f"archive.directories: {folder} is not empty ({foreign[0]}); name an empty folder")
        mark(files, folder, Marker(collection, str(directory.root.absolute())))
    except OSError as error:
        raise ConfigError(f"archive.directories: {folder} cannot be used: {error.strerror or error}") from error


def renew(directory: Directory, files: ArchiveFiles, path: Path) -> None:
    """Mark a directory of the record again, whose disk was replaced by an empty one. Raises ConfigError."""
    record = files.record
    listed = record.directories if record is not None else ()
    known = [one.path for one in listed if located(directory.archive, one.path) == path.absolute()]
    if record is None or not known:
        names = ", ".join(one.path for one in listed) or "none"
        raise ConfigError(f"{path} is not a directory of this archive ({names})")
    if not path.is_dir():
        raise ConfigError(f"{path} does not exist: mount its disk, or create the folder")
    if state_of(files.inner, path, record.collection) != "there":
        _prepare(directory, files.inner, path.absolute(), record.collection)
    files.refresh()


def retire(directory: Directory, files: ArchiveFiles) -> None:
    """Drop directories from the record that are no longer in the settings and hold nothing more."""
    record, held = files.record, {folder for at in copies_in(files) for folder in at.sizes}
    if record is None:
        return
    left = []
    for one in record.directories:
        folder = located(directory.archive, one.path)
        if one.is_used or folder in held or folder not in files.folders or record.erase.get(one.path):
            left.append(one)
        else:
            files.inner.remove(folder / MARKER)
    if len(left) < len(record.directories):
        files.put(msgspec.structs.replace(record, directories=tuple(left)))


def refuse_away(files: Files, folder: Path, volumes: Iterable[str]) -> None:
    """Raises DirectoryUnusable if one of the volumes that are to be rewritten has no copy that is there: it would be
    rewritten without what only the other disk has."""
    if not isinstance(files, ArchiveFiles) or files.record is None:
        return
    if missing := sorted(name for name in volumes if files.size(folder / name) is None):
        record = files.record
        away = [one.path for one in record.directories if located(folder, one.path) not in files.folders]
        raise DirectoryUnusable(
            f"{missing[0]} has no copy on a mounted disk ({', '.join(away) or 'none'} away): mount it, and run "
            "this again"
        )


def unerased(files: Files) -> dict[str, int]:
    """How many deleted volumes are still in a directory that is away or cannot be written."""
    record = files.record if isinstance(files, ArchiveFiles) else None
    if record is None:
        return {}
    return {path or "the folder archive": len(names) for path, names in record.erase.items()}


def reconcile_ends(files: Files, acknowledged: ArchiveEnd | None, tell: Tell) -> None:
    """Make the copies of unsealed volumes equal, as a stop in the middle leaves them. Call it before `Volumes.open`."""
    if not isinstance(files, ArchiveFiles) or files.record is None:
        return
    for at in copies_in(files):
        known_end = None
        if acknowledged is not None and at.volume >= acknowledged.volume:
            known_end = acknowledged.size if at.volume == acknowledged.volume else 0
        if at.sealed and _is_cut(files, at):
            files.unseal(at.volume)  # a power cut brought the checksums of its longer form back
        elif at.sealed:
            continue
        reconcile(files, at.volume, known_end, tell)


def _is_cut(files: ArchiveFiles, at: VolumeCopies) -> bool:
    found = [read_checksums(files.inner, folder / at.volume) for folder in at.sealed]
    return all(one is None or one.size > max(at.sizes.values()) for one in found)


# Its state, for people.


class DiskStatus(msgspec.Struct, frozen=True):
    """One directory of the archive."""

    directory: str
    state: str
    """there, away (its disk is not mounted, or was emptied) or foreign (it holds another collection)."""
    is_used: bool = True
    volumes: int = 0
    free_bytes: int = 0
    total_bytes: int = 0


class ArchiveStatus(msgspec.Struct, frozen=True):
    """The disks of an archive; without any it is one folder."""

    disks: tuple[DiskStatus, ...] = ()
    copies: int = 1
    low_water_bytes: int = 0
    short: tuple[tuple[str, int], ...] = ()
    """Volumes with fewer whole copies than they should have, and how many they have."""
    shared: tuple[tuple[str, ...], ...] = ()
    """Directories on one file system."""

    @property
    def room(self) -> int:
        return sum(one.free_bytes for one in self.disks if one.state == "there" and one.is_used)


def disk_files(files: Files) -> ArchiveFiles | None:
    """The files of an archive in several directories, also in those of a cluster; None: it is elsewhere."""
    if isinstance(files, ArchiveFiles):
        return files
    with suppress(ConfigError):  # of a cluster without an archive
        if isinstance(files, ClusterFiles) and isinstance(files.storage, DirectoryObjects):
            return files.storage.files
    return None


def archive_status(directory: Directory, files: Files) -> ArchiveStatus:
    """From the folders alone: no volume is read."""
    found = disk_files(files)
    if found is not None:
        found.refresh()
    if found is None or found.record is None:
        return ArchiveStatus()
    record, volumes = found.record, copies_in(found)
    folders = {one.path: located(directory.archive, one.path) for one in record.directories}
    held = {folder: sum(folder in at.sizes for at in volumes) for folder in folders.values()}
    disks = []
    for one in record.directories:
        folder = folders[one.path]
        state = state_of(found.inner, folder, record.collection)
        free, total = room_of(folder) if state == "there" else (0, 0)
        disks.append(DiskStatus(str(folder), state, one.is_used, held[folder], free, total))
    there = {str(folder): folder for path, folder in folders.items() if device_of(folder) and path in record.used()}
    last = volumes[-1].volume if volumes else ""
    settled = [at for at in volumes if at.sealed or at.volume != last]
    short = [(at.volume, len(at.whole())) for at in settled if len(at.whole()) < found.wanted]
    return ArchiveStatus(tuple(disks), found.wanted, record.low_water_bytes, tuple(short), tuple(sharing(there)))


def room_of(folder: Path) -> tuple[int, int]:
    found = shutil.disk_usage(folder)
    return found.free, found.total
