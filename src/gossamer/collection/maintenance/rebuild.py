"""New views made from the archive next to the present ones, and the swap that puts them in place.

They are made in `views-N.new`. Renaming it to `views-N` is the swap: readers take the complete folder with the highest
number, so before that one system call they find the old views and after it the new ones. Older folders are removed
afterwards, by the rebuild or, if that was killed, by the next writer (`directory.lock_directory`)."""

import asyncio
import hashlib
from contextlib import closing
from functools import partial
from typing import NamedTuple

import msgspec

from gossamer import __version__
from gossamer.archive.catalogue import ArchivePlaces, may_be_page
from gossamer.archive.compaction import tidy
from gossamer.archive.reader import read_capture, volumes_in
from gossamer.base.environment import Outside
from gossamer.base.errors import ArchiveDamaged, DiskFull, GossamerError, WorkerLost
from gossamer.base.files import Files, size_below
from gossamer.base.tasks import background
from gossamer.base.tell import Says, Tell, silent, unheard
from gossamer.collection.directory import locked
from gossamer.collection.history.reader import batches, page_readers, read_by
from gossamer.collection.maintenance.server_facts import complete_rebuild
from gossamer.collection.views import facts_server
from gossamer.config.settings import Settings
from gossamer.indexer.omissions import omissions
from gossamer.monitor.choice import control_of
from gossamer.monitor.control import Control
from gossamer.monitor.supervisor import indexer_running, lock_views
from gossamer.plugins import code as plugged
from gossamer.plugins.code import FOLDER, contexts_in
from gossamer.spool.frames import SpoolWriter
from gossamer.store import captures, tallies
from gossamer.store.directory import GENERATION, UNFINISHED, Directory, outdated
from gossamer.store.options import config_of
from gossamer.store.state import open_database, open_state
from gossamer.store.statements import StateWriter
from gossamer.values.capture import Kept
from gossamer.values.messages import ReadDone, ReadJob, kept_at
from gossamer.views.words.place import remove_words
from gossamer.workers.pool import Pool

SAYS = "reading the archive again"


class Rebuilt(NamedTuple):
    pages: int
    """Captures of pages that were read."""
    is_resumed: bool = False
    """The views of an earlier, interrupted run were completed."""
    damage: tuple[str, ...] = ()
    """In words: records of the archive that could not be read, by this run or by the one that it resumed."""
    read_again: int = 0
    """Captures that could not be read before, and now have been."""


async def build_again(
    directory: Directory,
    agent: str,
    outside: Outside,
    tell: Tell = silent,
    is_fresh: bool = False,
    discards_old: bool = False,
    says: Says = unheard,
) -> Rebuilt:
    """New views, which replace the present ones in one step. Interrupted at any moment it leaves the old or the new
    ones, and the next run resumes it, unless the archive was rewritten in between."""
    with locked(directory, outside, "rebuild"):
        (await lock_views(directory, outside, "rebuild")).release()  # an indexer may still use the old views
        async with open_database(directory, outside.clock, silent) as database:
            await tidy(database, outside.files, directory.archive, silent)
            read_now = await read_again(directory, outside, database, tell)
        if discards_old:
            remove_words(directory, directory.every_view(), outside.files, outside.clock, tell)
            for path in directory.every_view():
                outside.files.remove(path)
        refuse_without_room(directory, outside)
        # Unfinished views lack what could not be read until now.
        made = await replace_views(directory, agent, outside, tell, is_fresh or read_now > 0, says)
        return made._replace(read_again=read_now)


async def replace_views(
    directory: Directory,
    agent: str,
    outside: Outside,
    tell: Tell = silent,
    is_fresh: bool = False,
    says: Says = unheard,
) -> Rebuilt:
    """REQUIRES: the writer's lock, and no indexer at work."""
    making, is_resumed = begin(directory, origin_of(directory, agent, outside), outside.files, is_fresh)
    tell("rebuild.begun")
    mark_finished(making, outside)
    pages = await followed(making, agent, outside, says)
    left_out = omissions(making, outside.files)
    if (server := facts_server(making, outside)) is not None:
        says("removing from the server what the archive has lost")
        with closing(server):
            await asyncio.to_thread(complete_rebuild, server, directory, making, outside.files)
    swap(making, outside, tell)
    return Rebuilt(pages, is_resumed, tuple([one.why for one in left_out]))


