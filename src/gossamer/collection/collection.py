"""All that is known of one collection: its state, its words and links, its facts, and its exports."""

import asyncio
import os
import threading
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import Future
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self, TypeVar

import msgspec
from pyoxigraph import NamedNode

from gossamer.base.clock import Instant
from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError
from gossamer.base.tell import silent
from gossamer.collection.exports import Exports, write_file
from gossamer.collection.search import search_of
from gossamer.collection.state import CollectionState
from gossamer.collection.tables import ExportedPage
from gossamer.collection.views import SparqlAsk, freshen, queries
from gossamer.monitor.control import Control
from gossamer.reader.extraction import Quad
from gossamer.search.answer import SearchAnswer
from gossamer.search.find import Search
from gossamer.search.query import parse
from gossamer.store.directory import Directory
from gossamer.values.capture import Kept
from gossamer.values.link import Link
from gossamer.values.query import Sort
from gossamer.values.url import Url, url_of
from gossamer.views.facts.checkpoints import newest
from gossamer.views.facts.names import graph_name
from gossamer.views.facts.results import JSON
from gossamer.views.facts.sparql import MOST_ROWS, SparqlResult
from gossamer.views.facts.store import opened
from gossamer.views.links.reader import Anchor

T = TypeVar("T")
Values = str | Sequence[str]
"""One or several."""
Exported = Literal["nquads", "jsonl", "text", "warc"]


class ResultTerm(NamedTuple):
    """One value in the answer to a query (SPARQL 1.1 Query Results JSON, 3.2.2). `str` of it is the plain value."""

    kind: str
    """"uri", "literal", "bnode" or "triple"."""
    value: str
    language: str = ""
    datatype: str = ""

    def __str__(self) -> str:
        return self.value


