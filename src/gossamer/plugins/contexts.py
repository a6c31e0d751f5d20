"""The folder of the user's own JSON-LD contexts: `contexts/` in a collection, or what --contexts names.

Its `index.toml` says which file holds the context of which URL: `"https://example.org/v1" = "example-v1.jsonld"`.
"""

import tomllib
from pathlib import Path

from gossamer.base.errors import ConfigError
from gossamer.extract.jsonld.contexts import LARGEST, checked

FOLDER = "contexts"
INDEX = "index.toml"


def contexts_in(folder: Path) -> dict[str, bytes]:
    """Empty when there is no index. Raises ConfigError. Only files in the folder itself are read."""
    index = folder / INDEX
    if not index.is_file():
        return {}
    try:
        named = tomllib.loads(_read(index).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as trouble:
        raise ConfigError(f"{index} is not TOML: {trouble}") from None
    found = {}
    for url, name in named.items():
        if not isinstance(name, str) or not _is_inside(folder, name):
            raise ConfigError(f'{index}: write "{url}" = "FILE", with a file that lies in {folder}')
        found[url] = _read(folder / name)
    return checked(found)


def folder_of(root: Path) -> str:
    """The folder of a collection, for a reader process; empty when it has none. Raises ConfigError if it is faulty."""
    folder = root / FOLDER
    return str(folder.absolute()) if contexts_in(folder) else ""


def _is_inside(folder: Path, name: str) -> bool:
    path = folder / name
    return path.is_file() and path.resolve().parent == folder.resolve()


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST + 1)
    except OSError as trouble:
        raise ConfigError(f"{path} cannot be read: {(trouble.strerror or str(trouble)).lower()}") from None
