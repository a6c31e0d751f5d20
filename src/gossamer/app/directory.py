"""Where everything of one collection lies on disk; docs/formats.md says what is in each file."""

from dataclasses import dataclass
from pathlib import Path

from gossamer.app.outside import Outside
from gossamer.app.plugged import reopened
from gossamer.clock import in_words
from gossamer.errors import DirectoryUnusable
from gossamer.files import DiskFiles, Lock
from gossamer.store.lock import hold, holder_in_words

DEFAULT = Path("gossamer-data")
LOG_NAME = "crawl.log"
"""What a crawl that was started from a web page has to say."""


@dataclass(frozen=True, slots=True)
class Directory:
    """One data directory: one collection and one crawl."""

    root: Path

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
    def control(self) -> Path:
        return self.root / "control.db"

    @property
    def links(self) -> Path:
        return self.root / "links.db"

    @property
    def archive(self) -> Path:
        return self.root / "archive"

    @property
    def spool(self) -> Path:
        return self.root / "spool"

    @property
    def graph(self) -> Path:
        return self.root / "graph"

    @property
    def checkpoints(self) -> Path:
        return self.root / "checkpoints"

    @property
    def index(self) -> Path:
        return self.root / "index"

    @property
    def indexer_lock(self) -> Path:
        return self.root / "indexer.lock"

    @property
    def facts_lock(self) -> Path:
        return self.root / "facts.lock"

    def views(self) -> list[Path]:
        """What `rebuild` makes anew from the archive."""
        return [self.graph, self.checkpoints, self.index, self.links, *self._links_journals()]

    def _links_journals(self) -> list[Path]:
        return [self.root / f"links.db-{tail}" for tail in ("wal", "shm")]

    def folders(self) -> list[Path]:
        return [self.root, self.archive, self.spool, self.graph, self.checkpoints, self.index]


def existing(root: Path) -> Directory:
    """A directory that a crawl or an import has made. Raises DirectoryUnusable, saying what to do, when it is not."""
    directory = Directory(root)
    if not directory.state.is_file():
        raise DirectoryUnusable(
            f"there is no collection in {root}. Make one with `gossamer crawl URL --dir {root}`, "
            "or name another directory with --dir."
        )
    reopened(root, DiskFiles())  # its addresses may be of schemes that are no other collection's
    return directory


def lock_directory(directory: Directory, outside: Outside, command: str) -> Lock:
    """Become the directory's one writer, or say who is."""
    if directory.root.exists() and not directory.root.is_dir():
        raise DirectoryUnusable(f"{directory.root} is not a directory; name another one with --dir")
    for folder in directory.folders():
        outside.files.make_folder(folder)
    words = holder_in_words(outside.processes.own_pid(), command, in_words(outside.clock.now()))
    return hold(outside.files, directory.root, words)
