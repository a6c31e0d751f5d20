"""The vocabularies in use: how many pages and facts have each class and property."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Self

import msgspec

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.errors import DirectoryUnusable, GossamerError, ViewDamaged
from gossamer.base.tasks import begin
from gossamer.collection.views import refuse_lost_views
from gossamer.store.directory import Directory
from gossamer.views.facts.query_job import SparqlResult
from gossamer.views.words.place import words_reader

FRESH_S = 5.0
MOST_TERMS = 5_000
"""Of each kind. Shared vocabularies have far fewer; the rest are names that a site makes up for each page."""
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
Ask = Callable[..., Awaitable[SparqlResult]]
"""`Collection.ask`."""
COUNT_FRESH_S, OLD_S = 2.0, 300.0
"""A count is valid for at least and at most so long; in between, for SHARE times as long as counting took."""
SHARE = 20.0
MOMENT_S = 1.5
"""How long a page waits for a new count; then it shows the last one with its date."""
MOST_COUNTED = 10_000
BY_PROPERTY = "SELECT ?term (COUNT(*) AS ?facts) WHERE { ?thing ?term ?value } GROUP BY ?term"
BY_CLASS = f"SELECT ?term (COUNT(*) AS ?facts) WHERE {{ ?thing <{TYPE}> ?term }} GROUP BY ?term"


@dataclass(frozen=True, slots=True)
class TermsInUse:
    """How many pages use each class, property and vocabulary, by IRI; from the index, so it is new and exact."""

    classes: Mapping[str, int] = field(default_factory=dict)
    properties: Mapping[str, int] = field(default_factory=dict)
    vocabularies: Mapping[str, int] = field(default_factory=dict)
    pages: int = 0
    as_of: Instant = 0
    is_cut: bool = False
    """There are more terms than are counted; the rarest are left out."""


@dataclass(frozen=True, slots=True)
class FactsInUse:
    """How many facts have each property, and how many say that something is of each class; counted in the graph, which
    takes seconds, so it may be minutes old."""

    properties: Mapping[str, int]
    classes: Mapping[str, int]
    as_of: Instant


class TermCounter:
    """Usable before there is an index, and from several threads."""

    def __init__(self, directory: Directory, clock: Clock) -> None:
        self._directory, self._clock = directory, clock
        self._turn = Lock()
        self._last = TermsInUse()

    def count(self) -> TermsInUse:
        with self._turn:
            now = self._clock.now()
            if not 0 <= now - self._last.as_of < FRESH_S * SECOND:
                self._last = self._counted(now)
            return self._last

    def _counted(self, now: int) -> TermsInUse:
        searcher = words_reader(self._directory, self._clock)
        try:
            searcher.open()
        except ViewDamaged:
            raise
        except DirectoryUnusable:
            refuse_lost_views(self._directory, self._clock)
            return TermsInUse(as_of=now)
        found = searcher.in_use(MOST_TERMS)
        classes, properties, vocabularies = found["types"], found["properties"], found["ontologies"]
        is_cut = max(len(classes), len(properties), len(vocabularies)) >= MOST_TERMS
        pages = searcher.findable
        searcher.close()
        return TermsInUse(classes, properties, vocabularies, pages, now, is_cut)


class FactCounter:
    """Counts facts by property and by class on request, one count at a time; no client waits longer than MOMENT_S."""

    def __init__(self, ask: Ask, clock: Clock) -> None:
        self._ask, self._clock = ask, clock
        self._latest: FactsInUse | None = None
        self._began_s: float | None = None
        self._took_s = 0.0
        self._counting: asyncio.Future[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        if self._counting is not None:
            self._counting.cancel()
            await asyncio.wait([self._counting])

    async def latest(self) -> FactsInUse | None:
        """The last count; None until there is one. If it is old, a new one is started."""
        if self._counting is None and self._is_old():
            self._counting = begin(self._count(), self._ended)
        if self._counting is not None:
            await asyncio.wait([self._counting], timeout=MOMENT_S)
        return self._latest

    def _is_old(self) -> bool:
        if self._began_s is None:
            return True
        return self._clock.elapsed_s() - self._began_s > min(OLD_S, max(COUNT_FRESH_S, SHARE * self._took_s))

    async def _count(self) -> None:
        began_s = self._clock.elapsed_s()
        try:
            properties = await self._ask(BY_PROPERTY, "json", most_rows=MOST_COUNTED)
            classes = await self._ask(BY_CLASS, "json", most_rows=MOST_COUNTED)
            as_of = min(properties.as_of, classes.as_of)
            self._latest = FactsInUse(_numbers(properties.body), _numbers(classes.body), as_of)
        except GossamerError:  # too many to count within the limit: the pages say so
            self._latest = None
        self._began_s, self._took_s = began_s, self._clock.elapsed_s() - began_s

    def _ended(self, task: "asyncio.Future[None]") -> None:
        self._counting = None
        if not task.cancelled():
            task.result()


def _numbers(body: bytes) -> dict[str, int]:
    rows = msgspec.json.decode(body)["results"]["bindings"]
    return {row["term"]["value"]: int(row["facts"]["value"]) for row in rows if row["term"]["type"] == "uri"}
