"""Plausible sentences in several languages, drawn from word lists; none has a character to escape in HTML."""

import re
from functools import lru_cache

from gossamer.demo import words
from gossamer.demo.draw import Draw
from gossamer.demo.tongues import TONGUES, Tongue

POOL = 2_999
"""A prime: whatever the stride, a walk through the pool meets no sentence twice."""
_SLOT = re.compile(r"\{(\w+)\}")
_ONSETS = ("b", "br", "c", "d", "f", "g", "gr", "h", "k", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "w")
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
_CODAS = ("", "", "n", "r", "l", "s", "nd", "rk", "m", "th")


@lru_cache(maxsize=64)
def pool(seed: int, language: str) -> tuple[str, ...]:
    """The sentences that pages in this language are made of. REQUIRES: a language of `TONGUES`."""
    draw = Draw(seed, "sentences", language)
    return tuple(sentence(draw, TONGUES[language]) for _ in range(POOL))


def sentence(draw: Draw, tongue: Tongue) -> str:
    written = _SLOT.sub(lambda slot: _word(draw, tongue, slot[1]), draw.one(tongue.patterns))
    return written[0].upper() + written[1:]


def paragraph(draw: Draw, seed: int, language: str, least: int = 3, most: int = 8) -> str:
    sentences, at, stride = pool(seed, language), draw.below(POOL), 1 + draw.below(POOL - 1)
    chosen = [sentences[(at + step * stride) % POOL] for step in range(draw.between(least, most))]
    return TONGUES[language].between.join(chosen)


def fresh(draw: Draw, language: str, least: int = 3, most: int = 6) -> str:
    """A paragraph of sentences that stand nowhere else. Slower than `paragraph`, which takes them from the pool."""
    tongue = TONGUES[language]
    return tongue.between.join([sentence(draw, tongue) for _ in range(draw.between(least, most))])


def coined(draw: Draw) -> str:
    """A word nobody has used before: the web's vocabulary has a long tail, and so has this one."""
    parts = [draw.one(_ONSETS) + draw.one(_VOWELS) + draw.one(_CODAS) for _ in range(draw.between(2, 3))]
    return "".join(parts).capitalize()


def person_name(draw: Draw) -> str:
    return f"{draw.one(words.FIRST_NAMES)} {draw.one(words.LAST_NAMES)}"


def _word(draw: Draw, tongue: Tongue, slot: str) -> str:
    match slot.rstrip("2"):
        case "adj":
            return draw.one(tongue.adjectives)
        case "noun":
            return draw.one(tongue.nouns)
        case "verb":
            return draw.one(tongue.verbs)
        case "adv":
            return draw.one(tongue.adverbs)
        case "town":
            return draw.one(words.TOWNS) if draw.happens(0.7) else coined(draw)
        case "person":
            return person_name(draw)
        case "year":
            return str(draw.between(1650, 2024))
        case "number":
            return str(draw.between(3, 400))
    raise ValueError(f"a sentence pattern has no slot {slot!r}")
