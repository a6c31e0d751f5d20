"""Volumes without what is no longer wanted: kept records are copied as they lie, and the new volume replaces the old.

Four durable steps a volume, each safe to be the last one:

    compaction.written    the new volume is whole on disk, under a name that nobody reads
    compaction.placed     it has its own name, which sorts just before the old one's
    compaction.switched   one transaction: the catalogue knows the new volume, and no longer the old one
    compaction.removed    the old file is gone

`tidy` ends, or undoes, whatever was cut short. A view that has read the old volume does not read the new one: its
position is past both.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import msgspec

from gossamer.archive.reader import PART, VOLUME_NAME, Member, Torn, generation_of, members, stem_of, target_in
from gossamer.archive.record import warcinfo_record
from gossamer.archive.verify import Finding, verified
from gossamer.archive.volumes import ABOUT
from gossamer.base.clock import Clock, Instant
from gossamer.base.errors import DiskFull, GossamerError
from gossamer.base.files import Files
from gossamer.base.tell import Tell, silent
from gossamer.config.slices import Retain
from gossamer.rules.retention import kept
from gossamer.spool.tail import Tail
from gossamer.spool.writer import discard
from gossamer.store import captures
from gossamer.store.captures import Laid, MovedRecord
from gossamer.store.statements import State, StateWriter

WARCINFO = "warcinfo"
COPIED_AT_ONCE = 1 << 20

Going = dict[str, dict[int, int]]
"""By volume the records that go: where each begins, and how long it is."""


class Gap(msgspec.Struct, frozen=True):
    """A record that the catalogue does not know: a volume's first, or a capture that another volume holds too."""

    offset: int
    length: int
    kind: str
    target: str


class Rewritten(msgspec.Struct, frozen=True):
    """What became of one volume."""

    old: str
    new: str
    kept: int
    dropped: int
    freed_bytes: int


def outdated(files: Files, folder: Path) -> list[str]:
    """What was left half made."""
    return [name for name in files.names(folder) if VOLUME_NAME.fullmatch(name.removesuffix(PART)) and PART in name]


async def tidy(database: StateWriter, files: Files, folder: Path, tell: Tell) -> int:
    """After a compaction that was cut short: files that nobody knows any more go. Call it before `Volumes.open`.

    A file goes only when the catalogue knows another one of the same volume, and that one is there.
    """
    known = set(await database.read(captures.volume_names))
    there = {name for name in files.names(folder) if VOLUME_NAME.fullmatch(name)}
    stems = {stem_of(name) for name in known & there}
    left_over = [*outdated(files, folder), *sorted(name for name in there - known if stem_of(name) in stems)]
    for name in left_over:
        files.remove(folder / name)
        tell("compaction.removed", volume=name)
    await _drop_empty(database, files, folder, tell)
    return len(left_over)


def retired(connection: State, retain: Retain, now: Instant) -> Going:
    """The records that are not kept under `retain`."""
    going: Going = {}
    if retain.kind == "all":
        return going
    for _, lying in captures.by_url(connection):
        stay = kept([one.version for one in lying], retain, now)
        for one in lying:
            if one.version.fetched_at not in stay:
                going.setdefault(one.volume, {})[one.offset] = one.length
    return going


def matching(connection: State, files: Files, folder: Path, is_unwanted: Callable[[str], bool], tell: Tell) -> Going:
    """The records whose address is unwanted, those that the catalogue does not know among them."""
    going: Going = {}
    for name in [name for name in files.names(folder) if VOLUME_NAME.fullmatch(name)]:
        rows = captures.laid(connection, name)
        found = {one.offset: one.length for one in rows if is_unwanted(one.url)}
        for gap in gaps(files, folder / name, rows, tell):
            if gap.target and is_unwanted(gap.target):
                found[gap.offset] = gap.length
        if found:
            going[name] = found
    return going


def gaps(files: Files, path: Path, rows: list[Laid], tell: Tell) -> Iterator[Gap]:
    """The records between those that are known, in order. Bytes that are none are told of and passed over."""
    end = 0
    for row in [*rows, None]:
        until = row.offset if row is not None else files.size(path) or 0
        if end < until:
            yield from _records_in(files, path, end, until, tell)
        if row is not None:
            end = max(end, row.offset + row.length)


def _records_in(files: Files, path: Path, start: int, until: int, tell: Tell) -> Iterator[Gap]:
    for member in members(files, path, start):
        if isinstance(member, Torn):
            return
        if isinstance(member, Member):
            yield Gap(member.offset, member.length, *target_in(member.plain))
        else:
            tell("volume.damaged", volume=path.name, offset=member.offset, length=member.length, why=member.why)
        if member.offset + member.length >= until:
            return


