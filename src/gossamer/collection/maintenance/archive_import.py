"""Archives made by other programs, imported into a collection.

Archived, read and searchable like crawled pages.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import msgspec

from gossamer.archive.directories import with_disks
from gossamer.archive.foreign.captures import WITHOUT_PAGE, foreign
from gossamer.archive.foreign.records import Aside, ImportReport
from gossamer.archive.record import stored
from gossamer.base.clock import DAY, Instant
from gossamer.base.environment import Outside
from gossamer.base.errors import WorkerLost
from gossamer.base.tasks import background
from gossamer.base.tell import Says, silent, unheard
from gossamer.collection.directory import locked
from gossamer.collection.history.reader import batches, page_readers, read_by
from gossamer.config.settings import Settings
from gossamer.crawler.damage import noting_damage
from gossamer.crawler.steps.archive import open_archive
from gossamer.crawler.steps.group import GroupWriter
from gossamer.fetch.tika import TikaServer, tika_of
from gossamer.monitor.supervisor import indexer_running
from gossamer.store import captures, forgotten
from gossamer.store.directory import Directory
from gossamer.store.forgotten import NOTHING, Forgotten
from gossamer.store.rewrites import order_versions
from gossamer.store.segments import settle_segments
from gossamer.store.state import is_cluster, open_database
from gossamer.store.statements import State
from gossamer.values.capture import Capture, Kept
from gossamer.values.format import counted
from gossamer.values.messages import ReadDone, ReadJob, Task, kept_at
from gossamer.values.url import Url
from gossamer.workers.pool import Pool

T = TypeVar("T")

GROUP = 64

GROUP_BYTES = 16 * 1024 * 1024
"""A larger body is a group of its own."""

MOST_READ_BYTES = 32 * 1024 * 1024


class Imported(msgspec.Struct, frozen=True):
    """The result of an import."""

    captures: int = 0
    pages: int = 0
    """Among the captures."""
    already_here: int = 0
    """The same response of the same URL at the same instant: omitted."""
    passed_over: dict[str, int] = {}
    """Records without a web page, or with one that is not wanted, by kind."""
    set_aside: dict[str, int] = {}
    """Records that could not be used, by reason."""
    records: list[Aside] = []
    """The first thousand of them."""
    damaged: tuple[str, ...] = ()
    """In words: damage found in the collection's own archive."""

    def in_words(self) -> str:
        words = f"{counted(self.captures, 'capture')} imported, {self.pages:,} of them pages"
        words += f"; {self.already_here:,} already here" if self.already_here else ""
        if not self.set_aside:
            return words
        reasons = ", ".join(f"{number:,} {reason}" for reason, number in sorted(self.set_aside.items()))
        lines = [f"{words}; {counted(sum(self.set_aside.values()), 'record')} set aside ({reasons})"]
        lines += [f"  {one.archive}, byte {one.offset:,}: {one.reason} {one.url}".rstrip() for one in self.records[:5]]
        return "\n".join([*lines, *(["  more with --json"] if len(self.records) > 5 else [])])


async def import_archives(
    directory: Directory,
    archives: tuple[Path, ...],
    settings: Settings,
    outside: Outside,
    says: Says = unheard,
) -> Imported:
    report, damage = ImportReport(), dict[str, None]()
    tell = noting_damage(silent, damage)
    taken = pages = already_here = 0
    with locked(directory, outside, "import"):
        async with AsyncExitStack() as opened:
            database = await opened.enter_async_context(open_database(directory, outside.clock, silent))
            outside = with_disks(directory, settings, outside, tell)
            if not is_cluster(directory):
                await opened.enter_async_context(indexer_running(directory, outside, silent, settings.agent))
            archive = await open_archive(opened, directory, settings, database, outside, tell)
            readers = await opened.enter_async_context(page_readers(directory, settings, outside))
            tika = tika_of(settings, outside.clock, tell)
            block = await database.read(forgotten.block)

            def say() -> None:
                share = f"{report.archive}, {report.read_bytes / max(1, report.size_bytes):.0%}"
                says(f"importing {share}: {taken:,} captures, {pages:,} pages")

            groups = groups_of(archives, report, outside.clock.now() + DAY, block)
            while group := await saying(asyncio.to_thread(next, groups, None), say):
                new = await database.read(partial(not_here, group=group))
                already_here += len(group) - len(new)
                del group  # its bodies: no more than one group is in memory
                kept, withdrawing = await keep(new, settings, readers, archive, tika)
                await database.run(partial(catalogue, directory=directory, kept=kept, withdrawing=withdrawing))
                taken += len(kept)
                pages += sum(one.is_page for one in kept)
                say()
    kinds = {reason: number for reason, number in report.counts.items() if number and reason in WITHOUT_PAGE}
    aside = {reason: number for reason, number in report.counts.items() if reason not in WITHOUT_PAGE}
    return Imported(taken, pages, already_here, kinds, aside, report.records, tuple(damage))


