"""The words of the index: other forms, prefixes, similar spellings, completions and corrections.

Forms are found at query time: the dictionary is listed from the start of the word's stem, and words with the same stem
are its forms. One field of exact words serves every language with a stemmer, at no cost to the indexer.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal

import msgspec
import tantivy

from gossamer.views.words.schema import LARGE, Card, Snapshot, card_at

STEMMERS = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nb": "norwegian",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
UNSTOPPED = frozenset(("arabic", "greek", "romanian", "tamil", "turkish"))
"""Stemmed, but without a list of stop words."""
QUESTION_WORDS = {
    "en": frozenset({
        "am", "can", "did", "do", "does", "from", "had", "has", "have", "how", "should", "were", "what", "when",
        "where", "which", "who", "whom", "whose", "why",
    })
}  # fmt: skip
"""Stop words that the stemmers' own lists lack."""
SHORTEST_STEMMED = 3
MOST_LISTED = 500
"""Words of the dictionary that are considered, most frequent first."""
MOST_COMPARED = 150
MOST_FORMS = 12
LISTED_FIELDS = ("content", "title", "names")
"""Where other forms of a word are searched. In a large index the first suffices: any form in a title or a name is in
some page's text."""
MOST_BEGINNINGS = 50
MOST_NEAR = 20
_LETTERS = {"a": "abcdefghijklmnopqrstuvwxyz0123456789", "а": "абвгдежзийклмнопрстуфхцчшщъыьэюя"}
PLAIN = re.compile(r"[^\W\d_]+")


class Form(msgspec.Struct, frozen=True, array_like=True, gc=False):
    word: str
    pages: int


def forms(snapshot: Snapshot, field: str, word: str, languages: Sequence[str]) -> list[Form]:
    """The word itself first (even if no page has it), then its other forms, most frequent first."""

    def find() -> list[Form]:
        others: tuple[str, ...] = snapshot.recall_lasting(
            ("forms", word, *languages), lambda: _other_forms(snapshot, word, languages)
        )
        counted = [Form(other, pages) for other in others if (pages := snapshot.with_word(field, other))]
        return [Form(word, snapshot.with_word(field, word)), *sorted(counted, key=_most_first)[: MOST_FORMS - 1]]

    found: list[Form] = snapshot.recall(("forms", field, word, *languages), find)
    return found


def beginning(snapshot: Snapshot, field: str, start: str, at_most: int = MOST_BEGINNINGS) -> list[Form]:
    """Words with this prefix, most frequent first."""
    return [Form(*one) for one in snapshot.searcher.terms_with_prefix(field, start, limit=at_most)]


