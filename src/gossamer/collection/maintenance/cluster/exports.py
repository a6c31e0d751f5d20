"""`gossamer cluster export`: a cluster becomes a collection in a directory, while its nodes crawl.

Everything is of one moment: the state is read from one snapshot. Segments become volumes of the usual size, without
records that are not in the catalogue. The directory gets its name only once it is complete: until then it is called
`NAME.part`, and the next export removes one that was interrupted. What was forgotten meanwhile is not in it: then the
export fails, and is to be made again.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import islice

import msgspec

from gossamer.archive.directories import with_archive
from gossamer.archive.volumes import Volumes
from gossamer.base.clock import SECOND
from gossamer.base.environment import Outside
from gossamer.base.errors import DirectoryUnusable
from gossamer.base.files import Files
from gossamer.base.tell import Says, Tell, silent, unheard
from gossamer.collection.cluster.settings import PLACES
from gossamer.collection.maintenance.backup import begun_copy
from gossamer.config.settings import Settings
from gossamer.frontier.sqlite.maintenance import copy_to_single
from gossamer.monitor import chronicle
from gossamer.plugins import code as plugged
from gossamer.store import captures, forgotten, rewrites
from gossamer.store.directory import Directory
from gossamer.store.documents import COPIED, document, documents
from gossamer.store.options import (
    config_of,
    judge_by,
    judged_by,
    put_options,
    put_seeds,
    stored_options,
    stored_seeds,
)
from gossamer.store.sqlite.database import Database
from gossamer.store.state import open_snapshot, open_state
from gossamer.store.statements import State, load
from gossamer.values.capture import Kept

AT_ONCE = 2_000
MOST_READ_BYTES = 8 << 20
"""Of neighbouring records, read at once."""
DOCUMENTS = ("rules.txt", "token", "reader-token", plugged.NAME, chronicle.NAME)
CHANGED = (
    "something was forgotten or dropped on the cluster while it was exported, and nothing of that may be in the copy: "
    "nothing was exported, run it again"
)
_SQL = load("gossamer.collection.maintenance.cluster", "relocation.sql")


class ClusterExport(msgspec.Struct, frozen=True):
    captures: int
    pages: int
    volumes: int
    damaged: tuple[str, ...] = ()
    """In words: records that could not be read."""


async def export_cluster(
    source: Directory, target: Directory, outside: Outside, tell: Tell, says: Says = unheard
) -> ClusterExport:
    """Without views. Raises DirectoryUnusable if the directory is not empty."""
    making = begun_copy(target, outside.files, "export")
    settings = config_of(source.root).settings
    with closing(open_snapshot(source)) as state:
        archive = _ArchiveExport(source, making, settings, with_archive(source, outside).files, outside, tell)
        async with Database(making.state, outside.clock, silent) as database:
            await archive.run(state, database, says)
            await _copy_marks(state, database)
            await database.run(partial(_put_options, state=state, now=outside.clock.now()))
            rest_until = outside.clock.now() + round(settings.politeness.delay_s * SECOND)
            await copy_to_single(state, database, rest_until, says)
        files = _documents_of(state)
        before = forgotten.every(state)
    for name, content in files.items():
        outside.files.make_folder((making.root / name).parent)
        outside.files.write(making.root / name, content)
    with closing(open_state(source)) as state:
        if forgotten.every(state) != before or rewrites.rewrites_left(state)[0]:
            outside.files.remove(making.root)
            raise DirectoryUnusable(CHANGED)
    outside.files.rename(making.root, target.root)
    return ClusterExport(archive.captures, archive.pages, archive.volumes, tuple(archive.damaged))


class _ArchiveExport:
    def __init__(
        self, source: Directory, making: Directory, settings: Settings, files: Files, outside: Outside, tell: Tell
    ) -> None:
        self._folder, self._files = source.archive, files
        volume_bytes = settings.archive.volume_mib << 20
        self._volumes = Volumes(outside.files, making.archive, outside.clock, tell, volume_bytes)
        self.captures = self.pages = 0
        self.damaged: list[str] = []
        self._names: set[str] = set()

    @property
    def volumes(self) -> int:
        return len(self._names)

    async def run(self, state: State, database: Database, says: Says) -> None:
        self._volumes.open()
        try:
            names = captures.volume_names(state)
            for number, name in enumerate(names, 1):
                says(f"writing the archive: segment {number:,} of {len(names):,}")
                waiting = captures.in_volume(state, name)
                while some := list(islice(waiting, AT_ONCE)):
                    moved = await asyncio.to_thread(self._copied, name, some)
                    await database.run(partial(captures.insert, kept=moved))
        finally:
            self._volumes.close()

    def _copied(self, name: str, kept: Sequence[Kept]) -> list[Kept]:
        """Synced, so that the catalogue knows nothing that is not on disk."""
        found = []
        for run in _runs(kept):
            start, end = run[0].place.offset, run[-1].place.offset + run[-1].place.length
            try:
                content = self._files.read(self._folder / name, start, end - start)
            except OSError as trouble:
                self.damaged.append(f"{name}: {len(run):,} records cannot be read ({trouble.strerror or trouble})")
                continue
            for one in run:
                record = content[one.place.offset - start :][: one.place.length]
                if len(record) < one.place.length:
                    self.damaged.append(f"{name}: the record of {one.url.text} is cut short")
                    continue
                place = self._volumes.append(record)
                found.append(msgspec.structs.replace(one, place=place))
        self._volumes.sync()
        self.captures += len(found)
        self.pages += sum(one.is_page for one in found)
        self._names |= {one.place.volume for one in found}
        return found


def _runs(kept: Sequence[Kept]) -> Iterator[list[Kept]]:
    """Neighbouring records, a few MiB at a time."""
    run: list[Kept] = []
    size = 0
    for one in sorted(kept, key=lambda one: one.place.offset):
        is_next = run and run[-1].place.offset + run[-1].place.length == one.place.offset
        if run and (not is_next or size + one.place.length > MOST_READ_BYTES):
            yield run
            run, size = [], 0
        run.append(one)
        size += one.place.length
    if run:
        yield run


async def _copy_marks(state: State, database: Database) -> None:
    """Pages that cannot be found any more."""
    rows = iter(state.execute(_SQL["withdrawn"]))
    while some := list(islice(rows, AT_ONCE)):
        await database.run(partial(captures.withdraw, rows=some))


def _put_options(connection: State, state: State, now: int) -> None:
    options = {name: one.value for name, one in stored_options(state).items() if name not in PLACES}
    put_options(connection, options, now)
    for url, reach in stored_seeds(state):
        put_seeds(connection, [url], reach)
    judge_by(connection, judged_by(state))
    entries = forgotten.every(state)
    forgotten.put(connection, entries)
    connection.executemany(_SQL["forgotten_before"], [(one.done_at, one.name) for one in entries])


def _documents_of(state: State) -> Mapping[str, bytes]:
    names = [one.name for one in documents(state) if one.name in DOCUMENTS or COPIED.fullmatch(one.name)]
    found = {name: document(state, name) for name in names}
    return {name: content for name, content in found.items() if content is not None}
