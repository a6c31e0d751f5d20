"""A collection that is there already, opened by its folder."""

import os
from contextlib import suppress
from pathlib import Path

from gossamer.base.clock import SystemClock, in_words
from gossamer.base.errors import DirectoryUnusable, GossamerError
from gossamer.base.files import DiskFiles
from gossamer.plugins.code import admit_schemes
from gossamer.store.directory import Directory, hold, holder_in_words, refuse_lost_state
from gossamer.store.sqlite.database import bring_up_to_date, is_older


def existing(root: Path) -> Directory:
    """A directory that a crawl or an import has made. Raises DirectoryUnusable, saying what to do, when it is not."""
    directory = Directory(root)
    refuse_lost_state(directory)
    if not directory.is_begun:
        raise DirectoryUnusable(
            f"there is no collection in {root}. Make one with `gossamer crawl URL --dir {root}`, "
            "or name another directory with --dir."
        )
    bring_up(directory)
    admit_schemes(root, DiskFiles())  # its addresses may be of schemes that are no other collection's
    return directory


def bring_up(directory: Directory) -> None:
    """A collection of an older version gets the present schema, once. While somebody writes to it, where we may not, or
    where it is damaged, it is left as it is: the command that reads it says what to do."""
    with suppress(OSError, GossamerError):
        if is_older(directory.state):
            words = holder_in_words(os.getpid(), "update", in_words(SystemClock().now()))
            lock = hold(DiskFiles(), directory.root, words)
            try:
                bring_up_to_date(directory.state)
            finally:
                lock.release()
