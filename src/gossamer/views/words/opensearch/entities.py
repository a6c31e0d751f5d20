"""Named entities that match a query, found through the pages that mention them."""

from collections.abc import Callable, Sequence

from gossamer.extract.vocabularies import Vocabularies
from gossamer.values.query import Query, Word
from gossamer.views.words.entities import AT_ONCE, MOST_ENTITIES, ROUNDS, Entity, FoundEntity, ranked, scan
from gossamer.views.words.opensearch.cards import card_of
from gossamer.views.words.opensearch.client import IndexClient
from gossamer.views.words.opensearch.mapping import NAMES, stemmed
from gossamer.views.words.opensearch.matching import Matcher
from gossamer.views.words.opensearch.query import Json, any_of, filters_of


def named(
    client: IndexClient,
    known: Vocabularies,
    query: Query,
    languages: tuple[str, ...],
    tokens_of: Callable[[str], list[str]],
) -> list[Entity]:
    """As in the embedded index: entities whose names have all words of the query, or one of its types if it has no
    words; exact names first, then those that most pages mention."""
    words = _matchers(query, languages, tokens_of)
    if not (words or query.types):
        return []

    def rank(name: str) -> int | None:
        tokens = tokens_of(name)
        has_all = all(any(map(word.accepts, tokens)) for word in words)
        return len(tokens) - len(words) if has_all else None

    seen: dict[int, FoundEntity] = {}
    for _ in range(ROUNDS):
        pages = _pages(known, query, words, seen)
        hits = client.search({"query": pages, "size": AT_ONCE, "_source": ["card"]}).hits.hits
        for hit in hits:
            if (card := card_of(hit)) is not None:
                scan(card, query, rank, seen)
        if len(hits) < AT_ONCE or len(seen) >= 4 * MOST_ENTITIES:
            break
    some = list(seen.items())[: 6 * MOST_ENTITIES]
    counts = client.counts([{"term": {"things": key}} for key, _ in some])
    return ranked([(one, pages) for (_, one), pages in zip(some, counts, strict=True)])[:MOST_ENTITIES]


def _matchers(query: Query, languages: tuple[str, ...], tokens_of: Callable[[str], list[str]]) -> list[Matcher]:
    def exact(word: Word) -> bool:
        return word.is_exact or len(word.text) > 1

    return [
        Matcher(word, token, languages, exact(word))
        for word in query.wanted
        if word.field is None
        for token in tokens_of(" ".join(word.text).encode("utf-8", "replace").decode())
    ]


def _pages(known: Vocabularies, query: Query, words: Sequence[Matcher], seen: dict[int, FoundEntity]) -> Json:
    wanted, unwanted = filters_of(known, query)
    if seen:
        unwanted.append({"terms": {"things": list(seen)}})
    return {"bool": {"must": [_in_names(word) for word in words], "filter": wanted, "must_not": unwanted}}


def _in_names(word: Matcher) -> Json:
    if word.word.is_prefix:
        return {"prefix": {NAMES: {"value": word.token}}}
    languages = () if word.is_exact else word.languages
    fields = dict.fromkeys([NAMES, *(stemmed(NAMES, language) for language in languages)])
    return any_of([{"match": {field: {"query": word.token, "operator": "and"}}} for field in fields])
