"""What the endpoint says of itself and of its data: classes and properties in use, Service Description, VoID."""

import asyncio
import json
import re
from collections.abc import Iterable, Iterator, Mapping
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
from gossamer.views.facts.query_job import IS_A, SPECIALISES
from gossamer.views.facts.results import JSON, JSON_LD, N_TRIPLES, RDF_XML, ROWS, TRIPLES, TURTLE, media_type_for
from gossamer.views.facts.sources import CAPTURE, FETCHED_AT, PATH, SYNTAX
from gossamer.views.facts.sparql import MOST_BYTES, MOST_ROWS
from gossamer.web.names import PREFIXES, named
from gossamer.web.responses import json_answer
from gossamer.web.routes import Routes, answers_with

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
    """As one writes it in a query: `schema:Person`, or `<the IRI>` when nobody has a prefix for it."""
    prefix: str
    namespace: str
    """What the prefix stands for; both are empty when there is none."""
    kind: Literal["class", "property"]
    label: str
    times: int
    """How often the collection's pages use it; 0: it is only known from its vocabulary."""


class TermSuggestions(msgspec.Struct, frozen=True):
    terms: list[TermSuggestion]
    prefixes: dict[str, str]
    """The namespace of each prefix that the terms use."""


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
    """Counted when first asked for, and again when that is older than FRESH_S. One count at a time."""

    def __init__(self, ask: Ask, clock: Clock) -> None:
        self._ask, self._clock = ask, clock
        self._counted = NO_COUNTS
        self._until: Instant = 0
        self._turn = asyncio.Lock()

    async def counted(self) -> TermCounts:
        """What was counted last when counting takes longer than a query may."""
        async with self._turn:
            if self._clock.now() >= self._until:
                with suppress(QueryRefused):
                    self._counted = await self._count()
                self._until = self._clock.now() + int(FRESH_S * SECOND)
        return self._counted

    async def _count(self) -> TermCounts:
        classes, as_of = await self._times("class")
        properties, _ = await self._times("property")
        pages = properties.pop(CAPTURE, 0)  # each page has one of these, and a moment, in the graph of provenance
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
    yield Triple(it, NamedNode(RDFS + "comment"), RdfLiteral(words, language="en"))


def dataset(origin: str, counted: TermCounts, has_parts: bool) -> Iterator[Triple]:
    """VoID, sections 2 and 4. Without a count it says only that the facts are there."""
    it = NamedNode(f"{origin}/void.ttl#facts")
    yield _fact(it, RDF + "type", VOID + "Dataset")
    yield _fact(it, RDF + "type", SD + "Dataset")
    yield _fact(it, VOID + "sparqlEndpoint", f"{origin}/sparql")
    yield Triple(
        it, NamedNode(DCTERMS + "title"), RdfLiteral("Facts that pages of this collection state", language="en")
    )
    if not counted.as_of:
        return
    yield Triple(
        it, NamedNode(DCTERMS + "modified"), RdfLiteral(in_words(counted.as_of), datatype=NamedNode(XSD + "dateTime"))
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
    return Triple(subject, NamedNode(VOID + name), RdfLiteral(value))


class TermsParameters(msgspec.Struct, frozen=True):
    prefix: Annotated[str, Meta(max_length=200)] = ""
    kind: Literal["class", "property"] | None = None
    at_most: Annotated[int, Meta(ge=1, le=200)] = MOST_SUGGESTED


def terms_router(used: UsedTerms) -> Routes:
    routes = Routes()

    @routes.get("/sparql/terms.json", answers_with(TermSuggestions), "Classes and properties by their beginning")
    async def terms(wanted: TermsParameters) -> Response:
        """Classes and properties that start with this (`schema:Per`, `per`): those in use first, by frequency, then
        those of the bundled vocabularies."""
        return json_answer(suggested(await used.counted(), wanted.prefix, wanted.kind, wanted.at_most))

    @routes.get("/sparql/prefixes.json", answers_with(dict[str, str]), "Namespace prefixes")
    def prefixes() -> Response:
        """The prefixes that the console knows, and what each stands for."""
        return json_answer(all_prefixes())

    return routes


def suggested(counted: TermCounts, text: str, kind: Kind | None, at_most: int) -> TermSuggestions:
    found: dict[tuple[Kind, str], TermSuggestion] = {}
    kinds: tuple[Kind, ...] = ("class", "property") if kind is None else (kind,)
    in_use = [
        (times, one, iri)
        for one in kinds
        for iri, times in (counted.classes if one == "class" else counted.properties).items()
    ]
    for times, one, iri in sorted(in_use, key=lambda used: (-used[0], used[2])):
        suggestion = suggestion_of(iri, one, times)
        if begins(suggestion, text):
            found[one, iri] = suggestion
    for known in bundled().terms(text, kind, at_most):
        found.setdefault((known.kind, known.iri), suggestion_of(known.iri, known.kind, 0))
    terms = list(found.values())[:at_most]
    return TermSuggestions(terms, prefixes_of(terms))


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


def prefixes_of(terms: Iterable[TermSuggestion]) -> dict[str, str]:
    return {term.prefix: term.namespace for term in terms if term.prefix}


def all_prefixes() -> dict[str, str]:
    """Those that the console puts into a query by itself."""
    return {prefix: namespace for namespace, prefix in PREFIXES.items()} | dict(bundled().prefixes)
