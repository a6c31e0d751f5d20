"""The index at one moment: immutable, for any number of threads, with the types that tantivy's stubs lack."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log
from typing import Any, cast

import tantivy

from gossamer.base.clock import Instant
from gossamer.extract.vocabularies import Vocabularies, bundled
from gossamer.views.words.schema import TRAITS

MOST_LANGUAGES = 3
LEAST_SHARE = 0.1
MOST_FREQUENCIES = 50_000
MOST_REMEMBERED, MOST_LASTING, MOST_PARTS, MOST_COUNTS = 5_000, 20_000, 3_000, 200
LARGE = 10_000
"""Pages from which on one commit changes little."""
MOST_GROWTH, MOST_SNAPSHOTS = 0.05, 120
"""At most two minutes while a crawl is running."""


@dataclass(slots=True)
class Lasting:
    """What changes so slowly in a large index that snapshots may share it: forms of words, queries for frequent words,
    anchor texts, and the main languages. Results and counts always belong to one snapshot."""

    pages: int
    """In its first snapshot."""
    snapshots: int = 0
    found: dict[object, Any] = field(default_factory=dict)
    parts: dict[object, Any] = field(default_factory=dict)
    """Larger entries than `found`."""

    def serves(self, pages: int) -> bool:
        is_much_the_same = LARGE <= self.pages <= pages <= self.pages * (1 + MOST_GROWTH)
        return is_much_the_same and self.snapshots < MOST_SNAPSHOTS


class Snapshot:
    """What was committed when it was taken, and caches about it."""

    def __init__(
        self,
        searcher: tantivy.Searcher,
        schema: tantivy.Schema,
        analyzer: tantivy.TextAnalyzer,
        before: "Snapshot | None" = None,
        known: Vocabularies | None = None,
    ) -> None:
        """`before`: the snapshot it replaces; `known`: the vocabularies that queries are understood by."""
        self.searcher, self.schema, self.analyzer = searcher, schema, analyzer
        self.known = known or bundled()
        self.lasting: Lasting = Lasting(self.pages)
        if before is not None and before.lasting.serves(self.pages):
            self.lasting = before.lasting
            self.lasting.snapshots += 1
        self.remembered: dict[object, Any] = {}
        """Valid for this snapshot; see `recall`."""
        self._frequencies: dict[tuple[str, str], int] = {}
        self._counts: dict[object, Any] = {}

    @cached_property
    def pages(self) -> int:
        """Entries, including those without words of pages that ask not to be indexed."""
        return int(self.searcher.num_docs)

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """Those of a good part of the pages, most frequent first; English when unknown."""
        found: tuple[str, ...] = self.recall_lasting("languages", self._most_languages)
        return found

    def _most_languages(self) -> tuple[str, ...]:
        listed = self.searcher.terms_with_prefix("traits", TRAITS["languages"], limit=MOST_LANGUAGES)
        least = LEAST_SHARE * sum(pages for _, pages in listed)
        return tuple(trait[1:] for trait, pages in listed if pages >= least) or ("en",)

    def recall(self, key: object, find: Any) -> Any:
        """`find()`, cached. Two threads may compute the same value at once; either is right."""
        return _recalled(self.remembered, key, find, MOST_REMEMBERED)

    def recall_lasting(self, key: object, find: Any) -> Any:
        """The same in `lasting`."""
        return _recalled(self.lasting.found, key, find, MOST_LASTING)

    def recall_parts(self, key: object, find: Any) -> Any:
        """The same for the query of a frequent word."""
        return _recalled(self.lasting.parts, key, find, MOST_PARTS)

    def recall_counts(self, key: object, find: Any) -> Any:
        """The same for counts, which are large: for the next page of results, or another order."""
        return _recalled(self._counts, key, find, MOST_COUNTS)

    def tokens(self, text: str) -> list[str]:
        """The words of a text as the index has them."""
        return list(self.analyzer.analyze(text))

    def with_word(self, field: str, word: str) -> int:
        """How many pages have the word there."""
        key = field, word
        pages = self._frequencies.get(key)
        if pages is None:
            if len(self._frequencies) > MOST_FREQUENCIES:
                self._frequencies = {}
            pages = self._frequencies[key] = int(self.searcher.doc_freq(field, word))
        return pages

    def with_number(self, field: str, value: int) -> int:
        """How many pages have the number there. Far cheaper than a search if at most one has."""
        entries = self.entries(field, value)
        return entries if entries < 2 else count(self.searcher, self.term(field, value))

    def entries(self, field: str, value: int) -> int:
        """The same, but counting replaced and removed pages until their entries are merged away."""
        return int(self.searcher.doc_freq(field, value))

    def rarity(self, pages: int) -> float:
        """BM25's inverse document frequency."""
        return log(1 + (max(0, self.pages - pages) + 0.5) / (pages + 0.5))

    def term(self, field: str, value: str | int) -> tantivy.Query:
        return tantivy.Query.term_query(self.schema, field, value, "freq" if isinstance(value, str) else "basic")

    def trait(self, kind: str, value: str) -> tantivy.Query:
        """REQUIRES: kind in TRAITS."""
        return self.term("traits", TRAITS[kind] + value)

    def aggregate(self, query: tantivy.Query, asked: dict[str, Any]) -> dict[str, Any]:
        return cast(dict[str, Any], self.searcher.aggregate(query, asked))

    def best(self, query: tantivy.Query, limit: int) -> list[tuple[float, tantivy.DocAddress]]:
        return self.searcher.search(query, limit=limit, count=False).hits

    def best_of(self, query: tantivy.Query, limit: int) -> tuple[list[tuple[float, tantivy.DocAddress]], int]:
        """The best, and how many match, in one query."""
        found = cast(Any, self.searcher.search(query, limit=limit, count=True))
        return found.hits, int(found.count)

    def newest(self, query: tantivy.Query, limit: int, is_oldest: bool) -> list[tuple[Instant, tantivy.DocAddress]]:
        order = tantivy.Order.Asc if is_oldest else tantivy.Order.Desc
        return self.searcher.search(query, limit=limit, count=False, order_by_field="fetched_at", order=order).hits


def _recalled(known: dict[object, Any], key: object, find: Any, most: int) -> Any:
    try:
        return known[key]
    except KeyError:
        if len(known) > most:
            known.clear()
        found = known[key] = find()
        return found


def integers(searcher: tantivy.Searcher, field: str, places: Sequence[tantivy.DocAddress]) -> list[int]:
    """The values of a fast integer field; 0 where an entry has none."""
    return [int(value or 0) for value in searcher.fast_field_values(field, list(places))]


def held_at(searcher: tantivy.Searcher, schema: tantivy.Schema, url_ids: list[int]) -> dict[int, Instant]:
    """The capture times of the pages that the index has."""
    if not url_ids or not searcher.num_docs:
        return {}
    query = tantivy.Query.term_set_query(schema, "url_id", url_ids)
    places = [place for _, place in searcher.search(query, limit=len(url_ids), count=False).hits]
    instants = integers(searcher, "fetched_at", places)
    return dict(zip(integers(searcher, "url_id", places), instants, strict=True))


def count(searcher: tantivy.Searcher, query: tantivy.Query) -> int:
    return int(cast(Any, searcher.search(query, limit=1, count=True)).count)


def any_of(queries: Sequence[tantivy.Query]) -> tantivy.Query:
    """At least one. REQUIRES: there is one."""
    if len(queries) == 1:
        return queries[0]
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, one) for one in queries])
