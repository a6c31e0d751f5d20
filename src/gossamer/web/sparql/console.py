"""The page where people ask for facts: the query, its answer as a table, and files to take away."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, parse

from gossamer.base.errors import QueryRefused
from gossamer.values.url import Url, url_of
from gossamer.views.facts.results import JSON, N_TRIPLES
from gossamer.views.facts.sparql import MOST_ROWS, SparqlResult
from gossamer.web.names import short
from gossamer.web.page_frame import Show
from gossamer.web.rooms import WebRooms
from gossamer.web.sparql.asker import status_of, unless_left
from gossamer.web.sparql.examples import EXAMPLES
from gossamer.web.sparql.graph import Cell, Fact, key_of, names_in
from gossamer.web.sparql.protocol import ProtocolQuery
from gossamer.web.terms import ShownTerm, term_of

MOST_SHOWN = 1000
"""Rows on a page; the whole answer is there as a file."""
LONGEST_SHARED = 6000
"""Of an address. Longer ones are cut by some programs that pass links on."""
FILES = {
    "rows": (("csv", "CSV"), ("tsv", "TSV"), ("json", "JSON"), ("xml", "XML")),
    "truth": (("json", "JSON"), ("xml", "XML")),
    "graph": (("ttl", "Turtle"), ("nt", "N-Triples"), ("jsonld", "JSON-LD"), ("rdf", "RDF/XML")),
}
GRAPH_NAMES = ("subject", "property", "value")
_IRI = re.compile(r"<([^<>]+)>")
_PLACE = re.compile(r"line (\d+), column (\d+)")


class ShownResult(NamedTuple):
    """One answer, laid out."""

    form: str
    """rows, truth or graph."""
    names: Sequence[str] = ()
    rows: Sequence[Sequence[ShownTerm]] = ()
    facts: Sequence[Fact] = ()
    """Of a graph: its cells, which a drawing joins by their keys."""
    pages: frozenset[str] = frozenset()
    """The IRIs in it that are addresses of pages we hold."""
    truth: bool = False


class Mistake(NamedTuple):
    words: str
    line: int = 0
    column: int = 0
    """Where it is; 0: nowhere in particular."""


async def console(rooms: WebRooms, show: Show, request: Request, asked: ProtocolQuery) -> Response:
    values: dict[str, object] = {
        "query": asked.query,
        "has_inference": asked.has_inference,
        "has_exact_names": asked.has_exact_names,
        "address": address_of(asked),
        "examples": EXAMPLES,
        "most_rows": MOST_ROWS,
        "most_shown": MOST_SHOWN,
        "limit_s": rooms.sparql_s,
        "mistake": None,
        "shown": None,
        "result": None,
        "took_s": 0.0,
        "notes": (),
        "files": (),
        "called": {},
    }
    if not asked.query.strip():
        return await run_in_threadpool(show, "sparql.html", **values | {"query": EXAMPLES[0].query})
    began_s = rooms.clock.elapsed_s()
    graphs = (asked.default_graphs, asked.named_graphs)
    choices = (asked.has_inference, asked.has_exact_names)
    try:
        asking = rooms.ask(asked.query, f"{N_TRIPLES}, {JSON};q=0.9", *graphs, MOST_SHOWN, *choices)
        result = await unless_left(request, asking)
    except QueryRefused as trouble:
        return await run_in_threadpool(show, "sparql.html", status_of(trouble), **values | {"mistake": placed(trouble)})
    values |= {"took_s": rooms.clock.elapsed_s() - began_s, "result": result, "notes": readable(result.notes)}

    shown = await run_in_threadpool(shown_of, rooms, result)
    values |= {"shown": shown, "files": FILES[shown.form], "key_of": key_of}
    called = await unless_left(request, names_in(rooms, shown.facts, shown.pages)) if shown.facts else {}
    return await run_in_threadpool(show, "sparql.html", **values | {"called": called})


def address_of(asked: ProtocolQuery) -> str:
    """What follows `?` in an address that asks the same; empty when it would be too long to pass on."""
    pairs = [("query", asked.query)]
    pairs += [("default-graph-uri", graph) for graph in asked.default_graphs]
    pairs += [("named-graph-uri", graph) for graph in asked.named_graphs]
    pairs += [("inference", "rdfs")] if asked.has_inference else []
    pairs += [("names", "exact")] if asked.has_exact_names else []
    address = urlencode(pairs, errors="replace")
    return address if asked.query.strip() and len(address) <= LONGEST_SHARED else ""


def placed(trouble: QueryRefused) -> Mistake:
    words = str(trouble)
    place = _PLACE.search(words)
    return Mistake(words, int(place[1]), int(place[2])) if place else Mistake(words)


def readable(notes: Sequence[str]) -> list[str]:
    """With the short names of things."""
    return [_IRI.sub(lambda found: short(found[1]), note) for note in notes]


def shown_of(rooms: WebRooms, result: SparqlResult) -> ShownResult:
    if result.media_type != JSON:
        return _graph(rooms, result.body)
    found: dict[str, Any] = json.loads(result.body)
    if "boolean" in found:
        return ShownResult("truth", truth=found["boolean"])
    names, bindings = found["head"]["vars"], found["results"]["bindings"]
    pages = pages_in(rooms, bindings)
    return ShownResult("rows", names, [[term_of(row.get(name, {}), pages) for name in names] for row in bindings])


def _graph(rooms: WebRooms, body: bytes) -> ShownResult:
    triples = [(quad.subject, quad.predicate, quad.object) for quad in parse(body, RdfFormat.N_TRIPLES)]
    cells = [[_cell(term) for term in triple] for triple in triples]
    pages = pages_in(rooms, [dict(zip(GRAPH_NAMES, row, strict=True)) for row in cells])
    rows = [[term_of(cell, pages) for cell in row] for row in cells]
    return ShownResult("graph", GRAPH_NAMES, rows, cells, frozenset(pages))


def _cell(term: object) -> Cell:
    match term:
        case NamedNode():
            return {"type": "uri", "value": term.value}
        case BlankNode():
            return {"type": "bnode", "value": term.value}
        case Literal():
            language = {"xml:lang": term.language} if term.language else {"datatype": term.datatype.value}
            return {"type": "literal", "value": term.value, **language}
        case _:
            return {"type": "triple", "value": str(term)}


def pages_in(rooms: WebRooms, bindings: Sequence[Mapping[str, Cell]]) -> set[str]:
    """The IRIs in an answer that are addresses of pages we hold."""
    iris = {cell["value"] for row in bindings for cell in row.values() if cell["type"] == "uri"}
    urls: dict[Url, str] = {}
    for iri in iris:
        if "#" not in iri and (url := url_of(iri)) is not None:
            urls[url] = iri
    return {urls[url] for url in rooms.pages_among(urls)}
