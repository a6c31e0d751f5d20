"""A collection, opened by the name of its directory."""

from pathlib import Path

from gossamer.collection.collection import Collection
from gossamer.collection.directory import existing, outside_of
from gossamer.store.options import config_of


def open_collection(root: Path, config: Path | None = None) -> Collection:
    """`config`: a settings file that a person named. Raises DirectoryUnusable, saying what to do, when there is none.

    A command that needs no views opens a `CollectionState` instead, which loads less.
    """
    directory = existing(root)
    return Collection(directory, outside_of(directory), config_of(root, config).settings if config else None)
