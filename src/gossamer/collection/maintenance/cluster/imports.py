"""`gossamer cluster import`: a collection in a directory is added to a cluster.

Its volumes become objects of the archive storage, each with segments of up to 1,000 records; a record that the cluster
has is left out. So all of it may be interrupted and repeated, also after the directory was crawled on. The views are
made by the indexers of the cluster. What the directory knows of each URL is copied last: see `frontier/transfer.py`.

    import.stored   the object of a volume is complete, and not in the catalogue yet
    import.added    one transaction: segments, captures, work for the indexers
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import islice

import msgspec

from gossamer.archive.directories import with_archive, with_disks
from gossamer.archive.segments.composition import Composition, PickedRecords, parts_of
from gossamer.archive.segments.storage import ObjectExists
from gossamer.archive.verify import pieces
from gossamer.archive.volumes import volume_name
from gossamer.base.clock import in_words
from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError, DirectoryUnusable
from gossamer.base.tell import Says, Tell, unheard
from gossamer.collection.cluster.settings import PLACES, checked
from gossamer.collection.directory import locked
from gossamer.collection.maintenance.cluster.rewrites import cluster_files
from gossamer.collection.maintenance.compact import repair_archive
from gossamer.config.load import has_clear_secret
from gossamer.crawler.commands import idle_rules
from gossamer.frontier.choice import run_shared, shared_maintenance
from gossamer.frontier.sqlite.maintenance import merge_waiting
from gossamer.monitor import chronicle
from gossamer.plugins.code import FOLDER
from gossamer.store import captures, forgotten, rewrites
from gossamer.store.captures import CataloguedRecord, MovedRecord
from gossamer.store.directory import Directory
from gossamer.store.documents import COPIED, LARGEST, new_document
from gossamer.store.forgotten import Forgotten, ForgottenEntry
from gossamer.store.options import (
    config_of,
    judge_by,
    judged_by,
    put_options,
    put_seeds,
    stored_in,
    stored_seeds,
)
from gossamer.store.segments import next_number
from gossamer.store.state import SETTING, open_database, open_state, refuse_shared_state
from gossamer.store.statements import State, StateWriter, load
from gossamer.values.capture import Kept, Place
from gossamer.values.url import Host, Url

AT_ONCE = 2_000
WITHOUT = PLACES | {SETTING}
"""Settings that say where a collection is."""
GIVEN = "this collection"
"""The origin of an option begins so."""
DOCUMENTS = ("rules.txt", "token", "reader-token", "plugged.json", chronicle.NAME)
_SQL = load("gossamer.collection.maintenance.cluster", "relocation.sql")


class ClusterImport(msgspec.Struct, frozen=True):
    """What a cluster was given."""

    captures: int
    already_here: int
    objects: int
    archived_bytes: int
    settings: tuple[str, ...]
    left_out: tuple[str, ...]
    """Settings that the cluster has another value of, or that hold a secret in clear; each with the reason."""
    files: tuple[str, ...]
    damaged: tuple[str, ...] = ()


async def import_directory(
    source: Directory, target: Directory, outside: Outside, tell: Tell, says: Says = unheard
) -> ClusterImport:
    """Raises DirectoryBusy while another process writes to `source`."""
    refuse_shared_state(
        source, "cluster import", "make it a collection of its own first, or import its archive with `gossamer import`"
    )
    with locked(source, outside, "cluster import"):
        loaded = config_of(source.root)
        here = with_disks(source, loaded.settings, outside)
        rules = idle_rules(loaded.settings, outside)
        async with open_database(source, outside.clock, tell) as database:
            says("checking the end of the archive")
            await repair_archive(source, database, here, tell)
            await merge_waiting(database, rules)
        with closing(open_state(source)) as state:
            async with open_database(target, outside.clock, tell) as database:
                given, left_out, files = await _settings_of(source, target, loaded.origins, database, outside)
                block = await _forgotten_of(state, database)
                importing = _ArchiveImport(source, target, here, outside, database, tell)
                await importing.run(state, says)
                await _marks_of(state, database)
                await shared_maintenance().copy_to_shared(state, database, rules, block, says)
    return ClusterImport(
        importing.captures,
        importing.already_here,
        importing.objects,
        importing.archived_bytes,
        given,
        left_out,
        files,
    )


# The archive and the catalogue.


class _ArchiveImport:
    def __init__(
        self, source: Directory, target: Directory, here: Outside, outside: Outside, database: StateWriter, tell: Tell
    ) -> None:
        self._source, self._here, self._database, self._tell = source, here, database, tell
        self._clock = outside.clock
        self._storage = cluster_files(with_archive(target, outside)).storage
        self.captures = self.already_here = self.objects = self.archived_bytes = 0

    async def run(self, state: State, says: Says) -> None:
        names = captures.volume_names(state)
        for number, name in enumerate(names, 1):
            says(f"copying volume {number:,} of {len(names):,}: {self.captures:,} captures")
            kept = list(captures.in_volume(state, name))
            new = await self._database.read(partial(_unknown, kept=kept))
            self.already_here += len(kept) - len(new)
            if new:
                await self._copy(name, new, says)

    async def _copy(self, volume: str, kept: Sequence[Kept], says: Says) -> None:
        records = [CataloguedRecord(one.place.number, one.place.offset, one.place.length, one.url.text) for one in kept]
        making = Composition(self._storage, self._pieces, self._clock.now())
        while True:
            parts = [
                PickedRecords(await self._new_name(), volume, some)
                for some in parts_of(sorted(records, key=lambda one: one.offset))
            ]
            try:
                await asyncio.to_thread(making.put, parts[0].name, parts)
                break
            except ObjectExists:  # the name is spoilt: the same under another
                continue
        self._tell("import.stored", object=parts[0].name)
        by_number = {one.place.number: one for one in kept}
        moved = [_moved_to(laid.segment.name, one, by_number) for laid in making.laid for one in laid.moved]
        add = partial(
            shared_maintenance().add_object,
            name=parts[0].name,
            size=making.size,
            added=[laid.segment for laid in making.laid],
            kept=moved,
        )
        await run_shared(self._database, add)
        self._tell("import.added", object=parts[0].name)
        self.captures, self.objects = self.captures + len(kept), self.objects + 1
        self.archived_bytes += making.size

    async def _new_name(self) -> str:
        return volume_name(await self._database.run(next_number), in_words(self._clock.now()))

    def _pieces(self, volume: str, start: int, stop: int) -> Iterator[bytes]:
        return pieces(self._here.files, self._source.archive / volume, start, stop)


def _moved_to(segment: str, one: MovedRecord, by_number: Mapping[int, Kept]) -> Kept:
    kept = by_number[one.old_number]
    return msgspec.structs.replace(kept, place=Place(segment, one.number, one.offset, kept.place.length))


def _unknown(state: State, kept: Sequence[Kept]) -> list[Kept]:
    waiting = iter(kept)
    found: list[Kept] = []
    while some := list(islice(waiting, AT_ONCE)):
        found += rewrites.unknown_of(state, some)
    return found


async def _marks_of(state: State, database: StateWriter) -> None:
    """Pages that could not be found any more."""
    rows = iter(state.execute(_SQL["withdrawn"]))
    while some := list(islice(rows, AT_ONCE)):
        await database.run(partial(captures.withdraw, rows=some))


# What users have given it.


async def _settings_of(
    source: Directory, target: Directory, origins: Mapping[str, str], database: StateWriter, outside: Outside
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Settings, seeds and small files are stored. What the cluster has stays as it is. Returns the names of settings
    that were taken over, those that were not with the reason, and files."""
    loaded, known = config_of(source.root), {name: one.value for name, one in stored_in(target.root).items()}
    given: dict[str, object] = {}
    left_out = [f"{one.name}: it is not allowed for this directory (gossamer trust)" for one in loaded.withheld]
    for name, origin in origins.items():
        value = loaded.value(name)
        if name in WITHOUT or not origin.startswith((source.config.name, GIVEN)):
            continue
        plain = list(value) if isinstance(value, tuple) else value
        if name in known:
            left_out += [f"{name}: the cluster has another value"] if known[name] != plain else []
        elif has_clear_secret(value):
            left_out.append(f"{name}: it has a password in clear")
        else:
            given[name] = plain
    checked(known | given)
    documents = _documents_in(source, outside)
    now = outside.clock.now()
    with closing(open_state(source)) as state:
        seeds, digests = stored_seeds(state), judged_by(state)

    def write(shared: State) -> list[str]:
        put_options(shared, given, now)
        there = {url for url, _ in stored_seeds(shared)}
        for url, reach in seeds:
            if url not in there:
                put_seeds(shared, [url], reach)
        if not judged_by(shared):
            judge_by(shared, digests)
        return [name for name, content in documents.items() if new_document(shared, name, content, now)]

    stored = await database.run(write)
    return tuple(sorted(given)), tuple(left_out), tuple(stored)


