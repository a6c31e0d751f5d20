"""The only writer of the archive: append-only WARC volumes, also with a full or failing disk.

Two rules: a record's number in a volume is never reused, since an indexer may have read it; and a volume is whole up to
its last sync.
"""

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from gossamer.archive.reader import VOLUME_NAME, DamagedBytes, Member, members, volumes_in
from gossamer.archive.record import warcinfo_record
from gossamer.base.clock import Clock, in_words
from gossamer.base.errors import GossamerError
from gossamer.base.files import Files, Tail
from gossamer.base.tell import Tell
from gossamer.values.capture import Place

ROLL_AT_BYTES = 1 << 30
ABOUT = {"software": "gossamer"}


class Cut(msgspec.Struct, frozen=True):
    """A torn end that was cut off a volume; at offset 0 nothing was whole and the volume was deleted."""

    volume: str
    offset: int
    removed_bytes: int


class ArchiveEnd(msgspec.Struct, frozen=True):
    """Where the catalogue ends: so many records and bytes of this volume, and all earlier volumes."""

    volume: str
    count: int
    size: int


class Recovered(msgspec.Struct, frozen=True):
    """What `Volumes.open` found."""

    last_volume: str | None = None
    """Among existing and catalogued ones."""
    cuts: tuple[Cut, ...] = ()
    damaged: tuple[str, ...] = ()
    """Damage that was left as it is, because whole records follow it; in words."""


class ArchiveMark(msgspec.Struct, frozen=True):
    """An end of the archive to roll back to; valid only for the `Volumes` that returned it."""

    begun: int
    end: int


class _Begun(msgspec.Struct, frozen=True):
    name: str
    first_end: int
    """Where the warcinfo record ends."""


