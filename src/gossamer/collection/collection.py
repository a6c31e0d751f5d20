"""Everything known of one collection.

Its state, its words and links, its facts, its history, and its crawl.
"""

import os
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import msgspec
from pyoxigraph import NamedNode, RdfFormat
from pyoxigraph import Quad as RdfQuad
from pyoxigraph import parse as parse_rdf

from gossamer.base.clock import Instant
from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError
from gossamer.base.tasks import OnDemand
from gossamer.base.tell import silent, unheard
from gossamer.collection.answers import KnownPage, LoopThread, PageLinks, ResultTable, table_of
from gossamer.collection.control import CrawlControl
from gossamer.collection.exports import Exports, write_file
from gossamer.collection.history.reader import HistoryReader, version_readers
from gossamer.collection.lists import CollectionLists
from gossamer.collection.state import CollectionState
from gossamer.collection.system import Watch
from gossamer.collection.tables import ExportedPage
from gossamer.collection.views import (
    FRESH_S,
    fact_queries,
    facts_server,
    freshen,
    origins_on,
    refuse_missing,
    search_of,
)
from gossamer.collection.vocabulary import FactCounter, TermCounter
from gossamer.config.settings import Settings
from gossamer.monitor.choice import control_of
from gossamer.monitor.control import Control
from gossamer.search.find import Search, SearchAnswer
from gossamer.search.query import parse
from gossamer.store.directory import Directory
from gossamer.values.capture import Kept
from gossamer.values.messages import COPIES, Copied
from gossamer.values.page import Quad
from gossamer.values.query import Sort
from gossamer.values.url import Url, url_of
from gossamer.views.facts.checkpoints import newest
from gossamer.views.facts.query_job import SparqlResult
from gossamer.views.facts.results import JSON
from gossamer.views.facts.sources import OURS, SOURCES, SourcesReader, graph_name
from gossamer.views.facts.sparql import MOST_ROWS, FactQueries, QueryLimits
from gossamer.views.facts.store import opened
from gossamer.workers.jobs import COPY
from gossamer.workers.pool import Pool
from gossamer.workers.protocol import Limits

T = TypeVar("T")
Values = str | Sequence[str]
"""One or several."""
Exported = Literal["nquads", "jsonl", "text", "warc"]
COPYING = Limits(wall_s=4.0, cpu_s=4.0, recycle_after=500)
ONE_QUERY = QueryLimits(workers=1)


