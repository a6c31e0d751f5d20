"""Opening the read sides of a collection: words, links and facts."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from gossamer.app.directory import Directory
from gossamer.app.outside import Outside
from gossamer.app.present_search import search_of
from gossamer.clock import SECOND
from gossamer.graph.checkpoints import newest
from gossamer.graph.sources import FILE as SOURCES
from gossamer.graph.sparql import MOST_ROWS, QueryPool, SparqlResult
from gossamer.monitor.control import Control
from gossamer.search.find import Search
from gossamer.values.tell import Tell
from gossamer.web.rooms import Ask

FRESH_S = 30.0
VOCABULARY = "vocabulary.ttl"
"""Relations between classes and between properties of one's own, if there is such a file."""
WAIT_S = 5.0


@contextmanager
def open_search(directory: Directory, outside: Outside) -> Iterator[Search]:
    search = search_of(directory, outside.clock)
    try:
        yield search
    finally:
        search.close()


@asynccontextmanager
async def queries(
    directory: Directory, outside: Outside, tell: Tell, size: int = 1, limit_s: float = 10.0
) -> AsyncIterator[Ask]:
    """A pool of SPARQL workers. A question on stale facts asks a running indexer for a new checkpoint."""
    pool = QueryPool(
        lambda: directory.checkpoints,
        outside.files,
        outside.processes,
        outside.clock,
        tell,
        size,
        limit_s,
        sources=lambda: directory.graph / SOURCES,
        vocabulary=directory.root / VOCABULARY,
    )
    async with pool:
        with Control(directory.control, outside.clock) as control:

            async def ask(
                query: str,
                accept: str,
                default_graphs: tuple[str, ...] = (),
                named_graphs: tuple[str, ...] = (),
                most_rows: int = MOST_ROWS,
                has_inference: bool = False,
            ) -> SparqlResult:
                await freshen(directory, control, outside)
                return await pool.ask(query, accept, default_graphs, named_graphs, most_rows, has_inference)

            yield ask


async def freshen(directory: Directory, control: Control, outside: Outside) -> None:
    """Ask for a checkpoint if the newest is old and an indexer lives; wait only when there is none at all."""
    clock = outside.clock
    present = newest(outside.files, directory.checkpoints)
    if present is not None and clock.now() - present.as_of < FRESH_S * SECOND:
        return
    alive = [beat for beat in control.beats() if beat.name == "indexer" and outside.processes.is_alive(beat.pid)]
    if not alive:
        return
    asked = control.ask("checkpoint")
    until = clock.elapsed_s() + (WAIT_S if present is None else 1.0)
    while not control.is_done(asked) and clock.elapsed_s() < until:
        await clock.sleep(0.1)
