"""The pages of an answer, in order and copies folded; and every matching page, for exports."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from typing import NamedTuple

import msgspec

from gossamer.base.errors import GossamerError
from gossamer.values.query import DEEPEST_HIT, Query
from gossamer.views.words.opensearch.answers import Document, Found
from gossamer.views.words.opensearch.client import IndexClient
from gossamer.views.words.opensearch.documents import card_in, sources, text_in
from gossamer.views.words.opensearch.index import WITH_WORDS
from gossamer.views.words.opensearch.query import Json, SearchBody
from gossamer.views.words.schema import Card
from gossamer.views.words.searcher import FEW


class RankedPages(NamedTuple):
    pages: list[Document]
    """Those to show, without what is stored of them."""
    total: int
    with_all: int
    is_all: bool
    complete: frozenset[str]
    """Those with every word, where not all have."""


class Ranking:
    """The pages of one answer, in order, copies folded."""

    def __init__(self, client: IndexClient, query: Query, asked: SearchBody) -> None:
        self._client, self._query, self._asked = client, query, asked

    def found(self) -> RankedPages:
        query, asked = self._query, self._asked
        least = FEW if len(asked.parts) > 1 else 0  # so many are known by their ids if few have all the words
        first = self._search(asked.all_words(), query.offset, query.limit if query.offset else max(query.limit, least))
        total = first.hits.total.value
        if len(asked.parts) < 2 or total >= FEW or (query.sort != "best" and total):
            return RankedPages(first.hits.hits[: query.limit], total, total, True, frozenset())
        best = first.hits.hits if not query.offset else self._search(asked.all_words(), 0, FEW).hits.hits
        ids = [hit.url_id for hit in best]
        enough = query.offset + query.limit
        others = self._search(asked.any_word(ids), 0, min(DEEPEST_HIT, enough + FEW))
        every: dict[str, Document] = {}
        for hit in (*best, *others.hits.hits):
            every.setdefault(hit.text("copy"), hit)
        shown = list(every.values())[query.offset : enough]
        whole = len(best) + others.hits.total.value
        return RankedPages(shown, whole, total, whole == total, frozenset(hit.id for hit in best))

    def _search(self, pages: Json, start: int, size: int) -> Found:
        """Equal scores are ordered by id, so that no page is shown twice."""
        body: Json = {
            "query": pages, "from": start, "size": size, "track_total_hits": True, "_source": False,
            "collapse": {"field": "copy"}, "sort": ordered(self._query), "track_scores": True,
        }  # fmt: skip
        return self._client.search(body)


def ordered(query: Query) -> list[Json]:
    """By score or date, then by id."""
    if query.sort == "best" and query.wanted:
        return [{"_score": "desc"}, {"url_id": "asc"}]
    return [{"fetched_at": "asc" if query.sort == "oldest" else "desc"}, {"url_id": "asc"}]


STEP = 100
"""Pages in one answer; each may have 400,000 characters of text."""
TRIES = 8
"""How often one answer is asked for: over about 13 seconds."""
KEEP_ALIVE = "5m"
"""How long OpenSearch keeps the point in time after each request."""
BY_ID: list[Json] = [{"url_id": "asc"}]


class _PointInTime(msgspec.Struct, frozen=True):
    pit_id: str


def walked(client: IndexClient, query: Query, asked: SearchBody | None) -> Iterator[tuple[Card, str]]:
    """In the query's order up to DEEPEST_HIT pages, else by id. Copies are not folded. `asked`: None for all
    pages."""
    stored = sources("content")
    if asked is None:
        yield from every_page(client, WITH_WORDS, stored)
        return
    order = BY_ID
    wanted, first = asked.all_words(), None
    (total,) = client.counts([wanted])
    if len(asked.parts) > 1 and total < FEW and (query.sort == "best" or not total):
        first, wanted = wanted, asked.any_word()
        (total,) = client.counts([wanted])
    if total <= DEEPEST_HIT:
        is_ranked = query.sort == "best" and query.wanted
        by_date: list[Json] = [{"fetched_at": "asc" if query.sort == "oldest" else "desc"}, *BY_ID]
        order = [{"_score": "desc"}, *BY_ID] if is_ranked else by_date
    ids: list[int] = []
    if first is not None:
        best = client.search({"query": first, "size": FEW, "sort": order, "_source": stored}).hits.hits
        ids = [hit.url_id for hit in best]
        yield from _pages(best)
        wanted = asked.any_word(ids)
    yield from every_page(client, wanted, stored, order)


def every_page(
    client: IndexClient, query: Json, stored: Sequence[str], order: Sequence[Json] = BY_ID
) -> Iterator[tuple[Card, str]]:
    made = client.service.ask("POST", f"/{client.name}/_search/point_in_time?keep_alive={KEEP_ALIVE}").body
    pit = msgspec.json.decode(made, type=_PointInTime).pit_id
    try:
        after: list[object] = []
        while True:
            body: Json = {
                "query": query, "size": STEP, "sort": [*order], "_source": [*stored],
                "pit": {"id": pit, "keep_alive": KEEP_ALIVE},
            }  # fmt: skip
            if after:
                body["search_after"] = after
            hits = patiently(client, body)
            yield from _pages(hits)
            if len(hits) < STEP:
                return
            after = hits[-1].sort
    finally:
        with suppress(GossamerError):
            client.service.ask(
                "DELETE",
                "/_search/point_in_time",
                msgspec.json.encode({"pit_id": [pit]}),
                headers={"Content-Type": "application/json"},
            )


def patiently(client: IndexClient, body: Json) -> Sequence[Document]:
    """Hits of a search that is one of many: a service that is busy (status 429) or away for seconds does not end it."""
    failures = count(1)
    found = client.service.until_done(lambda: client.search(body), lambda: next(failures) >= TRIES)
    return found.hits.hits


def _pages(hits: Sequence[Document]) -> Iterator[tuple[Card, str]]:
    for hit in hits:
        if (card := card_in(hit)) is not None:
            yield card, text_in(hit, "content")
