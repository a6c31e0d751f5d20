"""Records as they lie in the volumes, for copies: members one after another are a WARC file again."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from gossamer.archive.members import Damaged, Member, members
from gossamer.archive.reader import volumes_in
from gossamer.archive.record import warcinfo_record
from gossamer.archive.volumes import ABOUT
from gossamer.clock import Instant
from gossamer.files import Files
from gossamer.values.capture import Place


def volumes_of(
    files: Files, folder: Path, damaged: Callable[[str, Damaged], None]
) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Each volume's name and its whole records, a record a piece; safe beside a writer. `damaged` is told of what is
    left out."""
    for name in volumes_in(files, folder):
        yield name, _whole(files, folder / name, partial(damaged, name))


def raw_records(files: Files, folder: Path, wanted: Iterable[Place]) -> Iterator[bytes]:
    """The compressed records at these places, each whole."""
    for place in wanted:
        yield files.read(folder / place.volume, place.offset, place.length)


def one_file(files: Files, folder: Path, wanted: Iterable[Place], name: str, at: Instant) -> Iterator[bytes]:
    """A WARC file of its own with just these records: the first piece says what it is."""
    yield warcinfo_record(name, at, ABOUT)
    yield from raw_records(files, folder, wanted)


def _whole(files: Files, path: Path, damaged: Callable[[Damaged], None]) -> Iterator[bytes]:
    for member in members(files, path):
        if isinstance(member, Damaged):
            damaged(member)
        elif isinstance(member, Member):
            yield files.read(path, member.offset, member.length)
