"""The data directory of a collection.

Its paths, its lock and its file modes; docs/formats.md describes each file.
"""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from gossamer.base.clock import in_words
from gossamer.base.environment import Outside
from gossamer.base.errors import DirectoryBusy, DirectoryUnusable
from gossamer.base.files import DIRECTORY_MODE, FILE_MODE, DiskFiles, Files, Lock, make_private
from gossamer.store.disks import LOST_AND_FOUND, present, read_record

# A data directory has one writer at a time. Readers need no lock.

NAME = "writer.lock"


def hold(files: Files, folder: Path, words: str) -> Lock:
    """Take the writer's lock at once, or raise DirectoryBusy naming its holder.

    `words` describe us to others: pid, command, since when. The lock ends with the process that holds it, even when
    that is killed, so there is no stale lock to clean up.
    """
    found = files.lock(folder / NAME, words)
    if isinstance(found, str):
        raise DirectoryBusy(f"{folder} is being written by {found}; wait for it, or stop it first")
    return found


def holder_in_words(pid: int, command: str, since: str) -> str:
    return f"pid {pid} ({command}, since {since})"


DEFAULT = Path("gossamer-data")
LOG_NAME = "crawl.log"
"""The output of a crawl that was started from a web page."""
GENERATION = re.compile(r"views-(\d{4,})")
"""Complete views made by `rebuild`, which gives a folder this name only once everything is in it."""
UNFINISHED = ".new"
VOCABULARY = "vocabulary.ttl"
"""The user's own relations between classes and between properties, if there is such a file."""
INDEX, LINKS = "index", "links.db"


@dataclass(frozen=True, slots=True)
class Directory:
    """One data directory: one collection and one crawl.

    The views are in `root` itself until `rebuild` makes others: those are in the folder `views-N` with the highest
    number. Paths of views are looked up at each access, so that new views are found.
    """

    root: Path
    fixed_views: str = ""
    """The folder name of the views, while new ones are being made; empty: the newest complete ones."""

    @property
    def config(self) -> Path:
        return self.root / "gossamer.toml"

    @property
    def rules(self) -> Path:
        return self.root / "rules.txt"

    @property
    def state(self) -> Path:
        return self.root / "state.db"

    @property
    def database(self) -> Path:
        """Names the PostgreSQL database that holds the state instead, where one does."""
        return self.root / "state.url"

    @property
    def is_begun(self) -> bool:
        """Whether there is a state, here or in a database."""
        return self.state.is_file() or self.database.is_file()

    @property
    def control(self) -> Path:
        return self.root / "control.db"

    @property
    def views_folder(self) -> Path:
        if self.fixed_views:
            return self.root / self.fixed_views
        made = generations(self.root)
        return self.root / made[-1] if made else self.root

    @property
    def links(self) -> Path:
        return self.views_folder / LINKS

    @property
    def archive(self) -> Path:
        return self.root / "archive"

    @property
    def spool(self) -> Path:
        """New views read everything from the archive: their own spool only says where that ends."""
        return (self.root / self.fixed_views if self.fixed_views else self.root) / "spool"

    @property
    def graph(self) -> Path:
        return self.views_folder / "graph"

    @property
    def checkpoints(self) -> Path:
        return self.views_folder / "checkpoints"

    @property
    def index(self) -> Path:
        return self.views_folder / INDEX

    @property
    def indexer_lock(self) -> Path:
        return self.root / "indexer.lock"

    @property
    def facts_lock(self) -> Path:
        return self.root / "facts.lock"

    def every_view(self) -> list[Path]:
        """Everything made from the archive: the current views, outdated ones, and unfinished ones."""
        folders = [name for name in _names(self.root) if GENERATION.fullmatch(name.removesuffix(UNFINISHED))]
        return [self.root / name for name in (*folders, *FIRST_VIEWS)]

    def folders(self) -> list[Path]:
        return [self.root, self.archive, self.spool, self.graph, self.checkpoints, self.index]


FIRST_VIEWS = ("graph", "checkpoints", INDEX, LINKS, f"{LINKS}-wal", f"{LINKS}-shm")
"""Where views are before the first rebuild."""


def generations(root: Path) -> list[str]:
    """Folders of complete views, oldest first."""
    found = [(int(match[1]), name) for name in _names(root) if (match := GENERATION.fullmatch(name))]
    return [name for _, name in sorted(found)]


def outdated(root: Path) -> list[Path]:
    """Views that newer complete ones have replaced; a rebuild that was killed after the swap leaves them."""
    made = generations(root)
    return [root / name for name in (*made[:-1], *FIRST_VIEWS)] if made else []


def _names(root: Path) -> list[str]:
    with suppress(FileNotFoundError, NotADirectoryError):
        return os.listdir(root)
    return []


def has_lost_state(directory: Directory) -> bool:
    return not directory.is_begun and any(
        name.endswith(".warc.gz") for folder in archive_folders(directory, DiskFiles()) for name in _names(folder)
    )


