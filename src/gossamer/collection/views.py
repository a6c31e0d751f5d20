"""Opening the read sides of a collection: words, links and facts."""

from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Protocol

from gossamer.base.clock import SECOND
from gossamer.base.environment import Outside
from gossamer.base.errors import ViewDamaged
from gossamer.base.tell import Tell
from gossamer.collection.search import search_of
from gossamer.monitor.control import Control
from gossamer.search.find import Search
from gossamer.store import tallies
from gossamer.store.directory import VOCABULARY, Directory
from gossamer.store.state import open_state
from gossamer.views.facts.checkpoints import newest
from gossamer.views.facts.names import OURS
from gossamer.views.facts.sources import SOURCES
from gossamer.views.facts.sparql import MOST_ROWS, FactFiles, QueryLimits, QueryPool, SparqlResult


class SparqlAsk(Protocol):
    """A SPARQL query, put to a worker. Raises QueryRefused and QueryTooLong."""

    def __call__(
        self,
        query: str,
        accept: str,
        default_graphs: tuple[str, ...] = (),
        named_graphs: tuple[str, ...] = (),
        most_rows: int = MOST_ROWS,
        has_inference: bool = False,
        has_exact_names: bool = False,
    ) -> Awaitable[SparqlResult]: ...


FRESH_S = 30.0
WAIT_S = 5.0


def refuse_missing(directory: Directory, outside: Outside, *views: Path) -> None:
    """Raises ViewDamaged for a view that is not there, though there are pages and nobody is about to make it."""
    missing = [path for path in views if not path.exists() or (path.is_dir() and not outside.files.names(path))]
    if not missing or not directory.is_begun:
        return
    with closing(open_state(directory)) as state:
        has_pages = tallies.counts(state).pages > 0
    with Control(directory.control, outside.clock) as control:
        beats = control.beats()
    if has_pages and not any(one.name == "indexer" and outside.processes.is_alive(one.pid) for one in beats):
        raise ViewDamaged(missing[0], "it is missing")


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
) -> AsyncIterator[SparqlAsk]:
    async with query_pool(directory, outside, tell, size, limit_s) as (ask, _):
        yield ask


@asynccontextmanager
async def query_pool(
    directory: Directory, outside: Outside, tell: Tell, size: int, limit_s: float
) -> AsyncIterator[tuple[SparqlAsk, QueryPool]]:
    """A pool of SPARQL workers. A question on stale facts asks a running indexer for a new checkpoint."""
    facts = FactFiles(
        lambda: directory.checkpoints, lambda: directory.graph / SOURCES, vocabulary=directory.root / VOCABULARY
    )
    limits = QueryLimits(size, limit_s)
    async with QueryPool(facts, limits, outside.files, outside.processes, outside.clock, tell) as pool:
        with Control(directory.control, outside.clock) as control:

            async def ask(
                query: str,
                accept: str,
                default_graphs: tuple[str, ...] = (),
                named_graphs: tuple[str, ...] = (),
                most_rows: int = MOST_ROWS,
                has_inference: bool = False,
                has_exact_names: bool = False,
            ) -> SparqlResult:
                await freshen(directory, control, outside)
                refuse_missing(directory, outside, directory.checkpoints)
                if OURS in query:  # it may ask where facts stand
                    refuse_missing(directory, outside, directory.graph / SOURCES)
                return await pool.ask(
                    query, accept, default_graphs, named_graphs, most_rows, has_inference, has_exact_names
                )

            yield ask, pool


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
