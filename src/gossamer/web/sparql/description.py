"""Descriptions of the SPARQL endpoint and its data.

Service Description, VoID, classes and properties in use.
"""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from pyoxigraph import BlankNode, NamedNode, RdfFormat, Triple, serialize
from pyoxigraph import Literal as RdfLiteral
from starlette.requests import Request
from starlette.responses import Response

from gossamer.base.clock import SECOND, Clock, Instant, in_words
from gossamer.base.errors import QueryRefused
from gossamer.collection.collection import Collection
from gossamer.collection.vocabulary import Ask
from gossamer.extract.vocabularies import Kind, bundled, label_of
from gossamer.store.service import ServiceLost
from gossamer.views.facts.query_job import IS_A, SPECIALISES
from gossamer.views.facts.results import JSON, RDF_XML, ROWS, TRIPLES, TURTLE, media_type_for
from gossamer.views.facts.sources import CAPTURE, FETCHED_AT, PATH, SYNTAX
from gossamer.views.facts.sparql import MOST_BYTES, MOST_ROWS
from gossamer.web.names import PREFIXES, named
from gossamer.web.routes import Routes

FRESH_S = 60.0
MOST_TERMS = 5_000
MOST_SUGGESTED = 50
COUNTING = {
    "class": "SELECT ?term (COUNT(*) AS ?times) { GRAPH ?g { ?thing a ?term FILTER isIRI(?term) } } GROUP BY ?term",
    "property": "SELECT ?term (COUNT(*) AS ?times) { GRAPH ?g { ?thing ?term ?value } } GROUP BY ?term",
}
_LOCAL = re.compile(r"\w(?:[\w.-]*[\w-])?")


class TermSuggestion(msgspec.Struct, frozen=True):
    iri: str
    short: str
    """As written in a query: `schema:Person`, or `<IRI>` if no prefix is known."""
    prefix: str
    namespace: str
    """The namespace of the prefix; both are empty if there is none."""
    kind: Literal["class", "property"]
    label: str
    times: int
    """How often the pages use it; 0 if it is only known from its vocabulary."""


class TermSuggestions(msgspec.Struct, frozen=True):
    terms: list[TermSuggestion]
    prefixes: dict[str, str]
    """The namespaces of the prefixes that the terms use."""


class TermCounts(msgspec.Struct, frozen=True):
    classes: Mapping[str, int]
    properties: Mapping[str, int]
    pages: int
    as_of: Instant

    @property
    def facts(self) -> int:
        return sum(self.properties.values())


NO_COUNTS = TermCounts({}, {}, 0, 0)


class UsedTerms:
    """The classes and properties in use, counted on demand if the last count is older than FRESH_S; one at a time."""

    def __init__(self, ask: Ask, clock: Clock) -> None:
        self._ask, self._clock = ask, clock
        self._counted = NO_COUNTS
        self._until: Instant = 0
        self._turn = asyncio.Lock()

    async def counted(self) -> TermCounts:
        """The last count, if counting exceeds the time limit of a query."""
        async with self._turn:
            if self._clock.now() >= self._until:
                with suppress(QueryRefused, ServiceLost):
                    self._counted = await self._count()
                self._until = self._clock.now() + int(FRESH_S * SECOND)
        return self._counted

    async def _count(self) -> TermCounts:
        classes, as_of = await self._times("class")
        properties, _ = await self._times("property")
        pages = properties.pop(CAPTURE, 0)  # the provenance graph has one, and a time, for each page
        if FETCHED_AT in properties:
            properties[FETCHED_AT] -= pages
        return TermCounts(classes, {iri: times for iri, times in properties.items() if times > 0}, pages, as_of)

    async def _times(self, kind: Kind) -> tuple[dict[str, int], Instant]:
        query = f"{COUNTING[kind]} ORDER BY DESC(?times) LIMIT {MOST_TERMS}"
        result = await self._ask(query, JSON)
        found = json.loads(result.body)["results"]["bindings"]
        return {row["term"]["value"]: int(row["times"]["value"]) for row in found}, result.as_of


SD = "http://www.w3.org/ns/sparql-service-description#"
VOID = "http://rdfs.org/ns/void#"
FORMATS = "http://www.w3.org/ns/formats/"
DCTERMS = "http://purl.org/dc/terms/"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
XSD = "http://www.w3.org/2001/XMLSchema#"
NAMES = ("SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "SPARQL_Results_TSV",
         "Turtle", "N-Triples", "JSON-LD", "RDF_XML")  # fmt: skip
"""The names of the formats ROWS and TRIPLES at www.w3.org/ns/formats."""
MOST_PARTS = 500
"""The most frequent classes and properties, which VoID lists."""


def describes(accept: str) -> bool:
    """Whether a request without a query prefers the description to the page for typing one."""
    return media_type_for(accept, (*TRIPLES, "text/html")) != "text/html"


def description_router(collection: Collection, used: UsedTerms) -> Routes:
    routes = Routes()

    @routes.get("/sparql/description.ttl")
    async def description(request: Request) -> Response:
        return await described(request, collection, used, TURTLE)

    @routes.get("/void.ttl")
    async def void(request: Request) -> Response:
        return await described(request, collection, used, TURTLE, is_void=True)

    @routes.get("/.well-known/void")
    async def well_known(request: Request) -> Response:
        return await described(request, collection, used, is_void=True)

    return routes


