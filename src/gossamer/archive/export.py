"""Records as they lie in the volumes, for copies: members one after another are a WARC file again."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from gossamer.archive.members import PIECE_BYTES
from gossamer.archive.reader import volumes_in
from gossamer.archive.record import warcinfo_record
from gossamer.archive.volumes import ABOUT, sound_end
from gossamer.clock import Instant
from gossamer.files import Files
from gossamer.values.capture import Place


def volumes_of(files: Files, folder: Path) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Each volume's name and its bytes in pieces, up to its last whole record; safe beside a writer."""
    for name in volumes_in(files, folder):
        yield name, _pieces(files, folder / name)


def raw_records(files: Files, folder: Path, wanted: Iterable[Place]) -> Iterator[bytes]:
    """The compressed records at these places, each whole."""
    for place in wanted:
        yield files.read(folder / place.volume, place.offset, place.length)


def one_file(files: Files, folder: Path, wanted: Iterable[Place], name: str, at: Instant) -> Iterator[bytes]:
    """A WARC file of its own with just these records: the first piece says what it is."""
    yield warcinfo_record(name, at, ABOUT)
    yield from raw_records(files, folder, wanted)


def _pieces(files: Files, path: Path) -> Iterator[bytes]:
    end, _ = sound_end(files, path)
    at = 0
    while at < end and (piece := files.read(path, at, min(PIECE_BYTES, end - at))):
        at += len(piece)
        yield piece
