"""Damaged records that views in the making had to do without. They are written down beside the views, so that a rebuild
which was cut short and is gone on with knows those of its earlier runs too."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from gossamer.base.errors import ArchiveDamaged
from gossamer.base.files import Files
from gossamer.indexer.updates import Reread
from gossamer.spool.tail import Tail
from gossamer.store.directory import Directory
from gossamer.values.capture import Place
from gossamer.values.page import Reading

NAME = "left-out"
MOST_SYNCED = 20
"""Each of the first is synced before any view goes on past it; of more, a power cut may take some from the count."""


class Omission(msgspec.Struct, frozen=True, array_like=True):
    """One line of the file."""

    volume: str
    number: int
    why: str


@contextmanager
def noting_omissions(reread: Reread, directory: Directory, files: Files) -> Iterator[Reread]:
    tail, noted = Tail(files, directory.views_folder / NAME), 0

    async def noting(place: Place) -> Reading | None:
        nonlocal noted
        try:
            return await reread(place)
        except ArchiveDamaged as trouble:
            tail.append(msgspec.json.encode(Omission(place.volume, place.number, str(trouble))) + b"\n")
            noted += 1
            if noted <= MOST_SYNCED:
                tail.sync()
            raise

    tail.open()
    try:
        yield noting
    finally:
        tail.close()


def omissions(directory: Directory, files: Files) -> list[Omission]:
    """Each record once, in order. A line that a kill has cut short counts for nothing: no view has gone past it."""
    path = directory.views_folder / NAME
    found: dict[tuple[str, int], Omission] = {}
    for line in files.read(path).splitlines() if files.size(path) is not None else ():
        try:
            one = msgspec.json.decode(line, type=Omission)
        except msgspec.MsgspecError:
            continue
        found[one.volume, one.number] = one
    return sorted(found.values(), key=lambda one: (one.volume, one.number))
