"""Code of the user's own, by name: `file.py:function` in a folder, or an entry point of an installed package."""

import importlib.util
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, cast

from gossamer.errors import ConfigError


def loaded(what: str, group: str, name: str, folder: Path) -> Callable[..., Any]:
    """Raises ConfigError, saying what to do, when it cannot be had. `what` it is, for people: a filter, a reader."""
    file, colon, function = name.rpartition(":")
    found = _from_file(what, name, folder / file, function) if colon else _from_package(what, group, name)
    if not callable(found) and not hasattr(found, "fetch"):
        raise ConfigError(f"the {what} {name} is not a function")
    return cast(Callable[..., Any], found)  # a stranger's: what it is shows when it is called


def is_there(what: str, group: str, name: str, folder: Path) -> None:
    """Raises the same for a file or an entry point that is missing; nothing of it is run."""
    file, colon, _ = name.rpartition(":")
    if colon:
        _file(what, name, folder / file)
    else:
        _point(what, group, name)


def _file(what: str, name: str, file: Path) -> Path:
    if not file.is_file():
        raise ConfigError(f"the {what} {name}: there is no file {file}")
    return file


def _from_file(what: str, name: str, file: Path, function: str) -> object:
    spec = importlib.util.spec_from_file_location(f"gossamer_{what}_{file.stem}", _file(what, name, file))
    if spec is None or spec.loader is None:
        raise ConfigError(f"the {what} {name}: {file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    _importing(what, name, lambda: spec.loader.exec_module(module) if spec.loader else None)
    found: object = getattr(module, function, None)
    if found is None:
        raise ConfigError(f"the {what} {name}: {file} defines no {function}")
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
    """Foreign code runs here for the first time; what goes wrong in it is told as a fault of the settings."""
    try:
        return work()
    except Exception as trouble:
        raise ConfigError(f"the {what} {name} could not be loaded: {type(trouble).__name__}: {trouble}") from trouble
