"""The wheels of a cluster's versions of gossamer, for nodes that continue with the cluster's own.

The bytes are in the storage of the archive, their names and hashes in the database. A user who may write to the
database decides what runs on such a node; one who may write to the storage alone does not.

Nodes of every version read this. So nothing here depends on the tables of one version, but for two that never change:
`wheels` and `documents`.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec

from gossamer.archive.directories import LOCAL, cloud_storage, with_archive
from gossamer.archive.segments.files import ClusterFiles
from gossamer.archive.segments.storage import (
    PIECE_BYTES,
    VERSIONS,
    DirectoryObjects,
    ObjectExists,
    ObjectStorage,
    pieces_of,
)
from gossamer.archive.storage import archive_files
from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError, DirectoryUnusable
from gossamer.base.files import Files
from gossamer.base.tell import silent
from gossamer.monitor.nodes import NodeRegistry
from gossamer.store.directory import Directory
from gossamer.store.disks import read_record
from gossamer.store.document_files import DocumentFiles, SharedReader
from gossamer.store.statements import load

SQL = load("gossamer.cluster", "wheels.sql")
WHEEL = re.compile(r"(?P<project>[A-Za-z0-9]\w*)-(?P<version>[\w.!+]+)(-\d\w*)?(-[\w.]+){3}\.whl", re.ASCII)
VERSION = re.compile(r"[0-9][\w.!+]{0,60}", re.ASCII)
PROJECT = "gossamer"
LARGEST, MOST, MOST_BYTES = 256 << 20, 500, 4 << 30
"""Of one wheel, in number, and of all wheels of a version."""
VERSIONS_KEPT = 3
STORE_AGAIN = "store them again, from an installation of {version}: gossamer cluster upgrade ADDRESS --wheels FOLDER"


class Wheel(msgspec.Struct, frozen=True):
    """A wheel as the database has it."""

    name: str
    size: int
    sha256: str

    def key(self, version: str) -> str:
        """Of its object. It has the hash, so other bytes are another object."""
        return f"{VERSIONS}{version}/{self.sha256}-{self.name}"


class WheelRefused(DirectoryUnusable):
    """Wheels of a version are missing, damaged, not those that were stored, or cannot be installed."""


# Storing them.


def wheels_in(folder: Path, version: str, files: Files) -> list[Wheel]:
    """The wheels in a folder, one of which must be that of gossamer in this version. Raises ConfigError."""
    names = [name for name in files.names(folder) if name.endswith(".whl")]
    parts = {name: WHEEL.fullmatch(name) for name in names}
    if wrong := [name for name, found in parts.items() if found is None]:
        raise ConfigError(f"{folder / wrong[0]} is not named like a wheel: remove it from that folder")
    own = [found["version"] for found in parts.values() if found is not None and found["project"] == PROJECT]
    if own != [version]:
        found = f"those of {', '.join(own)}" if own else "no wheel of gossamer"
        raise ConfigError(
            f"{folder} has {found}; it must have that of {version}, and no other: "
            f"pip wheel 'gossamer[cluster]=={version}' --wheel-dir FOLDER"
        )
    sizes = {name: files.size(folder / name) or 0 for name in names}
    if len(names) > MOST or max(sizes.values()) > LARGEST or sum(sizes.values()) > MOST_BYTES:
        raise ConfigError(
            f"{folder} has too much: at most {MOST} wheels of {LARGEST >> 20} MiB each, {MOST_BYTES >> 30} GiB together"
        )
    return [Wheel(name, sizes[name], _sha256(_pieces(files, folder / name))) for name in names]


def store_wheels(
    registry: NodeRegistry, directory: Directory, folder: Path, version: str, outside: Outside
) -> list[Wheel]:
    """Store the wheels of this version, and give up those of old versions. Raises ConfigError for a folder that does
    not have them, and WheelRefused for a storage that does not return them."""
    wheels = wheels_in(folder, version, outside.files)
    storage = wheel_storage(registry, directory, outside)
    before = stored_wheels(registry, version)
    for wheel in wheels:
        _store(storage, wheel, version, folder / wheel.name, outside.files)

    def replace(connection: Any) -> None:
        connection.execute(SQL["drop"], {"version": version})
        for wheel in wheels:
            connection.execute(SQL["put"], {"version": version, **msgspec.structs.asdict(wheel)})

    registry.line.run(replace, is_lasting=True)
    for wheel in before:
        if wheel not in wheels:
            storage.remove(wheel.key(version))
    _give_up_old(registry, storage)
    return wheels


def _store(storage: ObjectStorage, wheel: Wheel, version: str, path: Path, files: Files) -> None:
    """What is there already is compared, and replaced if it is damaged."""
    key = wheel.key(version)
    for _ in range(2):
        with suppress(ObjectExists):
            storage.put_pieces(key, _pieces(files, path))
        if _sha256(pieces_of(storage, key, 0, LARGEST)) == wheel.sha256:
            return
        storage.remove(key)
    raise WheelRefused(f"{storage.name} does not return {wheel.name} as it was written: nothing was changed")


def _give_up_old(registry: NodeRegistry, storage: ObjectStorage) -> None:
    def old(connection: Any) -> list[str]:
        return [version for (version,) in connection.execute(SQL["versions"]).fetchall()][VERSIONS_KEPT:]

    def drop(connection: Any) -> None:
        connection.execute(SQL["drop"], {"version": version})

    for version in registry.line.run(old):
        wheels = stored_wheels(registry, version)
        registry.line.run(drop)
        for wheel in wheels:
            storage.remove(wheel.key(version))


# Fetching them.


def stored_wheels(registry: NodeRegistry, version: str) -> list[Wheel]:
    """Those of a version, by name; empty: none were stored. Raises WheelRefused for rows that gossamer never writes."""
    rows = registry.line.run(lambda connection: connection.execute(SQL["wheels"], {"version": version}).fetchall())
    wheels = [Wheel(*row) for row in rows]
    if wrong := [one.name for one in wheels if not WHEEL.fullmatch(one.name) or not 0 < one.size <= LARGEST]:
        raise WheelRefused(f"the table wheels has no wheel {wrong[0][:80]!r}; {STORE_AGAIN.format(version=version)}")
    return wheels


def fetch_wheels(storage: ObjectStorage, version: str, wheels: Sequence[Wheel], folder: Path, files: Files) -> None:
    """Copy them to a folder. Raises WheelRefused for one that is not the one that was stored, and OSError."""
    for wheel in wheels:
        digest, path = hashlib.sha256(), folder / wheel.name
        files.remove(path)
        with closing(files.appender(path)) as opened:
            try:
                for piece in pieces_of(storage, wheel.key(version), 0, wheel.size):
                    digest.update(piece)
                    opened.append(piece)
            except FileNotFoundError:
                raise WheelRefused(
                    f"{storage.name} no longer has {wheel.name} of gossamer {version}: "
                    f"{STORE_AGAIN.format(version=version)}"
                ) from None
        if digest.hexdigest() != wheel.sha256:
            files.remove(path)
            raise WheelRefused(
                f"{wheel.name} of gossamer {version} in {storage.name} is not what was stored (its SHA-256 differs). "
                f"Nothing of it was run; {STORE_AGAIN.format(version=version)}"
            )


def wheel_storage(registry: NodeRegistry, directory: Directory, outside: Outside) -> ObjectStorage:
    """The storage of the archive; the tables may have any version. Raises ServiceLost if it is away."""
    given = registry.options().get("archive.storage", '""')
    address = msgspec.json.decode(given, type=str)
    if address and not address.startswith(LOCAL):
        return cloud_storage(address, outside.clock, silent)
    files = DocumentFiles(outside.files, directory, SharedReader(directory, is_any_version=True))
    if read_record(files, directory.archive) is None:  # no node has run yet
        found = with_archive(directory, outside).files
        assert isinstance(found, ClusterFiles)
        return found.storage
    return DirectoryObjects(archive_files(files, directory.archive, outside.clock), outside.clock, silent)


def _pieces(files: Files, path: Path) -> Iterator[bytes]:
    at = 0
    while piece := files.read(path, at, PIECE_BYTES):
        at += len(piece)
        yield piece


def _sha256(pieces: Iterator[bytes]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()
