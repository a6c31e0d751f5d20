"""The SPARQL console: example queries, results as a table or a graph, and files to download."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import urlencode

from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, parse
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from gossamer.base.errors import QueryRefused
from gossamer.collection.collection import Collection
from gossamer.store.service import ServiceLost
from gossamer.values.url import url_of
from gossamer.views.facts.query_job import SparqlResult
from gossamer.views.facts.results import JSON, N_TRIPLES
from gossamer.views.facts.sparql import MOST_ROWS
from gossamer.web.entities.facts import bindings
from gossamer.web.entities.queries import NAMING, TYPE, Iri
from gossamer.web.names import TermView, named, short, term_of
from gossamer.web.responses import Show
from gossamer.web.sparql.protocol import ProtocolQuery
from gossamer.web.streams import status_of, unless_disconnected

Cell = Mapping[str, str]
Fact = Sequence[Cell]
"""Subject, property and value, as in SPARQL 1.1 Query Results JSON, 3.2.2."""
MOST_NAMED = 200
"""IRIs whose names are looked up in the collection."""
LONGEST_VALUES = 48 * 1024
"""Characters of IRIs in that query."""
LONGEST_NAME = 300


class QueryExample(NamedTuple):
    words: str
    query: str
    has_inference: bool = False


EXAMPLES = (
    QueryExample(
        "Types of entities",
        "SELECT ?type (COUNT(?entity) AS ?times)\n"
        "WHERE { ?entity a ?type }\n"
        "GROUP BY ?type\nORDER BY DESC(?times)\nLIMIT 20",
    ),
    QueryExample(
        "Names, and the pages that state them",
        "PREFIX schema: <http://schema.org/>\n"
        "SELECT ?name ?type ?page\n"
        "WHERE { GRAPH ?page { ?entity a ?type ; schema:name ?name } }\n"
        "LIMIT 50",
    ),
    QueryExample(
        "Facts, and where they are stated",
        "SELECT ?page ?property ?value\n"
        "  (<urn:gossamer:syntax>(?page, ?entity, ?property, ?value) AS ?syntax)\n"
        "  (<urn:gossamer:path>(?page, ?entity, ?property, ?value) AS ?element)\n"
        "WHERE { GRAPH ?page { ?entity ?property ?value } FILTER(?page != <urn:gossamer:provenance>) }\n"
        "LIMIT 50",
    ),
    QueryExample(
        "Creative works, including inferred types",
        "PREFIX schema: <http://schema.org/>\n"
        "SELECT ?entity ?kind ?name\n"
        "WHERE {\n"
        "  ?entity a schema:CreativeWork ; a ?kind .\n"
        "  OPTIONAL { ?entity schema:name ?name }\n"
        "}\nLIMIT 50",
        has_inference=True,
    ),
    QueryExample(
        "Subclasses of a type",
        "PREFIX schema: <http://schema.org/>\n"
        "SELECT ?type (COUNT(?entity) AS ?times)\n"
        "WHERE { ?entity a ?type FILTER(<urn:gossamer:is-a>(?type, schema:CreativeWork)) }\n"
        "GROUP BY ?type\nORDER BY DESC(?times)",
    ),
    QueryExample(
        "A graph of linked entities",
        "CONSTRUCT { ?one ?property ?other }\n"
        "WHERE {\n"
        "  SELECT DISTINCT ?one ?property ?other\n"
        "  WHERE { ?one ?property ?other ; a ?kind . ?other a ?another FILTER(isIRI(?other) && ?one != ?other) }\n"
        "  LIMIT 40\n"
        "}",
    ),
    QueryExample(
        "Properties in use",
        "SELECT ?property (COUNT(*) AS ?times)\n"
        "WHERE { ?entity ?property ?value }\n"
        "GROUP BY ?property\nORDER BY DESC(?times)\nLIMIT 50",
    ),
    QueryExample(
        "Entities described by several pages",
        "SELECT ?entity (COUNT(DISTINCT ?page) AS ?pages)\n"
        "WHERE { GRAPH ?page { ?entity a ?type } FILTER isIRI(?entity) }\n"
        "GROUP BY ?entity\nHAVING (COUNT(DISTINCT ?page) > 1)\nORDER BY DESC(?pages)\nLIMIT 20",
    ),
    QueryExample(
        "Latest facts",
        "PREFIX prov: <http://www.w3.org/ns/prov#>\n"
        "SELECT ?page ?seen\n"
        "WHERE { GRAPH <urn:gossamer:provenance> { ?page prov:generatedAtTime ?seen } }\n"
        "ORDER BY DESC(?seen)\nLIMIT 20",
    ),
)
MOST_SHOWN = 1000
"""Rows on a page; the file has the whole result."""
LONGEST_SHARED = 6000
"""Characters of a URL; some programs cut longer links."""
FILES = {
    "rows": (("csv", "CSV"), ("tsv", "TSV"), ("json", "JSON"), ("xml", "XML")),
    "truth": (("json", "JSON"), ("xml", "XML")),
    "graph": (("ttl", "Turtle"), ("nt", "N-Triples"), ("jsonld", "JSON-LD"), ("rdf", "RDF/XML")),
}
GRAPH_NAMES = ("subject", "property", "value")
_IRI = re.compile(r"<([^<>]+)>")
_PLACE = re.compile(r"line (\d+), column (\d+)")


class ResultView(NamedTuple):
    """A result, prepared for the template."""

    form: str
    """rows, truth or graph."""
    names: Sequence[str] = ()
    rows: Sequence[Sequence[TermView]] = ()
    facts: Sequence[Fact] = ()
    """The cells of a graph, which the drawing joins by their keys."""
    pages: frozenset[str] = frozenset()
    """The IRIs in it that are URLs of stored pages."""
    truth: bool = False


class Mistake(NamedTuple):
    words: str
    line: int = 0
    column: int = 0
    """Its position; 0 if unknown."""


async def console(collection: Collection, show: Show, request: Request, query: ProtocolQuery) -> Response:
    values: dict[str, object] = {
        "query": query.query,
        "has_inference": query.has_inference,
        "has_exact_names": query.has_exact_names,
        "address": parameters_of(query),
        "examples": EXAMPLES,
        "most_rows": MOST_ROWS,
        "most_shown": MOST_SHOWN,
        "limit_s": collection.settings.web.sparql_s,
        "mistake": None,
        "shown": None,
        "result": None,
        "took_s": 0.0,
        "notes": (),
        "files": (),
        "called": {},
    }
    if not query.query.strip():
        return await run_in_threadpool(show, "sparql.html", **values | {"query": EXAMPLES[0].query})
    began_s = collection.outside.clock.elapsed_s()
    graphs = (query.default_graphs, query.named_graphs)
    options = (query.has_inference, query.has_exact_names)
    try:
        running = collection.ask(query.query, f"{N_TRIPLES}, {JSON};q=0.9", *graphs, MOST_SHOWN, *options)
        result = await unless_disconnected(request, running)
    except QueryRefused as trouble:
        return await run_in_threadpool(
            show, "sparql.html", status_of(trouble), **values | {"mistake": mistake_in(trouble)}
        )
    values |= {
        "took_s": collection.outside.clock.elapsed_s() - began_s,
        "result": result,
        "notes": [_IRI.sub(lambda found: short(found[1]), note) for note in result.notes],
    }
    shown = await run_in_threadpool(view_of, collection, result)
    values |= {"shown": shown, "files": FILES[shown.form], "key_of": key_of}
    called = await unless_disconnected(request, names_in(collection, shown.facts, shown.pages)) if shown.facts else {}
    return await run_in_threadpool(show, "sparql.html", **values | {"called": called})


def parameters_of(query: ProtocolQuery) -> str:
    """The query string of a link to this query; empty if it would be too long to pass on."""
    pairs = [("query", query.query)]
    pairs += [("default-graph-uri", graph) for graph in query.default_graphs]
    pairs += [("named-graph-uri", graph) for graph in query.named_graphs]
    pairs += [("inference", "rdfs")] if query.has_inference else []
    pairs += [("names", "exact")] if query.has_exact_names else []
    text = urlencode(pairs, errors="replace")
    return text if query.query.strip() and len(text) <= LONGEST_SHARED else ""


def mistake_in(trouble: QueryRefused) -> Mistake:
    words = str(trouble)
    place = _PLACE.search(words)
    return Mistake(words, int(place[1]), int(place[2])) if place else Mistake(words)


def view_of(collection: Collection, result: SparqlResult) -> ResultView:
    if result.media_type != JSON:
        return _graph(collection, result.body)
    found: dict[str, Any] = json.loads(result.body)
    if "boolean" in found:
        return ResultView("truth", truth=found["boolean"])
    names, bindings = found["head"]["vars"], found["results"]["bindings"]
    pages = pages_in(collection, bindings)
    return ResultView("rows", names, [[term_of(row.get(name, {}), pages) for name in names] for row in bindings])


def _graph(collection: Collection, body: bytes) -> ResultView:
    triples = [(quad.subject, quad.predicate, quad.object) for quad in parse(body, RdfFormat.N_TRIPLES)]
    cells = [[_cell(term) for term in triple] for triple in triples]
    pages = pages_in(collection, [dict(zip(GRAPH_NAMES, row, strict=True)) for row in cells])
    rows = [[term_of(cell, pages) for cell in row] for row in cells]
    return ResultView("graph", GRAPH_NAMES, rows, cells, frozenset(pages))


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


def pages_in(collection: Collection, bindings: Sequence[Mapping[str, Cell]]) -> set[str]:
    """The IRIs in a result that are URLs of stored pages."""
    iris = {cell["value"] for row in bindings for cell in row.values() if cell["type"] == "uri"}
    urls = {url: iri for iri in iris if "#" not in iri and (url := url_of(iri)) is not None}
    return {urls[url] for url in collection.pages_among(urls)}


def key_of(cell: Cell) -> str:
    """The key of a node in the graph."""
    return f"{cell['type']} {cell['value']}"


async def names_in(collection: Collection, facts: Sequence[Fact], pages: frozenset[str]) -> dict[str, str]:
    """Names by key: those in the result itself, then those in the collection, then the titles of pages.

    A blank node without a name gets its class and a number; anything else that is missing keeps its own text.
    """
    found = stated_in(facts)
    ends = {key_of(cell): cell for fact in facts for cell in (fact[0], fact[2])}
    unnamed = [cell["value"] for key, cell in ends.items() if cell["type"] == "uri" and key not in found]
    iris = [iri for iri in unnamed if short(iri) == iri][:MOST_NAMED]
    try:
        rows = bindings((await collection.ask(query_for(iris), JSON)).body) if iris else []
    except (QueryRefused, ServiceLost):
        rows = []
    found |= stated_in([(row["thing"], row["property"], row["name"]) for row in rows])
    titled = [iri for iri in iris if iri in pages and f"uri {iri}" not in found]
    return found | await run_in_threadpool(titles_of, collection, titled) | nameless(facts, found)


def query_for(iris: Sequence[str]) -> str:
    entities: list[str] = []
    for iri in iris:
        with suppress(ValueError):
            entities.append(f"<{Iri(iri).text}>")
    while sum(map(len, entities)) > LONGEST_VALUES:
        entities.pop()
    naming = " ".join(f"<{iri}>" for iri in NAMING)
    return f"""SELECT DISTINCT ?thing ?property ?name
