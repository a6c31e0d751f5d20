"""The user's own filters: a function `(url: str, depth: int) -> bool | str` that is named in the settings.

    crawl.filters = ["filters.py:is_news"]     a function in a file, relative to the data directory
    crawl.filters = ["news"]                   an entry point of the group `gossamer.filters`, from an installed package

It is called in the crawler, for each address met for the first time: it must be quick, and ask nobody.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from gossamer.app.foreign import loaded
from gossamer.rules.filters import OwnFilter
from gossamer.rules.verdict import ALLOWED, Allowed, Denied
from gossamer.values.tell import Tell

GROUP = "gossamer.filters"
Judge = Callable[[str, int], object]


def own_filters(names: Sequence[str], folder: Path, tell: Tell) -> tuple[OwnFilter, ...]:
    """Load them, once, at start-up. Raises ConfigError, saying what to do, when one cannot be had."""
    return tuple([safe(name, loaded("filter", GROUP, name, folder), tell) for name in names])


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
