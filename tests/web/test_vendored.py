"""Vendored files: each is listed with its licence and is unchanged."""

import re
from hashlib import sha256
from pathlib import Path

import pytest

import gossamer

ROW = re.compile(r"^\| `([^`]+)` \|.*`([0-9a-f]{64})`", re.MULTILINE)
FOLDERS = (
    Path(gossamer.__file__).parent / "web" / "static" / "vendor",
    Path(__file__).parent.parent / "browser" / "vendor",
)


@pytest.mark.parametrize("folder", FOLDERS, ids=["served", "for tests"])
def test_vendored_files_are_listed_and_unchanged(folder: Path) -> None:
    listed = dict(ROW.findall((folder / "VENDORED.md").read_text()))
    scripts = {path.name for path in folder.iterdir() if path.suffix in (".js", ".css")}
    assert scripts == set(listed)
    assert {name: sha256((folder / name).read_bytes()).hexdigest() for name in listed} == listed
    for name in listed:
        assert list(folder.glob(f"{name.split('.')[0]}*LICENSE*")), f"the licence of {name}"
