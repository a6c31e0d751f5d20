"""Words, names and sentences in five languages, drawn by seed. The words are in `words.toml`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files as packaged
from typing import TypeVar

import msgspec

from gossamer.base.environment import seeded
from gossamer.values.url import id_of

T = TypeVar("T")


class Draw:
    """A stream of random choices; the same names give the same stream on every machine."""

    __slots__ = ("_next",)

    def __init__(self, *names: object) -> None:
        self._next = seeded(id_of(" ".join(map(str, names))) & (1 << 63) - 1).random

    def below(self, limit: int) -> int:
        """REQUIRES: limit >= 1."""
        return int(self._next() * limit)

    def between(self, least: int, most: int) -> int:
        return least + int(self._next() * (most - least + 1))

    def one(self, of: Sequence[T]) -> T:
        return of[int(self._next() * len(of))]

    def some(self, of: Sequence[T], count: int) -> list[T]:
        """`count` distinct items of `of` (all when it is shorter), in the order drawn."""
        places: dict[int, None] = {}
        wanted = min(count, len(of))
        while len(places) < wanted:
            places[int(self._next() * len(of))] = None
        return [of[place] for place in places]

    def happens(self, share: float) -> bool:
        return self._next() < share


class DemoLanguage(msgspec.Struct, frozen=True):
    lead: str
    """The pattern of an item's first sentence."""
    sentences: tuple[str, ...]
    """Patterns; `{adj}` is a slot for one of `words["adj"]`, and `{adj2}` for another."""
    words: dict[str, tuple[str, ...]]
    between: str = " "
    """What separates two sentences."""


class _WordsFile(msgspec.Struct):
    lists: dict[str, tuple[str, ...]]
    languages: dict[str, DemoLanguage]


_FILE = msgspec.toml.decode((packaged("gossamer.demo") / "words.toml").read_bytes(), type=_WordsFile)
LANGUAGES = _FILE.languages
ENGLISH = LANGUAGES["en"].words
LISTS = _FILE.lists | {"german_nouns": LANGUAGES["de"].words["noun"]}

POOL = 2_999
"""A prime: with any stride, a walk through the pool uses no sentence twice."""
_ONSETS = ("b", "br", "c", "d", "f", "g", "gr", "h", "k", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "w")
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
_CODAS = ("", "", "n", "r", "l", "s", "nd", "rk", "m", "th")


@lru_cache(maxsize=64)
def pool(seed: int, language: str) -> tuple[str, ...]:
    """The sentences that pages in this language are made of. REQUIRES: a language of LANGUAGES."""
    draw = Draw(seed, "sentences", language)
    return tuple(sentence(draw, LANGUAGES[language]) for _ in range(POOL))


def sentence(draw: Draw, language: DemoLanguage) -> str:
    return with_capital(draw.one(language.sentences).format_map(_Slots(draw, language.words)))


def with_capital(text: str) -> str:
    return text[0].upper() + text[1:]


def fill(draw: Draw, pattern: str) -> str:
    """A pattern with its slots filled in order: `{TOWNS}` takes one of that list (`{towns}`: in lower case), `{3-9}` a
    number, `{this|that}` one of these, `{person}` and `{coined}` a new name."""
    return pattern.format_map(_Slots(draw, ENGLISH))


def paragraph(draw: Draw, seed: int, language: str, least: int = 3, most: int = 8) -> str:
    sentences, at, stride = pool(seed, language), draw.below(POOL), 1 + draw.below(POOL - 1)
    chosen = [sentences[(at + step * stride) % POOL] for step in range(draw.between(least, most))]
    return LANGUAGES[language].between.join(chosen)


def new_paragraph(draw: Draw, language: str, least: int = 3, most: int = 6) -> str:
    """A paragraph of new sentences. Slower than `paragraph`, which takes them from the pool."""
    words = LANGUAGES[language]
    return words.between.join([sentence(draw, words) for _ in range(draw.between(least, most))])


def new_word(draw: Draw) -> str:
    """A made-up word: like the real web, this one has a long tail of rare words."""
    parts = [draw.one(_ONSETS) + draw.one(_VOWELS) + draw.one(_CODAS) for _ in range(draw.between(2, 3))]
    return "".join(parts).capitalize()


def person_name(draw: Draw) -> str:
    return f"{draw.one(LISTS['first_names'])} {draw.one(LISTS['last_names'])}"


@dataclass(frozen=True, slots=True)
class _Slots:
    draw: Draw
    words: Mapping[str, Sequence[str]]

    def __getitem__(self, slot: str) -> str | int:
        draw, name = self.draw, slot.rstrip("2")
        if name in self.words:
            return draw.one(self.words[name])
        match name:
            case "town":
                return draw.one(LISTS["towns"]) if draw.happens(0.7) else new_word(draw)
            case "person":
                return person_name(draw)
            case "year":
                return draw.between(1650, 2024)
            case "number":
                return draw.between(3, 400)
            case "coined":
                return new_word(draw)
            case "two ingredients":
                return " and ".join(draw.some(LISTS["ingredients"], 2))
        if "|" in slot:
            return draw.one(slot.split("|"))
        if "-" in slot:
            least, most = slot.split("-")
            return draw.between(int(least), int(most))
        chosen = draw.one(LISTS[slot.lower()])
        return chosen if slot.isupper() else chosen.lower()
