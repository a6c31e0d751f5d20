"""`gossamer history export`: every page as it was at every visit, in folders by date and time, domain and path.

A crawl is a folder, named by when it was started. One that comes back to pages never ends: each of its days (UTC) is a
folder, and so is each day of captures from nobody knows which crawl (taken in from elsewhere, or older than the
collection's chronicle). Such a folder is named by the day's first capture in the archive, so that it keeps its name
whatever is fetched or taken in later.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import msgspec

from gossamer.app.directory import Directory
from gossamer.app.history_asking import Says, unheard
from gossamer.app.history_names import file_of, folder_at, told_apart
from gossamer.app.history_past import Past, batches
from gossamer.app.outside import Outside
from gossamer.archive.catalogue import Catalogue
from gossamer.clock import SECOND, Instant, in_words
from gossamer.errors import ConfigError
from gossamer.monitor import chronicle
from gossamer.monitor.chronicle import Run, run_at
from gossamer.values.capture import Kept
from gossamer.values.url import id_of

PROGRESS = "progress.json"
DAY_S = 86_400
HEADING = "file\turl\tfetched\tstatus\tmedia type\tbytes\n"


class Done(msgspec.Struct, frozen=True):
    """How far an export came: every capture up to this place is written."""

    archive: str
    """The collection's own mark, so that no folder gets the pages of two."""
    volume: str = ""
    number: int = -1

    def has(self, kept: Kept) -> bool:
        return (kept.place.volume, kept.place.number) <= (self.volume, self.number)


@dataclass(frozen=True, slots=True)
class Placed:
    """A capture and the file that it goes to."""

    kept: Kept
    crawl: str
    file: str

    @property
    def line(self) -> bytes:
        kept = self.kept
        told = (self.file, kept.url.text, in_words(kept.fetched_at), kept.status, kept.media_type, kept.size)
        return ("\t".join(map(str, told)) + "\n").encode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Written:
    pages: int
    known: int
    """Pages that were there from an earlier export."""
    unread: int
    crawls: int


async def export_tree(
    past: Past, directory: Directory, outside: Outside, folder: Path, says: Says = unheard
) -> Written:
    """Goes on where an earlier export to the same folder ended, or was stopped."""
    files = outside.files
    with Catalogue(directory.state, files, directory.archive) as catalogue:
        runs = chronicle.read(files, directory.root).runs
        placed = placing((kept for kept in catalogue.in_order() if kept.is_page), runs)
        first = next(placed, None)
        if first is None:
            return Written(0, 0, 0, 0)
        done = begun(outside, folder, first.kept.place.volume)
        lists = Lists(outside, folder)
        pages = known = unread = 0
        for group in batches(chain([first], placed), lambda one: one.kept.size):
            new = [one for one in group if not done.has(one.kept)]
            bodies = await asyncio.gather(*(past.body(one.kept) for one in new))
            for one, body in zip(new, bodies, strict=True):
                if body is not None:
                    put(outside, folder / one.crawl / one.file, body)
            lists.add(group)
            pages, known = pages + len(new), known + len(group) - len(new)
            unread += sum(body is None for body in bodies)
            if new:
                place = group[-1].kept.place
                files.write(folder / PROGRESS, msgspec.json.encode(Done(done.archive, place.volume, place.number)))
            says(f"writing: {pages:,} pages")
        return Written(pages - unread, known, unread, lists.count)


def placing(pages: Iterator[Kept], runs: Sequence[Run] = ()) -> Iterator[Placed]:
    """In the order of the archive, which only grows: the same names every time.

    Two captures of one name (a page visited twice, or addresses that differ in scheme or case alone) are numbered.
    """
    folders: dict[tuple[Instant | None, int], str] = {}
    taken: Counter[int] = Counter()
    for kept in pages:
        crawl = folder_of(kept.fetched_at, runs, folders)
        file = file_of(kept.url, kept.media_type)
        name_id = id_of(f"{crawl}/{file.lower()}")
        yield Placed(kept, crawl, told_apart(file, taken[name_id]))
        taken[name_id] += 1


def folder_of(at: Instant, runs: Sequence[Run], folders: dict[tuple[Instant | None, int], str]) -> str:
    """`folders`: those of days, by when their run was started."""
    run = run_at(runs, at)
    if run is not None and not run.comes_back:
        return folder_at(run.started_at)
    key = run.started_at if run is not None else None, at // (DAY_S * SECOND)
    return folders.setdefault(key, folder_at(at))


def begun(outside: Outside, folder: Path, archive: str) -> Done:
    """Make the folder, or say how far an earlier export came. Raises ConfigError for a folder with other things."""
    files = outside.files
    if files.size(folder / PROGRESS) is not None:
        try:
            done = msgspec.json.decode(files.read(folder / PROGRESS), type=Done)
        except msgspec.MsgspecError as trouble:
            raise ConfigError(f"{folder / PROGRESS} is not of an export; name another folder") from trouble
        if done.archive != archive:
            raise ConfigError(f"{folder} holds an export of another collection; name another folder")
        return done
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is not a folder")
    if files.names(folder):
        raise ConfigError(f"{folder} is not empty and holds no export; name another folder")
    files.make_folder(folder)
    files.write(folder / PROGRESS, msgspec.json.encode(Done(archive)))
    return Done(archive)


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


class Lists:
    """For each crawl a table of its files and their addresses, beside its folder; made anew by every export."""

    def __init__(self, outside: Outside, folder: Path) -> None:
        self._files, self._folder = outside.files, folder
        self._begun: set[str] = set()

    @property
    def count(self) -> int:
        return len(self._begun)

    def add(self, group: list[Placed]) -> None:
        for crawl in dict.fromkeys([one.crawl for one in group]):
            path = self._folder / f"{crawl}.tsv"
            lines = b"".join([one.line for one in group if one.crawl == crawl])
            if crawl not in self._begun:
                self._begun.add(crawl)
                self._files.remove(path)
                lines = HEADING.encode() + lines
            file = self._files.appender(path)
            try:
                file.append(lines)
            finally:
                file.close()