def archive_folders(directory: Directory, files: Files) -> list[Path]:
    """Where its volumes are: its folder `archive`, and its directories on other disks that are there."""
    with suppress(DirectoryUnusable):  # of a damaged record: commands that read volumes report it
        others = present(files, directory.archive, read_record(files, directory.archive))
        return list(dict.fromkeys([directory.archive, *others]))
    return [directory.archive]


def refuse_lost_state(directory: Directory) -> None:
    """Raises DirectoryUnusable if there is an archive and no state: a new state would fetch everything again."""
    if has_lost_state(directory):
        raise DirectoryUnusable(
            f"{directory.state} is missing, though there is an archive. "
            f"`gossamer rebuild --state --dir {directory.root}` makes it again from that"
        )


def lock_directory(directory: Directory, outside: Outside, command: str) -> Lock:
    """Become the directory's writer, or raise DirectoryBusy naming it."""
    if directory.root.exists() and not directory.root.is_dir():
        raise DirectoryUnusable(f"{directory.root} is not a directory; name another one with --dir")
    keep_private()
    outside.files.make_folder(directory.root)
    words = holder_in_words(outside.processes.own_pid(), command, in_words(outside.clock.now()))
    lock = hold(outside.files, directory.root, words)
    with ExitStack() as undo:
        undo.callback(lock.release)
        for path in outdated(directory.root):
            outside.files.remove(path)
        for folder in directory.folders():
            outside.files.make_folder(folder)
        tighten(directory.root)
        for folder in archive_folders(directory, outside.files):
            if folder != directory.archive:
                tighten_volumes(folder)
            refuse_unreadable(folder)
        undo.pop_all()
    return lock


def refuse_unreadable(folder: Path) -> None:
    """Raises DirectoryUnusable for a volume that we may not read: the indexer would wait for it forever."""
    for name in _names(folder):
        if not os.access(folder / name, os.R_OK) and name != LOST_AND_FOUND:
            raise DirectoryUnusable(f"{folder / name} cannot be read: check its owner and mode")


FOLDERS = frozenset({"archive", "spool", "graph", "checkpoints", "index"})
FILES = frozenset(
    {
        *(f"{name}.lock" for name in ("writer", "indexer", "facts")),
        *(f"{name}.db{tail}" for name in ("state", "control", "links") for tail in ("", "-wal", "-shm", "-journal")),
        *(
            "token",
            "reader-token",
            "crawl.log",
            "crawl.log.before",
            "chronicle",
            "learned",
            "plugged.json",
            "state.url",
        ),
        "rules.before.txt",
    }
)
NUMBERED = re.compile(r"views-\d{4,}(\.new)?|state\.db(-wal|-shm)?\.damaged-.*")
"""Rebuilt views, and damaged databases that were moved out of the way."""
USERS = frozenset({"gossamer.toml", "rules.txt", "vocabulary.ttl"})
"""Written by users: left as they are."""


def keep_private() -> None:
    """Make all files that this process and its children create accessible to their user alone. SQLite, RocksDB and
    tantivy create files by the umask, so there is no other way. Only for our own processes: it changes the process."""
    os.umask(0o077)


def tighten(root: Path) -> int:
    """Remove the access of group and others to our files in the directory; returns how many had any. Symbolic links
    are not followed, and other files are left alone. The directory itself is included if nothing else is in it."""
    entries = list(os.scandir(root))
    ours = [entry for entry in entries if is_ours(entry.name)]
    is_ours_alone = all(is_ours(entry.name) or entry.name in USERS for entry in entries)
    paths = [root] if is_ours_alone and not root.is_symlink() else []
    return sum(map(_tightened, [*paths, *(path for entry in ours for path in _below(entry))]))


def tighten_volumes(folder: Path) -> int:
    """The same for a directory of the archive on another disk: for what the program writes there, and for the
    directory if nothing else is in it."""
    names = _names(folder)
    ours = [name for name in names if name.startswith("gossamer-")]
    is_ours_alone = set(names) <= {*ours, LOST_AND_FOUND}
    return sum(map(_tightened, [*([folder] if is_ours_alone else []), *(folder / name for name in ours)]))


def is_ours(name: str) -> bool:
    return name in FILES or name in FOLDERS or NUMBERED.fullmatch(name) is not None


def _below(entry: os.DirEntry[str]) -> Iterator[Path]:
    """The entry, and everything in it if it is a folder."""
    yield Path(entry.path)
    if entry.is_dir(follow_symlinks=False) and not entry.is_symlink():
        for folder, folders, files in os.walk(entry.path, followlinks=False):
            yield from (Path(folder, name) for name in (*folders, *files))


def _tightened(path: Path) -> bool:
    try:
        found = path.lstat()
    except FileNotFoundError:  # a view has merged it into another file meanwhile
        return False
    if stat.S_ISREG(found.st_mode) and found.st_mode & 0o077:
        return make_private(path, FILE_MODE)
    if stat.S_ISDIR(found.st_mode) and found.st_mode & 0o077:
        return make_private(path, DIRECTORY_MODE)
    return False