class Volumes:
    """Use: `open`, then per group `position`, `append`..., `sync`; `back_to` when the group failed; `close`."""

    def __init__(
        self,
        files: Files,
        folder: Path,
        clock: Clock,
        tell: Tell,
        roll_at_bytes: int = ROLL_AT_BYTES,
        about: Mapping[str, str] = ABOUT,
    ) -> None:
        self._files = files
        self._folder = folder
        self._clock = clock
        self._tell = tell
        self._roll_at_bytes = roll_at_bytes
        self._about = about
        self._serial = 0
        self._begun: list[_Begun] = []
        self._synced: set[str] = set()
        self._tail: Tail | None = None
        self._count = 0

    def open(self, acknowledged: ArchiveEnd | None = None) -> Recovered:
        """Cut torn ends. New records go to a new volume, started by the first append.

        `acknowledged`: where the catalogue ends. Nothing after it was ever settled, so the volume is cut at the first
        damage after it. Without it (None: unknown) only a torn end is cut; damage before whole records is reported.
        """
        self._files.make_folder(self._folder)
        names = volumes_in(self._files, self._folder)
        last = max([*names, *([acknowledged.volume] if acknowledged is not None else [])], default="")
        numbered = VOLUME_NAME.fullmatch(last)
        self._serial = int(numbered[1]) if numbered else 0
        cuts: list[Cut] = []
        damage: list[str] = []
        checked = names[-1:] if acknowledged is None else [name for name in names if name >= acknowledged.volume]
        for name in checked:
            known_end = acknowledged.size if acknowledged is not None and acknowledged.volume == name else 0
            found = self._recover(name, known_end, acknowledged is not None)
            if isinstance(found, Cut):
                cuts.append(found)
                self._tell("volume.cut", volume=name, offset=found.offset, removed_bytes=found.removed_bytes)
            elif found is not None:
                damage.append(found)
                self._tell("volume.damaged", volume=name, why=found)
        if acknowledged is not None and acknowledged.volume not in names:
            damage.append(f"{acknowledged.volume} is missing")
            self._tell("volume.damaged", volume=acknowledged.volume, why="it is missing")
        removed = {cut.volume for cut in cuts if cut.offset == 0}
        left = [*(name for name in names if name not in removed), *([acknowledged.volume] if acknowledged else [])]
        return Recovered(max(left, default=None), tuple(cuts), tuple(damage))

    def append(self, record: bytes) -> Place:
        """Append one compressed record. Raises DiskFull, or GossamerError for a failing disk; then nothing remains."""
        return self.append_all([record])[0]

    def append_all(self, records: Sequence[bytes]) -> list[Place]:
        """Append compressed records, one write for each volume. When it raises, some of them may remain: `back_to`
        undoes that."""
        places: list[Place] = []
        while len(places) < len(records):
            tail = self._room_for(len(records[len(places)]))
            fitting = self._fitting(records[len(places) :], tail.end)
            offset = tail.append(b"".join(fitting))
            for record in fitting:
                place = Place(self._begun[-1].name, self._count, offset, len(record))
                self._count += 1
                offset += len(record)
                places.append(place)
                self._tell("archive.appended", volume=place.volume, number=place.number)
        return places

    def sync(self) -> None:
        """On return every record survives a power failure. When it raises, those since the last sync are lost."""
        if self._tail is None:
            return
        try:
            self._tail.sync()
        except GossamerError:
            self._abandon()
            raise
        name = self._begun[-1].name
        self._synced.add(name)
        self._tell("archive.synced", volume=name, count=self._count)

    def position(self) -> ArchiveMark:
        return ArchiveMark(len(self._begun), self._tail.end if self._tail is not None else 0)

    def back_to(self, mark: ArchiveMark) -> None:
        """Undo every append since `mark`. The numbers are not reused: the next append starts a new volume."""
        if mark == self.position():
            return
        self._close_tail()
        for begun in self._begun[mark.begun :]:
            if begun.name in self._synced:
                self._cut_back(begun.name, begun.first_end)
            else:  # no view has read it; kept, a full disk would leave many stubs
                self._remove(begun.name)
        if mark.begun and mark.end:
            self._cut_back(self._begun[mark.begun - 1].name, mark.end)

    def close(self) -> None:
        try:
            self.sync()
        finally:
            self._close_tail()

    def _room_for(self, length: int) -> Tail:
        tail = self._tail
        if tail is not None and not tail.usable:
            self._close_tail()
            tail = None
        is_full = tail is not None and self._count > 1 and tail.end + length > self._roll_at_bytes
        if tail is not None and (is_full or not tail.is_worth_growing()):
            self.sync()
            self._close_tail()
            self._tell("volume.rolled", volume=self._begun[-1].name, count=self._count)
            tail = None
        return tail or self._begin()

    def _fitting(self, records: Sequence[bytes], end: int) -> Sequence[bytes]:
        """The records that still fit into a volume of this size; always at least one."""
        for amount, record in enumerate(records):
            if amount and end + len(record) > self._roll_at_bytes:
                return records[:amount]
            end += len(record)
        return records

    def _begin(self) -> Tail:
        self._serial += 1
        now = self._clock.now()
        name = volume_name(self._serial, in_words(now))
        first = warcinfo_record(name, now, self._about)
        tail = Tail(self._files, self._folder / name)
        try:
            tail.open()
            tail.append(first)
        except GossamerError:
            tail.close()
            self._remove(name)
            raise
        self._tail, self._count = tail, 1
        self._begun.append(_Begun(name, len(first)))
        self._tell("volume.opened", volume=name)
        return tail

    def _abandon(self) -> None:
        """After a failed sync the tail was cut back to the last good one; a volume without any is deleted."""
        assert self._tail is not None
        name, end = self._begun[-1].name, self._tail.synced_end
        self._close_tail()
        if end == 0:
            self._remove(name)
        self._tell("volume.cut", volume=name, offset=end)

    def _remove(self, name: str) -> None:
        with contextlib.suppress(OSError):  # it has no whole record; the next `open` tries again
            self._files.remove(self._folder / name)

    def _close_tail(self) -> None:
        if self._tail is not None:
            self._tail.close()
            self._tail = None

    def _cut_back(self, name: str, end: int) -> None:
        if (self._files.size(self._folder / name) or 0) <= end:
            return
        tail = Tail(self._files, self._folder / name)
        tail.open()
        tail.back_to(end)
        tail.close()
        self._tell("volume.cut", volume=name, offset=end)

    def _recover(self, name: str, known_end: int, may_cut_damage: bool) -> Cut | str | None:
        path = self._folder / name
        size = self._files.size(path) or 0
        if known_end > size:
            return f"{name} ends at byte {size}, before its last settled record does"
        end, damage = sound_end(self._files, path, known_end)
        if end >= size and size > 0:
            return None
        if damage is not None and not may_cut_damage and damage.offset + damage.length < size:
            return f"{name} is damaged at byte {damage.offset}: {damage.why}"
        if end == 0:
            self._remove(name)
        else:
            tail = Tail(self._files, path)
            tail.open()
            tail.back_to(end)
            tail.sync()
            tail.close()
        return Cut(name, end, size - end)


def sound_end(files: Files, path: Path, from_offset: int = 0) -> tuple[int, DamagedBytes | None]:
    """Where the first run of whole records ends, and the damage there; None where the file ends or is torn."""
    end = from_offset
    for member in members(files, path, from_offset):
        if not isinstance(member, Member):
            return end, member if isinstance(member, DamagedBytes) else None
        end = member.offset + member.length
    return end, None


def volume_name(serial: int, moment: str) -> str:
    """Serial number first, so that names sort by creation, even if the clock is set back."""
    return f"gossamer-{serial:08d}-{''.join(filter(str.isdigit, moment[:19]))}.warc.gz"


def room_left(files: Files, folder: Path, low_water_bytes: int) -> bool:
    """Whether the disk has room to continue. Checked between groups: stopping early keeps the search available."""
    return files.room(folder) >= low_water_bytes
