"""A SPARQL 1.1 server: its two endpoints, its answers, and what is stored there of pages and writers."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar
from urllib.parse import urlencode

from pyoxigraph import (
    Literal,
    NamedNode,
    QueryBoolean,
    QueryResultsFormat,
    QuerySolution,
    QuerySolutions,
    parse_query_results,
)

from gossamer.base.clock import Clock, Instant, from_words
from gossamer.base.errors import ConfigError, GossamerError
from gossamer.base.tell import Tell
from gossamer.store.service import Service, ServiceLost
from gossamer.values.url import Url
from gossamer.views.facts.results import JSON
from gossamer.views.facts.server.terms import in_sparql, read_term
from gossamer.views.facts.server.updates import POSITION, WRITERS, forgotten, removal
from gossamer.views.facts.sources import CAPTURE, FETCHED_AT, OURS, PROVENANCE, VERSION, graph_name
from gossamer.views.facts.store import PIECE

T = TypeVar("T")
QUERY, UPDATE = "views.facts", "views.facts_update"
UPDATE_S, READ_S, EXPORT_S = 300.0, 60.0, 300.0
"""How long a request may take until its first byte, and between two of them."""
PAGES_AT_ONCE = 500
NO_UPDATE = f'{UPDATE} must be set: it can be derived only from an address that ends in "/query" or "/sparql"'

_QUERY_END = re.compile(r"/(?:query|sparql)/?$")


def update_address(query: str, update: str) -> str:
    """The address for updates. Raises ConfigError if it is not given and cannot be derived."""
    if not update and not _QUERY_END.search(query):
        raise ConfigError(NO_UPDATE)
    return update or _QUERY_END.sub("/update", query)


class SparqlServer:
    """For any number of threads; `close` it. A connection is opened by the first request."""

    def __init__(self, query: str, update: str, clock: Clock, tell: Tell) -> None:
        """`update`: empty to derive it. Raises ConfigError, and GossamerError without urllib3."""
        self._update = Service(UPDATE, update_address(query, update), clock, tell)
        self._query = Service(QUERY, query, clock, tell)

    def close(self) -> None:
        self._query.close()
        self._update.close()

    @property
    def name(self) -> str:
        return self._query.name

    @property
    def trouble(self) -> str:
        """Since when it has not answered, for people; empty while it answers."""
        return self._query.trouble or self._update.trouble

    def until_done(self, work: Callable[[], T], is_stopping: Callable[[], bool]) -> T:
        """See `Service.until_done`."""
        return self._query.until_done(work, is_stopping)

    def update(self, text: str) -> None:
        headers = {"Content-Type": "application/sparql-update; charset=utf-8"}
        self._update.ask("POST", body=text, headers=headers, timeout_s=UPDATE_S)

    @contextmanager
    def sent(
        self, query: str, accept: str, parameters: Sequence[tuple[str, str]] = (), timeout_s: float = READ_S
    ) -> Iterator[tuple[str, Iterator[bytes]]]:
        """The media type and the pieces of the answer. Raises ServiceLost with words for readers."""
        headers = {"Content-Type": "application/sparql-query; charset=utf-8", "Accept": accept}
        path = f"?{urlencode(parameters)}" if parameters else ""
        try:
            with self._query.stream("POST", path, query, headers=headers, timeout_s=timeout_s) as (answer, pieces):
                yield answer.media_type, pieces
        except ServiceLost as lost:
            raise ServiceLost(self.trouble or str(lost)) from lost

    @contextmanager
    def rows(self, query: str, timeout_s: float = READ_S) -> Iterator[QuerySolutions]:
        """The answer to a query of our own, read while it arrives."""
        with self.sent(query, JSON, timeout_s=timeout_s) as (_, pieces):
            found = parsed(_Answer(pieces), self.name)
            assert isinstance(found, QuerySolutions), query
            yield found

    def holds(self, query: str) -> bool:
        """The answer to a query with ASK."""
        with self.sent(query, JSON) as (_, pieces):
            return bool(parsed(_Answer(pieces), self.name))

    # What it has of pages and writers.

    def position(self, writer: str) -> bytes:
        """Empty for a writer that it does not know."""
        with self.rows(f"SELECT ?at {{ GRAPH <{WRITERS}> {{ <{writer}> <{POSITION}> ?at }} }}") as found:
            return max((_text(row["at"]).encode() for row in whole(found, self.name)), default=b"")

    def fetched(self, graphs: Iterable[str]) -> dict[str, Instant]:
        """When the stored facts of these pages were fetched; without the pages it does not have."""
        return {graph: from_words(text) for graph, text in self._about(graphs, FETCHED_AT)}

    def versions(self, graphs: Iterable[str]) -> dict[str, int]:
        """The versions of the stored facts of these pages, on a cluster; without the pages it does not have."""
        return {graph: int(text) for graph, text in self._about(graphs, VERSION)}

    def captures(self, graphs: Iterable[str]) -> dict[str, int]:
        """The captures that the stored facts of these pages are from."""
        return {graph: int(text) for graph, text in self._about(graphs, CAPTURE)}

    def _about(self, graphs: Iterable[str], property: str) -> Iterator[tuple[str, str]]:
        for some in _batches(graphs):
            pages = " ".join(f"<{graph}>" for graph in some)
            query = (
                f"SELECT ?page ?it {{ VALUES ?page {{ {pages} }} GRAPH <{PROVENANCE}> {{ ?page <{property}> ?it }} }}"
            )
            with self.rows(query) as found:
                for row in whole(found, self.name):
                    yield row["page"].value, row["it"].value

    def among(self, graphs: Sequence[str]) -> set[str]:
        """Those of these graphs that have facts."""
        return self.matching(graphs, "GRAPH ?it { ?s ?p ?o }")

    def matching(self, iris: Sequence[str], pattern: str) -> set[str]:
        """Those of these IRIs for which the pattern, on `?it`, matches."""
        found = set[str]()
        for some in _batches(iris):
            names = " ".join(in_sparql(NamedNode(iri)) for iri in some)
            with self.rows(f"SELECT ?it {{ VALUES ?it {{ {names} }} FILTER EXISTS {{ {pattern} }} }}") as rows:
                found |= {_text(row["it"]) for row in whole(rows, self.name)}
        return found

    def pages(self) -> Iterator[str]:
        """The graph names of all pages."""
        query = f"SELECT ?page {{ GRAPH <{PROVENANCE}> {{ ?page <{FETCHED_AT}> ?at }} }}"
        with self.rows(query, EXPORT_S) as found:
            for row in whole(found, self.name):
                yield _text(row["page"])

    def remove(self, graphs: Iterable[str]) -> None:
        for some in _batches(graphs):
            self.update(removal(some))

    def forget_writer(self, writer: str) -> None:
        self.update(forgotten(writer))

    # All facts as N-Quads.

    def page_facts(self) -> Iterator[bytes]:
        """The facts of every page, in pieces of many lines; the graph names the page."""
        ours = f'FILTER(!STRSTARTS(STR(?g), "{OURS}"))'
        yield from self._quads(f"SELECT ?s ?p ?o ?g {{ GRAPH ?g {{ ?s ?p ?o }} {ours} }}")

    def facts_of(self, pages: Iterable[Url]) -> Iterator[bytes]:
        """The same for these pages alone."""
        for some in _batches(map(graph_name, pages)):
            graphs = " ".join(f"<{graph}>" for graph in dict.fromkeys(some))
            yield from self._quads(f"SELECT ?s ?p ?o ?g {{ VALUES ?g {{ {graphs} }} GRAPH ?g {{ ?s ?p ?o }} }}")

    def _quads(self, query: str) -> Iterator[bytes]:
        lines, size = list[str](), 0
        with self.rows(query, EXPORT_S) as found:
            for row in whole(found, self.name):
                lines.append(line := " ".join(str(read_term(term)) for term in row if term is not None) + " .\n")
                size += len(line)
                if size >= PIECE:
                    yield "".join(lines).encode()
                    lines, size = [], 0
        if lines:
            yield "".join(lines).encode()


class _Answer:
    """The pieces of an answer as a file, which is what the parser reads."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, memoryview(b"")

    def read(self, size: int = -1) -> bytes:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return b""
            self._rest = memoryview(piece)
        taken, self._rest = self._rest[:size], self._rest[size:]
        return bytes(taken)


def parsed(answer: _Answer, name: str) -> QuerySolutions | QueryBoolean:
    try:
        return parse_query_results(answer, format=QueryResultsFormat.JSON)  # type: ignore[arg-type]
    except (SyntaxError, ValueError) as trouble:
        raise GossamerError(f"{name} does not answer with SPARQL results in JSON: {trouble}") from trouble


def whole(solutions: QuerySolutions, name: str) -> Iterator[QuerySolution]:
    """All of them. Raises ServiceLost for an answer that ends too early: the server ran out of time, or has ended."""
    try:
        yield from solutions
    except SyntaxError as trouble:
        raise ServiceLost(f"{name} did not finish its answer") from trouble


def _text(term: object) -> str:
    assert isinstance(term, NamedNode | Literal), term
    return term.value


def _batches(graphs: Iterable[str]) -> Iterator[list[str]]:
    every = iter(graphs)
    while some := list(islice(every, PAGES_AT_ONCE)):
        yield some
