"""Records as they lie in the volumes, for copies: members one after another are a WARC file again."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from gossamer.archive.members import Damaged, Member, members
from gossamer.archive.reader import volumes_in
from gossamer.base.files import Files


def volumes_of(
    files: Files, folder: Path, damaged: Callable[[str, Damaged], None]
) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Each volume's name and its whole records, a record a piece; safe beside a writer. `damaged` is told of what is
    left out."""
    for name in volumes_in(files, folder):
        yield name, _whole(files, folder / name, partial(damaged, name))


def _whole(files: Files, path: Path, damaged: Callable[[Damaged], None]) -> Iterator[bytes]:
    for member in members(files, path):
        if isinstance(member, Damaged):
            damaged(member)
        elif isinstance(member, Member):
            yield files.read(path, member.offset, member.length)
