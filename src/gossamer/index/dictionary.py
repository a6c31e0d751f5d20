"""The words of the index: other forms of one, those that begin like it, those that are spelt nearly like it.

Forms are looked for when somebody asks, among the words that are there: the dictionary is listed from the beginning
of the word's stem, and what has the same stem is a form of it. So every language that has a stemmer is served by one
field of exact words, and the indexer pays nothing.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec
import tantivy

from gossamer.index.snapshot import Snapshot

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
"""Stemmed, but without a list of words that say nothing."""
ASKING_WORDS = {
    "en": frozenset(
        [
            "am",
            "can",
            "did",
            "do",
            "does",
            "from",
            "had",
            "has",
            "have",
            "how",
            "should",
            "were",
            "what",
            "when",
            "where",
            "which",
            "who",
            "whom",
            "whose",
            "why",
        ]
    )
}
"""What questions begin with, where the stemmers' own lists do not have it."""
SHORTEST_STEMMED = 3
MOST_LISTED = 500
"""Words of the dictionary that are looked at, the most frequent first."""
MOST_COMPARED = 150
MOST_FORMS = 12
LISTED_FIELDS = ("content", "title")
"""Where other forms of a word are looked for; what stands in neither is on no page that people search for."""
MOST_BEGINNINGS = 50
MOST_NEAR = 20
_LETTERS = {"a": "abcdefghijklmnopqrstuvwxyz0123456789", "а": "абвгдежзийклмнопрстуфхцчшщъыьэюя"}
_PLAIN = re.compile(r"[^\W\d_]+")


class Form(msgspec.Struct, frozen=True, array_like=True, gc=False):
    word: str
    pages: int


def forms(snapshot: Snapshot, field: str, word: str, languages: Sequence[str]) -> list[Form]:
    """The word as it stands first (also when no page has it), then its other forms, most frequent first."""

    def find() -> list[Form]:
        own = Form(word, snapshot.with_word(field, word))
        if field in LISTED_FIELDS or field == "names":
            same: tuple[str, ...] = snapshot.recall_lasting(
                ("forms", field, word, *languages), lambda: _same_stem(snapshot, field, word, languages)
            )
            others = [Form(other, snapshot.with_word(field, other)) for other in same]
            return [own, *sorted((form for form in others if form.pages), key=_most_first)]
        known = {form.word for listed in LISTED_FIELDS for form in forms(snapshot, listed, word, languages)} - {word}
        counted = [Form(other, snapshot.with_word(field, other)) for other in known]
        return [own, *sorted((form for form in counted if form.pages), key=_most_first)]

    found: list[Form] = snapshot.recall(("forms", field, word, *languages), find)
    return found


def beginning(snapshot: Snapshot, field: str, start: str, at_most: int = MOST_BEGINNINGS) -> list[Form]:
    """Words that begin like this, most frequent first."""
    return [Form(*one) for one in snapshot.searcher.terms_with_prefix(field, start, limit=at_most)]


def near(snapshot: Snapshot, word: str) -> list[Form]:
    """Words of the content that are spelt nearly like this one, without it: nearest first, then most frequent. One
    letter may differ anywhere; two, when the word is long and begins the same."""
    if not 3 <= len(word) <= 30:
        return []
    one = [Form(other, pages) for other in _one_off(word) if (pages := snapshot.with_word("content", other))]
    two: list[Form] = []
    if len(word) >= 5:
        known = {form.word for form in one} | {word}
        listed = beginning(snapshot, "content", word[: max(2, len(word) // 2)], MOST_COMPARED)
        two = [form for form in listed if form.word not in known and _is_within_two(word, form.word)]
    return [*sorted(one, key=_most_first), *sorted(two, key=_most_first)][:MOST_NEAR]


def is_stop_word(word: str, languages: Sequence[str]) -> bool:
    """Whether it says nothing in one of these languages."""
    return any(
        word in ASKING_WORDS.get(language, ()) or (analyzer is not None and not analyzer.analyze(word))
        for language in languages
        for analyzer in (_stopper(language),)
    )


@lru_cache(maxsize=20_000)
def stem(word: str, language: str) -> str:
    """The word itself when nobody knows how to stem in this language. Cached: a word is met in field after field."""
    analyzer = _stemmer(language)
    stemmed = analyzer.analyze(word) if analyzer is not None else []
    return stemmed[0] if stemmed else word


def _same_stem(snapshot: Snapshot, field: str, word: str, languages: Sequence[str]) -> tuple[str, ...]:
    """The other forms of a word, the most frequent ones."""
    if len(word) < SHORTEST_STEMMED or not _PLAIN.fullmatch(word):
        return ()
    found: dict[str, Form] = {}
    for language in languages:
        if _stemmer(language) is None:
            continue
        root = stem(word, language)
        start = root if len(root) <= SHORTEST_STEMMED else root[:-1]  # `happi` stands for `happy`
        listed = snapshot.recall(
            ("listed", field, start), lambda start=start: beginning(snapshot, field, start, MOST_LISTED)
        )
        found |= {form.word: form for form in listed if stem(form.word, language) == root}
    found.pop(word, None)
    return tuple(form.word for form in sorted(found.values(), key=_most_first)[: MOST_FORMS - 1])


@lru_cache(maxsize=64)
def _stemmer(language: str) -> tantivy.TextAnalyzer | None:
    if language not in STEMMERS:
        return None
    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw()).filter(tantivy.Filter.stemmer(STEMMERS[language])).build()
    )


@lru_cache(maxsize=64)
def _stopper(language: str) -> tantivy.TextAnalyzer | None:
    name = STEMMERS.get(language)
    if name is None or name in UNSTOPPED:
        return None
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw()).filter(tantivy.Filter.stopword(name)).build()


def _most_first(form: Form) -> tuple[int, str]:
    return -form.pages, form.word


def _one_off(word: str) -> Iterator[str]:
    """Every word that is one letter more, less or other, or two neighbours exchanged; each once, without itself."""
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


def _is_within_two(one: str, other: str) -> bool:
    """Whether at most two letters must be put in, left out or changed."""
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
