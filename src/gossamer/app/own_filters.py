"""The user's own filters: a function `(url: str, depth: int) -> bool | str` that is named in the settings.

    crawl.filters = ["filters.py:is_news"]     a function in a file, relative to the data directory
    crawl.filters = ["news"]                   an entry point of the group `gossamer.filters`, from an installed package

It is called in the crawler, for each address met for the first time: it must be quick, and ask nobody.
"""

import importlib.util
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path

from gossamer.errors import ConfigError
from gossamer.rules.filters import OwnFilter
from gossamer.rules.verdict import ALLOWED, Allowed, Denied
from gossamer.values.tell import Tell

GROUP = "gossamer.filters"
Judge = Callable[[str, int], object]


def own_filters(names: Sequence[str], folder: Path, tell: Tell) -> tuple[OwnFilter, ...]:
    """Load them, once, at start-up. Raises ConfigError, saying what to do, when one cannot be had."""
    return tuple([safe(name, _loaded(name, folder), tell) for name in names])


def safe(name: str, judge: Judge, tell: Tell) -> OwnFilter:
    """What the function says, as a verdict. Its faults refuse the address, are told, and never end the crawl."""

    def asked(url: str, depth: int) -> Allowed | Denied:
        try:
            said = judge(url, depth)
        except Exception as trouble:  # noqa: BLE001  # somebody else's code: it may raise anything
            tell("filter.failed", filter=name, url=url, trouble=f"{type(trouble).__name__}: {trouble}"[:200])
            return Denied(f"filter {name} failed: {type(trouble).__name__}")
        if said is True:
            return ALLOWED
        if isinstance(said, str):
            return Denied(f"filter {name}: {said}")
        return Denied(f"filter {name}" if said is False else f"filter {name} answered {said!r:.100}, not True or False")

    return asked


def _loaded(name: str, folder: Path) -> Judge:
    file, colon, function = name.rpartition(":")
    found = _from_file(name, folder / file, function) if colon else _from_package(name)
    if not callable(found):
        raise ConfigError(f"the filter {name} is not a function (url, depth) that answers True, False or a reason")
    return found


def _from_file(name: str, file: Path, function: str) -> object:
    if not file.is_file():
        raise ConfigError(f"the filter {name}: there is no file {file}")
    spec = importlib.util.spec_from_file_location(f"gossamer_filter_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise ConfigError(f"the filter {name}: {file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    _importing(name, lambda: spec.loader.exec_module(module) if spec.loader else None)
    found: object = getattr(module, function, None)
    if found is None:
        raise ConfigError(f"the filter {name}: {file} defines no {function}")
    return found


def _from_package(name: str) -> object:
    known = {point.name: point for point in entry_points(group=GROUP)}
    if name not in known:
        there = ", ".join(sorted(known)) or "none"
        raise ConfigError(
            f"there is no filter {name!r}: installed packages offer {there}; one in a file is named file.py:function"
        )
    return _importing(name, known[name].load)


def _importing(name: str, work: Callable[[], object]) -> object:
    """Foreign code runs here for the first time; what goes wrong in it is told as a fault of the settings."""
    try:
        return work()
    except Exception as trouble:
        raise ConfigError(f"the filter {name} could not be loaded: {type(trouble).__name__}: {trouble}") from trouble
