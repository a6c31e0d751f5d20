"""Every matching page, for exports, in constant memory: all from one point in time, so that a commit meanwhile neither
repeats nor skips a page."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec

from gossamer.base.errors import GossamerError
from gossamer.values.query import DEEPEST_HIT, Query
from gossamer.views.words.opensearch.answers import Hit
from gossamer.views.words.opensearch.cards import card_of, sources, text_of
from gossamer.views.words.opensearch.client import IndexClient
from gossamer.views.words.opensearch.mapping import WITH_WORDS
from gossamer.views.words.opensearch.query import Json, SearchBody
from gossamer.views.words.schema import Card
from gossamer.views.words.searcher import FEW

STEP = 100
"""Pages in one answer; each may have 400,000 characters of text."""
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
            hits = client.search(body | ({"search_after": after} if after else {})).hits.hits
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


def _pages(hits: Sequence[Hit]) -> Iterator[tuple[Card, str]]:
    for hit in hits:
        if (card := card_of(hit)) is not None:
            yield card, text_of(hit, "content")
