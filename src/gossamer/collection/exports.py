"""Exports of a collection: every page, fact, link and fetch, streamed or written to a file."""

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gossamer.archive.catalogue import Catalogue
from gossamer.archive.reader import DamagedBytes, volumes_of
from gossamer.base.clock import in_words
from gossamer.base.environment import Outside
from gossamer.base.errors import ArchiveDamaged, ConfigError, DirectoryUnusable, WorkerLost
from gossamer.base.tell import Says
from gossamer.collection import tables
from gossamer.collection.history.reader import batches, page_readers, read_by
from gossamer.collection.tables import ExportedPage, Lines, Revisit, revisit_of
from gossamer.collection.views import facts_server, refuse_missing
from gossamer.config.settings import Settings
from gossamer.crawler.damage import beyond_end
from gossamer.frontier.reports import KnownUrl, LastVisit, every_known, every_remembered, every_visit
from gossamer.spool.codec import decode
from gossamer.store import captures
from gossamer.store.directory import Directory
from gossamer.store.state import open_state
from gossamer.store.statements import State
from gossamer.values.capture import Capture, Kept
from gossamer.values.link import Link
from gossamer.values.messages import ReadJob
from gossamer.values.outcome import Reason
from gossamer.values.page import Reading
from gossamer.values.query import Query
from gossamer.values.url import Url
from gossamer.views.facts.checkpoints import newest
from gossamer.views.facts.store import facts_of, opened, page_facts
from gossamer.views.links.place import every_link_of
from gossamer.views.words.place import words_reader
from gossamer.views.words.schema import Card
from gossamer.workers.pool import Pool

EVERYTHING = Query()
Write = Callable[[bytes], object]


class ExportResult(msgspec.Struct, frozen=True):
    """How many facts, pages or volumes, and in words the damaged records that were omitted."""

    count: int
    damage: list[str]


@dataclass(frozen=True, slots=True)
class Exports:
    """Each call starts from the beginning, with handles of its own, which are closed with the iterator."""

    directory: Directory
    outside: Outside

    def pages(self, query: Query = EVERYTHING, with_text: bool = False) -> Generator[ExportedPage, None, None]:
        """The pages that a query finds; all for an empty one."""
        with closing(words_reader(self.directory, self.outside.clock)) as words:
            words.open()
            for card, text in words.walked(query):
                yield exported(card, text if with_text else "")

    def facts(self, query: Query = EVERYTHING) -> Iterator[bytes]:
        """The facts of the same pages, as N-Quads."""
        if (server := facts_server(self.directory, self.outside)) is not None:
            with closing(server):
                if query.is_empty:
                    yield from server.page_facts()
                    return
                with closing(self.pages(query)) as wanted:
                    yield from server.facts_of(Url(page.url) for page in wanted)
            return
        checkpoint = newest(self.outside.files, self.directory.checkpoints)
        if checkpoint is None:
            refuse_missing(self.directory, self.outside, self.directory.checkpoints)
            raise DirectoryUnusable(
                f"no facts are ready in {self.directory.checkpoints} yet; "
                f"`gossamer rebuild --dir {self.directory.root}` makes them"
            )
        store = opened(checkpoint.folder)
        if query.is_empty:
            yield from page_facts(store)
            return
        with closing(self.pages(query)) as wanted:
            yield from facts_of(store, (Url(page.url) for page in wanted))

    def links(self) -> Iterator[tuple[str, tuple[Link, ...]]]:
        return every_link_of(self.directory, self.outside.clock)

    def visits(self) -> Iterator[LastVisit]:
        return every_visit(self._state)

    def known(self) -> Iterator[KnownUrl]:
        return every_known(self._state)

    def captures(self) -> Iterator[Kept]:
        return captures.every_capture(self._state)

    def revisits(self) -> Iterator[Revisit]:
        return map(revisit_of, every_remembered(self._state))

    def _state(self) -> State:
        return open_state(self.directory)


def exported(card: Card, text: str) -> ExportedPage:
    return ExportedPage(
        url=card.url.text,
        site=card.url.host.name,
        title=card.title,
        description=card.description,
        language=card.language,
        fetched_at=card.fetched_at,
        fact_count=card.fact_count,
        types=card.types,
        syntaxes=card.syntaxes,
        text=text if card.may_cache else "",
        may_cache=card.may_cache,
    )


async def write_file(
    what: str, directory: Directory, outside: Outside, out: Path, says: Says, reasons: frozenset[Reason] = frozenset()
) -> ExportResult:
    """An existing file is replaced only by a complete one; damaged records are omitted."""
    if not out.parent.is_dir():
        raise ConfigError(f"there is no folder {out.parent}")
    making = out.with_name(out.name + ".part")
    outside.files.remove(making)
    with closing(outside.files.appender(making)) as file:
        written = await write_out(what, directory, outside, file.append, says, reasons)
        file.sync()
    outside.files.rename(making, out)
    return written