async def described(
    request: Request, collection: Collection, used: UsedTerms, media_type: str = "", is_void: bool = False
) -> Response:
    counted = await used.counted()
    origin = f"{request.url.scheme}://{request.headers['host']}"
    triples = list(dataset(origin, counted, has_parts=is_void))
    if not is_void:
        triples = [*service(origin, collection.settings.web.sparql_s), *triples]
    chosen = media_type or media_type_for(request.headers.get("accept", "*/*"), TRIPLES)
    prefixes = {"sd": SD, "void": VOID, "formats": FORMATS, "dcterms": DCTERMS, "rdfs": RDFS, "xsd": XSD}
    declared = prefixes if chosen in (TURTLE, RDF_XML) else None
    body = serialize(triples, format=RdfFormat.from_media_type(chosen), prefixes=declared) or b""
    return Response(body, media_type=chosen, headers={"Vary": "Accept"})


def service(origin: str, limit_s: float) -> Iterator[Triple]:
    """Service Description, section 3. REQUIRES: `origin` is one of our own host names."""
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
    yield _fact(it, RDFS + "comment", RdfLiteral(words, language="en"))


def dataset(origin: str, counted: TermCounts, has_parts: bool) -> Iterator[Triple]:
    """VoID, sections 2 and 4. Without a count it only says where the dataset is."""
    it = NamedNode(f"{origin}/void.ttl#facts")
    yield _fact(it, RDF + "type", VOID + "Dataset")
    yield _fact(it, RDF + "type", SD + "Dataset")
    yield _fact(it, VOID + "sparqlEndpoint", f"{origin}/sparql")
    yield _fact(it, DCTERMS + "title", RdfLiteral("Facts that pages of this collection state", language="en"))
    if not counted.as_of:
        return
    modified = RdfLiteral(in_words(counted.as_of), datatype=NamedNode(XSD + "dateTime"))
    yield _fact(it, DCTERMS + "modified", modified)
    numbers = {"classes": len(counted.classes), "properties": len(counted.properties), "documents": counted.pages}
    for name, number in ({"triples": counted.facts} | numbers).items():
        yield _fact(it, VOID + name, RdfLiteral(number))
    if has_parts:
        yield from _parts(it, "classPartition", "class", "entities", counted.classes)
        yield from _parts(it, "propertyPartition", "property", "triples", counted.properties)


def _parts(it: NamedNode, relation: str, kind: str, measure: str, counts: Mapping[str, int]) -> Iterator[Triple]:
    for number, (iri, times) in enumerate(islice(counts.items(), MOST_PARTS)):
        part = BlankNode(f"{kind}{number}")
        yield _fact(it, VOID + relation, part)
        yield _fact(part, VOID + kind, iri)
        yield _fact(part, VOID + measure, RdfLiteral(times))


def _fact(subject: NamedNode | BlankNode, predicate: str, value: str | BlankNode | RdfLiteral) -> Triple:
    """`value`: a string is an IRI."""
    return Triple(subject, NamedNode(predicate), NamedNode(value) if isinstance(value, str) else value)


class TermsParameters(msgspec.Struct, frozen=True):
    prefix: Annotated[str, Meta(max_length=200)] = ""
    kind: Literal["class", "property"] | None = None
    at_most: Annotated[int, Meta(ge=1, le=200)] = MOST_SUGGESTED


def terms_router(used: UsedTerms) -> Routes:
    routes = Routes()

    @routes.get("/sparql/terms.json", "Classes and properties by their beginning")
    async def terms(params: TermsParameters) -> TermSuggestions:
        """Classes and properties that start with this (`schema:Per`, `per`): those in use first, by frequency, then
        those of the bundled vocabularies."""
        return suggested(await used.counted(), params.prefix, params.kind, params.at_most)

    @routes.get("/sparql/prefixes.json", "Namespace prefixes")
    def prefixes() -> dict[str, str]:
        """The prefixes that the console knows, and what each stands for."""
        return {prefix: namespace for namespace, prefix in PREFIXES.items()} | dict(bundled().prefixes)

    return routes


def suggested(counted: TermCounts, text: str, kind: Kind | None, at_most: int) -> TermSuggestions:
    found: dict[tuple[Kind, str], TermSuggestion] = {}
    kinds: tuple[Kind, ...] = ("class", "property") if kind is None else (kind,)
    counts = {"class": counted.classes, "property": counted.properties}
    in_use = [(times, one, iri) for one in kinds for iri, times in counts[one].items()]
    for times, one, iri in sorted(in_use, key=lambda used: (-used[0], used[2])):
        suggestion = suggestion_of(iri, one, times)
        if begins(suggestion, text):
            found[one, iri] = suggestion
    for known in bundled().terms(text, kind, at_most):
        found.setdefault((known.kind, known.iri), suggestion_of(known.iri, known.kind, 0))
    terms = list(found.values())[:at_most]
    return TermSuggestions(terms, {term.prefix: term.namespace for term in terms if term.prefix})


def begins(suggestion: TermSuggestion, text: str) -> bool:
    wanted = text.lower()
    names = (suggestion.short, suggestion.iri, named(suggestion.iri).name)
    return any(name.lower().startswith(wanted) for name in names)


def suggestion_of(iri: str, kind: Kind, times: int) -> TermSuggestion:
    namespace = bundled().namespace_of(iri)
    local = iri[len(namespace) :]
    prefix = PREFIXES.get(namespace, "")
    if not prefix or not _LOCAL.fullmatch(local):
        return TermSuggestion(iri, f"<{iri}>", "", "", kind, label_of(named(iri).name), times)
    return TermSuggestion(iri, f"{prefix}:{local}", prefix, namespace, kind, label_of(local), times)