def mark_finished(directory: Directory, outside: Outside) -> None:
    """No process writes: the last volume is complete (or missing), so the views need not wait for more of it."""
    volumes = ArchivePlaces(outside.files, directory.archive, directory).known_volumes()
    SpoolWriter(outside.files, directory.spool, silent).open(volumes[-1] if volumes else None)


async def followed(directory: Directory, agent: str, outside: Outside, says: Says = unheard) -> int:
    """Run the indexer until nothing is left to read, showing its progress. Returns how many pages it has read."""
    with closing(open_state(directory)) as state:
        total = tallies.counts(state).pages
    with control_of(directory, outside.clock, repairs=True) as control:
        async with indexer_running(directory, outside, silent, agent) as indexer:
            for is_last in (False, True):
                async with background(indexer.finish()) as finishing:
                    while not finishing.done():
                        await outside.clock.sleep(0.2)
                        says(f"{SAYS}: {pages_by(control, indexer.pid):,} of {total:,} pages")
                if not (code := finishing.result()):
                    break
                if is_last:
                    raise GossamerError(f"the indexer ended with exit code {code}, see above; run it again to continue")
                indexer.start()  # a damaged view was removed; the next process makes it again
        return pages_by(control, indexer.pid)


def pages_by(control: Control, pid: int | None) -> int:
    """How many pages the indexer has reported."""
    facts = next((one.facts for one in control.beats() if one.name == "indexer" and one.pid == pid), {})
    return int(str(facts.get("pages", 0)))


async def read_again(directory: Directory, outside: Outside, database: StateWriter, tell: Tell) -> int:
    """Read what no reader could read when it was fetched, and update the catalogue; how many were read.

    REQUIRES: the writer's lock.
    """
    with closing(open_state(directory)) as state:
        waiting = captures.unread(state)
    if not waiting:
        return 0
    settings, count = config_of(directory.root).settings, 0
    async with page_readers(directory, settings, outside, tell) as readers:
        for batch in batches(waiting, lambda kept: kept.size):
            found = await asyncio.gather(*(_read(one, directory, settings, outside, readers) for one in batch))
            done = [(kept, one) for kept, one in found if one is not None]
            entries = [kept for kept, _ in done]
            withdrawing = [kept for kept, one in done if one.reading and not one.is_page]
            await database.run(partial(captures.read_again, kept=entries, withdrawing=withdrawing))
            count += len(done)
    return count


async def _read(
    kept: Kept, directory: Directory, settings: Settings, outside: Outside, readers: Pool
) -> tuple[Kept, ReadDone | None]:
    """Its new entry in the catalogue and its reading; the old one and None if it still cannot be read."""
    try:
        capture = await asyncio.to_thread(read_capture, outside.files, directory.archive, kept.place)
        if capture is None or not may_be_page(capture):
            return kept, None
        done = await read_by(readers, ReadJob(capture, "read", settings.crawl.keep, settings.agent))
    except (WorkerLost, ArchiveDamaged):
        return kept, None
    return kept_at(kept.place, capture, done), done


ORIGIN = "origin"
PER_ARCHIVE_BYTE = 3
"""A guess, not measured: views of small pages are larger than their compressed archive."""
SPARE = 1.25
"""While segments are merged, old and new ones both exist."""
LEAST_BYTES = 32 << 20
"""Even an empty store preallocates its logs."""


class Origin(msgspec.Struct, frozen=True):
    """What unfinished views are made from, so that a later run knows whether it can resume them."""

    program: str
    reads: str
    """Digest of what else determines how a capture is read: settings, agent, plug-ins."""
    volumes: dict[str, int]
    """Their sizes; an archive only gets new volumes, unless it is compacted or something is forgotten."""

    def leads_to(self, now: "Origin") -> bool:
        """Whether views made from this are the first part of those to make now."""
        is_read_alike = (self.program, self.reads) == (now.program, now.reads)
        return is_read_alike and all(now.volumes.get(name) == size for name, size in self.volumes.items())


