"""A user's `Query` in the query language of OpenSearch.

Structures built from parts, never text that it would parse.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gossamer.base.errors import QueryRefused
from gossamer.extract.vocabularies import Vocabularies
from gossamer.values.query import Query, Word
from gossamer.views.words.dictionary import STEMMERS, is_stop_word
from gossamer.views.words.filters import GROUPS, span_of, terms_of
from gossamer.views.words.opensearch.index import WITH_WORDS, stemmed
from gossamer.views.words.opensearch.matcher import Matcher
from gossamer.views.words.query import ANCHORS, BOOSTS, MOST_PARTS, MOST_TERMS, PHRASE_FIELDS, TIE_BREAKER
from gossamer.views.words.schema import signs_of

Json = dict[str, Any]
EXACT, FORMS_TIE_BREAKER = 0.6, 0.1
"""The weight of the exact word, which is rarer than all its forms together and so counts more, next to the word in any
form; and the share of the lesser of the two. Chosen on Cranfield and CISI (decision 28)."""
NOTHING: Json = {"match_none": {}}


def filters_of(known: Vocabularies, query: Query, without_group: str = "") -> tuple[list[Json], list[Json]]:
    """What must match and what must not."""
    wanted, unwanted = [WITH_WORDS], []
    for group, field in GROUPS.items():
        unwanted += [having(known, group, value) for value in getattr(query, f"without_{field}")]
        if group != without_group and (values := getattr(query, field)):
            wanted.append(any_of([having(known, group, value) for value in values]))
    if without_group != "date" and (query.since is not None or query.until is not None):
        since, until = span_of(query)
        wanted.append({"range": {"fetched_at": {"gte": since, "lt": until}}})
    return wanted, unwanted


def having(known: Vocabularies, group: str, value: str) -> Json:
    """Pages that pass a filter with this one value."""
    by_field: dict[str, list[str]] = {}
    for field, term in terms_of(known, group, value):
        by_field.setdefault(field, []).append(term)
    return any_of([{"terms": {field: terms}} for field, terms in by_field.items()])


def any_of(queries: Sequence[Json]) -> Json:
    """At least one."""
    if len(queries) < 2:
        return queries[0] if queries else NOTHING
    return {"bool": {"should": [*queries], "minimum_should_match": 1}}


def best_of(queries: Sequence[Json], share: float = TIE_BREAKER) -> Json:
    """The best counts in full; the others add this share of their score."""
    if len(queries) < 2:
        return queries[0] if queries else NOTHING
    return {"dis_max": {"queries": [*queries], "tie_breaker": share}}


@dataclass(frozen=True, slots=True)
class WantedPart:
    """One word or phrase of the query."""

    word: Word
    tokens: tuple[str, ...]
    times: int
    is_exact: bool
    languages: tuple[str, ...]

    @property
    def has_signs(self) -> bool:
        """It is of a script without word spaces."""
        return bool(signs_of(self.tokens[0]))

    @property
    def is_single(self) -> bool:
        return len(self.tokens) == 1 and not self.has_signs

    @property
    def matchers(self) -> list[Matcher]:
        """One for each token; none for scripts without word spaces."""
        is_exact = self.is_exact or len(self.tokens) > 1
        return [] if self.has_signs else [Matcher(self.word, one, self.languages, is_exact) for one in self.tokens]

    @property
    def may_point(self) -> bool:
        """Whether links of other sites are searched for it."""
        word = self.word
        return word.field in (None, "anchors") and not (word.is_fuzzy or word.is_prefix or self.has_signs)

    def query(self, targets: Mapping[float, Sequence[int]] = {}) -> Json:
        """`targets`: pages that other sites link to with it, by score."""
        if self.has_signs:
            return {"match_phrase": {"signs": " ".join(self.tokens)}}
        places = self._places()
        places += [
            {"constant_score": {"filter": {"terms": {"url_id": [*ids]}}, "boost": ANCHORS * score}}
            for score, ids in targets.items()
        ]
        found = best_of(places)
        return found if self.times == 1 else {"bool": {"must": [found], "boost": float(self.times)}}

    def frequency(self) -> Json:
        """Matches pages with it in their text, or anywhere if it is a phrase."""
        if not self.is_single:
            return self.query()
        fields = {"content", *(stemmed("content", language) for language in self.languages if not self.is_exact)}
        return any_of([_single(self, field) for field in sorted(fields)])

    def _places(self) -> list[Json]:
        boosts = {field: boost for field, boost in BOOSTS.items() if self.word.field in (None, field)}
        if len(self.tokens) > 1:
            text = " ".join(self.tokens)
            return [
                {"match_phrase": {field: {"query": text, "boost": boost}}}
                for field, boost in boosts.items()
                if field in (*PHRASE_FIELDS, self.word.field)
            ]
        if not boosts:
            return []
        if self.word.is_prefix or self.word.is_fuzzy:
            return [{"bool": {"must": [_single(self, field)], "boost": boost}} for field, boost in boosts.items()]
        stems = [] if self.is_exact else [one for one in dict.fromkeys(self.languages) if one in STEMMERS]
        if not stems:
            return [_across(self.tokens[0], boosts)]
        exact = {field: EXACT * boost for field, boost in boosts.items()}
        by_language = [
            _across(self.tokens[0], {stemmed(field, language): boost for field, boost in boosts.items()})
            for language in stems
        ]
        return [best_of([*by_language, _across(self.tokens[0], exact)], FORMS_TIE_BREAKER)]


def _across(token: str, boosts: Mapping[str, float]) -> Json:
    """The word in several fields. Its rarity is that in the field where it is most frequent: being rare in titles makes
    a word no more important."""
    fields = [f"{field}^{boost:.3f}" for field, boost in boosts.items()]
    return {
        "multi_match": {
            "query": token, "type": "cross_fields", "fields": fields, "operator": "and", "tie_breaker": TIE_BREAKER,
        }
    }  # fmt: skip


def _single(part: WantedPart, field: str) -> Json:
    token = part.tokens[0]
    if part.word.is_prefix:
        return {"prefix": {field: {"value": token}}}
    if part.word.is_fuzzy:
        near = [{"fuzzy": {field: {"value": token, "fuzziness": 1, "max_expansions": 50}}}]
        if len(token) >= 5:
            start = max(2, len(token) // 2)
            near.append(
                {"fuzzy": {field: {"value": token, "fuzziness": 2, "prefix_length": start, "max_expansions": 50}}}
            )
        return best_of(near, 0.0)
    return {"match": {field: {"query": token, "operator": "and"}}}


class SearchBody:
    """One query: its parts, and the bodies of searches for it."""

    def __init__(
        self, query: Query, known: Vocabularies, languages: tuple[str, ...], tokens_of: Callable[[str], list[str]]
    ) -> None:
        self._query, self._known, self._tokens_of = query, known, tokens_of
        self.languages = query.languages or languages
        self.omitted: tuple[str, ...] = ()
        self.parts, self._without = self._wanted(), self._unwanted()
        self._targets: dict[WantedPart, dict[float, list[int]]] = {}

    def keep_rarest(self, counts: Sequence[int]) -> None:
        """Of too many parts, keep the rarest. REQUIRES: one count a part."""
        order = sorted(range(len(self.parts)), key=lambda at: (not counts[at], counts[at]))[:MOST_PARTS]
        kept = [part for at, part in enumerate(self.parts) if at in set(order)]
        dropped = [" ".join(part.word.text) for part in self.parts if part not in kept]
        self.omitted = tuple(dict.fromkeys([*self.omitted, *dropped]))
        self.parts = kept

    def point_to(self, targets: Mapping[WantedPart, Mapping[int, float]]) -> None:
        """Pages that other sites link to with the words of a part, by `Url.id`, with their scores."""
        for part, scores in targets.items():
            by_score: dict[float, list[int]] = {}
            for target, score in scores.items():
                by_score.setdefault(score, []).append(target)
            self._targets[part] = by_score

    def query_of(self, part: WantedPart) -> Json:
        return part.query(self._targets.get(part, {}))

    def all_words(self, without_group: str = "") -> Json:
        """Pages with every word and phrase. `without_group` omits the filters of one group."""
        return self._narrowed([self.query_of(part) for part in self.parts], without_group)

    def any_word(self, others_than: Sequence[int] = (), without_group: str = "") -> Json:
        """Pages with at least one; without those of these ids, which are already known."""
        found = self._narrowed([any_of([self.query_of(part) for part in self.parts])], without_group)
        if others_than:
            found["bool"]["must_not"].append({"terms": {"url_id": [*others_than]}})
        return found

    def matching(self, has_all: bool, without_group: str = "") -> Json:
        """For counting."""
        is_any = not has_all and self.parts
        return self.any_word(without_group=without_group) if is_any else self.all_words(without_group)

    def _narrowed(self, clauses: list[Json], without_group: str) -> Json:
        """A query of exclusions alone subtracts them from all pages. Words that the analyzer drops completely match
        nothing."""
        wanted, unwanted = filters_of(self._known, self._query, without_group)
        if not clauses and len(wanted) == 1 and self._query.wanted:
            return NOTHING
        return {
            "bool": {
                "must": clauses,
                "filter": wanted,
                "must_not": [*unwanted, *(one.query() for one in self._without)],
            }
        }

    def _wanted(self) -> list[WantedPart]:
        """Each word once, without stop words unless there are only such."""
        wanted = Counter(zip(self._query.wanted, map(tuple, self._tokens(self._query.wanted)), strict=True))
        searchable = {one: times for one, times in wanted.items() if one[1]}
        chosen = {one: times for one, times in searchable.items() if not self._is_stop(*one)} or searchable
        self.omitted = tuple(dict.fromkeys(" ".join(one[0].text) for one in searchable if one not in chosen))
        return [
            WantedPart(word, tokens, times, word.is_exact, self.languages) for (word, tokens), times in chosen.items()
        ]

    def _unwanted(self) -> list[WantedPart]:
        without = self._query.without
        pairs = zip(without, self._tokens(without), strict=True)
        return [WantedPart(word, tuple(tokens), 1, True, self.languages) for word, tokens in pairs if tokens]

    def _tokens(self, wanted: Sequence[Word]) -> list[list[str]]:
        """The index tokens of each part; a word like `e-mail` is a phrase of two."""
        found = []
        for word in wanted:
            text = " ".join(word.text).encode("utf-8", "replace").decode()
            signs = signs_of(text)
            found.append(signs.split() if signs else self._tokens_of(text))
        if sum(map(len, found)) > MOST_TERMS:
            raise QueryRefused(f"a search may have at most {MOST_TERMS} words")
        return found

    def _is_stop(self, word: Word, tokens: Sequence[str]) -> bool:
        is_plain = not (word.field or word.is_exact or word.is_prefix or word.is_fuzzy)
        return is_plain and len(tokens) == 1 and len(word.text) == 1 and is_stop_word(tokens[0], self.languages)
