"""`gossamer export`: what a collection holds, in formats other programs read."""

import asyncio
import csv
import io
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter

from gossamer.archive.catalogue import Catalogue
from gossamer.archive.reader import DamagedBytes, volumes_of
from gossamer.base.clock import in_words
from gossamer.base.environment import Outside, real_outside
from gossamer.base.errors import ArchiveDamaged, ConfigError, DirectoryUnusable, WorkerLost
from gossamer.base.tell import silent
from gossamer.cli.steps import Working
from gossamer.collection.directory import existing
from gossamer.collection.exports import exports_of
from gossamer.config.settings import Settings
from gossamer.crawler.damage import DAMAGED, beyond_end
from gossamer.plugins.code import reopened
from gossamer.spool.codec import decode
from gossamer.store import captures as stored_captures
from gossamer.store.directory import DEFAULT, Directory
from gossamer.store.state import open_state
from gossamer.values.capture import Capture
from gossamer.values.messages import ReadDone, ReadJob, parts_of
from gossamer.values.outcome import GROUPS, Reason
from gossamer.values.page import Reading
from gossamer.values.query import Query
from gossamer.views.facts.checkpoints import newest
from gossamer.views.facts.store import opened, page_facts
from gossamer.web.exports import captures_csv, known_csv, pages_csv, visits_csv
from gossamer.workers.jobs import job_for, reader_pool
from gossamer.workers.pool import Pool

AT_ONCE = 16
UNITS = {
    "nquads": "facts", "jsonl": "pages", "text": "pages", "warc": "volumes", "pages": "pages", "visits": "visits",
    "addresses": "known URLs", "captures": "captures",
}  # fmt: skip

MOST_NAMED = 20

Write = Callable[[bytes], object]
Says = Callable[[str], None]


class ExportResult(msgspec.Struct, frozen=True):
    """How many facts, pages or volumes, and in words the damaged records that were left out."""

    count: int
    damage: list[str]


def export(
    what: Annotated[
        Literal["nquads", "jsonl", "text", "warc", "pages", "visits", "addresses", "captures"],
        Parameter(
            help="Facts; pages with text, links and facts, one JSON object per line; plain text; the archive; "
            "tables (CSV) of all pages, of all URLs fetched, of all known, or of all captures."
        ),
    ],
    *,
    reason: Annotated[
        tuple[str, ...],
        Parameter(help="visits: only this outcome: a reason code, or found, redirected, missing, refused, failed."),
    ] = (),
    dir: Annotated[Path, Parameter(help="The collection's data directory.")] = DEFAULT,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"], help="A file; standard output if not given.")] = None,
) -> int:
    directory, outside, reasons = existing(dir), real_outside(), wanted_ends(reason)
    if reasons and what != "visits":
        raise ConfigError("--reason filters visits: gossamer export visits --reason failed")
    quiet = out is None and sys.stdout.isatty()
    with Working(f"writing {what}", outside.clock, quiet=quiet) as progress:
        if out is None:
            written = asyncio.run(write_out(what, directory, outside, sys.stdout.buffer.write, progress.says, reasons))
            sys.stdout.buffer.flush()
        else:
            written = asyncio.run(write_file(what, directory, outside, out, progress.says, reasons))
    unit = UNITS[what].removesuffix("s") if written.count == 1 else UNITS[what]
    print(f"{written.count:,} {unit} written", file=sys.stderr)
    return told(written.damage)


def told(damage: list[str]) -> int:
    """Names what was left out; the exit code."""
    for line in damage[:MOST_NAMED]:
        print(f"skipped: {line}", file=sys.stderr)
    if damage:
        count = "1 damaged record was" if len(damage) == 1 else f"{len(damage):,} damaged records were"
        print(f"{count} skipped. `gossamer verify` lists what is damaged, and can repair it.", file=sys.stderr)
    return DAMAGED if damage else 0


def wanted_ends(named: tuple[str, ...]) -> frozenset[Reason]:
    """Reasons, and groups of them, by name; none: all."""
    wanted: set[Reason] = set()
    for name in named:
        if name not in GROUPS and name not in set(Reason):
            raise ConfigError(f"unknown outcome “{name}”; possible are {', '.join([*GROUPS, *Reason])}")
        wanted |= set(GROUPS.get(name) or (Reason(name),))
    return frozenset(wanted)


