"""Rewrites volumes without unwanted records.

The others are copied byte by byte, and the new volume replaces the old.

Four durable steps a volume; a crash after any of them is safe:

    compaction.written    the new volume is complete, under a temporary name
    compaction.placed     it has its final name, which sorts just before the old one's
    compaction.switched   one transaction: the catalogue has the new volume instead of the old one
    compaction.removed    the old file is deleted

`tidy` completes or undoes an interrupted compaction. A view that has read the old volume does not read the new one: its
position is after both.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import msgspec

from gossamer.archive.reader import PART, VOLUME_NAME, DamagedBytes, Member, generation_of, members, stem_of, target_in
from gossamer.archive.record import warcinfo_record
from gossamer.archive.verify import WARCINFO, Finding, new_file, pieces, verified
from gossamer.archive.volumes import ABOUT
from gossamer.base.clock import Clock, Instant
from gossamer.base.errors import DiskFull
from gossamer.base.files import Files
from gossamer.base.tell import Tell, silent
from gossamer.config.slices import Retain
from gossamer.rules.retention import kept
from gossamer.spool.frames import discard
from gossamer.store import captures
from gossamer.store.captures import CataloguedRecord, MovedRecord
from gossamer.store.statements import State, StateWriter

Deletions = dict[str, dict[int, int]]
"""The records to delete, by volume: offset and length of each."""


class Gap(msgspec.Struct, frozen=True):
    """An uncatalogued record: a volume's first, or a duplicate of a capture in another volume."""

    offset: int
    length: int
    kind: str
    target: str


class Rewritten(msgspec.Struct, frozen=True):
    """The result for one volume."""

    old: str
    new: str
    kept: int
    dropped: int
    freed_bytes: int


def outdated(files: Files, folder: Path) -> list[str]:
    """Unfinished new volumes."""
    return [name for name in files.names(folder) if VOLUME_NAME.fullmatch(name.removesuffix(PART)) and PART in name]


