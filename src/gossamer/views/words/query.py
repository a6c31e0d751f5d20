"""A user's `Query` as a tantivy query.

Built from parts and never from text, so no input can be bad syntax.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import tantivy
from tantivy import Occur

from gossamer.base.errors import QueryRefused
from gossamer.values.query import Query, Word
from gossamer.views.words.anchors import targets_of
from gossamer.views.words.dictionary import Form, beginning, forms, is_stop_word, near
from gossamer.views.words.filters import GROUPS, span_of, terms_of
from gossamer.views.words.schema import WITH_WORDS, Snapshot, any_of, signs_of


def filters_of(
    snapshot: Snapshot, query: Query, without_group: str = ""
) -> tuple[list[tantivy.Query], list[tantivy.Query]]:
    """What must match and what must not; neither counts towards the score."""
    wanted: list[tantivy.Query] = []
    unwanted: list[tantivy.Query] = []
    for group, field in GROUPS.items():
        unwanted += [having(snapshot, group, value) for value in getattr(query, f"without_{field}")]
        if group != without_group and (values := getattr(query, field)):
            wanted.append(any_of([having(snapshot, group, value) for value in values]))
    if without_group != "date" and (query.since is not None or query.until is not None):
        wanted.append(_between(snapshot, query))
    return [tantivy.Query.const_score_query(one, 0.0) for one in wanted], unwanted


def having(snapshot: Snapshot, group: str, value: str) -> tantivy.Query:
    """Pages that pass a filter with this one value."""
    terms = [snapshot.term(field, term) for field, term in terms_of(snapshot.known, group, value)]
    return any_of(terms) if terms else tantivy.Query.empty_query()


def _between(snapshot: Snapshot, query: Query) -> tantivy.Query:
    dated = tantivy.Query.range_query(
        snapshot.schema, "fetched_at", tantivy.FieldType.Integer, *span_of(query), include_upper=False
    )
    return tantivy.Query.boolean_query([(Occur.Must, dated), (Occur.Must, WITH_WORDS)])


BOOSTS = {"title": 1.5, "headings": 1.3, "content": 1.0, "address": 0.6, "rest": 0.2}
"""The weight of a word by the part of the page it is in."""
ANCHORS = 1.4
"""The same for words of other sites' links to the page."""
PHRASE_FIELDS = ("title", "headings", "content")
TIE_BREAKER = 0.3
"""The best field counts in full; the others add this share of their score."""
FORMS_TIE_BREAKER = 0.5
"""The same for the forms of a word in one field, an approximation of counting them together."""
OTHER_FORM = 0.95
"""The weight of any other form: the exact word wins."""
MOST_TERMS = 1_000
MOST_PARTS = 48
"""Words and phrases that are searched; of more, only the rarest, which are the most specific."""
FREQUENT = 100
"""Pages with a word from which on a few more do not matter."""
FULL = 1000.0
"""Added to the score of a page that has every word; far above any sum of words."""


@dataclass(frozen=True, slots=True)
class WantedWord:
    """One word or phrase of the query."""

    word: Word
    tokens: tuple[str, ...]
    query: tantivy.Query
    match: tantivy.Query
    """Matches the same pages without scores: one flat list of terms, twice as fast."""
    shown: tuple[str, ...]
    """Words to highlight in a snippet."""