async def write_file(
    what: str, directory: Directory, outside: Outside, out: Path, says: Says, reasons: frozenset[Reason] = frozenset()
) -> ExportResult:
    """A file that is there already is replaced, and only by a complete one; damaged records are left out of it."""
    if not out.parent.is_dir():
        raise ConfigError(f"there is no folder {out.parent}")
    making = out.with_name(out.name + ".part")
    outside.files.remove(making)
    file = outside.files.appender(making)
    try:
        written = await write_out(what, directory, outside, file.append, says, reasons)
        file.sync()
    finally:
        file.close()
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
    exports = exports_of(directory, outside)
    match what:
        case "pages":
            return write_rows(pages_csv(exports.pages(Query(), False)), "pages", write, says)
        case "visits":
            wanted = (one for one in exports.visits() if not reasons or one.reason in reasons)
            return write_rows(visits_csv(wanted), "visits", write, says)
        case "addresses":
            return write_rows(known_csv(exports.known()), "addresses", write, says)
        case "captures":
            return write_rows(captures_csv(exports.captures()), "captures", write, says)
        case "nquads":
            return ExportResult(write_facts(directory, outside, write, says), [])
        case "warc":
            return write_volumes(directory, outside, write, says)
        case _:
            return await write_pages(directory, outside, write, as_json if what == "jsonl" else as_text, says)


def write_rows(pieces: Iterator[bytes], unit: str, write: Write, says: Says) -> ExportResult:
    """A table; no cell of it holds the end of a line but quoted, so rows are counted as they are written."""
    count = -1  # the names of the columns
    for piece in pieces:
        count += len(list(csv.reader(io.StringIO(piece.decode(), newline=""))))
        write(piece)
        says(f"writing {unit}: {count:,}")
    return ExportResult(max(0, count), [])


def write_facts(directory: Directory, outside: Outside, write: Write, says: Says) -> int:
    checkpoint = newest(outside.files, directory.checkpoints)
    if checkpoint is None:
        raise DirectoryUnusable(
            f"no facts are ready in {directory.checkpoints} yet; `gossamer rebuild --dir {directory.root}` makes them"
        )
    count = 0
    for piece in page_facts(opened(checkpoint.folder)):
        count += piece.count(b"\n")
        write(piece)
        says(f"writing nquads: {count:,} facts")
    return count


def write_volumes(directory: Directory, outside: Outside, write: Write, says: Says) -> ExportResult:
    """The whole records of all volumes one after another are one WARC file again."""
    count, damage = 0, list[str]()

    def left_out(name: str, found: DamagedBytes) -> None:
        damage.append(f"{name}, {found.length:,} bytes from byte {found.offset} on: {found.why}")

    for name, pieces in volumes_of(outside.files, directory.archive, left_out):
        count += 1
        for piece in pieces:
            write(piece)
            says(f"writing warc: {name}")
    with closing(open_state(directory)) as state:
        for name in stored_captures.volume_names(state):
            lost = beyond_end(state, outside.files, directory.archive, name)
            if lost and name in stored_captures.volume_names(state):  # else it was rewritten meanwhile
                damage += [f"{name}, record {one.number} at byte {one.offset}: {one.why} ({one.url})" for one in lost]
    return ExportResult(count, damage)


async def write_pages(
    directory: Directory, outside: Outside, write: Write, form: Callable[[Reading], bytes], says: Says
) -> ExportResult:
    count, damage = 0, list[str]()
    job = job_for(reopened(directory.root, outside.files))
    async with reader_pool(Settings(), outside, silent, job) as readers:
        async for reading in readings(directory, outside, readers, damage):
            write(form(reading))
            count += 1
            says(f"writing pages: {count:,}")
    return ExportResult(count, damage)


async def readings(directory: Directory, outside: Outside, readers: Pool, damage: list[str]) -> AsyncIterator[Reading]:
    """The newest of every page, read again from the archive. What is damaged is added to `damage`."""
    with Catalogue(directory, outside.files) as catalogue:
        whole = captures(catalogue, damage)
        while group := list(islice(whole, AT_ONCE)):
            for reading in await asyncio.gather(*(read(capture, readers) for capture in group)):
                if reading is not None:
                    yield reading


def captures(catalogue: Catalogue, damage: list[str]) -> Iterator[Capture]:
    for kept in catalogue.pages():
        try:
            capture = catalogue.read(kept)
        except ArchiveDamaged as trouble:
            damage.append(f"{kept.url.text} of {in_words(kept.fetched_at)}: {trouble}")
            continue
        if capture is not None:
            yield capture


async def read(capture: Capture, readers: Pool) -> Reading | None:
    job = ReadJob(capture, "read", "all", "")
    try:
        done = msgspec.msgpack.decode((await readers.ask(parts_of(job))).body, type=ReadDone)
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
    """Address, title and text, a form feed between pages."""
    page = reading.page
    return f"{page.url.text}\n{page.title}\n\n{page.content}\n\f\n".encode()
