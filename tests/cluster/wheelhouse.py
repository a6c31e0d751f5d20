"""Wheels of this repository with another version, built with its own build backend."""

import atexit
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
STEP = "CREATE TABLE of_the_next_version (number bigint);\n"
"""A migration that this version does not know."""


@lru_cache
def wheel_of(version: str, has_migration: bool = False) -> Path:
    """A wheel of gossamer with that version; perhaps with a step of the schema more."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is missing, which builds the wheel: make setup-dev")
    place = Path(tempfile.mkdtemp(prefix="gossamer-wheel-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, place)
    shutil.copytree(REPOSITORY / "src", place / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for path, line in (
        (place / "pyproject.toml", r'(?m)^version = ".*"$'),
        (place / "src/gossamer/__init__.py", r'(?m)^__version__ = ".*"$'),
    ):
        text, times = re.subn(line, lambda found: f'{found[0].partition(" = ")[0]} = "{version}"', path.read_text())
        assert times == 1, path
        path.write_text(text)
    if has_migration:
        steps = place / "src/gossamer/store/postgres/migrations"
        last = max(int(path.stem) for path in steps.glob("*.sql"))
        (steps / f"{last + 1:04}.sql").write_text(STEP)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place / "wheels")]
    subprocess.run(command, cwd=place, check=True, capture_output=True, timeout=120)
    (found,) = (place / "wheels").glob("*.whl")
    return found