def near(snapshot: Snapshot, word: str) -> list[Form]:
    """Other words of the content with a similar spelling: nearest first, then most frequent. One letter may differ
    anywhere; two if the word is long and its beginning is the same."""
    if not 3 <= len(word) <= 30:
        return []
    one = [Form(other, pages) for other in _one_off(word) if (pages := snapshot.with_word("content", other))]
    two: list[Form] = []
    if len(word) >= 5:
        known = {form.word for form in one} | {word}
        listed = beginning(snapshot, "content", word[: max(2, len(word) // 2)], MOST_COMPARED)
        two = [form for form in listed if form.word not in known and is_within_two(word, form.word)]
    return [*sorted(one, key=_most_first), *sorted(two, key=_most_first)][:MOST_NEAR]


def is_stop_word(word: str, languages: Sequence[str]) -> bool:
    """Whether it is a stop word in one of these languages."""
    return any(
        word in QUESTION_WORDS.get(language, ()) or (analyzer is not None and not analyzer.analyze(word))
        for language in languages
        for analyzer in (_stopper(language),)
    )


def _other_forms(snapshot: Snapshot, word: str, languages: Sequence[str]) -> tuple[str, ...]:
    listed = LISTED_FIELDS if snapshot.pages < LARGE else LISTED_FIELDS[:1]
    return tuple({other: None for field in listed for other in _same_stem(snapshot, field, word, languages)})


def _same_stem(snapshot: Snapshot, field: str, word: str, languages: Sequence[str]) -> tuple[str, ...]:
    """The other forms of a word, the most frequent ones."""
    if len(word) < SHORTEST_STEMMED or not PLAIN.fullmatch(word):
        return ()
    stemmers = [stemmer for stemmer in map(stemmer_of, languages) if stemmer is not None]
    roots = [(stemmer.analyze(word)[0], stemmer) for stemmer in stemmers]
    found: dict[str, int] = {}
    listed: Sequence[tuple[str, int]] = ()
    whole: str | None = None
    starts = [(start_of(root), root, stemmer) for root, stemmer in roots]
    for start, root, stemmer in sorted(starts, key=lambda one: (len(one[0]), one[0])):
        if whole is None or not start.startswith(whole):
            listed = snapshot.searcher.terms_with_prefix(field, start, limit=MOST_LISTED)
            whole = start if len(listed) < MOST_LISTED else None  # then it contains what a longer prefix would list
        some = [one for one in listed if one[0].startswith(start)] if start != whole else listed
        stems = stemmer.analyze(" ".join([other for other, _ in some]))
        found |= {other: pages for (other, pages), of in zip(some, stems, strict=True) if of == root}
    found.pop(word, None)
    return tuple(sorted(found, key=lambda other: (-found[other], other))[: MOST_FORMS - 1])


def start_of(root: str) -> str:
    """The prefix of every word with this stem: `happi` is the stem of `happy`."""
    return root if len(root) <= SHORTEST_STEMMED else root[:-1]


@lru_cache(maxsize=64)
def stemmer_of(language: str) -> tantivy.TextAnalyzer | None:
    """It takes any number of words at once, separated by spaces: one by one, the calls would cost most of the time."""
    if language not in STEMMERS:
        return None
    stemmer = tantivy.Filter.stemmer(STEMMERS[language])
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(stemmer).build()


@lru_cache(maxsize=64)
def _stopper(language: str) -> tantivy.TextAnalyzer | None:
    name = STEMMERS.get(language)
    if name is None or name in UNSTOPPED:
        return None
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw()).filter(tantivy.Filter.stopword(name)).build()


def _most_first(form: Form) -> tuple[int, str]:
    return -form.pages, form.word


def _one_off(word: str) -> Iterator[str]:
    """Every other word at one insertion, deletion, substitution or transposition of letters, each once."""
    letters = next((some for some in _LETTERS.values() if word[0] in some), "".join(sorted(set(word))))
    seen = {word}
    for at in range(len(word) + 1):
        before, after = word[:at], word[at:]
        candidates = [before + letter + after for letter in letters]
        if after:
            candidates += [before + after[1:], *(before + letter + after[1:] for letter in letters)]
        if len(after) > 1:
            candidates.append(before + after[1] + after[0] + after[2:])
        for one in candidates:
            if one not in seen:
                seen.add(one)
                yield one


def is_within_two(one: str, other: str) -> bool:
    """Whether the edit distance is at most two."""
    if abs(len(one) - len(other)) > 2:
        return False
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        before, row = row, [number]
        for at, theirs in enumerate(other, 1):
            row.append(min(before[at] + 1, row[-1] + 1, before[at - 1] + (letter != theirs)))
        if min(row) > 2:
            return False
    return row[-1] <= 2


MOST_COMPLETIONS = 8
LOOKED_AT = 20
ENOUGH = 10
"""A word on so many pages is not corrected."""
MUCH_MORE = 10
"""A word that exists is corrected only if the similar word is on so many times more pages."""


class Completion(msgspec.Struct, frozen=True, array_like=True):
    """A suggestion while typing."""

    text: str
    kind: Literal["title", "name", "word"]
    count: int
    """Pages that have it; 0 where not counted."""


def completions(snapshot: Snapshot, text: str, at_most: int = MOST_COMPLETIONS) -> list[Completion]:
    """Titles and names that match what was typed, then words, most frequent first."""
    tokens = snapshot.tokens(text.encode("utf-8", "replace").decode())
    if not tokens or len(tokens[-1]) < 2:
        return []
    words = _listed(snapshot, "content", tokens[-1], MOST_COMPLETIONS)
    return each_once([*_titled(snapshot, tokens), *endings(text, words)], at_most)


def each_once(found: Iterable[Completion], at_most: int) -> list[Completion]:
    """The first of each text, in any case."""
    kept: dict[str, Completion] = {}
    for one in found:
        kept.setdefault(one.text.lower(), one)
    return list(kept.values())[:at_most]


def corrector(snapshot: Snapshot, languages: Sequence[str]) -> Callable[[str], str]:
    """Corrects one word that no page has, or hardly any: the nearest and most frequent word of the index, or the word
    itself when there is none."""

    def corrected(word: str) -> str:
        tokens = snapshot.tokens(word)
        if len(tokens) != 1:
            return word
        pages = sum(form.pages for form in forms(snapshot, "content", tokens[0], languages))
        if pages >= ENOUGH:
            return word
        candidates = near(snapshot, tokens[0])
        return candidates[0].word if candidates and candidates[0].pages > MUCH_MORE * pages else word

    return corrected


def _titled(snapshot: Snapshot, tokens: list[str]) -> list[Completion]:
    """Matching titles and entity names; those that begin with the first word typed come first."""
    ends = [form.word for form in _listed(snapshot, "title", tokens[-1], LOOKED_AT)]
    names = [form.word for form in _listed(snapshot, "names", tokens[-1], LOOKED_AT)]
    clauses = []
    for field, last in (("title", ends), ("names", names)):
        if last:
            words = [(tantivy.Occur.Must, snapshot.term(field, token)) for token in tokens[:-1]]
            some = tantivy.Query.term_set_query(snapshot.schema, field, last)
            clauses.append((tantivy.Occur.Should, tantivy.Query.boolean_query([*words, (tantivy.Occur.Must, some)])))
    if not clauses:
        return []
    hits = snapshot.best(tantivy.Query.boolean_query(clauses), LOOKED_AT)
    cards = [card for _, place in hits if (card := card_at(snapshot, place)) is not None]
    return titles_and_names(cards, tokens, snapshot.tokens)


def titles_and_names(
    cards: Iterable[Card], tokens: list[str], tokens_of: Callable[[str], list[str]]
) -> list[Completion]:
    """Those of some pages that match what was typed."""
    found: dict[tuple[str, Literal["title", "name"]], int] = {}
    for card in cards:
        for name in dict.fromkeys(entity.name for entity in card.entities):
            found[name, "name"] = found.get((name, "name"), 0) + 1
        found[card.title, "title"] = found.get((card.title, "title"), 0) + 1
    matching = [
        (not starts_with(own, tokens), -pages, text, kind)
        for (text, kind), pages in found.items()
        if _matches(own := tokens_of(text), tokens)
    ]
    return [Completion(text, kind, 0) for _, _, text, kind in sorted(matching)]


def endings(text: str, words: Iterable[Form]) -> list[Completion]:
    """What was typed, its last word completed in these ways."""
    before = text.rstrip()
    before = before[: before.rfind(" ") + 1]
    return [Completion(f"{before}{form.word}", "word", form.pages) for form in words]


def _listed(snapshot: Snapshot, field: str, start: str, at_most: int) -> list[Form]:
    """Cached across snapshots while a large index changes little: many users begin with the same few letters, which
    match half of a dictionary."""
    key = "beginning", field, start, at_most
    found: list[Form] = snapshot.recall_lasting(key, lambda: beginning(snapshot, field, start, at_most))
    return found


def starts_with(words: list[str], typed: list[str]) -> bool:
    last = len(typed) - 1
    return len(words) > last and words[:last] == typed[:last] and words[last].startswith(typed[last])


def _matches(words: list[str], typed: list[str]) -> bool:
    """Whether it has all the words typed, the last as a prefix."""
    return all(word in words for word in typed[:-1]) and any(word.startswith(typed[-1]) for word in words)
