"""Which views cannot be used, found by opening them and no more: `gossamer verify` reads them through."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from gossamer.base.environment import Outside
from gossamer.base.errors import GossamerError, ViewDamaged
from gossamer.store.directory import Directory
from gossamer.views.facts.checkpoints import newest
from gossamer.views.facts.store import opened
from gossamer.views.links.reader import LinksReader
from gossamer.views.words.searcher import Searcher


class ViewFault(msgspec.Struct, frozen=True):
    name: str
    fault: str
    """What is wrong, and the next step."""


def unusable(directory: Directory, outside: Outside, pages: int) -> Iterator[ViewFault]:
    """Those that cannot be opened, or are missing though there are pages."""
    for path in (directory.index, directory.links, directory.checkpoints):
        try:
            if not _is_there(path, directory, outside) and pages:
                raise ViewDamaged(path, "it is missing")
        except (GossamerError, OSError) as trouble:
            said = trouble if isinstance(trouble, GossamerError) else ViewDamaged(path, trouble)
            yield ViewFault(path.name, str(said))


def _is_there(path: Path, directory: Directory, outside: Outside) -> bool:
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return False
    if path == directory.checkpoints:
        checkpoint = newest(outside.files, path)
        return checkpoint is not None and opened(checkpoint.folder) is not None
    view = Searcher(path) if path == directory.index else LinksReader(path)
    try:
        view.open()
    finally:
        view.close()
    return True