class WordsQuery:
    """One query on one snapshot. REQUIRES: the snapshot's schema is ours."""

    def __init__(self, snapshot: Snapshot, query: Query) -> None:
        self._snapshot, self._query = snapshot, query
        self.languages = query.languages or snapshot.languages
        self.omitted: tuple[str, ...] = ()
        self.parts = self._chosen()

    def all_words(self, without_group: str = "") -> tantivy.Query:
        """Pages with every word and phrase. `without_group` omits the filters of one group."""
        return self._narrowed([(Occur.Must, part.query) for part in self.parts], without_group)

    def some_words(self, without_group: str = "") -> tantivy.Query:
        """Pages with at least one; those that have all come first, by FULL."""
        some = tantivy.Query.boolean_query([(Occur.Should, part.query) for part in self.parts])
        full = tantivy.Query.boolean_query([(Occur.Must, part.query) for part in self.parts])
        return self._narrowed(
            [(Occur.Must, some), (Occur.Should, tantivy.Query.const_score_query(full, FULL))], without_group
        )

    def any_word(self, without_group: str = "") -> tantivy.Query:
        """The same pages without that order: half the work, for a caller that knows which have all words."""
        return self._narrowed(
            [(Occur.Must, any_of([part.query for part in self.parts]))] if self.parts else [], without_group
        )

    def matching(self, has_all: bool, without_group: str = "") -> tantivy.Query:
        """The pages of `all_words` or `any_word` without scores: for counting."""
        found = [part.match for part in self.parts]
        clauses = found if has_all or not found else [any_of(found)]
        return self._narrowed([(Occur.Must, one) for one in clauses], without_group)

    def shown(self) -> dict[str, float]:
        """The words for a snippet, and how rare they are."""
        words = sorted({word for part in self.parts for word in part.shown})
        return {word: self._snapshot.rarity(self._snapshot.with_word("content", word)) for word in words}

    def _narrowed(self, clauses: list[tuple[Occur, tantivy.Query]], without_group: str) -> tantivy.Query:
        """A query of exclusions alone subtracts them from all pages. Words that the analyzer drops completely match
        nothing."""
        wanted, unwanted = filters_of(self._snapshot, self._query, without_group)
        clauses += [(Occur.Must, part) for part in wanted]
        if not clauses:
            if self._query.wanted:
                return tantivy.Query.empty_query()
            clauses = [(Occur.Must, WITH_WORDS)]
        without = self._query.without
        pairs = zip(without, self._tokens(without), strict=True)
        unwanted += [self._part(word, tokens, is_exact=True).query for word, tokens in pairs if tokens]
        return tantivy.Query.boolean_query([*clauses, *((Occur.MustNot, part) for part in unwanted)])

    def _chosen(self) -> list[WantedWord]:
        """Each word once, without stop words unless there are only such."""
        wanted = Counter(zip(self._query.wanted, map(tuple, self._tokens(self._query.wanted)), strict=True))
        searchable = {one: times for one, times in wanted.items() if one[1]}
        chosen = {one: times for one, times in searchable.items() if not self._is_stop(*one)} or searchable
        if len(chosen) > MOST_PARTS:
            rarest = set(sorted(chosen, key=self._frequency)[:MOST_PARTS])
            chosen = {one: times for one, times in chosen.items() if one in rarest}
        self.omitted = tuple(dict.fromkeys(" ".join(one[0].text) for one in searchable if one not in chosen))
        return [self._part(word, tokens, times=times) for (word, tokens), times in chosen.items()]

    def _frequency(self, one: tuple[Word, tuple[str, ...]]) -> tuple[bool, int]:
        """Words that no page has sort last: searching them finds nothing."""
        pages = min(self._snapshot.with_word("content", token) for token in one[1])
        return not pages, pages

    def _tokens(self, wanted: Sequence[Word]) -> list[list[str]]:
        """The index tokens of each part; a word like `e-mail` is a phrase of two."""
        found = []
        for word in wanted:
            text = " ".join(word.text).encode("utf-8", "replace").decode()
            signs = signs_of(text)
            found.append(signs.split() if signs else self._snapshot.tokens(text))
        if sum(map(len, found)) > MOST_TERMS:
            raise QueryRefused(f"a search may have at most {MOST_TERMS} words")
        return found

    def _is_stop(self, word: Word, tokens: Sequence[str]) -> bool:
        is_plain = not (word.field or word.is_exact or word.is_prefix or word.is_fuzzy)
        return is_plain and len(tokens) == 1 and len(word.text) == 1 and is_stop_word(tokens[0], self.languages)

    def _part(self, word: Word, tokens: Sequence[str], is_exact: bool = False, times: int = 1) -> WantedWord:
        """REQUIRES: there are tokens. A word that was typed twice counts twice."""
        key = word, tuple(tokens), is_exact, times, self.languages
        is_plain = len(tokens) == 1 and not (word.is_prefix or word.is_fuzzy)
        is_lasting = is_plain and self._is_frequent(tokens[0])  # valid in the next snapshots, with much the same weight
        recall = self._snapshot.recall_parts if is_lasting else self._snapshot.recall
        part: WantedWord = recall(key, lambda: self._new_part(word, tokens, is_exact, times))
        return part

    def _is_frequent(self, token: str) -> bool:
        return self._snapshot.with_word("content", token) >= FREQUENT

    def _new_part(self, word: Word, tokens: Sequence[str], is_exact: bool, times: int) -> WantedWord:
        if signs_of(tokens[0]):
            phrase = self._phrase("signs", tokens)
            return WantedWord(word, tuple(tokens), phrase, phrase, ())
        places: list[tantivy.Query] = []
        flat: list[tantivy.Query] = []
        shown: dict[str, None] = {}
        for field, boost in BOOSTS.items():
            if word.field not in (None, field) or (len(tokens) > 1 and field not in (*PHRASE_FIELDS, word.field)):
                continue
            query, terms, words = self._place(word, tokens, field, boost, is_exact or word.is_exact)
            places.append(query)
            flat += terms
            shown |= dict.fromkeys(words)
        if word.field in (None, "anchors") and not is_exact:
            pointed = self._pointed(word, tokens)
            places += pointed
            flat += pointed
        query = tantivy.Query.disjunction_max_query(places or [tantivy.Query.empty_query()], TIE_BREAKER)
        query = query if times == 1 else tantivy.Query.boost_query(query, float(times))
        return WantedWord(word, tuple(tokens), query, any_of(flat or [tantivy.Query.empty_query()]), tuple(shown))

    def places(self, part: WantedWord, field: str) -> list[tuple[str, float, tantivy.Query]]:
        """Each form of it in this field, the factor of its score, and its query."""
        if len(part.tokens) > 1:
            is_phrase_field = field in PHRASE_FIELDS or field == part.word.field
            return [(" ".join(part.tokens), 1.0, self._phrase(field, part.tokens))] if is_phrase_field else []
        found = self._found(part.word, part.tokens[0], field, part.word.is_exact)
        return [(form.word, factor, self._snapshot.term(field, form.word)) for form, factor in self._weighed(found)]

    def pointing(self, word: Word, tokens: Sequence[str]) -> list[list[Form]]:
        """Its forms in the links of other sites."""
        as_is = word.is_exact or len(tokens) > 1
        return [
            [Form(token, 1)] if as_is else forms(self._snapshot, "content", token, self.languages) for token in tokens
        ]

    def _place(
        self, word: Word, tokens: Sequence[str], field: str, boost: float, is_exact: bool
    ) -> tuple[tantivy.Query, list[tantivy.Query], Sequence[str]]:
        """Its query in one field, scored and flat, and the words to highlight."""
        if len(tokens) > 1:
            phrase = self._phrase(field, tokens)
            return tantivy.Query.boost_query(phrase, boost), [phrase], tokens
        found = self._found(word, tokens[0], field, is_exact)
        terms = [self._snapshot.term(field, form.word) for form in self._present(found)]
        return self._any_form(field, found, boost), terms, [form.word for form in found]

    def _found(self, word: Word, token: str, field: str, is_exact: bool) -> list[Form]:
        """The matching words of the dictionary, the exact one first."""
        if word.is_prefix:
            return beginning(self._snapshot, field, token)
        if is_exact or word.is_fuzzy:
            others = [form.word for form in near(self._snapshot, token)] if word.is_fuzzy else []
            return [Form(one, self._snapshot.with_word(field, one)) for one in (token, *others)]
        return forms(self._snapshot, field, token, self.languages)

    def _any_form(self, field: str, found: Sequence[Form], boost: float) -> tantivy.Query:
        """One combined factor a form: each separate one would cost a step for every page."""
        weighed = [
            tantivy.Query.boost_query(self._snapshot.term(field, form.word), boost * factor)
            for form, factor in self._weighed(found)
        ]
        if len(weighed) > 1:
            return tantivy.Query.disjunction_max_query(weighed, FORMS_TIE_BREAKER)
        return weighed[0] if weighed else tantivy.Query.empty_query()

    def _weighed(self, found: Sequence[Form]) -> list[tuple[Form, float]]:
        """Each form is weighted by the rarity of all forms together in the content, also in titles: being rare in
        titles makes a word no more important."""
        snapshot = self._snapshot
        in_content = sum(snapshot.with_word("content", form.word) for form in found)
        rarity = snapshot.rarity(min(snapshot.pages, max(in_content, sum(form.pages for form in found))))
        return [
            (form, (1.0 if form is found[0] else OTHER_FORM) * rarity / snapshot.rarity(form.pages))
            for form in self._present(found)
        ]

    def _present(self, found: Sequence[Form]) -> list[Form]:
        """Forms that occur there; and the word itself if frequent, since the next page may have it."""
        return [form for form in found if form.pages or (form is found[0] and self._is_frequent(form.word))]

    def _pointed(self, word: Word, tokens: Sequence[str]) -> list[tantivy.Query]:
        """Pages that other sites link to with these words."""
        if word.is_fuzzy or word.is_prefix:
            return []
        pages = [
            tantivy.Query.const_score_query(self._snapshot.term("url_id", target), ANCHORS * score)
            for target, score in targets_of(self._snapshot, self.pointing(word, tokens)).items()
        ]
        return [tantivy.Query.boolean_query([(Occur.Must, any_of(pages)), (Occur.Must, WITH_WORDS)])] if pages else []

    def _phrase(self, field: str, tokens: Sequence[str]) -> tantivy.Query:
        if len(tokens) == 1:
            return self._snapshot.term(field, tokens[0])
        if field == "rest":
            return tantivy.Query.empty_query()
        return tantivy.Query.phrase_query(self._snapshot.schema, field, [*tokens])
