"""Copies that are missing, short, damaged or too many, and what is done about each volume.

`next_step` decides, from sizes and checksums alone; `CopyRepair` does it. A copy is written next to its place under
another name, compared with the checksums, synced, and renamed: until then the old one stays.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from gossamer.archive.checksums import (
    BLOCK_BYTES,
    TAIL,
    ChecksumBuilder,
    Checksums,
    blocks_in,
    read_checksums,
    sums_path,
)
from gossamer.archive.reader import PART, VOLUME_NAME, DamagedBytes, Member, Torn, members
from gossamer.archive.storage import COPIED_AT_ONCE, ArchiveFiles
from gossamer.base.files import Files
from gossamer.base.tell import Tell, silent
from gossamer.values.format import counted

Paced = Callable[[int], None]
"""Called with the bytes that were read or written; it may wait, or raise to stop."""


def unpaced(amount: int) -> None:
    """Does not wait."""


class VolumeCopies(msgspec.Struct, frozen=True):
    """One volume on the disks that are there."""

    volume: str
    sizes: dict[Path, int]
    """By directory."""
    sealed: frozenset[Path] = frozenset()
    """The directories with its checksums."""

    @property
    def size(self) -> int:
        """Of a whole copy."""
        return max((size for folder, size in self.sizes.items() if folder in self.sealed or not self.sealed), default=0)

    def whole(self) -> list[Path]:
        """The directories with a copy that seems whole: it has the size, and checksums if any has."""
        return [
            folder
            for folder, size in self.sizes.items()
            if size == self.size and (folder in self.sealed or not self.sealed)
        ]


class CopyStep(msgspec.Struct, frozen=True):
    """What to do next about one volume."""

    kind: Literal["seal", "copy", "drop"]
    folder: Path | None = None
    """Where to make a copy, or delete one."""


class DamagedCopy(msgspec.Struct, frozen=True):
    """A copy that is not as it should be, or too few of them (then without a directory)."""

    volume: str
    directory: str
    why: str

    def in_words(self) -> str:
        return f"{' in '.join(filter(None, (self.volume, self.directory)))}: {self.why}"


def copies_in(files: ArchiveFiles) -> list[VolumeCopies]:
    """Every volume on the disks that are there; nothing is read but the folders."""
    files.refresh()
    sizes, sealed = dict[str, dict[Path, int]](), dict[str, set[Path]]()
    for folder in files.folders:
        with suppress(OSError):
            names = files.inner.names(folder)
            there = {name for name in names if VOLUME_NAME.fullmatch(name)} - files.erased_in(folder)
            for name in there:
                if (size := files.inner.size(folder / name)) is not None:
                    sizes.setdefault(name, {})[folder] = size
            for name in there.intersection(name.removesuffix(TAIL) for name in names if name.endswith(TAIL)):
                sealed.setdefault(name, set()).add(folder)
    return [VolumeCopies(name, sizes[name], frozenset(sealed.get(name, ()))) for name in sorted(sizes)]


def next_step(
    at: VolumeCopies, used: Sequence[Path], wanted: int, free: dict[Path, int], moves: bool
) -> CopyStep | None:
    """`used`: the directories for volumes, `free` how much may still be written there. `moves`: copies elsewhere are
    deleted once there are enough in these; otherwise they count."""
    if not at.sealed:
        return CopyStep("seal")
    whole = at.whole()
    for folder in at.sizes:
        if folder not in whole:
            if folder not in used and len(whole) >= wanted:
                return CopyStep("drop", folder)
            if free.get(folder, at.size) >= at.size:
                return CopyStep("copy", folder)
    counting = [folder for folder in whole if not moves or folder in used]
    if len(counting) < wanted:
        fitting = [folder for folder in used if folder not in at.sizes and free.get(folder, 0) >= at.size]
        target = max(fitting, key=lambda folder: free[folder], default=None)
        return CopyStep("copy", target) if target is not None else None
    if moves and (elsewhere := [folder for folder in whole if folder not in used]):
        return CopyStep("drop", elsewhere[0])
    surplus = [folder for folder in whole if folder in used]
    if len(surplus) > wanted:
        return CopyStep("drop", min(surplus, key=lambda folder: free.get(folder, 0)))
    return None


def shortage(at: VolumeCopies, wanted: int) -> DamagedCopy | None:
    """Too few copies, in words."""
    have = len(at.whole())
    return DamagedCopy(at.volume, "", f"has {have} of {wanted} copies") if have < wanted else None


class CopyRepair:
    """Works on one volume after another. REQUIRES: the directory's lock."""

    def __init__(self, files: ArchiveFiles, tell: Tell = silent, paced: Paced = unpaced) -> None:
        self._files, self._tell, self._paced = files, tell, paced

    def run(self, moves: bool = False, is_deep: bool = False, may_copy: bool = True) -> list[DamagedCopy]:
        """Bring every volume to the copies it should have; returns what could not be done.

        `is_deep`: read and check every copy first. Without `may_copy` no missing copies are made: their directory may
        soon be back."""
        self._files.erase()
        left: list[DamagedCopy] = []
        for at in copies_in(self._files):
            if at.volume not in self._files.writing:
                left += self.settle(at, moves, is_deep, may_copy)
        return left

    def settle(self, at: VolumeCopies, moves: bool, is_deep: bool, may_copy: bool = True) -> list[DamagedCopy]:
        """One volume."""
        failed: list[DamagedCopy] = []
        for bad in scrubbed(self._files, at, self._paced) if is_deep and at.sealed else ():
            if bad.directory and not self._replace(at.volume, Path(bad.directory)):
                failed.append(bad)
        for _ in range(2 * len(self._files.folders) + 2):
            now = next((one for one in copies_in_one(self._files, at.volume)), None)
            step = next_step(now, self._files.used(), self._wanted, self._free(), moves) if now is not None else None
            if now is None or step is None or (step.kind == "copy" and not may_copy):
                break
            if not self._done(now.volume, step):
                failed.append(DamagedCopy(now.volume, str(step.folder or ""), "it could not be made again"))
                break
        last = next(iter(copies_in_one(self._files, at.volume)), None)
        missing = shortage(last, self._files.wanted) if last is not None else None
        return [*failed, *([missing] if missing is not None else [])]

    @property
    def _wanted(self) -> int:
        """With a record and no directory in the settings, nothing is deleted: they may be withheld."""
        return self._files.wanted

    def _free(self) -> dict[Path, int]:
        low = self._files.record.low_water_bytes if self._files.record is not None else 0
        return {one.folder: one.free_bytes - low for one in self._files.rooms() if not one.failed}

    def _done(self, volume: str, step: CopyStep) -> bool:
        match step.kind:
            case "seal":
                return self.seal(volume)
            case "copy":
                return step.folder is not None and self._replace(volume, step.folder)
            case "drop":
                assert step.folder is not None
                return self._drop(volume, step.folder)

    def seal(self, volume: str) -> bool:
        """Make the checksums of a volume that lacks them. Copies that differ are made equal first."""
        copies = self._files.copies(volume)
        if len(copies) > 1:
            reconcile(self._files, volume, None, self._tell)
        try:
            found = self._summed(copies[0])
            same = [copy for copy in copies[1:] if self._summed(copy).is_of_same_bytes(found)]
        except (OSError, IndexError):
            return False
        self._files.seal(volume, [copy.parent for copy in (copies[0], *same)], found)
        return read_checksums(self._files.inner, copies[0]) is not None

    def _summed(self, copy: Path) -> Checksums:
        built = ChecksumBuilder()
        for piece in read_in_pieces(self._files.inner, copy):
            built.add(piece)
            self._paced(len(piece))
        return built.done(self._files.now())

    def _replace(self, volume: str, folder: Path) -> bool:
        """Write one copy again, from blocks that are as the checksums say. False: no room, or no such blocks."""
        files, inner = self._files, self._files.inner
        known = files.checksums(volume, files.copies(volume))
        part = folder / (volume + PART)
        if known is None:
            return False
        try:
            inner.remove(part)
            if not self._copied(volume, part).is_of_same_bytes(known):
                return False
            inner.remove(sums_path(folder / volume))
            files.place(part, known)
        except OSError:
            return False
        finally:
            with suppress(OSError):
                inner.remove(part)
        self._tell("copy.made", volume=volume, directory=str(folder))
        return True

    def _copied(self, volume: str, part: Path) -> Checksums:
        built, opened = ChecksumBuilder(), self._files.inner.appender(part)
        try:
            for piece in self._files.pieces(self._files.folder / volume):
                opened.append(piece)
                built.add(piece)
                self._paced(2 * len(piece))
            opened.sync()
        finally:
            opened.close()
        return built.done(self._files.now())

    def _drop(self, volume: str, folder: Path) -> bool:
        """Delete a copy that is one too many; the others are checked first, to the last block."""
        known = self._files.checksums(volume, self._files.copies(volume))
        others = [copy for copy in self._files.copies(volume) if copy.parent != folder]
        good = [
            copy for copy in others if known is not None and not wrong_blocks(self._files, copy, known, self._paced)
        ]
        if len(good) < min(self._wanted, len(others)) or not good:
            return False
        with suppress(OSError):
            self._files.inner.remove(sums_path(folder / volume))
            self._files.inner.remove(folder / volume)
            self._tell("copy.dropped", volume=volume, directory=str(folder))
            return True
        return False


