"""Facets in OpenSearch: counts of matching pages.

By type, ontology, property, site, language, syntax and date.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gossamer.extract.vocabularies import Vocabularies
from gossamer.values.query import Query
from gossamer.views.words.facets import (
    DAY,
    FACETS,
    KIND_OF,
    MOST_TRAITS,
    MOST_VALUES,
    Facet,
    FacetCounts,
    GroupCounts,
    Span,
    is_filtered,
    spans,
)
from gossamer.views.words.filters import EARLIEST
from gossamer.views.words.opensearch.answers import Found
from gossamer.views.words.opensearch.client import IndexClient
from gossamer.views.words.opensearch.index import WITH_WORDS
from gossamer.views.words.opensearch.query import Json, having
from gossamer.views.words.schema import TRAITS

MOST_COUNTED, SAMPLE = 200_000, 100_000
"""As in `views.words.facets`; OpenSearch counts faster, and on all its machines."""


def counted(
    client: IndexClient,
    known: Vocabularies,
    query: Query,
    names: Iterable[str],
    pages_without: Callable[[str], Json],
    total: int,
) -> FacetCounts:
    """REQUIRES: names in FACETS. `pages_without(group)` matches without the filters of that group; `pages_without("")`
    matches all `total` pages.

    Groups without filters of their own are counted in one search, and all searches are sent at once.
    """
    wanted = set(names)
    names = [name for name in FACETS if name in wanted]
    together = [name for name in names if not is_filtered(query, name)]
    share = 1 if total <= MOST_COUNTED else -(-total // SAMPLE)
    asked = [("", together), *((name, [name]) for name in names if name not in together)]
    groups = [(pages_without(group), some) for group, some in asked if some]
    answers = client.search_many([_body(_sample(pages, share), some) for pages, some in groups])
    facets: dict[str, tuple[Facet, ...]] = {}
    dates: tuple[Span, ...] = ()
    for (pages, some), answer in zip(groups, answers, strict=True):

        def having_it(group: str, value: str, pages: Json = pages) -> int:
            return client.counts([{"bool": {"filter": [pages, having(known, group, value)]}}])[0]

        counts = GroupCounts(query, _tallies(answer), share, known, having_it)
        facets |= {name: counts.facets(name) for name in some if name != "date"}
        if "date" in some:
            dates = spans([{"key": one.key, "doc_count": one.doc_count} for one in answer.buckets("date")], share)
    return FacetCounts({name: facets[name] for name in names if name != "date"}, dates, total // share)


def in_use(client: IndexClient, most: int) -> dict[str, dict[str, int]]:
    """By kind (of TRAITS), how many pages have each value; at most `most` values of a kind."""
    asked = {"traits": {"terms": {"field": "traits", "size": len(TRAITS) * most}}}
    tallies = _tallies(client.search({"size": 0, "query": WITH_WORDS, "aggs": asked}))
    return {kind: dict(list(values.items())[:most]) for kind, values in tallies.items()}


def _body(pages: Json, names: Sequence[str]) -> Json:
    asked: dict[str, Any] = {}
    if any(name not in ("site", "date") for name in names):
        asked["traits"] = {"terms": {"field": "traits", "size": MOST_TRAITS}}
    if "site" in names:
        asked["sites"] = {"terms": {"field": "host", "size": MOST_VALUES}}
    if "date" in names:
        asked["date"] = {"histogram": {"field": "fetched_at", "interval": DAY, "min_doc_count": 1}}
    return {"size": 0, "query": {"bool": {"filter": [pages]}}, "aggs": asked}


def _sample(pages: Json, share: int) -> Json:
    """One page in `share`: page ids are hashes, so a range of them is a random sample."""
    if share == 1:
        return pages
    some = {"range": {"url_id": {"gte": EARLIEST, "lte": EARLIEST + (1 << 64) // share - 1}}}
    return {"bool": {"filter": [pages, some]}}


def _tallies(answer: Found) -> dict[str, dict[str, int]]:
    """By kind, the pages of each value."""
    tallies: dict[str, dict[str, int]] = {kind: {} for kind in (*TRAITS, "sites")}
    for bucket in answer.buckets("traits"):
        trait = str(bucket.key)
        if kind := KIND_OF.get(trait[:1]):
            tallies[kind][trait[1:]] = bucket.doc_count
    for bucket in answer.buckets("sites"):
        tallies["sites"][str(bucket.key)] = bucket.doc_count
    return tallies
