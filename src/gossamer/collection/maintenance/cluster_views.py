"""The views of a cluster: made again by all its indexers together, and what they could not take.

A rebuild adds the rows of every segment to the work of the indexers. Pages are replaced in the present views, by the
same version too. Pages of which the archive has no capture any more are buried at the end: their documents become
empty ones with a version of their own, so that nothing older brings them back.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice

from gossamer.base.environment import Outside
from gossamer.base.tell import Says, Tell, silent, unheard
from gossamer.collection.views import facts_server
from gossamer.store.directory import Directory
from gossamer.store.state import open_database, open_state
from gossamer.store.work import (
    SQL,
    SetAside,
    ViewWork,
    add_all,
    backlog,
    last_version,
    pages_among,
    retry_set_aside,
    set_aside,
)
from gossamer.values.format import counted, harmless
from gossamer.values.url import url_of
from gossamer.views.facts.server.updates import burial
from gossamer.views.links.service import service_writer
from gossamer.views.words.opensearch.writer import ServiceWriter
from gossamer.views.words.place import words_writer

LOOK_S = 1.0
MOST_NAMED = 10
AT_ONCE = 500


async def make_again(directory: Directory, outside: Outside, tell: Tell = silent, says: Says = unheard) -> int:
    """Waits until the indexers have done it; what is interrupted they finish alone. Returns how many segments each
    view got again. What was set aside is tried again too."""
    async with open_database(directory, outside.clock, tell) as database:
        await database.run(retry_set_aside)
        added = await database.run(add_all)
        while waiting := sum(one.rebuild_records for one in await database.read(backlog)):
            says(f"the indexers of the cluster: {counted(waiting, 'record')} left, counted for each view")
            await outside.clock.sleep(LOOK_S)
        says("removing pages that the archive has lost")
        version = await database.run(last_version)
        await asyncio.to_thread(bury_lost, directory, version, outside, tell)
    return added


def bury_lost(directory: Directory, version: int, outside: Outside, tell: Tell) -> int:
    """Pages in the views of which the catalogue has no capture, not even after this version; returns how many."""
    files, clock = outside.files, outside.clock
    found = 0
    for writer in (words_writer(directory, files, clock, tell), service_writer(directory, clock, tell)):
        assert isinstance(writer, ServiceWriter)
        with closing(writer), closing(open_state(directory)) as state:
            writer.open()
            known = (row[0] for row in state.execute(SQL["page_ids"]))
            for url_id in missing_from(writer.ids(), known):
                writer.bury(url_id, version)
                found += 1
                if writer.is_full:
                    writer.commit()
            writer.commit()
            writer.settle()
    server = facts_server(directory, outside)
    if server is not None:
        with closing(server):
            every = server.pages()
            while some := list(islice(every, AT_ONCE)):
                if lost := unknown_graphs(directory, some):
                    server.update(burial(lost, version))
                    found += len(lost)
    tell("views.buried", pages=found)
    return found


def missing_from(ids: Iterable[int], known: Iterable[int]) -> Iterator[int]:
    """Those of `ids` that are not known. REQUIRES: both are in order."""
    others = iter(known)
    other = next(others, None)
    for one in ids:
        while other is not None and other < one:
            other = next(others, None)
        if other != one:
            yield one


def unknown_graphs(directory: Directory, graphs: Sequence[str]) -> list[str]:
    """Those of which the catalogue has no page. Names that are not the URL as it is (RFC 3987 allows less) are kept:
    the page cannot be found by them."""
    urls = [url for graph in graphs if (url := url_of(graph)) is not None and url.text == graph]
    with closing(open_state(directory)) as state:
        known = pages_among(state, urls)
    return [url.text for url in urls if url.text not in known]


async def retry(directory: Directory, outside: Outside, tell: Tell = silent) -> int:
    """Let the indexers try again what was set aside."""
    async with open_database(directory, outside.clock, tell) as database:
        return await database.run(retry_set_aside)


def waiting(directory: Directory) -> tuple[list[ViewWork], list[SetAside]]:
    """What each view does not have yet, and what it could not take."""
    with closing(open_state(directory)) as state:
        return backlog(state), set_aside(state, MOST_NAMED)


def aside_in_words(found: Sequence[SetAside]) -> str:
    return "; ".join(f"{one.volume}, records {one.first} to {one.beyond - 1}: {harmless(one.why)}" for one in found)