async def saying(work: Awaitable[T], say: Callable[[], None]) -> T:
    """The result of the work; `say` is called every second until then: a file may hold nothing usable for long."""
    async with background(work) as working:
        while not (await asyncio.wait([working], timeout=1.0))[0]:
            say()
        return working.result()


def groups_of(
    archives: tuple[Path, ...], report: ImportReport, latest: Instant, block: Forgotten = NOTHING
) -> Iterator[list[Capture]]:
    """Captures in groups bounded by number and by bytes, without those of forgotten URLs."""

    def wanted() -> Iterator[Capture]:
        for archive in archives:
            for capture in foreign(archive, report, latest=latest):
                if block.has(capture.url):
                    report.counts["forgotten"] += 1
                else:
                    yield capture

    return batches(wanted(), lambda capture: len(capture.body), GROUP, GROUP_BYTES)


def not_here(connection: State, group: Sequence[Capture]) -> list[Capture]:
    """Those that the collection lacks. Archives with times in seconds hold several responses of one URL at one instant;
    here they are a microsecond apart, because the instant identifies the capture."""
    known: dict[Url, dict[Instant, bytes]] = {}
    new = []
    for capture in group:
        if (held := known.get(capture.url)) is None:
            versions = captures.versions(connection, capture.url)
            held = known[capture.url] = {one.fetched_at: one.digest for one in versions}
        digest, at = sha256(capture.body).digest(), capture.fetched_at
        while at in held and held[at] != digest:
            at += 1
        if at not in held:
            held[at] = digest
            new.append(msgspec.structs.replace(capture, fetched_at=at))
    return new


async def keep(
    group: list[Capture], settings: Settings, readers: Pool, archive: GroupWriter, tika: TikaServer | None = None
) -> tuple[list[Kept], list[Kept]]:
    """Read and archive one group; synced on return. Returns the captures, and those not to be indexed."""
    done = await asyncio.gather(*(read(capture, settings, readers, tika) for capture in group))
    kept, withdrawing = list[Kept](), list[Kept]()
    places = await archive.write([(one.record, one.reading) for one in done])
    for capture, one, place in zip(group, done, places, strict=True):
        assert place is not None, "each has a record"
        kept.append(kept_at(place, capture, one))
        withdrawing += kept[-1:] if one.reading and not one.is_page else []
    return kept, withdrawing


def catalogue(state: State, directory: Directory, kept: Sequence[Kept], withdrawing: Sequence[Kept]) -> None:
    """Add them to the catalogue, inside a transaction."""
    names = sorted({one.place.volume for one in kept})
    if is_cluster(directory):
        settle_segments(state, names)
    captures.insert(state, kept, withdrawing)
    if is_cluster(directory):
        order_versions(state, names, is_news=True)


async def read(capture: Capture, settings: Settings, readers: Pool, tika: TikaServer | None) -> ReadDone:
    """A capture that no reader survives, or that is larger than pages may be, is stored unread."""
    is_page = 200 <= capture.status < 300 and capture.url != capture.url.robots
    tasks: tuple[Task, ...] = ("read", "store") if is_page else ("store",)
    for task in tasks if len(capture.body) <= MOST_READ_BYTES else ():
        with contextlib.suppress(WorkerLost):
            done = await read_by(readers, ReadJob(capture, task, settings.crawl.keep, settings.agent), tika)
            return msgspec.structs.replace(done, is_unread=is_page and task == "store")
    is_unread = is_page and len(capture.body) <= MOST_READ_BYTES
    return msgspec.structs.replace(await asyncio.to_thread(stored, capture), is_unread=is_unread)
