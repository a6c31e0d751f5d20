"""The read side of the index in OpenSearch, for any number of threads."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from gossamer.base.clock import Instant
from gossamer.base.errors import GossamerError, QueryRefused
from gossamer.extract.vocabularies import Vocabularies, bundled
from gossamer.store.service import Service, ServiceLost
from gossamer.values.query import DEEPEST_HIT, MOST_HITS, Query
from gossamer.values.url import Url
from gossamer.views.words.dictionary import Completion
from gossamer.views.words.entities import Entity
from gossamer.views.words.explanation import Explanation
from gossamer.views.words.facets import FacetCounts
from gossamer.views.words.opensearch import anchors, facets, suggestions
from gossamer.views.words.opensearch.answers import Document
from gossamer.views.words.opensearch.client import IndexClient, Statistics, counting
from gossamer.views.words.opensearch.documents import CARD, card_in, sources, text_in
from gossamer.views.words.opensearch.explanation import explained
from gossamer.views.words.opensearch.index import VERSION, WITH_WORDS, meta_of
from gossamer.views.words.opensearch.matcher import Matcher, folded, shown_in
from gossamer.views.words.opensearch.pages import RankedPages, Ranking, every_page, walked
from gossamer.views.words.opensearch.query import Json, SearchBody, WantedPart
from gossamer.views.words.query import MOST_PARTS
from gossamer.views.words.schema import Card, analyzer
from gossamer.views.words.searcher import (
    MOST_COPIES,
    FoundPage,
    MatchedPages,
    SameText,
    Stored,
    WordCount,
    forward_index,
)
from gossamer.views.words.snippets import Segment, around, fragment, limited

IDS_AT_ONCE = 1_000


class ServiceSearcher:
    """Usable from several threads; each answer is of the moment it was asked."""

    def __init__(
        self,
        service: Service,
        name: str,
        position: Callable[[], bytes] = bytes,
        vocabularies: Callable[[], Vocabularies] = bundled,
    ) -> None:
        """`position`: the writer's, as it knows it."""
        self._service, self._client = service, IndexClient(service, name)
        self._position, self._vocabularies = position, vocabularies
        self._statistics = Statistics(self._client)
        self._tokens = analyzer().analyze

    def open(self) -> None:
        try:
            meta = meta_of(self._service, self._client.name)
        except ServiceLost as lost:
            raise self._client.no_answer(lost) from lost
        if meta is None:
            raise self._client.missing()
        if meta.format != VERSION:
            raise GossamerError(
                f"{self._service.name}, index {self._client.name}: its format is {meta.format}, and this version of "
                f"Gossamer reads {VERSION}; the next crawl makes it again"
            )
        self.reload()

    def reload(self) -> None:
        """Learn how many pages there are now, and in which languages."""
        self._statistics.reload()

    def close(self) -> None:
        self._service.close()

    def damage_named(self) -> AbstractContextManager[None]:
        """Nothing is damaged here: a service that is gone says so itself."""
        return nullcontext()

    @property
    def pages(self) -> int:
        """Searchable pages."""
        return self._statistics.pages

    @property
    def position(self) -> bytes:
        """The writer's position in the spool, now."""
        return self._position()

    def held(self, urls: Sequence[Url]) -> dict[int, Instant]:
        """By id, the capture times of the pages that have a document, with words or without."""
        found: dict[int, Instant] = {}
        for start in range(0, len(urls), IDS_AT_ONCE):
            some = [url.id for url in urls[start : start + IDS_AT_ONCE]]
            body = {"query": {"terms": {"url_id": some}}, "size": len(some), "docvalue_fields": ["fetched_at"]}
            hits = self._client.search(body | {"_source": False}).hits.hits
            found |= {hit.url_id: hit.number("fetched_at") for hit in hits}
        return found

    def find(self, query: Query, count_by: Sequence[str] = ()) -> MatchedPages:
        """See `views.words.searcher.Searcher.find`."""
        if query.limit > MOST_HITS or query.offset + query.limit > DEEPEST_HIT:
            raise QueryRefused(f"at most {MOST_HITS} results at a time, and none beyond the {DEEPEST_HIT:,}th")
        if query.is_empty:
            return MatchedPages((), 0)
        asked = self._asked(query)
        ranked = Ranking(self._client, query, asked).found()
        counts = FacetCounts()
        if count_by:
            pages_without = partial(asked.matching, ranked.is_all)
            counts = facets.counted(self._client, self._vocabularies(), query, count_by, pages_without, ranked.total)
        found, unreadable = self._shown(query, asked, ranked)
        return MatchedPages(
            found=tuple(found),
            total=ranked.total,
            all_words=ranked.is_all,
            with_all_words=ranked.with_all,
            facets=counts.facets,
            dates=counts.dates,
            omitted=asked.omitted,
            counted=counts.counted,
            unreadable=tuple(unreadable),
        )

    def matching(self, query: Query) -> int:
        """How many pages have all the words and pass all filters."""
        return 0 if query.is_empty else self._client.counts([self._asked(query).matching(True)])[0]

    def entities(self, query: Query) -> list[Entity]:
        """Entities by that name."""
        if query.is_empty:
            return []
        languages = query.languages or self._statistics.languages
        return suggestions.named(self._client, self._vocabularies(), query, languages, self._tokens)

    def completions(self, text: str, at_most: int) -> list[Completion]:
        """Titles, names and words that start with what was typed so far."""
        return self._statistics.recall(
            ("completions", text, at_most), lambda: suggestions.completions(self._client, text, self._tokens, at_most)
        )

    def corrector(self, query: Query) -> Callable[[str], str]:
        """Corrects a word of the query that no page has, or hardly any."""
        words = [word.text[0] for word in query.wanted if len(word.text) == 1]
        languages = query.languages or self._statistics.languages
        better = suggestions.corrections(self._client, words, languages, self._tokens)
        return lambda word: better.get(word, word)

    def explain(self, query: Query, url: Url) -> Explanation | None:
        """Why the page ranks where it does; None when it is not in the index."""
        return None if query.is_empty else explained(self._client, self._asked(query), url, self.pages)

    def copies(self, url: Url) -> list[SameText]:
        """Pages with the same text, this one included, by URL; empty when it is not in the index."""
        hit = self._page(url, CARD, ["copy"])
        if hit is None:
            return []
        same = {"bool": {"filter": [{"term": {"copy": hit.text("copy")}}]}}
        hits = self._client.search({"query": same, "size": MOST_COPIES, "_source": CARD}).hits.hits
        cards = [card for one in hits if (card := card_in(one)) is not None]
        found = [SameText(card.url.text, card.title, card.url.host.name, card.fetched_at) for card in cards]
        return sorted(found, key=lambda one: one.url)

    def stored(self, url: Url) -> Stored | None:
        """None when the page is not in the index, or asks not to be."""
        hit = self._page(url, sources("content"))
        card = card_in(hit) if hit is not None else None
        if hit is None or card is None:
            return None
        facts = card.language, card.types, card.fetched_at, card.description, card.fact_count
        return Stored(card.title, text_in(hit, "content"), *facts, card.may_cache)

    def words(self, url: Url) -> list[WordCount]:
        """The forward index of a page: its words, most frequent first; empty when it is not in the index."""
        hit = self._page(url, sources("content", "headings"))
        card = card_in(hit) if hit is not None else None
        if hit is None or card is None:
            return []
        return forward_index(card, text_in(hit, "headings"), text_in(hit, "content"), self._tokens)

    def cards(self) -> Iterator[Card]:
        """Every searchable page, in no order; for digests and exports."""
        return (card for card, _ in every_page(self._client, WITH_WORDS, CARD))

    def walked(self, query: Query) -> Iterator[tuple[Card, str]]:
        """Cards and texts of all pages that match, for exports; see `views.words.searcher.walked`."""
        asked = None if query.is_empty else self._asked(query)
        return walked(self._client, query, asked)

    def in_use(self, most: int) -> Mapping[str, Mapping[str, int]]:
        """By kind of trait, how many pages have each value; at most `most` of a kind."""
        return facets.in_use(self._client, most)

    @property
    def findable(self) -> int:
        """How many pages are searchable."""
        return self.pages

    def unreadable(self, urls: Sequence[Url]) -> list[Url]:
        """Those whose documents have words but no readable card."""
        damaged: set[int] = set()
        for start in range(0, len(urls), IDS_AT_ONCE):
            some = [url.id for url in urls[start : start + IDS_AT_ONCE]]
            query = {"bool": {"filter": [{"terms": {"url_id": some}}, WITH_WORDS]}}
            hits = self._client.search({"query": query, "size": len(some), "_source": CARD}).hits.hits
            damaged |= {hit.url_id for hit in hits if card_in(hit) is None}
        return [url for url in urls if url.id in damaged]

    def _asked(self, query: Query) -> SearchBody:
        """The query with what the index knows of its words."""
        asked = SearchBody(query, self._vocabularies(), self._statistics.languages, self._tokens)
        if len(asked.parts) > MOST_PARTS:
            asked.keep_rarest(self._statistics.counts(asked.parts))
        asked.point_to(self._targets(asked.parts))
        return asked

    def _targets(self, parts: Sequence[WantedPart]) -> dict[WantedPart, Mapping[int, float]]:
        def find(some: Sequence[WantedPart]) -> Mapping[WantedPart, Mapping[int, float]]:
            return anchors.targets_of(self._client, some, self._tokens, self._statistics.rarity)

        return self._statistics.recall_each("targets", parts, find)

    def _page(self, url: Url, stored: Sequence[str], fields: Sequence[str] = ()) -> Document | None:
        query = {"bool": {"filter": [{"term": {"url_id": url.id}}, WITH_WORDS]}}
        body = {"query": query, "size": 1, "_source": [*stored], "docvalue_fields": [*fields]}
        return next(iter(self._client.search(body).hits.hits), None)

    def _shown(self, query: Query, asked: SearchBody, ranked: RankedPages) -> tuple[list[FoundPage], list[int]]:
        """The pages as results, and the ids of those that cannot be read."""
        if not ranked.pages:
            return [], []
        stored, copies, rarities = self._contents(asked, ranked)
        matchers = [
            (matcher, rarity)
            for part, rarity in zip(asked.parts, rarities, strict=True)
            if part.word.field not in ("address", "anchors")
            for matcher in part.matchers
        ]
        signs = next((" ".join(part.word.text) for part in asked.parts if part.has_signs), "")
        found: list[FoundPage] = []
        unreadable: list[int] = []
        for page in ranked.pages:
            if page.id not in stored:  # replaced by a tombstone meanwhile
                continue
            card = card_in(stored[page.id])
            if card is None:
                unreadable.append(page.url_id)
                continue
            snippet = _snippet(card, text_in(stored[page.id], "content"), matchers, signs)
            score = (page.score or 0.0) if query.sort == "best" and query.wanted else 0.0
            has_all = ranked.is_all or page.id in ranked.complete
            found.append(FoundPage(card, score, snippet, max(1, copies.get(page.text("copy"), 1)), has_all))
        return found, unreadable

    def _contents(
        self, asked: SearchBody, ranked: RankedPages
    ) -> tuple[Mapping[str, Document], Mapping[str, int], list[float]]:
        """What is stored of the pages, how many have the same texts, and how rare the parts of the query are."""
        ids, texts = [page.url_id for page in ranked.pages], [page.text("copy") for page in ranked.pages]
        counts = {"copies": {"terms": {"field": "copy", "size": len(texts), "include": texts}}}
        bodies: list[Json] = [
            {"query": {"terms": {"url_id": ids}}, "size": len(ids), "_source": sources("content")},
            {"query": {"terms": {"copy": texts}}, "size": 0, "aggs": counts},
        ]
        new = self._statistics.uncounted(asked.parts)
        stored, same, *counted = self._client.search_many([*bodies, *(counting(part.frequency()) for part in new)])
        self._statistics.note(new, [one.hits.total.value for one in counted])
        copies = {str(one.key): one.doc_count for one in same.buckets("copies")}
        rarities = [self._statistics.rarity(pages) for pages in self._statistics.counts(asked.parts)]
        return {one.id: one for one in stored.hits.hits}, copies, rarities


def _snippet(card: Card, text: str, matchers: Sequence[tuple[Matcher, float]], signs: str) -> tuple[Segment, ...]:
    snippet: tuple[Segment, ...] = ()
    if card.quotable and not signs and matchers:
        plain = folded(text)
        snippet = fragment(text, shown_in(plain, matchers), plain)
    if card.quotable and not any(part.is_match for part in snippet):
        snippet = around(text, signs, card.description)
    return limited(snippet, card.quotable) if card.quotable > 0 else snippet
