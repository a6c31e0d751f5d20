"""What the endpoint and the collection say of themselves: SPARQL 1.1 Service Description, and VoID."""

from collections.abc import Iterator, Mapping
from itertools import islice

from fastapi import APIRouter, Request, Response
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple, serialize

from gossamer.base.clock import in_words
from gossamer.views.facts.names import PATH, SYNTAX
from gossamer.views.facts.query_job import IS_A, SPECIALISES
from gossamer.views.facts.results import JSON_LD, N_TRIPLES, RDF_XML, ROWS, TRIPLES, TURTLE, media_type_for
from gossamer.views.facts.sparql import MOST_BYTES, MOST_ROWS
from gossamer.web.rooms import WebRooms
from gossamer.web.sparql.terms import TermCounts, UsedTerms

SD = "http://www.w3.org/ns/sparql-service-description#"
VOID = "http://rdfs.org/ns/void#"
FORMATS = "http://www.w3.org/ns/formats/"
DCTERMS = "http://purl.org/dc/terms/"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
XSD = "http://www.w3.org/2001/XMLSchema#"
NAMES = ("SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "SPARQL_Results_TSV",
         "Turtle", "N-Triples", "JSON-LD", "RDF_XML")  # fmt: skip
"""Of the formats ROWS and TRIPLES, at www.w3.org/ns/formats."""
SERIALISERS = {
    TURTLE: RdfFormat.TURTLE,
    N_TRIPLES: RdfFormat.N_TRIPLES,
    JSON_LD: RdfFormat.JSON_LD,
    RDF_XML: RdfFormat.RDF_XML,
}
MOST_PARTS = 500
"""Classes and properties that VoID lists, the most frequent ones."""


def describes(accept: str) -> bool:
    """Whether somebody who asks the endpoint without a query wants its description, not the page to type one."""
    return media_type_for(accept, (*TRIPLES, "text/html")) != "text/html"


def router(rooms: WebRooms, used: UsedTerms) -> APIRouter:
    routes = APIRouter()

    @routes.get("/sparql/description.ttl", include_in_schema=False)
    async def description(request: Request) -> Response:
        return await described(request, rooms, used, TURTLE)

    @routes.get("/void.ttl", include_in_schema=False)
    async def void(request: Request) -> Response:
        return await described(request, rooms, used, TURTLE, is_void=True)

    @routes.get("/.well-known/void", include_in_schema=False)
    async def well_known(request: Request) -> Response:
        return await described(request, rooms, used, is_void=True)

    return routes


async def described(
    request: Request, rooms: WebRooms, used: UsedTerms, media_type: str = "", is_void: bool = False
) -> Response:
    counted = await used.counted()
    origin = f"{request.url.scheme}://{request.headers['host']}"
    triples = list(dataset(origin, counted, has_parts=is_void))
    if not is_void:
        triples = [*service(origin, rooms.sparql_s), *triples]
    chosen = media_type or media_type_for(request.headers.get("accept", "*/*"), TRIPLES)
    prefixes = {"sd": SD, "void": VOID, "formats": FORMATS, "dcterms": DCTERMS, "rdfs": RDFS, "xsd": XSD}
    has_prefixes = chosen in (TURTLE, RDF_XML)
    body = serialize(triples, format=SERIALISERS[chosen], prefixes=prefixes if has_prefixes else None) or b""
    return Response(body, media_type=chosen, headers={"Vary": "Accept"})


def service(origin: str, limit_s: float) -> Iterator[Triple]:
    """Service Description, section 3. REQUIRES: `origin` was compared with the names that we answer to."""
    it = NamedNode(f"{origin}/sparql#service")
    yield _fact(it, RDF + "type", SD + "Service")
    yield _fact(it, SD + "endpoint", f"{origin}/sparql")
    yield _fact(it, SD + "supportedLanguage", SD + "SPARQL11Query")
    yield _fact(it, SD + "feature", SD + "UnionDefaultGraph")
    yield _fact(it, SD + "defaultDataset", f"{origin}/void.ttl#facts")
    for name in NAMES[: len(ROWS) + len(TRIPLES)]:
        yield _fact(it, SD + "resultFormat", FORMATS + name)
    for name in (SYNTAX, PATH, IS_A.value, SPECIALISES.value):
        yield _fact(it, SD + "extensionFunction", name)
    words = (
        f"Read-only. At most {limit_s:g} seconds, {MOST_ROWS} rows and {MOST_BYTES} bytes; truncated results have the "
        "header X-Gossamer-Truncated. With inference=rdfs, facts inferred from the vocabularies are found too."
    )
    yield Triple(it, NamedNode(RDFS + "comment"), Literal(words, language="en"))


def dataset(origin: str, counted: TermCounts, has_parts: bool) -> Iterator[Triple]:
    """VoID, sections 2 and 4. Without a count it says only that the facts are there."""
    it = NamedNode(f"{origin}/void.ttl#facts")
    yield _fact(it, RDF + "type", VOID + "Dataset")
    yield _fact(it, RDF + "type", SD + "Dataset")
    yield _fact(it, VOID + "sparqlEndpoint", f"{origin}/sparql")
    yield Triple(it, NamedNode(DCTERMS + "title"), Literal("Facts that pages of this collection state", language="en"))
    if not counted.as_of:
        return
    yield Triple(
        it, NamedNode(DCTERMS + "modified"), Literal(in_words(counted.as_of), datatype=NamedNode(XSD + "dateTime"))
    )
    yield _number(it, "triples", counted.facts)
    yield _number(it, "classes", len(counted.classes))
    yield _number(it, "properties", len(counted.properties))
    yield _number(it, "documents", counted.pages)
    if has_parts:
        yield from _parts(it, "classPartition", "class", "entities", counted.classes)
        yield from _parts(it, "propertyPartition", "property", "triples", counted.properties)


def _parts(it: NamedNode, relation: str, kind: str, measure: str, counts: Mapping[str, int]) -> Iterator[Triple]:
    for number, (iri, times) in enumerate(islice(counts.items(), MOST_PARTS)):
        part = BlankNode(f"{kind}{number}")
        yield Triple(it, NamedNode(VOID + relation), part)
        yield Triple(part, NamedNode(VOID + kind), NamedNode(iri))
        yield _number(part, measure, times)


def _fact(subject: NamedNode, predicate: str, value: str) -> Triple:
    return Triple(subject, NamedNode(predicate), NamedNode(value))


def _number(subject: NamedNode | BlankNode, name: str, value: int) -> Triple:
    return Triple(subject, NamedNode(VOID + name), Literal(value))