async def write_out(
    what: str,
    directory: Directory,
    outside: Outside,
    write: Write,
    says: Says,
    reasons: frozenset[Reason] = frozenset(),
) -> ExportResult:
    exports = Exports(directory, outside)
    match what:
        case "pages":
            return write_rows(tables.pages_csv(exports.pages()), "pages", write, says)
        case "outcomes":
            wanted = (one for one in exports.visits() if not reasons or one.reason in reasons)
            return write_rows(tables.visits_csv(wanted), "outcomes", write, says)
        case "urls":
            return write_rows(tables.known_csv(exports.known()), "URLs", write, says)
        case "captures":
            return write_rows(tables.captures_csv(exports.captures()), "captures", write, says)
        case "nquads":
            return write_facts(exports.facts(), write, says)
        case "warc":
            return write_volumes(directory, outside, write, says)
        case _:
            return await write_pages(directory, outside, write, as_json if what == "jsonl" else as_text, says)


def write_rows(lines: Lines, unit: str, write: Write, says: Says) -> ExportResult:
    """A table, line by line."""
    count = -1  # the column names

    def counted() -> Lines:
        nonlocal count
        for line in lines:
            count += 1
            yield line

    for piece in tables.in_pieces(counted()):
        write(piece)
        says(f"writing {unit}: {count:,}")
    return ExportResult(max(0, count), [])


def write_facts(facts: Iterator[bytes], write: Write, says: Says) -> ExportResult:
    count = 0
    for piece in facts:
        count += piece.count(b"\n")
        write(piece)
        says(f"writing nquads: {count:,} facts")
    return ExportResult(count, [])


def write_volumes(directory: Directory, outside: Outside, write: Write, says: Says) -> ExportResult:
    """The intact records of all volumes, concatenated, are one WARC file again."""
    count, damage = 0, list[str]()

    def note(name: str, found: DamagedBytes) -> None:
        damage.append(f"{name}, {found.length:,} bytes from byte {found.offset} on: {found.why}")

    for name, pieces in volumes_of(outside.files, directory.archive, note):
        count += 1
        for piece in pieces:
            write(piece)
            says(f"writing warc: {name}")
    with closing(open_state(directory)) as state:
        for name in captures.volume_names(state):
            lost = beyond_end(state, outside.files, directory.archive, name)
            if lost and name in captures.volume_names(state):  # else it has been rewritten
                damage += [f"{name}, record {one.number} at byte {one.offset}: {one.why} ({one.url})" for one in lost]
    return ExportResult(count, damage)


async def write_pages(
    directory: Directory, outside: Outside, write: Write, form: Callable[[Reading], bytes], says: Says
) -> ExportResult:
    count, damage = 0, list[str]()
    async with page_readers(directory, Settings(), outside) as readers:
        async for reading in readings(directory, outside, readers, damage):
            write(form(reading))
            count += 1
            says(f"writing pages: {count:,}")
    return ExportResult(count, damage)


async def readings(directory: Directory, outside: Outside, readers: Pool, damage: list[str]) -> AsyncIterator[Reading]:
    """The newest version of every page, read from the archive. Damaged records are added to `damage`."""
    with Catalogue(directory, outside.files) as catalogue:
        for group in batches(newest_captures(catalogue, damage), lambda capture: len(capture.body)):
            for reading in await asyncio.gather(*(read_again(capture, readers) for capture in group)):
                if reading is not None:
                    yield reading


def newest_captures(catalogue: Catalogue, damage: list[str]) -> Iterator[Capture]:
    for kept in catalogue.pages():
        try:
            capture = catalogue.read(kept)
        except ArchiveDamaged as trouble:
            damage.append(f"{kept.url.text} of {in_words(kept.fetched_at)}: {trouble}")
            continue
        if capture is not None:
            yield capture


async def read_again(capture: Capture, readers: Pool) -> Reading | None:
    try:
        done = await read_by(readers, ReadJob(capture, "read", "all", ""))
    except WorkerLost:
        return None
    return decode(done.reading) if done.reading else None


def as_json(reading: Reading) -> bytes:
    page = reading.page
    line = {
        "url": page.url.text,
        "fetched_at": in_words(reading.fetched_at),
        "title": page.title,
        "description": page.description,
        "language": page.language,
        "headings": page.headings,
        "text": page.content,
        "links": [{"url": link.url.text, "text": link.text} for link in page.links],
        "types": reading.types,
        "facts": reading.facts.decode().splitlines(),
    }
    return msgspec.json.encode(line) + b"\n"


def as_text(reading: Reading) -> bytes:
    """URL, title and text; a form feed separates pages."""
    page = reading.page
    return f"{page.url.text}\n{page.title}\n\n{page.content}\n\f\n".encode()