async def tidy(database: StateWriter, files: Files, folder: Path, tell: Tell) -> int:
    """After an interrupted compaction: delete leftover files. Call it before `Volumes.open`.

    A volume is deleted only if the catalogue has another generation of it, and that file exists.
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


def retired(connection: State, retain: Retain, now: Instant) -> Deletions:
    """The records that `retain` does not keep."""
    going: Deletions = {}
    if retain.kind == "all":
        return going
    for _, records in captures.by_url(connection):
        to_keep = kept([one.version for one in records], retain, now)
        for one in records:
            if one.version.fetched_at not in to_keep:
                going.setdefault(one.volume, {})[one.offset] = one.length
    return going


def matching(
    connection: State, files: Files, folder: Path, is_unwanted: Callable[[str], bool], tell: Tell
) -> Deletions:
    """The records with unwanted URLs, also uncatalogued ones."""
    going: Deletions = {}
    for name in [name for name in files.names(folder) if VOLUME_NAME.fullmatch(name)]:
        rows = captures.records_in(connection, name)
        found = {one.offset: one.length for one in rows if is_unwanted(one.url)}
        for gap in gaps(files, folder / name, rows, tell):
            if gap.target and is_unwanted(gap.target):
                found[gap.offset] = gap.length
        if found:
            going[name] = found
    return going


def gaps(files: Files, path: Path, rows: list[CataloguedRecord], tell: Tell) -> Iterator[Gap]:
    """The uncatalogued records between the catalogued ones, in order. Damage is skipped, with an event."""
    end = 0
    for row in [*rows, None]:
        until = row.offset if row is not None else files.size(path) or 0
        if end < until:
            yield from _records_in(files, path, end, until, tell)
        if row is not None:
            end = max(end, row.offset + row.length)


def _records_in(files: Files, path: Path, start: int, until: int, tell: Tell) -> Iterator[Gap]:
    for member in members(files, path, start, until):
        if isinstance(member, Member):
            yield Gap(member.offset, member.length, *target_in(member.plain))
        elif isinstance(member, DamagedBytes):
            tell("volume.damaged", volume=path.name, offset=member.offset, length=member.length, why=member.why)


class Compaction:
    """Rewrites volumes. REQUIRES: the directory's lock, and that every view has read the volumes to their ends."""

    def __init__(
        self, database: StateWriter, files: Files, folder: Path, spool_folder: Path, clock: Clock, tell: Tell
    ) -> None:
        self._database, self._files, self._clock, self._tell = database, files, clock, tell
        self._folder, self._spool_folder = folder, spool_folder

    async def rewrite(
        self, going: Mapping[str, Mapping[int, int]], says: Callable[[str], None] = lambda _: None
    ) -> list[Rewritten]:
        """Rewrite volume after volume; finished ones stay done if this is interrupted."""
        done = []
        for number, (name, gone) in enumerate(sorted(going.items()), 1):
            says(f"rewriting volume {number} of {len(going)}")
            done.append(await self._rewrite(name, gone))
        await _drop_empty(self._database, self._files, self._folder, self._tell)
        return done

    async def _rewrite(self, name: str, gone: Mapping[int, int]) -> Rewritten:
        rows = await self._database.read(partial(captures.records_in, volume=name))
        path, new = self._folder / name, next_name(name, self._files.names(self._folder))
        old_size = self._files.size(path) or 0
        self._check_room(old_size - sum(gone.values()))
        await self._report_damage(name, gone)
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

    async def _report_damage(self, name: str, gone: Mapping[int, int]) -> None:
        """Report the damaged records that stay: they are copied unchanged."""

        def damaged(connection: State) -> list[Finding]:
            every = verified(self._files, self._folder, connection, name)
            return [one for one in every if isinstance(one, Finding) and one.offset not in gone]

        for one in await self._database.read(damaged):
            why = f"{one.why} ({one.url})" if one.url else one.why
            self._tell("volume.damaged", volume=name, offset=one.offset, length=one.length, why=why)

    def _write(
        self, path: Path, new: str, rows: list[CataloguedRecord], gone: Mapping[int, int]
    ) -> tuple[list[MovedRecord], int, int]:
        """Write and sync the new volume; returns the new places of catalogued records, its size, and its records."""
        numbers = {row.offset: row.number for row in rows}
        spans = [(row.offset, row.length) for row in rows]
        spans += [(one.offset, one.length) for one in gaps(self._files, path, rows, silent) if one.kind != WARCINFO]
        moved: list[MovedRecord] = []
        records = 0
        with new_file(self._files, self._folder / (new + PART)) as tail:
            tail.append(warcinfo_record(new, self._clock.now(), ABOUT))
            for run in runs(sorted(span for span in spans if span[0] not in gone)):
                start, shift = run[0][0], tail.end - run[0][0]
                for offset, _ in run:
                    records += 1
                    if offset in numbers:
                        moved.append(MovedRecord(numbers[offset], records, offset + shift))
                for piece in pieces(self._files, path, start, sum(run[-1])):
                    tail.append(piece)
            size = tail.end
        return moved, size, records

    def _check_room(self, needed: int) -> None:
        if self._files.room(self._folder) < needed:
            raise DiskFull(
                f"rewriting a volume needs {needed:,} bytes of free space in addition: free some space and run it "
                "again; finished volumes stay done"
            )


async def _drop_empty(database: StateWriter, files: Files, folder: Path, tell: Tell) -> None:
    """Delete empty volumes. The last of all stays as a stub, so that its number is not reused."""
    last = max((name for name in files.names(folder) if VOLUME_NAME.fullmatch(name)), default="")
    for name in await database.read(captures.empty_volumes):
        if name == last or any(one.kind != WARCINFO for one in gaps(files, folder / name, [], tell)):
            continue
        files.remove(folder / name)
        await database.run(partial(captures.drop_volume, name=name))
        tell("compaction.emptied", volume=name)


def runs(spans: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Group adjacent records."""
    run: list[tuple[int, int]] = []
    for span in spans:
        if run and run[-1][0] + run[-1][1] != span[0]:
            yield run
            run = []
        run.append(span)
    if run:
        yield run


def next_name(name: str, taken: list[str]) -> str:
    """The name of the volume that replaces this one: the same serial and time, the next generation."""
    generation = generation_of(name) + 1
    while (new := f"{stem_of(name)}-c{generation:04d}.warc.gz") in taken:
        generation += 1
    return new
