"""Where everything of one collection lies on disk; docs/formats.md says what is in each file."""

from pathlib import Path

from gossamer.base.errors import DirectoryUnusable
from gossamer.base.files import DiskFiles
from gossamer.plugins.record import admit_schemes
from gossamer.store.directory import Directory, refuse_lost_state


def existing(root: Path) -> Directory:
    """A directory that a crawl or an import has made. Raises DirectoryUnusable, saying what to do, when it is not."""
    directory = Directory(root)
    refuse_lost_state(directory)
    if not directory.state.is_file():
        raise DirectoryUnusable(
            f"there is no collection in {root}. Make one with `gossamer crawl URL --dir {root}`, "
            "or name another directory with --dir."
        )
    admit_schemes(root, DiskFiles())  # its addresses may be of schemes that are no other collection's
    return directory
