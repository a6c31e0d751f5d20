"""`gossamer history export`: every page as it was at every visit, in folders by date and time, domain and path.

A crawl is a folder, named by when it was started. One that comes back to pages never ends: each of its days (UTC) is a
folder, and so is each day of captures from nobody knows which crawl (taken in from elsewhere, or older than the
collection's chronicle). Such a folder is named by the day's first capture in the archive.

The tables beside the folders say what is written. They only grow: whatever leaves the archive later (see
`gossamer compact`) stays in the export, under its name, and no other page gets that name.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from gossamer.archive.catalogue import Catalogue
from gossamer.archive.reader import stem_of
from gossamer.base.clock import SECOND, Instant
from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError
from gossamer.collection.history.export_lists import ExportTables, Placed, rows_in
from gossamer.collection.history.export_names import file_of, folder_at, told_apart
from gossamer.collection.history.facts import Says, unheard
from gossamer.collection.history.past import HistoryReader, batches
from gossamer.monitor import chronicle
from gossamer.monitor.chronicle import CrawlRun, run_at
from gossamer.store.directory import Directory
from gossamer.values.capture import Kept, capture_id_of
from gossamer.values.url import Url, id_of

PROGRESS = "progress.json"
DAY_S = 86_400
LOOKED_UP = 1_000


class ExportMark(msgspec.Struct, frozen=True):
    """Of which collection a folder holds an export."""

    archive: str
    """The name of its first volume."""


@dataclass(frozen=True, slots=True)
class ExportedHistory:
    pages: int
    known: int
    """Pages that were there from an earlier export."""
    unread: int
    crawls: int


async def export_tree(
    past: HistoryReader, directory: Directory, outside: Outside, folder: Path, says: Says = unheard
) -> ExportedHistory:
    """Goes on where an earlier export to the same folder ended, or was stopped."""
    with Catalogue(directory, outside.files) as catalogue:
        first = next((kept for kept in catalogue.in_order() if kept.is_page), None)
        if first is None:
            return ExportedHistory(0, 0, 0, 0)
        begin(outside, folder, first.place.volume, catalogue)
        placing = Placing(chronicle.read(outside.files, directory.root).runs)
        placing.take(rows_in(outside.files, folder))
        lists = ExportTables(outside.files, folder)
        pages = unread = 0
        for group in batches(placing.new(kept for kept in catalogue.in_order() if kept.is_page), size_of):
            bodies = await asyncio.gather(*(past.body(one.kept) for one in group))
            for one, body in zip(group, bodies, strict=True):
                if body is not None:
                    put(outside, folder / one.crawl / one.file, body)
            lists.add(group)
            pages, unread = pages + len(group), unread + sum(body is None for body in bodies)
            says(f"writing: {pages:,} pages")
        return ExportedHistory(pages - unread, placing.met_again, unread, len(placing.crawls))


def size_of(placed: Placed) -> int:
    return placed.kept.size


@dataclass(slots=True)
class Placing:
    """Which file each capture goes to.

    Two captures of one name (a page visited twice, or addresses that differ in scheme or case alone) are numbered.
    """

    runs: Sequence[CrawlRun] = ()
    met_again: int = 0
    crawls: set[str] = field(default_factory=set)
    _written: set[int] = field(default_factory=set)
    _folders: dict[tuple[Instant | None, int], str] = field(default_factory=dict)
    _taken: Counter[int] = field(default_factory=Counter)

    def take(self, rows: Iterable[tuple[str, Url, Instant, str]]) -> None:
        """What an earlier export has written: crawl, address, moment and media type."""
        for crawl, url, at, media_type in rows:
            self._written.add(capture_id_of(url, at))
            if (key := self._day(at)) is not None:
                self._folders.setdefault(key, crawl)
            self._taken[_name_id(crawl, file_of(url, media_type))] += 1
            self.crawls.add(crawl)

    def new(self, pages: Iterable[Kept]) -> Iterator[Placed]:
        """Those that are not written yet, in the order given: the archive's, so that names are the same every time."""
        for kept in pages:
            if capture_id_of(kept.url, kept.fetched_at) in self._written:
                self.met_again += 1
                continue
            crawl, file = self._folder_of(kept.fetched_at), file_of(kept.url, kept.media_type)
            name_id = _name_id(crawl, file)
            self.crawls.add(crawl)
            yield Placed(kept, crawl, told_apart(file, self._taken[name_id]))
            self._taken[name_id] += 1

    def _folder_of(self, at: Instant) -> str:
        key = self._day(at)
        if key is not None:
            return self._folders.setdefault(key, folder_at(at))
        run = run_at(self.runs, at)
        assert run is not None, "what belongs to no crawl belongs to a day"
        return folder_at(run.started_at)

    def _day(self, at: Instant) -> tuple[Instant | None, int] | None:
        """The start of its run and its day; None: its crawl is a folder of its own."""
        run = run_at(self.runs, at)
        if run is not None and not run.comes_back:
            return None
        return run.started_at if run is not None else None, at // (DAY_S * SECOND)


def _name_id(crawl: str, file: str) -> int:
    return id_of(f"{crawl}/{file.lower()}")


def begin(outside: Outside, folder: Path, volume: str, catalogue: Catalogue) -> None:
    """Make the folder, or go on with it. Raises ConfigError for one with other things in it."""
    files = outside.files
    if files.size(folder / PROGRESS) is not None:
        try:
            mark = msgspec.json.decode(files.read(folder / PROGRESS), type=ExportMark)
        except msgspec.MsgspecError as trouble:
            raise ConfigError(f"{folder / PROGRESS} is not of an export; name another folder") from trouble
        if stem_of(mark.archive) == stem_of(volume):
            return
        if not shares(catalogue, outside, folder):  # its first volume may have gone: by `compact`, or `forget`
            raise ConfigError(
                f"{folder} holds an export of another collection, or of pages that were all dropped from this one; "
                "name another folder"
            )
    elif folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is not a folder")
    elif files.names(folder):
        raise ConfigError(f"{folder} is not empty and holds no export; name another folder")
    files.make_folder(folder)
    files.write(folder / PROGRESS, msgspec.json.encode(ExportMark(volume)))


def shares(catalogue: Catalogue, outside: Outside, folder: Path) -> bool:
    """Whether what is written there is, at least in part, of this collection; also when nothing is written yet."""
    rows = [(url, at) for _, url, at, _ in rows_in(outside.files, folder)]
    some = rows[:: max(1, len(rows) // LOOKED_UP)]
    return not rows or any(at in {one.fetched_at for one in catalogue.versions(url)} for url, at in some)


def put(outside: Outside, path: Path, body: bytes) -> None:
    """Not synced one by one: what a power cut takes, a new export into an empty folder brings back."""
    files = outside.files
    files.make_folder(path.parent)
    files.remove(path)
    file = files.appender(path)
    try:
        file.append(body)
    finally:
        file.close()