def copies_in_one(files: ArchiveFiles, volume: str) -> list[VolumeCopies]:
    """The same for one volume; empty if it is gone."""
    copies = files.copies(volume)
    sizes = {copy.parent: files.inner.size(copy) or 0 for copy in copies}
    sealed = frozenset(copy.parent for copy in copies if files.inner.size(sums_path(copy)) is not None)
    return [VolumeCopies(volume, sizes, sealed)] if sizes else []


def scrubbed(files: ArchiveFiles, at: VolumeCopies, paced: Paced = unpaced) -> Iterator[DamagedCopy]:
    """Read every copy of a sealed volume, and say what is wrong with each."""
    known = files.checksums(at.volume, files.copies(at.volume))
    if known is None:
        return
    for folder, size in at.sizes.items():
        if size != known.size:
            yield DamagedCopy(at.volume, str(folder), f"it has {size:,} of {known.size:,} bytes")
        elif wrong := wrong_blocks(files, folder / at.volume, known, paced):
            where = f"the first at byte {wrong[0] * BLOCK_BYTES:,}"
            yield DamagedCopy(at.volume, str(folder), f"{counted(len(wrong), 'damaged block')}, {where}")


def wrong_blocks(files: ArchiveFiles, copy: Path, known: Checksums, paced: Paced = unpaced) -> list[int]:
    """The damaged blocks of one copy; all from the first that the disk cannot read."""
    found, first = list[int](), 0
    try:
        for piece in read_in_pieces(files.inner, copy):
            found += known.wrong_blocks(blocks_in(piece), first)
            first += -(-len(piece) // BLOCK_BYTES)
            paced(len(piece))
    except OSError:
        return [*found, first]
    return found if first * BLOCK_BYTES >= known.size else [*found, first]


def read_in_pieces(files: Files, path: Path, end: int | None = None) -> Iterator[bytes]:
    start = 0
    while piece := files.read(path, start, COPIED_AT_ONCE if end is None else min(COPIED_AT_ONCE, end - start)):
        yield piece
        start += len(piece)


# Copies of a volume that was being written when the power failed: they may differ beyond their last sync.


class GoodBytes(msgspec.Struct, frozen=True):
    """Bytes of a volume, and the copy that has them right."""

    copy: Path
    start: int
    end: int


def reconcile(files: ArchiveFiles, volume: str, known_end: int | None, tell: Tell = silent) -> bool:
    """Make the copies of an unsealed volume equal: every record that any of them has whole, up to the first place
    after `known_end` (where the catalogue ends; None: unknown, so nothing is cut) where none has one. Returns whether
    anything was changed."""
    copies = files.copies(volume)
    if len(copies) < 2 or are_equal(files.inner, copies):
        return False
    most = max(files.inner.size(copy) or 0 for copy in copies)
    spans = whole_spans(files.inner, copies, most if known_end is None else min(known_end, most))
    end = spans[-1].end if spans else 0
    for copy in copies:
        try:
            if not has_spans(files.inner, copy, spans):
                write_from(files.inner, copy, spans)
                tell("copy.made", volume=volume, directory=str(copy.parent))
            elif (size := files.inner.size(copy) or 0) > end:
                cut_to(files.inner, copy, end)
                tell("volume.cut", volume=volume, offset=end, removed_bytes=size - end)
        except OSError as error:  # replaced later, because it differs from the checksums of the others
            files.has_failed(copy.parent, volume, error)
    return True


def whole_spans(files: Files, copies: Sequence[Path], known_end: int) -> list[GoodBytes]:
    spans, at, best = list[GoodBytes](), 0, sorted(copies, key=lambda copy: -(files.size(copy) or 0))
    while (found := _longest_run(files, best, at)).end > at or at < known_end:
        if found.end == at:  # acknowledged, and damaged in every copy: it stays as it is
            found = _damage(files, best[0], at, known_end)
            if found.end == at:
                break
        spans.append(found)
        at = found.end
    return spans


def _longest_run(files: Files, copies: Sequence[Path], start: int) -> GoodBytes:
    """The whole records from `start` on, in the copy that has most of them."""
    runs = []
    for copy in copies:
        end = start
        with suppress(OSError):
            for one in members(files, copy, start):
                if not isinstance(one, Member):
                    break
                end = one.offset + one.length
        runs.append(GoodBytes(copy, start, end))
    return max(runs, key=lambda run: run.end)


def _damage(files: Files, copy: Path, start: int, known_end: int) -> GoodBytes:
    one = next(members(files, copy, start), None)
    length = one.length if isinstance(one, DamagedBytes | Torn) else 0
    return GoodBytes(
        copy, start, min(start + length, max(known_end, start)) if isinstance(one, Torn) else start + length
    )


def are_equal(files: Files, copies: Sequence[Path]) -> bool:
    if len({files.size(copy) for copy in copies}) > 1:
        return False
    try:
        return all(
            len(set(pieces)) == 1 for pieces in zip(*(read_in_pieces(files, copy) for copy in copies), strict=True)
        )
    except (OSError, ValueError):
        return False


def has_spans(files: Files, copy: Path, spans: Sequence[GoodBytes]) -> bool:
    try:
        return all(
            piece == files.read(copy, at, len(piece))
            for span in spans
            if span.copy != copy
            for at, piece in _span_pieces(files, span)
        )
    except OSError:
        return False


def _span_pieces(files: Files, span: GoodBytes) -> Iterator[tuple[int, bytes]]:
    at = span.start
    while at < span.end and (piece := files.read(span.copy, at, min(COPIED_AT_ONCE, span.end - at))):
        yield at, piece
        at += len(piece)


def cut_to(files: Files, copy: Path, end: int) -> None:
    opened = files.appender(copy)
    try:
        opened.cut(end)
        opened.sync()
    finally:
        opened.close()


def write_from(files: Files, copy: Path, spans: Sequence[GoodBytes]) -> None:
    part = copy.with_name(copy.name + PART)
    files.remove(part)
    opened = files.appender(part)
    try:
        for span in spans:
            for _, piece in _span_pieces(files, span):
                opened.append(piece)
        opened.sync()
    finally:
        opened.close()
    files.rename(part, copy)
