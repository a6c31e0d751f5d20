"""The scratch folder of a node, and the node's name, which is stable for the folder."""

import hashlib
import os
import re
from pathlib import Path

from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError, DirectoryBusy
from gossamer.store.directory import Directory
from gossamer.store.state import enter_cluster, member_of

FOLDER = "nodes"
LOCK_NAME = "node.lock"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,30}")
UNNAMED = "node"


def node_folder(command: Path, name: str, given: Path | None) -> Path:
    """The folder that the user named; else one for each name of a node, in the scratch folder of commands."""
    return given if given is not None else command / FOLDER / (name or UNNAMED)


def name_of_node(given: str, folder: Path) -> str:
    """Raises ConfigError for a name that cannot be shown and typed."""
    if given and not NAME.fullmatch(given):
        raise ConfigError(f"--name {given[:80]!r} must be letters, digits, dots, hyphens and underscores, at most 63")
    host = re.sub(r"[^A-Za-z0-9._-]", "-", os.uname().nodename).strip("-.") or "node"
    return given or f"{host[:50]}-{hashlib.sha256(str(folder.absolute()).encode()).hexdigest()[:4]}"


def checked_labels(given: tuple[str, ...]) -> tuple[str, ...]:
    for label in given:
        if not LABEL.fullmatch(label):
            raise ConfigError(f"--label {label[:80]!r} must be letters, digits, dots, hyphens and underscores")
    return tuple(dict.fromkeys(given))


def enter_as_node(folder: Path, address: str, name: str, outside: Outside) -> Directory:
    """Make it the scratch folder of this node. Raises ConfigError if there is another collection, and DirectoryBusy
    while a node of another name uses it."""
    directory, files = Directory(folder), outside.files
    files.make_folder(folder)
    found = files.lock(folder / LOCK_NAME, name)
    if not isinstance(found, str):
        found.release()
    elif member_of(directory) != name:
        raise DirectoryBusy(f"{folder} is used by {found}: name another folder with --dir, or stop that node")
    enter_cluster(directory, address, files, name)
    for path in directory.folders():
        files.make_folder(path)
    return directory
