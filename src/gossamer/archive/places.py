"""Where the records of the archive lie: by the catalogue as far as it reaches, by walking the volumes elsewhere.

What the catalogue knows keeps its number and offset whatever became of the bytes. Damage it does not know takes one
number, between those of its neighbours. Reading a damaged place raises ArchiveDamaged: so whoever follows the places
comes by every damaged record once.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path

from gossamer.archive.members import Torn, members
from gossamer.archive.reader import VOLUME_NAME
from gossamer.base.files import Files
from gossamer.store import captures
from gossamer.store.sqlite.database import read_only
from gossamer.values.capture import Place

AT_ONCE = 1000


class ArchivePlaces:
    """The follower's `Places`. `state`: the database with the catalogue; without one every volume is walked."""

    def __init__(self, files: Files, folder: Path, state: Path | None = None) -> None:
        self._files, self._folder, self._state = files, folder, state

    def volumes(self) -> list[str]:
        """Those that are there, in order."""
        return [name for name in self._files.names(self._folder) if VOLUME_NAME.fullmatch(name)]

    def known_volumes(self) -> list[str]:
        """Those that are there or should be, in order."""
        with self._catalogue() as catalogue:
            return sorted({*self.volumes(), *(captures.volume_names(catalogue) if catalogue else ())})

    def of(self, volume: str, from_offset: int = 0, from_number: int = 0) -> Iterator[Place]:
        """From the record `from_number` on, which must begin at `from_offset`. A torn end is left out."""
        for place in self._known(volume, from_number):
            if place.offset < from_offset:
                continue
            yield from self._walked(volume, from_offset, from_number, place)
            yield place
            from_offset, from_number = place.offset + place.length, place.number + 1
        yield from self._walked(volume, from_offset, from_number, None)

    def _walked(self, volume: str, offset: int, number: int, until: Place | None) -> Iterator[Place]:
        """Records that the catalogue does not know, up to the next that it does."""
        if (self._files.size(self._folder / volume) or 0) <= offset or (until and offset >= until.offset):
            return
        for member in members(self._files, self._folder / volume, offset):
            if isinstance(member, Torn) or (until and member.offset >= until.offset):
                return
            end = member.offset + member.length
            if until and number < until.number:
                yield Place(volume, number, member.offset, min(end, until.offset) - member.offset)
            elif until is None:
                yield Place(volume, number, member.offset, member.length)
            number += 1
            if until and end >= until.offset:
                return

    def _known(self, volume: str, from_number: int) -> Iterator[Place]:
        """Read in pieces, so that no transaction is held open between them."""
        while True:
            with self._catalogue() as catalogue:
                some = captures.places_from(catalogue, volume, from_number, AT_ONCE) if catalogue else []
            yield from some
            if len(some) < AT_ONCE:
                return
            from_number = some[-1].number + 1

    def _catalogue(self) -> AbstractContextManager[sqlite3.Connection | None]:
        is_there = self._state is not None and self._state.is_file()
        return closing(read_only(self._state)) if self._state and is_there else nullcontext()