class ResultTable(msgspec.Struct, frozen=True):
    """The answer to a SPARQL query. Going through it gives the rows."""

    as_of: Instant
    names: tuple[str, ...] = ()
    rows: tuple[dict[str, ResultTerm], ...] = ()
    """Of SELECT. A name without a value is not in its row."""
    is_so: bool | None = None
    """Of ASK."""
    text: str = ""
    """Of CONSTRUCT and DESCRIBE: N-Triples."""
    is_cut: bool = False
    """There was more than a query may answer with."""

    def __iter__(self) -> Iterator[dict[str, ResultTerm]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


class KnownPage(msgspec.Struct, frozen=True):
    """What is kept of one page. Its texts come from the web: whoever shows them escapes them."""

    url: str
    title: str
    description: str
    language: str
    text: str
    types: tuple[str, ...]
    fact_count: int
    versions: tuple[Kept, ...]
    """Its captures, newest first."""


class PageLinks(msgspec.Struct, frozen=True):
    outgoing: tuple[Link, ...]
    """As the page has them, in its order."""
    incoming_count: int
    """How many pages link here."""
    incoming: tuple[Url, ...]
    """At most 100 of them."""
    anchors: tuple[Anchor, ...]
    """The words they link with."""


class Collection(CollectionState):
    """The one way to read a collection, also while it is being crawled; made by `open_collection`, or `gossamer.open`.

    Use it in a `with`, or `close` it. Nothing is written there: each question is answered from what is there by then.
    Its methods may be called from any thread.
    """

    _answering: "_Answering | None" = None

    @property
    def path(self) -> Path:
        return self.directory.root

    @cached_property
    def index(self) -> Search:
        """Words and links."""
        return search_of(self.directory, self.outside.clock)

    @property
    def exports(self) -> Exports:
        return Exports(self.directory, self.outside)

    def close(self) -> None:
        if "index" in self.__dict__:
            self.index.close()
            del self.__dict__["index"]
        if self._answering is not None:
            self._answering.close()
            self._answering = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, trouble: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

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
        """What the search page finds; `words` may hold its syntax too (`type:Person -soup "tropical fish"`).

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
        more: dict[str, Any] = {name: (*getattr(typed, name), *_several(values)) for name, values in given.items()}
        more |= {name: at for name, at in (("since", since), ("until", until)) if at is not None}
        if sort != "best":
            more["sort"] = sort
        return self.index.find(msgspec.structs.replace(typed, **more))

    def sparql(self, query: str, *, most_rows: int = MOST_ROWS, exact_names: bool = False) -> ResultTable:
        """Ask for facts; each page is a graph. Names match in every spelling (http and https://schema.org/ are one),
        unless they are to be exact. Raises QueryRefused, saying what is wrong with the query.

        >>> for row in collection.sparql("SELECT ?type WHERE { ?thing a ?type } LIMIT 5"):
        ...     print(row["type"])
        """
        answering = self._answers()
        ask = answering.ask(self.directory, self.outside)
        asking = ask(query, f"application/n-triples, {JSON};q=0.9", most_rows=most_rows, has_exact_names=exact_names)
        return told(answering.call(asking))

    def page(self, url: str) -> KnownPage | None:
        """What is kept of the page at an address; None when nothing is.

        >>> collection.page("http://example.org/").title
        """
        address = _address(url)
        versions = self.versions(address)
        if not versions:
            return None
        stored = self.index.stored(address)
        return KnownPage(
            url=address.text,
            title=stored.title if stored else "",
            description=stored.description if stored else "",
            language=stored.language if stored else "",
            text=stored.text if stored else "",
            types=stored.types if stored else (),
            fact_count=stored.fact_count if stored else 0,
            versions=tuple(versions),
        )

    def facts(self, url: str) -> list[Quad]:
        """What the page at an address states; a running crawl is at most a minute ahead.

        >>> for fact in collection.facts("http://example.org/"):
        ...     print(fact.subject, fact.predicate, fact.object)
        """
        graph = NamedNode(graph_name(_address(url)))
        self._answers().call(self._freshen())
        checkpoint = newest(self.outside.files, self.directory.checkpoints)
        if checkpoint is None:
            return []
        found = opened(checkpoint.folder).quads_for_pattern(None, None, None, graph)
        return [Quad(str(one.subject), str(one.predicate), str(one.object), str(one.graph_name)) for one in found]

    def links(self, url: str) -> PageLinks:
        """Where the page at an address points, and who points to it.

        >>> collection.links("http://example.org/").incoming_count
        """
        address = _address(url)
        incoming, anchors = self.index.about(address)
        return PageLinks(tuple(self.index.outgoing(address)), incoming.count, tuple(incoming.sources), tuple(anchors))

    def __iter__(self) -> Iterator[ExportedPage]:
        """Every page one can find, with its text, in no order.

        >>> sum(len(page.text) for page in collection)
        """
        return self.exports.pages(with_text=True)

    def export(self, what: Exported, to: str | os.PathLike[str]) -> int:
        """Write a file as `gossamer export` does; says how many facts, pages or volumes are in it. Damaged records are
        left out: `gossamer verify` names them.

        >>> collection.export("nquads", "facts.nq")
        """
        return self._answers().call(write_file(what, self.directory, self.outside, Path(to), _unsaid)).count

    async def _freshen(self) -> None:
        with Control(self.directory.control, self.outside.clock) as control:
            await freshen(self.directory, control, self.outside)

    def _answers(self) -> "_Answering":
        if self._answering is None:
            self._answering = _Answering()
        return self._answering


class _Answering:
    """An event loop on a thread of its own, so that a notebook, which runs in one already, may ask too."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._holding: Future[None] | None = None
        self._ask: SparqlAsk | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, name="gossamer.open", daemon=True)
        self._thread.start()

    def call(self, work: "Coroutine[Any, Any, T]") -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def ask(self, directory: Directory, outside: Outside) -> Any:
        """The door to the SPARQL workers; they are started for the first question and stay."""
        if self._ask is None:
            ready: Future[SparqlAsk] = Future()
            self._holding = asyncio.run_coroutine_threadsafe(self._hold(directory, outside, ready), self._loop)
            self._holding.add_done_callback(lambda done: _pass_on(done, ready))
            self._ask = ready.result()
        return self._ask

    async def _hold(self, directory: Directory, outside: Outside, ready: "Future[SparqlAsk]") -> None:
        async with queries(directory, outside, silent) as ask:
            ready.set_result(ask)
            await self._stop.wait()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        if self._holding is not None:
            self._holding.result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _pass_on(done: "Future[None]", ready: "Future[SparqlAsk]") -> None:
    """What kept the workers from starting is the asker's to see."""
    trouble = done.exception()
    if trouble is not None and not ready.done():
        ready.set_exception(trouble)


def _unsaid(words: str) -> None:
    """Nobody watches an export's progress here."""


def told(result: SparqlResult) -> ResultTable:
    if result.media_type != JSON:
        return ResultTable(result.as_of, text=result.body.decode("utf-8", "replace"), is_cut=result.truncated)
    found = msgspec.json.decode(result.body)
    if "boolean" in found:
        return ResultTable(result.as_of, is_so=bool(found["boolean"]))
    rows = tuple({name: _term(cell) for name, cell in row.items()} for row in found["results"]["bindings"])
    return ResultTable(result.as_of, tuple(found["head"]["vars"]), rows, is_cut=result.truncated)


def _term(cell: dict[str, Any]) -> ResultTerm:
    return ResultTerm(cell["type"], str(cell["value"]), cell.get("xml:lang", ""), cell.get("datatype", ""))


def _several(values: Values) -> tuple[str, ...]:
    return (values,) if isinstance(values, str) else tuple(values)


def _address(text: str) -> Url:
    url = url_of(text.strip())
    if url is None:
        raise ConfigError(f"{text[:200]!r} is no address of a page: it begins with http:// or https://")
    return url
