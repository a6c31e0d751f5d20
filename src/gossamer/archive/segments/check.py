"""Whether a storage does what segments need, tried with an object that is removed again."""

import os
from pathlib import Path

from gossamer.archive.directories import LOCAL, cloud_storage
from gossamer.archive.segments.storage import ObjectExists, ObjectStorage, segment_key
from gossamer.base.clock import Clock
from gossamer.base.environment import random_token
from gossamer.base.errors import ConfigError
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.config.settings import Settings
from gossamer.store.service import ServiceLost, ServiceRefused

CONTENT = b"Gossamer writes this when a cluster is made, and removes it at once.\n"


def check_storage(settings: Settings, clock: Clock) -> str:
    """What was tried, in words. Raises ConfigError, saying what is missing."""
    given = settings.archive
    if given.storage and not given.storage.startswith(LOCAL):
        return _tried(cloud_storage(given.storage, clock, silent))
    folders = given.directories or (given.storage.removeprefix(LOCAL),)
    if given.copies > len(folders):
        raise ConfigError(f"archive.copies = {given.copies} needs as many directories; there are {len(folders)}")
    return "; ".join([_written(Path(folder)) for folder in folders])


def _tried(storage: ObjectStorage) -> str:
    key = segment_key(f"check-{random_token(12)}")
    try:
        storage.put(key, CONTENT)
        try:
            if storage.read(key, 0, len(CONTENT)) != CONTENT:
                raise ConfigError(f"{storage.name} does not return what was written to it")
            try:
                storage.put(key, CONTENT[::-1])
            except ObjectExists:
                pass
            else:
                raise ConfigError(f"{storage.name} lets an object be overwritten: segments could be lost")
        finally:
            storage.remove(key)
    except (ServiceLost, ServiceRefused, OSError) as trouble:
        raise ConfigError(str(trouble)) from trouble
    return f"{storage.name}: wrote an object, read it, could not overwrite it, removed it"


def _written(folder: Path) -> str:
    """A directory on a file system that every node mounts."""
    if not folder.is_absolute():
        raise ConfigError(f"archive.directories: {folder} must be an absolute path, the same on every node")
    if not folder.is_dir():
        raise ConfigError(f"the directory {folder} does not exist: create it, or mount its file system")
    files, path = DiskFiles(), folder / f"gossamer-check-{random_token(12)}"
    try:
        files.write(path, CONTENT)
        try:
            if files.read(path) != CONTENT:
                raise ConfigError(f"the directory {folder} does not return what was written to it")
        finally:
            files.remove(path)
    except OSError as trouble:
        raise ConfigError(f"the directory {folder} cannot be used: {os.strerror(trouble.errno or 0)}") from trouble
    return f"the directory {folder}: wrote a file, read it, removed it"