class Compaction:
    """REQUIRES: the directory's lock, and that every view has read the volumes to their ends."""

    def __init__(
        self, database: StateWriter, files: Files, folder: Path, spool_folder: Path, clock: Clock, tell: Tell
    ) -> None:
        self._database, self._files, self._clock, self._tell = database, files, clock, tell
        self._folder, self._spool_folder = folder, spool_folder

    async def rewrite(
        self, going: Mapping[str, Mapping[int, int]], says: Callable[[str], None] = lambda _: None
    ) -> list[Rewritten]:
        """Volume after volume; what is done when it is cut short stays done."""
        done = []
        for number, (name, gone) in enumerate(sorted(going.items()), 1):
            says(f"rewriting volume {number} of {len(going)}")
            done.append(await self._rewrite(name, gone))
        await _drop_empty(self._database, self._files, self._folder, self._tell)
        return done

    async def _rewrite(self, name: str, gone: Mapping[int, int]) -> Rewritten:
        rows = await self._database.read(partial(captures.laid, volume=name))
        path, new = self._folder / name, next_name(name, self._files.names(self._folder))
        old_size = self._files.size(path) or 0
        self._check_room(old_size - sum(gone.values()))
        await self._tell_damage(name, gone)
        moved, size, records = self._write(path, new, rows, gone)
        self._tell("compaction.written", volume=new)
        self._files.rename(self._folder / (new + PART), self._folder / new)
        self._tell("compaction.placed", volume=new)
        await self._database.run(partial(captures.replaced, old=name, new=new, moved=moved))
        self._tell("compaction.switched", volume=new)
        self._files.remove(path)
        discard(self._files, self._spool_folder, name, self._tell)
        self._tell("compaction.removed", volume=name)
        return Rewritten(name, new, records, len(gone), old_size - size)

    async def _tell_damage(self, name: str, gone: Mapping[int, int]) -> None:
        """What is damaged of a volume and stays: it is copied as it is."""

        def damaged(connection: State) -> list[Finding]:
            every = verified(self._files, self._folder, connection, name)
            return [one for one in every if isinstance(one, Finding) and one.offset not in gone]

        for one in await self._database.read(damaged):
            why = f"{one.why} ({one.url})" if one.url else one.why
            self._tell("volume.damaged", volume=name, offset=one.offset, length=one.length, why=why)

    def _write(
        self, path: Path, new: str, rows: list[Laid], gone: Mapping[int, int]
    ) -> tuple[list[MovedRecord], int, int]:
        """The new volume, synced; where the catalogued records lie in it, its size, and how many records it holds."""
        numbers = {row.offset: row.number for row in rows}
        spans = [(row.offset, row.length) for row in rows]
        spans += [(one.offset, one.length) for one in gaps(self._files, path, rows, silent) if one.kind != WARCINFO]
        tail = Tail(self._files, self._folder / (new + PART))
        moved: list[MovedRecord] = []
        records = 0
        try:
            self._files.remove(self._folder / (new + PART))
            tail.open()
            tail.append(warcinfo_record(new, self._clock.now(), ABOUT))
            for run in runs(sorted(span for span in spans if span[0] not in gone)):
                start, shift = run[0][0], tail.end - run[0][0]
                for offset, _ in run:
                    records += 1
                    if offset in numbers:
                        moved.append(MovedRecord(numbers[offset], records, offset + shift))
                for piece in _pieces(self._files, path, start, sum(run[-1])):
                    tail.append(piece)
            tail.sync()
        except GossamerError:
            tail.close()
            with contextlib.suppress(OSError):
                self._files.remove(self._folder / (new + PART))
            raise
        size = tail.end
        tail.close()
        return moved, size, records

    def _check_room(self, needed: int) -> None:
        if self._files.room(self._folder) < needed:
            raise DiskFull(
                f"rewriting a volume needs {needed:,} free bytes beside it, and there are fewer; free some space, "
                "and ask again: what is done stays done"
            )


async def _drop_empty(database: StateWriter, files: Files, folder: Path, tell: Tell) -> None:
    """Volumes of which nothing was kept. The last of all stays as a stub, so that its number is not given again."""
    last = max((name for name in files.names(folder) if VOLUME_NAME.fullmatch(name)), default="")
    for name in await database.read(captures.empty_volumes):
        if name == last or any(one.kind != WARCINFO for one in gaps(files, folder / name, [], tell)):
            continue
        files.remove(folder / name)
        await database.run(partial(captures.drop_volume, name=name))
        tell("compaction.emptied", volume=name)


def runs(spans: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Records that lie one behind the other."""
    run: list[tuple[int, int]] = []
    for span in spans:
        if run and run[-1][0] + run[-1][1] != span[0]:
            yield run
            run = []
        run.append(span)
    if run:
        yield run


def next_name(name: str, taken: list[str]) -> str:
    """Of the volume that replaces this one: the same serial and moment, and one generation more."""
    generation = generation_of(name) + 1
    while (new := f"{stem_of(name)}-c{generation:04d}.warc.gz") in taken:
        generation += 1
    return new


def _pieces(files: Files, path: Path, start: int, end: int) -> Iterator[bytes]:
    """Zeros where the file has nothing, or cannot be read: a damaged record stays as it is known, and damaged."""
    while start < end:
        wanted = min(COPIED_AT_ONCE, end - start)
        try:
            piece = files.read(path, start, wanted) or bytes(wanted)
        except OSError:
            piece = bytes(wanted)
        start += len(piece)
        yield piece
