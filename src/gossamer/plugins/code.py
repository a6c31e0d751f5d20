"""Code of the user's own, by name: `file.py:function` in a folder, or an entry point of an installed package. None of
it runs that the user has not allowed: see `trust`."""

from collections.abc import Callable
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from gossamer.base.errors import ConfigError
from gossamer.store.trust import Code, is_allowed, refusal

CALLED = ("__call__", "crawl", "fetch")
"""What an object has one of: a function or class is called, a filter is asked with `crawl`, a protocol with `fetch`."""


def loaded(what: str, group: str, name: str, folder: Path) -> Callable[..., Any]:
    """Raises ConfigError, saying what to do, when it cannot be had. `what` it is, for people: a filter, a reader."""
    is_there(what, group, name, folder)
    code, function = Code(group, name, folder), name.rpartition(":")[2]
    found = _from_file(what, code, code.file, function) if code.file else _from_package(what, group, name)
    if not any(map(partial(hasattr, found), CALLED)):
        raise ConfigError(f"the {what} {name} is neither a function nor a class, but of type {type(found).__name__}")
    return cast(Callable[..., Any], found)  # a stranger's: what it is shows when it is called


def is_there(what: str, group: str, name: str, folder: Path) -> None:
    """Raises the same for a file or an entry point that is missing, or not allowed; nothing of it is run."""
    code = Code(group, name, folder)
    if code.file is None:
        _point(what, group, name)
    elif not code.file.is_file():
        raise ConfigError(f"the {what} {name}: there is no file {code.file}")
    if not is_allowed(code):
        raise ConfigError(refusal(what, code))


def _from_file(what: str, code: Code, file: Path, function: str) -> object:
    """From its source, whatever compiled form may lie beside it; and exactly from what was allowed."""
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
    """Foreign code runs here for the first time; what goes wrong in it is told as a fault of the settings."""
    try:
        return work()
    except Exception as trouble:
        raise ConfigError(f"the {what} {name} could not be loaded: {type(trouble).__name__}: {trouble}") from trouble
