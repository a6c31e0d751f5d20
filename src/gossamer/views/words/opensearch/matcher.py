"""The words of a text that match a word of a query, for snippets, entities and explanations."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gossamer.values.query import Word
from gossamer.views.words.dictionary import PLAIN, SHORTEST_STEMMED, is_within_two, start_of, stemmer_of

MOST_WORDS = 20
"""Forms of one word that are marked in one text."""
_WORD = re.compile(r"[^\W_]+")


class _Folds(dict[int, int]):
    """By character, the small letter without accents that stands for it; filled on use."""

    def __missing__(self, code: int) -> int:
        plain = unicodedata.normalize("NFKD", chr(code))[:1].lower()
        folded = self[code] = ord(plain) if len(plain) == 1 else code
        return folded


_FOLDS = _Folds()


def folded(text: str) -> str:
    """Small letters without accents, one for each character."""
    return text.lower() if text.isascii() else text.translate(_FOLDS)


@dataclass(frozen=True)
class Matcher:
    """What one word of a query matches, token by token."""

    word: Word
    token: str
    languages: tuple[str, ...]
    is_exact: bool

    def accepts(self, token: str) -> bool:
        """Whether the index would find this token by the word."""
        if token == self.token:
            return True
        if self.word.is_prefix:
            return token.startswith(self.token)
        if self.word.is_fuzzy:
            return is_near(self.token, token)
        return any(stem == _stem(token, language) for language, stem in self._stems)

    def words_in(self, plain: str) -> list[str]:
        """The distinct words of a folded text that match."""
        if self.word.is_fuzzy:
            words: Iterable[str] = _WORD.findall(plain)
        else:
            starts = {start_of(stem) for _, stem in self._stems} | {self.token}
            pattern = "|".join(map(re.escape, sorted(starts)))
            words = re.findall(rf"(?<![^\W_])(?:{pattern})[^\W_]*", plain)
        return [word for word in dict.fromkeys(words) if self.accepts(word)][:MOST_WORDS]

    @cached_property
    def _stems(self) -> list[tuple[str, str]]:
        word = self.word
        is_plain = not (self.is_exact or word.is_prefix or word.is_fuzzy or len(self.token) < SHORTEST_STEMMED)
        if not is_plain or not PLAIN.fullmatch(self.token):
            return []
        return [(language, stem) for language in self.languages if (stem := _stem(self.token, language))]


def is_near(one: str, other: str) -> bool:
    """Whether one letter differs; or two, in a long word with the same beginning."""
    if not is_within_two(one, other):
        return False
    shared = max(2, len(one) // 2)
    return (len(one) >= 5 and one[:shared] == other[:shared]) or _is_within_one(one, other)


def _is_within_one(one: str, other: str) -> bool:
    if len(one) == len(other):
        differing = [at for at, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
        is_swap = (
            len(differing) == 2
            and differing[1] == differing[0] + 1
            and (one[differing[0]] == other[differing[1]] and one[differing[1]] == other[differing[0]])
        )
        return len(differing) <= 1 or is_swap
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    return len(longer) == len(shorter) + 1 and any(
        longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer))
    )


def _stem(token: str, language: str) -> str:
    """Empty if the language has no stemmer."""
    stemmer = stemmer_of(language)
    found = stemmer.analyze(token) if stemmer is not None else []
    return found[0] if found else ""


def shown_in(plain: str, matchers: Sequence[tuple[Matcher, float]]) -> Mapping[str, float]:
    """The words of a folded text to mark in a snippet, each with the weight of its matcher."""
    found: dict[str, float] = {}
    for matcher, weight in matchers:
        for word in matcher.words_in(plain):
            found.setdefault(word, weight)
    return found
