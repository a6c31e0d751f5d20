"""File modes of a data directory: 0600 and 0700 for everything of ours, whatever umask and mode it was made with."""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from gossamer.base.files import DIRECTORY_MODE, FILE_MODE, make_private

FOLDERS = frozenset({"archive", "spool", "graph", "checkpoints", "index"})
FILES = frozenset(
    {
        *(f"{name}.lock" for name in ("writer", "indexer", "facts")),
        *(f"{name}.db{tail}" for name in ("state", "control", "links") for tail in ("", "-wal", "-shm", "-journal")),
        *("token", "reader-token", "crawl.log", "crawl.log.before", "chronicle", "learned", "plugged.json"),
        "rules.before.txt",
    }
)
NUMBERED = re.compile(r"views-\d{4,}(\.new)?|state\.db(-wal|-shm)?\.damaged-.*")
"""Views that were made again, and databases that were set aside."""
USERS = frozenset({"gossamer.toml", "rules.txt", "vocabulary.ttl"})
"""Written by people: left as they are."""


def keep_private() -> None:
    """What this process and its children create from now on is for their user alone. SQLite, RocksDB and tantivy make
    their files by the umask, so there is no other way. For processes of ours only: it is a property of the process."""
    os.umask(0o077)


def tighten(root: Path) -> int:
    """Take group and others off whatever is ours in the directory. Symbolic links are not followed, and what is not
    ours is left alone. The directory itself is tightened when nothing else lies in it. How many were looser."""
    entries = list(os.scandir(root))
    ours = [entry for entry in entries if is_ours(entry.name)]
    is_ours_alone = all(is_ours(entry.name) or entry.name in USERS for entry in entries)
    paths = [root] if is_ours_alone and not root.is_symlink() else []
    return sum(map(_tightened, [*paths, *(path for entry in ours for path in _below(entry))]))


def is_ours(name: str) -> bool:
    return name in FILES or name in FOLDERS or NUMBERED.fullmatch(name) is not None


def _below(entry: os.DirEntry[str]) -> Iterator[Path]:
    """The entry, and everything in it when it is one of our folders."""
    yield Path(entry.path)
    if entry.is_dir(follow_symlinks=False) and not entry.is_symlink():
        for folder, folders, files in os.walk(entry.path, followlinks=False):
            yield from (Path(folder, name) for name in (*folders, *files))


def _tightened(path: Path) -> bool:
    try:
        found = path.lstat()
    except FileNotFoundError:  # a view's own, merged away meanwhile
        return False
    if stat.S_ISREG(found.st_mode) and found.st_mode & 0o077:
        return make_private(path, FILE_MODE)
    if stat.S_ISDIR(found.st_mode) and found.st_mode & 0o077:
        return make_private(path, DIRECTORY_MODE)
    return False
