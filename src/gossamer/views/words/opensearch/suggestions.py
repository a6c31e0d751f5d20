"""What is offered besides pages: named entities, completions while typing, and corrections of words."""

import re
from collections.abc import Callable, Sequence

import msgspec

from gossamer.extract.vocabularies import Vocabularies
from gossamer.values.query import Query, Word
from gossamer.views.words.dictionary import (
    ENOUGH,
    LOOKED_AT,
    MOST_COMPARED,
    MOST_COMPLETIONS,
    MOST_NEAR,
    MUCH_MORE,
    Completion,
    Form,
    each_once,
    endings,
    titles_and_names,
)
from gossamer.views.words.entities import AT_ONCE, MOST_ENTITIES, ROUNDS, Entity, FoundEntity, ranked, scan
from gossamer.views.words.opensearch.answers import Found, Sampled
from gossamer.views.words.opensearch.client import IndexClient
from gossamer.views.words.opensearch.documents import CARD, card_in
from gossamer.views.words.opensearch.index import NAMES, STEMS, WITH_WORDS, stemmed
from gossamer.views.words.opensearch.matcher import Matcher
from gossamer.views.words.opensearch.query import Json, WantedPart, any_of, filters_of


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
            if (card := card_in(hit)) is not None:
                scan(card, query, rank, seen)
        if len(hits) < AT_ONCE or len(seen) >= 4 * MOST_ENTITIES:
            break
    some = list(seen.items())[: 6 * MOST_ENTITIES]
    counts = client.counts([{"term": {"entities": key}} for key, _ in some])
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
        unwanted.append({"terms": {"entities": list(seen)}})
    return {"bool": {"must": [_in_names(word) for word in words], "filter": wanted, "must_not": unwanted}}


def _in_names(word: Matcher) -> Json:
    if word.word.is_prefix:
        return {"prefix": {NAMES: {"value": word.token}}}
    languages = () if word.is_exact else word.languages
    fields = dict.fromkeys([NAMES, *(stemmed(NAMES, language) for language in languages)])
    return any_of([{"match": {field: {"query": word.token, "operator": "and"}}} for field in fields])


SAMPLED_PAGES = 50
"""Pages of a part of the index whose texts are read for the words that begin as typed."""


def completions(
    client: IndexClient, text: str, tokens_of: Callable[[str], list[str]], at_most: int = MOST_COMPLETIONS
) -> list[Completion]:
    """Titles and names that match what was typed, then words, most frequent first."""
    tokens = tokens_of(text.encode("utf-8", "replace").decode())
    if not tokens or len(tokens[-1]) < 2:
        return []
    titled, sampled = client.search_many([_titled(tokens), _sampled(tokens[-1])])
    cards = [card for hit in titled.hits.hits if (card := card_in(hit)) is not None]
    return each_once([*titles_and_names(cards, tokens, tokens_of), *endings(text, _words(sampled))], at_most)


def corrections(
    client: IndexClient, words: Sequence[str], languages: tuple[str, ...], tokens_of: Callable[[str], list[str]]
) -> dict[str, str]:
    """For the words that no page has, or hardly any: the nearest and most frequent word of the index."""
    single = {word: tokens[0] for word in words if len(tokens := tokens_of(word)) == 1}
    if not single:
        return {}
    parts = [WantedPart(Word((token,)), (token,), 1, False, languages) for token in single.values()]
    counts = client.counts([part.frequency() for part in parts])
    rare = {word: pages for word, pages in zip(single, counts, strict=True) if pages < ENOUGH}
    if not rare:
        return {}
    bodies = [{"size": 0, "suggest": _suggesting(single[word])} for word in rare]
    found: dict[str, str] = {}
    for (word, pages), answer in zip(rare.items(), client.search_many(bodies), strict=True):
        candidates = _near(answer)
        if candidates and candidates[0].pages > MUCH_MORE * pages:
            found[word] = candidates[0].word
    return found


def _suggesting(token: str) -> Json:
    """One letter may differ anywhere; two if the word is long and its beginning is the same."""
    if not 3 <= len(token) <= 30:
        return {}
    same = {"field": "content", "suggest_mode": "always", "sort": "frequency", "min_word_length": 3}
    same |= {"max_term_freq": 1_000_000_000, "accuracy": 0.0, "shard_size": MOST_COMPARED}
    asked: Json = {"one": {"text": token, "term": same | {"max_edits": 1, "prefix_length": 0, "size": MOST_NEAR}}}
    if len(token) >= 5:
        start = max(2, len(token) // 2)
        asked["two"] = {"text": token, "term": same | {"max_edits": 2, "prefix_length": start, "size": MOST_NEAR}}
    return asked


def _near(answer: Found) -> list[Form]:
    """Nearest first, then most frequent."""
    found: dict[str, int] = {}
    for name in ("one", "two"):
        for suggested in answer.suggest.get(name, ()):
            for option in suggested.options:
                found.setdefault(option.text, option.freq)
    return [Form(word, pages) for word, pages in found.items()]


def _titled(tokens: Sequence[str]) -> Json:
    """Pages whose title, or a name on them, has these words, the last as a prefix."""
    both = []
    for field in ("title", "names"):
        words = [{"match": {field: token}} for token in tokens[:-1]]
        both.append({"bool": {"must": [*words, {"prefix": {field: {"value": tokens[-1]}}}]}})
    query = {"bool": {"must": [any_of(both)], "filter": [WITH_WORDS]}}
    return {"query": query, "size": LOOKED_AT, "_source": CARD}


def _sampled(start: str) -> Json:
    """The words with this beginning on some pages that have one; OpenSearch reads their texts again. "Typical" are
    words that these pages have more often than all pages; if all pages have one, only the share says something."""
    texts = {
        "field": "content",
        "source_fields": ["content", *(f"content_{stem}" for stem in STEMS)],
        "include": f"{_literal(start)}.*",
        "min_doc_count": 1,
        "size": 50,
    }
    aggregations = {
        "typical": {"significant_text": texts | {"jlh": {}}},
        "by_share": {"significant_text": texts | {"percentage": {}}},
    }
    query = {"bool": {"filter": [{"prefix": {"content": {"value": start}}}, WITH_WORDS]}}
    sampled = {"sampler": {"shard_size": SAMPLED_PAGES}, "aggs": aggregations}
    return {"query": query, "size": 0, "aggs": {"words": sampled}}


def _words(answer: Found) -> list[Form]:
    """Most frequent first, counted in the whole index."""
    packed = answer.aggregations.get("words")
    found = msgspec.json.decode(packed, type=Sampled) if packed is not None else Sampled()
    pages = {str(one.key): one.bg_count for some in (found.typical, found.by_share) for one in some.buckets}
    ranked = sorted(pages.items(), key=lambda one: (-one[1], one[0]))
    return [Form(word, count) for word, count in ranked[:MOST_COMPLETIONS]]


def _literal(start: str) -> str:
    """In a regular expression of Lucene."""
    return re.sub(r"[^\w]", lambda found: "\\" + found[0], start)
