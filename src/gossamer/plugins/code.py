"""Plug-ins: the user's code loaded by name, and the record of what a collection uses.

Also the folder of JSON-LD contexts.

Code is `file.py:function` in a folder, or an entry point of an installed package; it runs only where the user has
allowed it (`gossamer trust`). `contexts/` in a collection, or what --contexts names, has an `index.toml` that maps
the URL of a context to its file: `"https://example.org/v1" = "example-v1.jsonld"`. `plugged.json` records what
a collection was crawled with, so that other processes read it in the same way.
"""

import sys
import tomllib
from collections.abc import Callable
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import msgspec

from gossamer.base.errors import ConfigError
from gossamer.base.files import Files
from gossamer.extract.jsonld.contexts import LARGEST, checked_contexts
from gossamer.store.trust import Code, is_allowed, refusal
from gossamer.values.messages import NOTHING, Plugged
from gossamer.values.url import admit

CALLED = ("__call__", "crawl", "fetch")
"""A plug-in has one of these: a function or class is called, a filter has `crawl`, a protocol `fetch`."""


def loaded(what: str, group: str, name: str, folder: Path) -> Callable[..., Any]:
    """Raises ConfigError, saying what to do, if it cannot be loaded. `what`: its kind, for messages."""
    is_there(what, group, name, folder)
    code, function = Code(group, name, folder), name.rpartition(":")[2]
    found = _from_file(what, code, code.file, function) if code.file else _from_package(what, group, name)
    if not any(map(partial(hasattr, found), CALLED)):
        raise ConfigError(f"the {what} {name} is neither a function nor a class, but of type {type(found).__name__}")
    return cast(Callable[..., Any], found)  # third-party code: its type shows when it is called


def is_there(what: str, group: str, name: str, folder: Path) -> None:
    """Raises the same for a file or entry point that is missing or not allowed; none of its code is run."""
    code = Code(group, name, folder)
    if code.file is None:
        _point(what, group, name)
    elif not code.file.is_file():
        raise ConfigError(f"the {what} {name}: there is no file {code.file}")
    if not is_allowed(code):
        raise ConfigError(refusal(what, code))


def _from_file(what: str, code: Code, file: Path, function: str) -> object:
    """From exactly the source that was allowed, never from a compiled file next to it."""
    source, module = code.content(), ModuleType(f"gossamer_{what}_{file.stem}")
    module.__file__ = str(file)
    if source is None or not is_allowed(code, source):
        raise ConfigError(refusal(what, code))
    _importing(what, code.name, lambda: exec(compile(source, str(file), "exec"), module.__dict__))  # noqa: S102
    found: object = getattr(module, function, None)
    if found is None:
        raise ConfigError(f"the {what} {code.name}: {file} defines no {function}")
    return found


def _point(what: str, group: str, name: str) -> EntryPoint:
    known = {point.name: point for point in entry_points(group=group)}
    if name not in known:
        there = ", ".join(sorted(known)) or "none"
        raise ConfigError(
            f"there is no {what} {name!r}: installed packages offer {there}; one in a file is named file.py:function"
        )
    return known[name]


def _from_package(what: str, group: str, name: str) -> object:
    return _importing(what, name, _point(what, group, name).load)


def _importing(what: str, name: str, work: Callable[[], object]) -> object:
    """Third-party code runs here for the first time; its errors are reported as errors of the settings."""
    try:
        return work()
    except Exception as trouble:
        raise ConfigError(f"the {what} {name} could not be loaded: {type(trouble).__name__}: {trouble}") from trouble


FOLDER = "contexts"
INDEX = "index.toml"


def contexts_in(folder: Path) -> dict[str, bytes]:
    """Empty if there is no index. Raises ConfigError. Only files in the folder itself are read."""
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
            raise ConfigError(f'{index}: write "{url}" = "FILE", with a file in {folder}')
        found[url] = _read(folder / name)
    return checked_contexts(found)


def folder_of(root: Path) -> str:
    """The folder of a collection, for a reader process; empty if it has none. Raises ConfigError if it is invalid."""
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


NAME = "plugged.json"
READERS = "gossamer.readers"
"""The group of entry points for readers of formats."""
DECODER = msgspec.json.Decoder(Plugged)


def kept_in(folder: Path, files: Files) -> Plugged:
    """What this collection was last crawled with. Its readers are untrusted code."""
    if files.size(folder / NAME) is None:
        return NOTHING
    try:
        plugged = DECODER.decode(files.read(folder / NAME))
    except msgspec.MsgspecError as trouble:
        raise ConfigError(
            f"{folder / NAME} cannot be read ({trouble}); `gossamer crawl --dir {folder}` writes a new one"
        ) from trouble
    return msgspec.structs.replace(
        plugged, readers=tuple([(kind, _located(name, folder)) for kind, name in plugged.readers])
    )


def _located(name: str, folder: Path) -> str:
    """A file's name with its folder; nodes of a cluster have it in different ones."""
    file, colon, function = name.rpartition(":")
    return f"{(folder / file).resolve()}:{function}" if colon else name


def recalled(folder: Path, files: Files) -> Plugged:
    """The same without the readers that the user has not allowed, which are named on the terminal."""
    plugged = kept_in(folder, files)
    codes = [(one, Code(READERS, one[1], folder)) for one in plugged.readers]
    usable = [one for one, code in codes if is_allowed(code)]
    for one, code in codes:
        if one not in usable:
            print(f"{one[0]} is read without its plug-in: {refusal('reader', code)}.", file=sys.stderr, flush=True)
    return Plugged(tuple(usable), plugged.schemes, folder_of(folder), plugged.archives)


def reopened(folder: Path, files: Files) -> Plugged:
    """The same for a process that reads the collection: URLs may have these schemes there too."""
    admit_schemes(folder, files)
    return recalled(folder, files)


def admit_schemes(folder: Path, files: Files) -> None:
    for scheme, port in kept_in(folder, files).schemes:
        try:
            admit(scheme, port)
        except ValueError as trouble:
            raise ConfigError(
                f"{folder / NAME}: {trouble}; `gossamer crawl --dir {folder}` writes a new one"
            ) from trouble