WHERE {{ VALUES ?thing {{ {" ".join(entities)} }} VALUES ?property {{ {naming} }} ?thing ?property ?name }}"""


def stated_in(facts: Sequence[Fact]) -> dict[str, str]:
    """The best name of each entity: in the order of `NAMING`, English first."""
    best: dict[str, tuple[int, bool, str]] = {}
    for entity, property, value in facts:
        text = " ".join(value["value"].split())
        if property["value"] not in NAMING or value["type"] != "literal" or not text:
            continue
        rank = NAMING.index(property["value"]), not value.get("xml:lang", "en").startswith("en"), text[:LONGEST_NAME]
        best[key_of(entity)] = min(rank, best.get(key_of(entity), rank))
    return {key: name for key, (_, _, name) in best.items()}


def titles_of(collection: Collection, iris: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for iri in iris:
        url = url_of(iri)
        stored = collection.index.stored(url) if url is not None else None
        if stored is not None and stored.title.strip():
            found[f"uri {iri}"] = stored.title.strip()[:LONGEST_NAME]
    return found


def nameless(facts: Sequence[Fact], found: Mapping[str, str]) -> dict[str, str]:
    """Blank nodes without a name, as their labels mean nothing to people."""
    kinds = {key_of(one): named(value["value"]).name for one, property, value in facts if property["value"] == TYPE}
    blank = dict.fromkeys(key_of(cell) for fact in facts for cell in fact if cell["type"] == "bnode")
    unknown = [key for key in blank if key not in found]
    return {key: f"unnamed {kinds.get(key, 'entity')} {number}" for number, key in enumerate(unknown, 1)}
