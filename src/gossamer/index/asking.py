"""A person's `Query` as tantivy's: built part by part, never by pasting text, so nothing typed can be bad syntax."""

from collections.abc import Sequence

import tantivy
from tantivy import Occur

from gossamer.errors import QueryRefused
from gossamer.index.schema import signs_of
from gossamer.values.query import Query
from gossamer.values.url import Url

BOOSTS = {"title": 3.0, "headings": 2.0, "anchors": 2.0, "address": 1.2, "content": 1.0, "rest": 0.2}
"""How much a word weighs by where it stands (MISSION C14)."""
PHRASE_FIELDS = ("title", "headings", "anchors", "content")
TIE_BREAKER = 0.3
"""The best field decides; the others add this share of theirs."""
MOST_TERMS = 64


class Asking:
    """Makes queries for one schema. `wanted` is what must be found; `shown` is what a snippet should light up."""

    def __init__(self, schema: tantivy.Schema, analyzer: tantivy.TextAnalyzer) -> None:
        self.schema, self._analyzer = schema, analyzer

    def wanted(self, query: Query, all_words: bool) -> tantivy.Query:
        """With `all_words` every word and phrase must be there, else at least one."""
        parts = self._parts(query)
        clauses = [(Occur.Must if all_words else Occur.Should, part) for part in parts]
        clauses += [(Occur.Must, part) for part in self._filters(query)]
        if not clauses:
            return tantivy.Query.empty_query()
        clauses += [(Occur.MustNot, part) for part in self._unwanted(query)]
        at_least = 1 if parts and not all_words else None
        return tantivy.Query.boolean_query(clauses, minimum_number_should_match=at_least)

    def shown(self, query: Query) -> tantivy.Query:
        terms = {token for tokens in self._tokens(_wanted(query)) for token in tokens}
        one = [(Occur.Should, self._term("content", term)) for term in sorted(terms)]
        return tantivy.Query.boolean_query(one) if one else tantivy.Query.empty_query()

    def page(self, url: Url) -> tantivy.Query:
        return tantivy.Query.term_query(self.schema, "url_id", url.id, "basic")

    def copies(self, copy_id: int) -> tantivy.Query:
        return tantivy.Query.term_query(self.schema, "copy_id", copy_id, "basic")

    def _parts(self, query: Query) -> list[tantivy.Query]:
        tokens = self._tokens(_wanted(query))
        return [part for one in tokens if (part := self._part(one)) is not None]

    def _tokens(self, wanted: Sequence[Sequence[str]]) -> list[list[str]]:
        """The words of each part as the index knows them; a word like `e-mail` is a phrase of two."""
        found = []
        for words in wanted:
            text = " ".join(words).encode("utf-8", "replace").decode()
            signs = signs_of(text)
            found.append(signs.split() if signs else self._analyzer.analyze(text))
        if sum(map(len, found)) > MOST_TERMS:
            raise QueryRefused(f"a search may have at most {MOST_TERMS} words")
        return found

    def _part(self, tokens: list[str]) -> tantivy.Query | None:
        if not tokens:
            return None
        if signs_of(tokens[0]):
            return self._phrase("signs", tokens)
        if len(tokens) == 1:
            places = [tantivy.Query.boost_query(self._term(field, tokens[0]), boost) for field, boost in BOOSTS.items()]
        else:
            places = [tantivy.Query.boost_query(self._phrase(field, tokens), BOOSTS[field]) for field in PHRASE_FIELDS]
        return tantivy.Query.disjunction_max_query(places, TIE_BREAKER)

    def _phrase(self, field: str, tokens: list[str]) -> tantivy.Query:
        if len(tokens) == 1:
            return self._term(field, tokens[0])
        return tantivy.Query.phrase_query(self.schema, field, [*tokens])

    def _filters(self, query: Query) -> list[tantivy.Query]:
        terms = [self._site(query.site)] if query.site else []
        terms += [self._type(query.type)] if query.type else []
        terms += [self._term("language", query.language.lower())] if query.language else []
        return [tantivy.Query.const_score_query(term, 0.0) for term in terms]

    def _unwanted(self, query: Query) -> list[tantivy.Query]:
        parts = [part for tokens in self._tokens(query.without) if (part := self._part(tokens)) is not None]
        return [*parts, *map(self._site, query.without_sites), *map(self._type, query.without_types)]

    def _site(self, name: str) -> tantivy.Query:
        return self._term("sites", name.lower())

    def _type(self, name: str) -> tantivy.Query:
        """An IRI as it is; any other name is the last part of one."""
        is_iri = any(mark in name for mark in "/:#")
        return self._term("types", name) if is_iri else self._term("kinds", name.lower())

    def _term(self, field: str, value: str) -> tantivy.Query:
        plain = value.encode("utf-8", "replace").decode()
        return tantivy.Query.term_query(self.schema, field, plain, "freq")


def _wanted(query: Query) -> list[tuple[str, ...]]:
    return [*((word,) for word in query.words), *query.phrases]