def _documents_in(source: Directory, outside: Outside) -> dict[str, bytes]:
    files, found = outside.files, dict[str, bytes]()
    names = [*files.names(source.root), *(f"{FOLDER}/{name}" for name in files.names(source.root / FOLDER))]
    for name in names:
        path = source.root / name
        if (name in DOCUMENTS or COPIED.fullmatch(name)) and path.is_file():
            if (files.size(path) or 0) > LARGEST:
                raise ConfigError(f"{path} has more than {LARGEST:,} bytes: a cluster has no room for such a file")
            found[name] = files.read(path)
    return found


async def _forgotten_of(state: State, database: StateWriter) -> Forgotten:
    """What either of the two has forgotten, the other must not have. Raises DirectoryUnusable, saying what to do."""
    own, theirs = forgotten.every(state), await database.read(forgotten.every)
    for one in own:
        if one.done_at is None:
            raise DirectoryUnusable("the directory has not finished to forget: `gossamer forget --dir` does, first")
    new = [one for one in own if one.name not in {other.name for other in theirs}]
    refuse_forgotten(state, theirs, "the cluster has forgotten {0}: gossamer forget {0} --dir DIRECTORY, first")
    await database.read(
        lambda shared: refuse_forgotten(
            shared, new, "the directory has forgotten {0}: gossamer forget {0} --dir ADDRESS, first"
        )
    )

    def write(shared: State) -> None:
        forgotten.put(shared, new)
        for one in new:
            shared.execute(_SQL["forgotten_before"], (one.done_at, one.name))

    await database.run(write)
    return forgotten.block_of(theirs)


def refuse_forgotten(state: State, entries: Sequence[ForgottenEntry], words: str) -> None:
    """Raises DirectoryUnusable if there is a capture of what was forgotten."""
    block = forgotten.block_of(entries)
    for name in sorted(block.at):
        for url in captures.urls_at(state, Host(name)):
            if block.has(url):
                raise DirectoryUnusable(words.format(_named(url, block)))


def _named(url: Url, block: Forgotten) -> str:
    return url.host.name if url.host.name in block.hosts else url.text
