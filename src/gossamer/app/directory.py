"""Where everything of one collection lies on disk; docs/formats.md says what is in each file."""

from dataclasses import dataclass
from pathlib import Path

from gossamer.errors import DirectoryUnusable

DEFAULT = Path("gossamer-data")


@dataclass(frozen=True, slots=True)
class Directory:
    """One data directory: one collection and one crawl."""

    root: Path

    @property
    def config(self) -> Path:
        return self.root / "gossamer.toml"

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
    return directory