class Collection(CollectionState):
    """The one way to read a collection, also while it is being crawled; made by `open`, or `gossamer.open`.

    Use it in a `with`, or in an `async with` for its asynchronous methods; or `close` it. Reading writes nothing: each
    call answers from the present state. Its methods may be called from any thread.
    """

    def __init__(
        self,
        directory: Directory,
        outside: Outside,
        settings: Settings | None = None,
        queries: QueryLimits = ONE_QUERY,
    ) -> None:
        super().__init__(directory, outside, settings)
        self._opened = ExitStack()
        self._asked_s = -FRESH_S
        self._loop: LoopThread | None = None
        processes, clock = outside.processes, outside.clock
        self._queries = OnDemand(lambda: fact_queries(directory, outside, queries))
        self._copies = OnDemand(lambda: Pool(COPY, 1, COPYING, processes, clock, silent))
        self._readers = OnDemand(lambda: version_readers(directory, self.settings, outside, 1))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if "control" in self.__dict__:
            await self.control.close()
        await self._close_workers()
        self.close()

    def close(self) -> None:
        if self._loop is not None:
            self._loop.call(self._close_workers())
            self._loop.close()
            self._loop = None
        self._opened.close()
        for name in ("index", "control", "watch", "_desk"):
            self.__dict__.pop(name, None)

    async def _close_workers(self) -> None:
        if "fact_counter" in self.__dict__:
            await self.fact_counter.close()
        for workers in (self._queries, self._copies, self._readers):
            await workers.close()

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        self._loop = self._loop or LoopThread()
        return self._loop.call(work)

    @property
    def path(self) -> Path:
        return self.directory.root

    @cached_property
    def index(self) -> Search:
        """Words and links."""
        found = search_of(self.directory, self.outside.clock)
        self._opened.callback(found.close)
        return found

    @cached_property
    def terms(self) -> TermCounter:
        """The vocabularies in use, by pages."""
        return TermCounter(self.directory, self.outside.clock)

    @cached_property
    def fact_counter(self) -> FactCounter:
        """The vocabularies in use, by facts."""
        return FactCounter(self.ask, self.outside.clock)

    @property
    def exports(self) -> Exports:
        return Exports(self.directory, self.outside)

    @cached_property
    def _desk(self) -> Control:
        return self._opened.enter_context(control_of(self.directory, self.outside.clock))

    @cached_property
    def watch(self) -> Watch:
        """Its processes and its health."""
        watch = Watch(self.directory, self.settings, self.outside, self._desk)
        self._opened.callback(watch.close)
        return watch

    @cached_property
    def control(self) -> CrawlControl:
        return CrawlControl(self.directory, self.settings, self.outside, self._desk)

    @property
    def lists(self) -> CollectionLists:
        control, dates = self.control, self.outside.dates
        return CollectionLists(self.directory, control.settings, dates, control.is_crawling, self._fact_count)

    def _fact_count(self, url: Url) -> int | None:
        """None when the page is not in the index."""
        stored = self.index.stored(url)
        return None if stored is None else stored.fact_count

    @cached_property
    def past(self) -> HistoryReader:
        """Its captures, read again by a worker that is started when first needed."""
        return HistoryReader(self.directory, self.outside, self.settings.agent, self._read_version)

    async def _read_version(self, payload: bytes) -> bytes:
        return await (await self._readers.get()).call(payload)

    def fact_places(self, kept: Kept) -> dict[str, int]:
        """The paths of the elements of a capture that state facts, with the number each states."""
        given = origins_on(self.directory, {graph_name(kept.url): kept.capture_id})
        with closing(SourcesReader(self.directory.graph / SOURCES, given)) as sources:
            record = sources.record_of(graph_name(kept.url), kept.capture_id)
        if record is None:
            refuse_missing(self.directory, self.outside, self.directory.graph / SOURCES)
        return record.places() if record is not None else {}

    async def safe_copy(self, job: bytes) -> bytes | None:
        """A capture as harmless HTML (`CopyJob`); empty if it is no text, None if its site asks not to show copies.
        Raises WorkerLost."""
        made = COPIES.decode(await (await self._copies.get()).call(job))
        return made.html if made.may_show else None

    async def original(self, job: bytes) -> Copied:
        """A document's own bytes (`CopyJob`). Raises WorkerLost."""
        return COPIES.decode(await (await self._copies.get()).call(job))

    async def start_workers(self) -> FactQueries:
        """For a web site, whose users should not wait for them."""
        await self._copies.get()
        return await self._queries.get()

    async def ask(
        self,
        query: str,
        accept: str,
        default_graphs: tuple[str, ...] = (),
        named_graphs: tuple[str, ...] = (),
        most_rows: int = MOST_ROWS,
        has_inference: bool = False,
        has_exact_names: bool = False,
    ) -> SparqlResult:
        """Answer a SPARQL query in a worker, after asking a running indexer for new facts. Raises QueryRefused and
        QueryTooLong; and ServiceLost, in words, while a server that has the facts does not answer."""
        await self._freshen()
        if OURS in query:  # it may ask for the sources of facts
            refuse_missing(self.directory, self.outside, self.directory.graph / SOURCES)
        workers = await self._queries.get()
        return await workers.ask(query, accept, default_graphs, named_graphs, most_rows, has_inference, has_exact_names)

    @cached_property
    def _has_facts_server(self) -> bool:
        return bool(self.settings.views.facts)

    async def _freshen(self) -> None:
        if not self._has_facts_server:
            await freshen(self.directory, self.outside)
            refuse_missing(self.directory, self.outside, self.directory.checkpoints)
        elif (now_s := self.outside.clock.elapsed_s()) - self._asked_s >= FRESH_S:
            self._asked_s = now_s
            await freshen(self.directory, self.outside)

    def search(
        self,
        words: str = "",
        *,
        types: Values = (),
        ontologies: Values = (),
        properties: Values = (),
        sites: Values = (),
        languages: Values = (),
        syntaxes: Values = (),
        without_types: Values = (),
        without_ontologies: Values = (),
        without_properties: Values = (),
        without_sites: Values = (),
        since: Instant | None = None,
        until: Instant | None = None,
        sort: Sort = "best",
        start: int = 0,
        limit: int = 10,
    ) -> SearchAnswer:
        """What the search page finds; `words` may use its syntax (`type:Person -soup "tropical fish"`).

        >>> collection.search("harbour", limit=2).total
        >>> collection.search(types="Person", without_sites="example.org").hits
        """
        if start < 0 or limit < 0:
            raise ConfigError("start and limit cannot be negative")
        typed = parse(words, offset=start, limit=limit)
        given = {
            "types": types,
            "ontologies": ontologies,
            "properties": properties,
            "sites": sites,
            "languages": languages,
            "syntaxes": syntaxes,
            "without_types": without_types,
            "without_ontologies": without_ontologies,
            "without_properties": without_properties,
            "without_sites": without_sites,
        }
        several = {name: (values,) if isinstance(values, str) else values for name, values in given.items()}
        more: dict[str, Any] = {name: (*getattr(typed, name), *values) for name, values in several.items()}
        more |= {name: at for name, at in (("since", since), ("until", until)) if at is not None}
        if sort != "best":
            more["sort"] = sort
        return self.index.find(msgspec.structs.replace(typed, **more))

    def sparql(self, query: str, *, most_rows: int = MOST_ROWS, exact_names: bool = False) -> ResultTable:
        """Query the facts; each page is a graph. Names match in every spelling (http and https://schema.org/ are the
        same) unless `exact_names` is set. Raises QueryRefused, saying what is wrong with the query.

        >>> for row in collection.sparql("SELECT ?type WHERE { ?thing a ?type } LIMIT 5"):
        ...     print(row["type"])
        """
        accept = f"application/n-triples, {JSON};q=0.9"
        return table_of(self._call(self.ask(query, accept, most_rows=most_rows, has_exact_names=exact_names)))

    def page(self, url: str) -> KnownPage | None:
        """What is stored of a page; None if nothing is.

        >>> collection.page("http://example.org/").title
        """
        address = _address(url)
        versions = self.versions(address)
        if not versions:
            return None
        stored = self.index.stored(address)
        names = ("title", "description", "language", "text", "types", "fact_count")
        indexed = {name: getattr(stored, name) for name in names} if stored else {}
        return KnownPage(address.text, versions=tuple(versions), **indexed)

    def facts(self, url: str) -> list[Quad]:
        """The facts that a page states; a running crawl is at most a minute ahead.

        >>> for fact in collection.facts("http://example.org/"):
        ...     print(fact.subject, fact.predicate, fact.object)
        """
        address = _address(url)
        if (server := facts_server(self.directory, self.outside)) is not None:
            self._call(self._freshen())
            with closing(server):
                lines = b"".join(server.facts_of([address]))
            return [_quad(quad) for quad in parse_rdf(lines, RdfFormat.N_QUADS)]
        graph = NamedNode(graph_name(address))
        self._call(freshen(self.directory, self.outside))
        checkpoint = newest(self.outside.files, self.directory.checkpoints)
        if checkpoint is None:
            return []
        found = opened(checkpoint.folder).quads_for_pattern(None, None, None, graph)
        return [_quad(one) for one in found]

    def links(self, url: str) -> PageLinks:
        """The links of a page, and those that point to it.

        >>> collection.links("http://example.org/").incoming_count
        """
        address = _address(url)
        incoming, anchors = self.index.about(address)
        return PageLinks(tuple(self.index.outgoing(address)), incoming.count, tuple(incoming.sources), tuple(anchors))

    def __iter__(self) -> Iterator[ExportedPage]:
        """Every searchable page, with its text, in no order.

        >>> sum(len(page.text) for page in collection)
        """
        return self.exports.pages(with_text=True)

    def export(self, what: Exported, to: str | os.PathLike[str]) -> int:
        """Write a file as `gossamer export` does; returns the number of facts, pages or volumes. Damaged records are
        omitted: `gossamer verify` names them.

        >>> collection.export("nquads", "facts.nq")
        """
        return self._call(write_file(what, self.directory, self.outside, Path(to), unheard)).count


def _quad(one: RdfQuad) -> Quad:
    return Quad(str(one.subject), str(one.predicate), str(one.object), str(one.graph_name))


def _address(text: str) -> Url:
    url = url_of(text.strip())
    if url is None:
        raise ConfigError(f"{text[:200]!r} is not the URL of a page: it must begin with http:// or https://")
    return url
