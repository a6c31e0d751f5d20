"""No other user of the machine may read a collection (FAULTS X17, A4)."""

import os
import stat
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from tests.cli.site import QUICK, Site, harbour

from gossamer.store.directory import tighten

LOOSE = 0o077


def run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gossamer", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, umask=0o022)
    assert done.returncode == 0, done.stderr
    return done


def looser(root: Path) -> dict[str, str]:
    """Every file and folder that others may open, by name, with its mode."""
    found = {path: path.lstat().st_mode for path in [root, *root.rglob("*")] if not path.is_symlink()}
    return {str(path): oct(stat.S_IMODE(mode)) for path, mode in found.items() if mode & LOOSE}


def serve_and_check(root: Path) -> None:
    """Serve, search and query the collection, and check the modes of its files while they are open."""
    command = [sys.executable, "-m", "gossamer", "serve", "--dir", str(root), "--port", "0"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        umask=0o022,
        env={**os.environ, "COLUMNS": "200"},
    )
    try:
        assert process.stdout is not None
        link = next(word for line in process.stdout for word in line.split() if word.startswith("http://"))
        origin = link.split("?")[0].rstrip("/")
        for path in ("/?q=secretword", "/sparql?query=ASK%20%7B%3Fs%20%3Fp%20%22secretfact%22%7D"):
            urllib.request.urlopen(origin + path, timeout=120).read()
        assert looser(root) == {}
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("modes") / "was-there"
    root.mkdir()
    root.chmod(0o755)
    with Site(harbour()).serving() as site:
        run("crawl", site.root, "--dir", root, *QUICK)
    return root


def test_F_X17_every_file_is_private_for_any_umask_and_mode_of_the_directory(collected: Path, tmp_path: Path) -> None:
    assert looser(collected) == {}
    serve_and_check(collected)
    copy = tmp_path / "copy"
    copy.mkdir()
    copy.chmod(0o755)
    run("backup", copy, "--dir", collected)
    assert looser(copy) == {}
    run("rebuild", "--dir", copy)
    run("compact", "--dir", copy)
    run("status", "--dir", copy)
    assert looser(copy) == {} and looser(collected) == {}


def test_F_A4_search_terms_are_stored_in_no_file(collected: Path) -> None:
    serve_and_check(collected)
    for path in collected.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert b"secretword" not in content and b"secretfact" not in content, path


def test_F_X17_modes_are_restricted_only_for_files_of_the_collection(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    for folder in (root / "index" / "deep", outside):
        folder.mkdir(parents=True)
    ours = [root / name for name in ("state.db", "state.db-wal", "index/deep/segment", "gossamer.toml")]
    for file in (outside / "file", *ours):
        file.touch()
        file.chmod(0o644)
    (root / "archive").symlink_to(outside)
    (root / "index" / "link").symlink_to(outside / "file")
    for path in (root, root / "index", root / "index" / "deep", outside):
        path.chmod(0o755)
    assert tighten(root) == 6
    assert set(looser(root)) == {str(root / "gossamer.toml")}
    assert stat.S_IMODE(outside.stat().st_mode) == 0o755 and (outside / "file").stat().st_mode & 0o044
    (root / "notes.txt").touch()
    root.chmod(0o755)
    assert tighten(root) == 0 and stat.S_IMODE(os.stat(root).st_mode) == 0o755, "the directory has other files too"
