"""SPARQL over a site as it was at a given time.

The captures that were current then are read into a store of their own.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from gossamer.base.clock import Instant
from gossamer.base.environment import Outside
from gossamer.base.errors import QueryRefused
from gossamer.base.tell import Says, silent, unheard
from gossamer.collection.history.reader import HistoryReader, batches, extractor
from gossamer.store.directory import VOCABULARY, Directory
from gossamer.values.capture import Kept, capture_id_of
from gossamer.values.messages import PageFacts, ReadVersion
from gossamer.values.url import Host, Url
from gossamer.views.facts.checkpoints import Checkpoints
from gossamer.views.facts.query_job import SparqlResult
from gossamer.views.facts.query_text import inspect
from gossamer.views.facts.sources import SOURCES
from gossamer.views.facts.sparql import FactFiles, QueryLimits, QueryPool
from gossamer.views.facts.store import Graph

MOST_PAGES = 20_000
TIME_S = 60.0
"""No other client waits: the command has a store of its own."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What the store was made from."""

    pages: int
    unread: int
    """Pages of that moment that could not be read; their facts are missing."""


@dataclass(frozen=True, slots=True)
class PastAnswer:
    result: SparqlResult
    replayed: Replayed
    extractor: str


async def answer_at(
    past: HistoryReader,
    directory: Directory,
    outside: Outside,
    query: str,
    accept: str,
    at: Instant,
    host: Host | None = None,
    most: int = MOST_PAGES,
    says: Says = unheard,
) -> PastAnswer:
    """Raises QueryRefused for an invalid query, before anything is read, and for too many pages."""
    inspect(query)
    with tempfile.TemporaryDirectory(prefix="gossamer-history-") as scratch:
        folder = Path(scratch)
        replayed = await replay(past, outside, folder, at, host, most, says)
        says("asking")
        facts = FactFiles(
            lambda: folder / "checkpoints", lambda: folder / "graph" / SOURCES, vocabulary=directory.root / VOCABULARY
        )
        limits = QueryLimits(workers=1, time_s=TIME_S)
        async with QueryPool(facts, limits, outside.files, outside.processes, outside.clock, silent) as pool:
            result = await pool.ask(query, accept)
        return PastAnswer(result, replayed, extractor())


async def replay(
    past: HistoryReader, outside: Outside, folder: Path, at: Instant, host: Host | None, most: int, says: Says
) -> Replayed:
    """Makes a store in `folder` with what the graph held at that moment."""
    pages, count = await asyncio.to_thread(past.in_force, at, host, most)
    if count > most:
        raise QueryRefused(
            f"{count:,} pages were current at that time, and at most {most:,} are read again for one query. "
            "Name a site with --site, or raise --most."
        )
    done = unread = 0
    with Graph(folder / "graph", outside.files, outside.clock, silent) as graph:
        async for group in facts_of(past, pages):
            known = [one for one in group if one is not None]
            unread += len(group) - len(known)
            graph.replace(known)
            done += len(known)
            says(f"reading again: {done:,} of {count:,} pages")
        Checkpoints(folder / "checkpoints", outside.files, outside.clock, silent).make(graph)
    return Replayed(done, unread)


async def facts_of(past: HistoryReader, pages: list[list[Kept]]) -> AsyncIterator[list[PageFacts | None]]:
    """In groups; None for a page that can no longer be read."""
    for batch in batches(pages, lambda versions: max(kept.size for kept in versions)):
        said = await asyncio.gather(*(past.said_by(versions) for versions in batch))
        yield [page_facts(one) if isinstance(one, ReadVersion) else None for one in said]


def page_facts(said: ReadVersion) -> PageFacts:
    url = Url(said.url)
    return PageFacts(url, said.facts, capture_id_of(url, said.fetched_at), said.fetched_at, said.sources)
