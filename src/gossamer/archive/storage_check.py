"""Whether the storage of a cluster's archive does what segments need, tried with an object that is removed again."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from gossamer.base.environment import random_token
from gossamer.base.errors import ConfigError, GossamerError
from gossamer.base.files import DiskFiles
from gossamer.base.secrets import revealed
from gossamer.config.load import without_password
from gossamer.config.settings import Settings

NAME = "check-{}"
CONTENT = b"Gossamer writes this when a cluster is made, and removes it at once.\n"
NO_OBSTORE = "object storage needs obstore, which is not installed: pip install gossamer[cluster]"


class TriedStorage(Protocol):
    """What is tried. Real ones, both here: `_Folder` and `_Bucket`."""

    name: str

    def put(self, name: str, content: bytes) -> None:
        """Raises FileExistsError if there is such an object, which stays as it is."""

    def read(self, name: str) -> bytes: ...

    def remove(self, name: str) -> None: ...


def check_storage(settings: Settings) -> str:
    """What was tried, in words. Raises ConfigError, saying what is missing."""
    return "; ".join([_tried(one) for one in _opened(settings)])


def _tried(storage: TriedStorage) -> str:
    name = NAME.format(random_token(12))
    try:
        storage.put(name, CONTENT)
        try:
            if storage.read(name) != CONTENT:
                raise ConfigError(f"{storage.name} does not return what was written to it")
            with suppress(FileExistsError):
                storage.put(name, CONTENT[::-1])
                raise ConfigError(f"{storage.name} lets an object be overwritten: segments could be lost")
        finally:
            storage.remove(name)
    except OSError as trouble:
        raise ConfigError(f"{storage.name} cannot be used: {trouble.strerror or trouble}") from trouble
    return f"{storage.name}: wrote an object, read it, could not overwrite it, removed it"


def _opened(settings: Settings) -> list[TriedStorage]:
    given = settings.archive
    if given.storage:
        return [_Bucket(given.storage)]
    for folder in given.directories:
        if not Path(folder).is_absolute():
            raise ConfigError(f"archive.directories: {folder} must be an absolute path, the same on every node")
    if given.copies > len(given.directories):
        raise ConfigError(
            f"archive.copies = {given.copies} needs as many directories; there are {len(given.directories)}"
        )
    return [_Folder(Path(folder)) for folder in given.directories]


class _Folder:
    """A directory on a file system that every node mounts."""

    def __init__(self, folder: Path) -> None:
        self.name, self._folder, self._files = f"the directory {folder}", folder, DiskFiles()

    def put(self, name: str, content: bytes) -> None:
        if not self._folder.is_dir():
            raise ConfigError(f"{self.name} does not exist: create it, or mount its file system")
        if self._files.size(self._folder / name) is not None:
            raise FileExistsError(name)
        self._files.write(self._folder / name, content)

    def read(self, name: str) -> bytes:
        return self._files.read(self._folder / name)

    def remove(self, name: str) -> None:
        self._files.remove(self._folder / name)


class _Bucket:
    def __init__(self, url: str) -> None:
        try:
            from obstore.exceptions import AlreadyExistsError, BaseError
            from obstore.store import from_url
        except ImportError as missing:
            raise GossamerError(NO_OBSTORE) from missing
        self.name = str(without_password(url))
        parts = urlsplit(revealed(url, os.environ))
        self._exists, self._errors = AlreadyExistsError, (BaseError, ValueError)
        options: dict[str, Any] = dict(parse_qsl(parts.query))
        try:
            self._store = from_url(urlunsplit(parts._replace(query="")), **options)
        except self._errors as trouble:
            raise self._refusal(trouble) from trouble

    def put(self, name: str, content: bytes) -> None:
        try:
            self._store.put(name, content, mode="create")
        except self._exists:
            raise FileExistsError(name) from None
        except self._errors as trouble:
            raise self._refusal(trouble) from trouble

    def read(self, name: str) -> bytes:
        try:
            return bytes(self._store.get(name).bytes())
        except self._errors as trouble:
            raise self._refusal(trouble) from trouble

    def remove(self, name: str) -> None:
        try:
            self._store.delete(name)
        except self._errors as trouble:
            raise self._refusal(trouble) from trouble

    def _refusal(self, trouble: BaseException) -> ConfigError:
        return ConfigError(f"{self.name} cannot be used: {' '.join(str(trouble).split())[:300]}")
