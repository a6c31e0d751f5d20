"""`gossamer forget` and `gossamer compact` on a cluster, while its nodes crawl, index and answer.

The request is stored first: from then on the database refuses these URLs, whichever node offers them, and indexers
leave them out. Then they leave the queue (visits in progress lose their leases, so nothing of them can be settled), the
catalogue, the views, and the archive. Each step can be interrupted: `gossamer forget --dir ADDRESS` continues.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import islice

import msgspec

from gossamer.base.environment import Outside
from gossamer.base.tell import Says, Tell, unheard
from gossamer.collection.maintenance.cluster.rewrites import ObjectRewriting
from gossamer.collection.maintenance.compact import Compacted
from gossamer.collection.maintenance.forget import Erased, NotForgotten, not_forgotten, unwanted
from gossamer.collection.views import facts_server
from gossamer.config.slices import Retain
from gossamer.frontier.choice import run_shared, shared_maintenance
from gossamer.monitor import chronicle
from gossamer.rules.learned.traps import template_of
from gossamer.rules.retention import kept as kept_by
from gossamer.store import captures, forgotten, rewrites, tallies
from gossamer.store.directory import Directory
from gossamer.store.forgotten import Forgotten, ForgottenEntry
from gossamer.store.rewrites import Dropped, Key
from gossamer.store.state import open_database, open_state
from gossamer.store.statements import State, StateWriter
from gossamer.values.page import empty_page_reading
from gossamer.values.url import Host, Url, id_of
from gossamer.views.facts.sources import graph_name
from gossamer.views.links.service import service_writer
from gossamer.views.words.place import words_writer

AT_ONCE = 5_000
POLL_S = 0.5
MOST_SEARCHED = 1_000_000
"""Captures: copies are not searched for among more."""
IN_SERVICES = (
    "the bytes of deleted rows, documents and facts in the services' own files, until they reuse the space: PostgreSQL "
    "by VACUUM, OpenSearch when it merges, Fuseki when it is compacted",
    "backups and older versions of objects that the services keep",
    "objects that a node or an import had begun and not finished: nodes delete them within some hours",
)


async def forget_on_cluster(
    directory: Directory, entries: Sequence[ForgottenEntry], outside: Outside, tell: Tell, says: Says = unheard
) -> Erased:
    """Forgets these, and finishes what was begun before. REQUIRES: `outside` has the files of the cluster."""
    async with open_database(directory, outside.clock, tell) as database:
        block = await _blocked(database, entries)
        names = [one.name for one in await database.read(forgotten.every) if one.done_at is None]
        tell("forget.begun", names=len(names))
        remaining = await database.read(partial(_remaining, block=block))
        erasing = _Erasing(directory, database, outside, tell, says)
        addresses, archive = 0, Compacted()
        while True:  # what was settled while this began is found by the next round
            addresses += await erasing.forget_urls(block)
            dropped = await erasing.drop_pages(block)
            tell("forget.dropped", captures=dropped.captures)
            if not await erasing.is_left():
                break
            await erasing.clear_views()
            tell("forget.hidden")
            archive = _sum(archive, await ObjectRewriting(directory, database, outside, tell).run(says))
        await asyncio.to_thread(chronicle.forget, outside.files, directory.root, block.hosts)
        await database.run(partial(forgotten.done, at=outside.clock.now()))
        tell("forget.done")
    return Erased(tuple(names), addresses, archive, None, *remaining)


def cluster_erasure_plan(directory: Directory, entries: Sequence[ForgottenEntry]) -> Erased:
    """What `forget` would remove now."""
    block = forgotten.block_of(entries)
    records = freed = 0
    volumes: set[str] = set()
    with closing(open_state(directory)) as state:
        is_unwanted = unwanted(block)
        for name in sorted(block.at):
            for url in captures.urls_at(state, Host(name)):
                if is_unwanted(url.text):
                    for one in captures.versions(state, url):
                        records, freed = records + 1, freed + one.place.length
                        volumes.add(one.place.volume)
        remaining = _remaining(state, block)
    return Erased(tuple([one.name for one in entries]), 0, Compacted(records, freed, len(volumes)), None, *remaining)


async def compact_on_cluster(
    directory: Directory, retain: Retain, outside: Outside, tell: Tell, says: Says = unheard
) -> Compacted:
    """Drop what `retain` does not keep, and finish what was begun before."""
    now = outside.clock.now()
    async with open_database(directory, outside.clock, tell) as database:
        with closing(open_state(directory)) as state:
            going = retired_keys(state, retain, now)
            dropped = 0
            while some := list(islice(going, AT_ONCE)):
                dropped += await database.run(partial(rewrites.drop_versions, keys=some))
                says(f"dropping older versions: {dropped:,}")
        return await ObjectRewriting(directory, database, outside, tell).run(says)


def retired_keys(state: State, retain: Retain, now: int) -> Iterator[Key]:
    """The captures that `retain` does not keep."""
    if retain.kind == "all":
        return
    for text, records in captures.by_url(state):
        to_keep, url = kept_by([one.version for one in records], retain, now), Url(text)
        for one in records:
            if one.version.fetched_at not in to_keep:
                yield url.host.id, url.id, text, one.version.fetched_at


class _Erasing:
    """The steps of one erasure."""

    def __init__(self, directory: Directory, database: StateWriter, outside: Outside, tell: Tell, says: Says) -> None:
        self._directory, self._database, self._outside = directory, database, outside
        self._tell, self._says = tell, says

    async def forget_urls(self, block: Forgotten) -> int:
        known = 0
        for name in sorted(block.at):
            forget = partial(
                shared_maintenance().forget, name=name, gone=block, template_of=lambda text: template_of(Url(text))
            )
            known += await run_shared(self._database, forget)
        return known

    async def drop_pages(self, block: Forgotten) -> Dropped:
        done, is_unwanted = Dropped(), unwanted(block)
        for name in sorted(block.at):
            groups = await self._database.read(
                partial(rewrites.unwanted_at, host_id=Host(name).id, is_unwanted=is_unwanted)
            )
            for some in _batches(groups):
                ids = [id_of(graph_name(Url(group[0][0][2]))) for group in some]
                more = await self._database.run(partial(rewrites.drop_pages, groups=some, graph_ids=ids))
                done = Dropped(done.captures + more.captures, done.pages + more.pages)
                self._says(f"forgetting {done.captures:,} captures")
        return done

    async def is_left(self) -> bool:
        """Whether anything is to be removed from the views, or rewritten."""
        segments, _ = await self._database.read(rewrites.rewrites_left)
        condemned = await self._database.read(rewrites.condemned_objects)
        return bool(segments or condemned or await self._database.read(partial(rewrites.removals, after=0)))

    async def clear_views(self) -> None:
        """At once, and again when every indexer has put down what it had in its hands at this moment."""
        work = await self._database.read(rewrites.work_in_progress)
        await self._remove_from_views()
        if work:
            while left := await self._database.read(partial(rewrites.still_in_progress, work=work)):
                self._says(f"waiting for indexers to put down {left:,} segments")
                await self._outside.clock.sleep(POLL_S)
            await self._remove_from_views()
        await self._database.run(rewrites.removals_done)

    async def _remove_from_views(self) -> None:
        after = 0
        while some := await self._database.read(partial(rewrites.removals, after=after)):
            version = await self._database.run(rewrites.next_version)
            await asyncio.to_thread(
                remove_from_services, self._directory, [url for _, url in some], version, self._outside, self._tell
            )
            after = some[-1][0]


def remove_from_services(directory: Directory, urls: Sequence[Url], version: int, outside: Outside, tell: Tell) -> None:
    """What is left keeps captures of an earlier version out, and has no more than the ids of the pages."""
    now = outside.clock.now()
    empty = [msgspec.structs.replace(empty_page_reading(url, 0, now), version=version) for url in urls]
    words = words_writer(directory, outside.files, outside.clock, tell)
    for view in (words, service_writer(directory, outside.clock, tell)):
        view.open()
        try:
            view.replace(empty)
            view.commit(b"")
            view.settle()
        finally:
            view.close()
    server = facts_server(directory, outside)
    if server is not None:
        with closing(server):
            server.remove([graph_name(url) for url in urls])


def _remaining(state: State, block: Forgotten) -> NotForgotten:
    if tallies.counts(state).captures > MOST_SEARCHED:
        return NotForgotten((), ())
    return not_forgotten(state, block)


async def _blocked(database: StateWriter, entries: Sequence[ForgottenEntry]) -> Forgotten:
    return await run_shared(database, partial(shared_maintenance().block, entries=entries))


def _batches(groups: Iterable[list[tuple[Key, bool]]]) -> Iterator[list[list[tuple[Key, bool]]]]:
    some, size = list[list[tuple[Key, bool]]](), 0
    for group in groups:
        some.append(group)
        size += len(group)
        if size >= AT_ONCE:
            yield some
            some, size = [], 0
    if some:
        yield some


def _sum(one: Compacted, other: Compacted) -> Compacted:
    return Compacted(
        one.records + other.records,
        one.freed_bytes + other.freed_bytes,
        one.volumes + other.volumes,
        one.kept + other.kept,
    )