def origin_of(directory: Directory, agent: str, outside: Outside) -> Origin:
    files = outside.files
    decides = [agent.encode()]
    for path in (directory.config, directory.root / plugged.NAME):
        decides.append(files.read(path) if files.size(path) is not None else b"")
    for url, document in sorted(contexts_in(directory.root / FOLDER).items()):
        decides += [url.encode(), document]
    reads = hashlib.sha256(msgspec.msgpack.encode(decides)).hexdigest()
    names = volumes_in(files, directory.archive)
    return Origin(__version__, reads, {name: files.size(directory.archive / name) or 0 for name in names})


def unfinished(directory: Directory, files: Files) -> list[str]:
    """Folders of views that a rebuild has not completed."""
    names = files.names(directory.root)
    return [name for name in names if name.endswith(UNFINISHED) and GENERATION.fullmatch(name[: -len(UNFINISHED)])]


def begin(directory: Directory, origin: Origin, files: Files, is_fresh: bool) -> tuple[Directory, bool]:
    """Where to make the new views, and whether those of an earlier run are resumed. Others are removed.

    REQUIRES: the writer's lock, and no indexer at work.
    """
    kept = ""
    for name in unfinished(directory, files):
        before = _origin_in(directory, name, files)
        if not is_fresh and not kept and before is not None and before.leads_to(origin):
            kept = name
        else:
            files.remove(directory.root / name)
    if not kept:
        numbers = [int(match[1]) for name in files.names(directory.root) if (match := GENERATION.fullmatch(name))]
        making = f"views-{max(numbers, default=0) + 1:04}{UNFINISHED}"
        files.make_folder(directory.root / making)
        files.write(directory.root / making / ORIGIN, msgspec.json.encode(origin))
    target = Directory(directory.root, kept or making)
    for folder in target.folders():
        files.make_folder(folder)
    return target, bool(kept)


def _origin_in(directory: Directory, name: str, files: Files) -> Origin | None:
    path = directory.root / name / ORIGIN
    try:
        return msgspec.json.decode(files.read(path), type=Origin) if files.size(path) is not None else None
    except msgspec.MsgspecError:
        return None


def refuse_without_room(directory: Directory, outside: Outside) -> None:
    """Raises DiskFull, with the figures and what to do, if new views would not fit next to the old ones."""
    present = sum(size_below([directory.root / name], outside.files) for name in unfinished(directory, outside.files))
    needed = round(SPARE * _expected_bytes(directory, outside)) + LEAST_BYTES - present
    room = outside.files.room(directory.root)
    if room < needed:
        raise DiskFull(
            f"new views need about {_megabytes(needed)} in addition to the present ones, and {directory.root} has "
            f"{_megabytes(room)} left; nothing was changed. Free some space, or delete the present views first with "
            f"`gossamer rebuild --discard-old --dir {directory.root}`: nothing can be found until it is done"
        )


def _expected_bytes(directory: Directory, outside: Outside) -> int:
    """The size of the present ones, else a guess from the archive. Checkpoints mostly link to files of the graph."""
    present = size_below([directory.index, directory.graph, directory.links], outside.files)
    return present or PER_ARCHIVE_BYTE * size_below([directory.archive], outside.files)


def _megabytes(amount: int) -> str:
    return f"{amount / 1e6:,.0f} MB"


def swap(making: Directory, outside: Outside, tell: Tell) -> Directory:
    """Replace the old views by the new ones. REQUIRES: they are complete, and no process has them open."""
    files = outside.files
    files.remove(making.spool)
    tell("rebuild.built")
    folder = making.views_folder
    files.rename(folder, folder.with_name(folder.name.removesuffix(UNFINISHED)))
    tell("rebuild.swapped")
    remove_words(Directory(making.root), outdated(making.root), files, outside.clock, tell)
    for path in outdated(making.root):
        files.remove(path)
        tell("rebuild.removed")
    return Directory(making.root)
