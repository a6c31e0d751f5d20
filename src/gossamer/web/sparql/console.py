"""The SPARQL console: example queries, results as a table or a drawing, and files to download."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, parse
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from gossamer.base.errors import QueryRefused
from gossamer.collection.collection import Collection
from gossamer.values.url import Url, url_of
from gossamer.views.facts.query_job import SparqlResult
from gossamer.views.facts.results import JSON, N_TRIPLES
from gossamer.views.facts.sparql import MOST_ROWS
from gossamer.web.entities.facts import bindings
from gossamer.web.entities.queries import NAMING, TYPE, Iri
from gossamer.web.names import ShownTerm, named, short, term_of
from gossamer.web.responses import Show
from gossamer.web.sparql.protocol import ProtocolQuery
from gossamer.web.streams import status_of, unless_left

Cell = Mapping[str, str]
Fact = Sequence[Cell]
"""Subject, property and value, as in SPARQL 1.1 Query Results JSON, 3.2.2."""
MOST_ASKED = 200
"""IRIs whose names the collection is asked for."""
LONGEST_ASKED = 48 * 1024
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


async def console(collection: Collection, show: Show, request: Request, asked: ProtocolQuery) -> Response:
    values: dict[str, object] = {
        "query": asked.query,
        "has_inference": asked.has_inference,
        "has_exact_names": asked.has_exact_names,
        "address": address_of(asked),
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
    if not asked.query.strip():
        return await run_in_threadpool(show, "sparql.html", **values | {"query": EXAMPLES[0].query})
    began_s = collection.outside.clock.elapsed_s()
    graphs = (asked.default_graphs, asked.named_graphs)
    choices = (asked.has_inference, asked.has_exact_names)
    try:
        asking = collection.ask(asked.query, f"{N_TRIPLES}, {JSON};q=0.9", *graphs, MOST_SHOWN, *choices)
        result = await unless_left(request, asking)
    except QueryRefused as trouble:
        return await run_in_threadpool(show, "sparql.html", status_of(trouble), **values | {"mistake": placed(trouble)})
    values |= {
        "took_s": collection.outside.clock.elapsed_s() - began_s,
        "result": result,
        "notes": readable(result.notes),
    }

    shown = await run_in_threadpool(shown_of, collection, result)
    values |= {"shown": shown, "files": FILES[shown.form], "key_of": key_of}
    called = await unless_left(request, names_in(collection, shown.facts, shown.pages)) if shown.facts else {}
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


def shown_of(collection: Collection, result: SparqlResult) -> ShownResult:
    if result.media_type != JSON:
        return _graph(collection, result.body)
    found: dict[str, Any] = json.loads(result.body)
    if "boolean" in found:
        return ShownResult("truth", truth=found["boolean"])
    names, bindings = found["head"]["vars"], found["results"]["bindings"]
    pages = pages_in(collection, bindings)
    return ShownResult("rows", names, [[term_of(row.get(name, {}), pages) for name in names] for row in bindings])


def _graph(collection: Collection, body: bytes) -> ShownResult:
    triples = [(quad.subject, quad.predicate, quad.object) for quad in parse(body, RdfFormat.N_TRIPLES)]
    cells = [[_cell(term) for term in triple] for triple in triples]
    pages = pages_in(collection, [dict(zip(GRAPH_NAMES, row, strict=True)) for row in cells])
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


def pages_in(collection: Collection, bindings: Sequence[Mapping[str, Cell]]) -> set[str]:
    """The IRIs in an answer that are addresses of pages we hold."""
    iris = {cell["value"] for row in bindings for cell in row.values() if cell["type"] == "uri"}
    urls: dict[Url, str] = {}
    for iri in iris:
        if "#" not in iri and (url := url_of(iri)) is not None:
            urls[url] = iri
    return {urls[url] for url in collection.pages_among(urls)}


def key_of(cell: Cell) -> str:
    """What tells each thing of a drawing from the others."""
    return f"{cell['type']} {cell['value']}"


async def names_in(collection: Collection, facts: Sequence[Fact], pages: frozenset[str]) -> dict[str, str]:
    """By key. Names that the answer itself states come first, then what the collection calls a thing, then the title
    of a page; what has no name at all has its class or a number. What is not in here is called by its own text."""
    found = stated_in(facts)
    ends = {key_of(cell): cell for fact in facts for cell in (fact[0], fact[2])}
    unnamed = [cell["value"] for key, cell in ends.items() if cell["type"] == "uri" and key not in found]
    iris = [iri for iri in unnamed if short(iri) == iri][:MOST_ASKED]
    try:
        rows = bindings((await collection.ask(query_for(iris), JSON)).body) if iris else []
    except QueryRefused:
        rows = []
    found |= stated_in([(row["thing"], row["property"], row["name"]) for row in rows])
    titled = [iri for iri in iris if iri in pages and f"uri {iri}" not in found]
    return found | await run_in_threadpool(titles_of, collection, titled) | nameless(facts, found)


def query_for(iris: Sequence[str]) -> str:
    things: list[str] = []
    for iri in iris:
        try:
            things.append(f"<{Iri(iri).text}>")
        except ValueError:
            continue
    while sum(map(len, things)) > LONGEST_ASKED:
        things.pop()
    naming = " ".join(f"<{iri}>" for iri in NAMING)
    return f"""SELECT DISTINCT ?thing ?property ?name
WHERE {{ VALUES ?thing {{ {" ".join(things)} }} VALUES ?property {{ {naming} }} ?thing ?property ?name }}"""


def stated_in(facts: Sequence[Fact]) -> dict[str, str]:
    """The best name of each thing: by the order of `NAMING`, in English first."""
    best: dict[str, tuple[int, bool, str]] = {}
    for thing, property, value in facts:
        text = " ".join(value["value"].split())
        if property["value"] not in NAMING or value["type"] != "literal" or not text:
            continue
        rank = NAMING.index(property["value"]), not value.get("xml:lang", "en").startswith("en"), text[:LONGEST_NAME]
        best[key_of(thing)] = min(rank, best.get(key_of(thing), rank))
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
    """Blank nodes without a name: their labels say nothing to people."""
    kinds = {key_of(thing): named(value["value"]).name for thing, property, value in facts if property["value"] == TYPE}
    blank = dict.fromkeys(key_of(cell) for fact in facts for cell in fact if cell["type"] == "bnode")
    unknown = [key for key in blank if key not in found]
    return {key: f"unnamed {kinds.get(key, 'entity')} {number}" for number, key in enumerate(unknown, 1)}
