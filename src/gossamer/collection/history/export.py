"""`gossamer history export`: every page as it was at every fetch, in dated folders.

Below the dates, folders are by domain and path.

A crawl is a folder, named by its start. One that revisits pages never ends: each of its days (UTC) is a folder, and so
is each day of captures of unknown crawls (imported, or older than the collection's chronicle). Such a folder is named
by the day's first capture in the archive.

The tables next to the folders list what is written. They only grow: what leaves the archive later (see
`gossamer compact`) stays in the export, under its name, and no other page gets that name.
"""

import asyncio
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from gossamer.archive.catalogue import Catalogue
from gossamer.archive.reader import stem_of
from gossamer.base.clock import SECOND, Instant, from_words, in_words
from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError
from gossamer.base.files import Files
from gossamer.base.tell import Says, unheard
from gossamer.collection.history.reader import HistoryReader, batches
from gossamer.monitor import chronicle
from gossamer.monitor.chronicle import CrawlRun, run_at
from gossamer.store.directory import Directory
from gossamer.values.capture import Kept, capture_id_of
from gossamer.values.url import Url, id_of

PROGRESS = "progress.json"
DAY_S = 86_400
LOOKED_UP = 1_000


class ExportMark(msgspec.Struct, frozen=True):
    """The collection that a folder is an export of."""

    archive: str
    """The name of its first volume."""


@dataclass(frozen=True, slots=True)
class ExportedHistory:
    pages: int
    known: int
    """Pages written by an earlier export."""
    unread: int
    crawls: int


async def export_tree(
    past: HistoryReader, directory: Directory, outside: Outside, folder: Path, says: Says = unheard
) -> ExportedHistory:
    """Continues where an earlier export to the same folder ended or was stopped."""
    with Catalogue(directory, outside.files) as catalogue:
        first = next((kept for kept in catalogue.in_order() if kept.is_page), None)
        if first is None:
            return ExportedHistory(0, 0, 0, 0)
        begin(outside, folder, first.place.volume, catalogue)
        placing = Placing(chronicle.read(outside.files, directory.root).runs)
        placing.take(rows_in(outside.files, folder))
        lists = ExportTables(outside.files, folder)
        pages = unread = 0
        for group in batches(
            placing.new(kept for kept in catalogue.in_order() if kept.is_page), lambda one: one.kept.size
        ):
            bodies = await asyncio.gather(*(past.body(one.kept) for one in group))
            for one, body in zip(group, bodies, strict=True):
                if body is not None:
                    put(outside, folder / one.crawl / one.file, body)
            lists.add(group)
            pages, unread = pages + len(group), unread + sum(body is None for body in bodies)
            says(f"writing: {pages:,} pages")
        return ExportedHistory(pages - unread, placing.already_written, unread, len(placing.crawls))


@dataclass(frozen=True, slots=True)
class Placed:
    """A capture and its file."""

    kept: Kept
    crawl: str
    file: str

    @property
    def line(self) -> bytes:
        kept = self.kept
        cells = (self.file, kept.url.text, in_words(kept.fetched_at), kept.status, kept.media_type, kept.size)
        return ("\t".join(map(str, cells)) + "\n").encode("utf-8", "replace")


@dataclass(slots=True)
class Placing:
    """The file of each capture.

    Captures of the same name (of a page fetched twice, or of URLs that differ only in scheme or case) are numbered.
    """

    runs: Sequence[CrawlRun] = ()
    already_written: int = 0
    crawls: set[str] = field(default_factory=set)
    _written: set[int] = field(default_factory=set)
    _folders: dict[tuple[Instant | None, int], str] = field(default_factory=dict)
    _taken: Counter[int] = field(default_factory=Counter)

    def take(self, rows: Iterable[tuple[str, Url, Instant, str]]) -> None:
        """What an earlier export has written: crawl, URL, instant and media type."""
        for crawl, url, at, media_type in rows:
            self._written.add(capture_id_of(url, at))
            if (key := self._day(at)) is not None:
                self._folders.setdefault(key, crawl)
            self._taken[_name_id(crawl, file_of(url, media_type))] += 1
            self.crawls.add(crawl)

    def new(self, pages: Iterable[Kept]) -> Iterator[Placed]:
        """Those not written yet, in the given order, that of the archive, so that names are the same every time."""
        for kept in pages:
            if capture_id_of(kept.url, kept.fetched_at) in self._written:
                self.already_written += 1
                continue
            crawl, file = self._folder_of(kept.fetched_at), file_of(kept.url, kept.media_type)
            name_id = _name_id(crawl, file)
            self.crawls.add(crawl)
            yield Placed(kept, crawl, numbered(file, self._taken[name_id]))
            self._taken[name_id] += 1

    def _folder_of(self, at: Instant) -> str:
        key = self._day(at)
        if key is not None:
            return self._folders.setdefault(key, folder_at(at))
        run = run_at(self.runs, at)
        assert run is not None, "a capture of no crawl belongs to a day"
        return folder_at(run.started_at)

    def _day(self, at: Instant) -> tuple[Instant | None, int] | None:
        """The start of its run and its day; None: its crawl is one folder."""
        run = run_at(self.runs, at)
        if run is not None and not run.comes_back:
            return None
        return run.started_at if run is not None else None, at // (DAY_S * SECOND)


