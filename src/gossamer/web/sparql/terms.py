"""The classes and properties that the collection uses, with how often: what the console completes from."""

import asyncio
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Query, Response

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.errors import QueryRefused
from gossamer.extract.vocabularies.relations import Kind, bundled, label_of
from gossamer.views.facts.names import CAPTURE, FETCHED_AT
from gossamer.views.facts.results import JSON
from gossamer.web.answers import answers_with, json_answer
from gossamer.web.names import PREFIXES, named
from gossamer.web.rooms import SparqlAsk

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


NOTHING = TermCounts({}, {}, 0, 0)


class UsedTerms:
    """Counted when first asked for, and again when that is older than FRESH_S. One count at a time."""

    def __init__(self, ask: SparqlAsk, clock: Clock) -> None:
        self._ask, self._clock = ask, clock
        self._counted = NOTHING
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


def router(used: UsedTerms) -> APIRouter:
    routes = APIRouter()

    @routes.get("/sparql/terms.json", responses=answers_with(TermSuggestions))
    async def terms(
        prefix: Annotated[str, Query(max_length=200)] = "",
        kind: Literal["class", "property"] | None = None,
        at_most: Annotated[int, Query(ge=1, le=200)] = MOST_SUGGESTED,
    ) -> Response:
        """Classes and properties that start with this (`schema:Per`, `per`): those in use first, by frequency, then
        those of the bundled vocabularies."""
        return json_answer(suggested(await used.counted(), prefix, kind, at_most))

    @routes.get("/sparql/prefixes.json", responses=answers_with(dict[str, str]))
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
