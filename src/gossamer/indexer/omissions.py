"""Captures that a rebuild could not read, in a file of the new views."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from gossamer.base.errors import ArchiveDamaged
from gossamer.base.files import Files, Tail
from gossamer.indexer.updates import Reread
from gossamer.store.directory import Directory
from gossamer.values.capture import Place
from gossamer.values.page import Reading

NAME = "left-out"
MOST_SYNCED = 20
"""So many are each synced before any view continues; of further ones a power failure may lose some."""


class Omission(msgspec.Struct, frozen=True, array_like=True):
    """One line of the file."""

    volume: str
    number: int
    why: str


@contextmanager
def recording_omissions(reread: Reread, directory: Directory, files: Files) -> Iterator[Reread]:
    """The same function, which appends a line to the file for each capture that is damaged."""
    tail, count = Tail(files, directory.views_folder / NAME), 0

    async def recorded(place: Place) -> Reading | None:
        nonlocal count
        try:
            return await reread(place)
        except ArchiveDamaged as trouble:
            tail.append(msgspec.json.encode(Omission(place.volume, place.number, str(trouble))) + b"\n")
            count += 1
            if count <= MOST_SYNCED:
                tail.sync()
            raise

    tail.open()
    try:
        yield recorded
    finally:
        tail.close()


def omissions(directory: Directory, files: Files) -> list[Omission]:
    """Each record once, in order. A truncated last line is ignored: no view has passed that record."""
    path = directory.views_folder / NAME
    found: dict[tuple[str, int], Omission] = {}
    for line in files.read(path).splitlines() if files.size(path) is not None else ():
        try:
            one = msgspec.json.decode(line, type=Omission)
        except msgspec.MsgspecError:
            continue
        found[one.volume, one.number] = one
    return sorted(found.values(), key=lambda one: (one.volume, one.number))