def _name_id(crawl: str, file: str) -> int:
    return id_of(f"{crawl}/{file.lower()}")


def begin(outside: Outside, folder: Path, volume: str, catalogue: Catalogue) -> None:
    """Make the folder, or continue it. Raises ConfigError for one with other content."""
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
    """Whether any of what is written there is of this collection, or nothing is written yet."""
    rows = [(url, at) for _, url, at, _ in rows_in(outside.files, folder)]
    some = rows[:: max(1, len(rows) // LOOKED_UP)]
    return not rows or any(at in {one.fetched_at for one in catalogue.versions(url)} for url, at in some)


def put(outside: Outside, path: Path, body: bytes) -> None:
    """Not synced one by one: after a power cut, a new export into an empty folder restores what was lost."""
    files = outside.files
    files.make_folder(path.parent)
    files.remove(path)
    with closing(files.appender(path)) as file:
        file.append(body)


HEADING = "file\turl\tfetched\tstatus\tmedia type\tbytes\n"
_NAME = re.compile(r"(\d{4,}-\d\d-\d\dT\d\d-\d\d-\d\dZ)\.tsv")


class ExportTables:
    def __init__(self, files: Files, folder: Path) -> None:
        self._files, self._folder = files, folder

    def add(self, group: list[Placed]) -> None:
        """REQUIRES: the files are written; what is listed is not written again."""
        for crawl in dict.fromkeys([one.crawl for one in group]):
            path = self._folder / f"{crawl}.tsv"
            lines = b"".join([one.line for one in group if one.crawl == crawl])
            with closing(self._files.appender(path)) as file:
                file.append(lines if file.size() else HEADING.encode() + lines)


def rows_in(files: Files, folder: Path) -> Iterator[tuple[str, Url, Instant, str]]:
    """Crawl, URL, instant and media type of every listed page. A torn last line is cut off first."""
    for name in files.names(folder):
        named = _NAME.fullmatch(name)
        if named is None:
            continue
        content = files.read(folder / name)
        whole = content.rpartition(b"\n")[0] + b"\n" if b"\n" in content else b""
        if whole != content:
            files.write(folder / name, whole)
        for line in whole.decode("utf-8", "replace").splitlines()[1:]:
            try:
                _, url, fetched, _, media_type, _ = line.split("\t")
                yield named[1], Url(url), from_words(fetched), media_type
            except ValueError:  # edited by hand
                continue


LONGEST_NAME = 120
LONGEST_PATH = 800
MOST_FOLDERS = 40
SUFFIXES = {
    "text/html": ".html",
    "application/xhtml+xml": ".xhtml",
    "text/plain": ".txt",
    "application/json": ".json",
    "application/ld+json": ".json",
    "image/svg+xml": ".svg",
}
_UNSAFE = re.compile(r"[^A-Za-z0-9._~%=&,;@$'()+-]")
_OURS = re.compile(r"(index|page)(?=[.!])", re.IGNORECASE)
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(?=\.|$)", re.IGNORECASE)


def file_of(url: Url, media_type: str) -> str:
    """Its relative path, with slashes."""
    path, _, query = url.target.partition("?")
    *folders, last = path.split("/")[1:]
    stem = "index"
    if last:
        folders, stem = [*folders, last], "page"
    if "?" in url.target:
        stem += _escaped("?" + query)
    suffix = SUFFIXES.get(media_type) or (".xml" if media_type.endswith(("/xml", "+xml")) else ".bin")
    name = _shortened(stem, LONGEST_NAME) + suffix
    parts = [_shortened(_escaped(url.host.name), LONGEST_NAME), *map(_folder, folders)]
    whole = "/".join([*parts, name])
    if len(whole) <= LONGEST_PATH and len(parts) <= MOST_FOLDERS:
        return whole
    return "/".join([*parts[:2], f"!~{_digest(url.target)}", name])


def numbered(name: str, count: int) -> str:
    """The name for the next of `count` others with this name."""
    if not count:
        return name
    stem, dot, suffix = name.rpartition(".")
    return f"{stem}!~{count + 1}{dot}{suffix}"


def folder_at(at: Instant) -> str:
    """A folder named by date and time; colons are not allowed in names everywhere."""
    return in_words(at)[:19].replace(":", "-") + "Z"


def _folder(segment: str) -> str:
    """One part of a path: never empty, hidden, `..`, a device of some system, or named like a page's file."""
    text = _escaped(segment) or "!~"
    if text.startswith(".") or _OURS.match(text) or _DEVICE.match(text):
        text = f"!{ord(text[0]):02X}{text[1:]}"
    if text.endswith("."):
        text = text[:-1] + "!2E"
    return _shortened(text, LONGEST_NAME)


def _escaped(text: str) -> str:
    return _UNSAFE.sub(lambda odd: "".join([f"!{octet:02X}" for octet in odd[0].encode()]), text)


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 20]}!~{_digest(text)}"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
