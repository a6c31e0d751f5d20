"""What the crawler needs to know of a page to tell whether it brings anything new: a few numbers, made by the reader.

Each number names one word, one run of three words or one stated value of the page, chosen by its hash alone. So the
share of a page's numbers that a site has not shown before estimates the share of its words that are new.
"""

import re
from collections.abc import Iterable
from operator import add
from zlib import crc32

import msgspec

from gossamer.values.page import Triple

SAMPLES = 16
MOST_WORDS = 64
MOST_FACTS = 8
_HEAD = 1_200
_TAIL = 400
"""Characters looked at, at the start and at the end of a text."""
_LONGEST_WORD = 24
_SPACELESS = 30
"""Characters a word on average from which a text is taken to be written without spaces."""
_LOOKED_AT = 100
_DIGITS = re.compile("[0-9]+")
_LETTER = re.compile(r"[^\W\d_]")
_PUNCTUATION = "\"'`.,;:!?()[]{}<>|/\\*#-_\u201c\u201d\u2018\u2019\u3001\u3002"


class Marks(msgspec.Struct, frozen=True, array_like=True):
    words: int = 0
    """Distinct words looked at."""
    vocabulary: tuple[int, ...] = ()
    """Each names a word of the page."""
    shingles: tuple[int, ...] = ()
    """Each names three words in a row."""
    facts: tuple[int, ...] = ()
    """Each names the words of a value that the page states of something."""
    values: tuple[int, ...] = ()
    """Each names such a value as it stands, numbers and all."""


def marks_of(text: str, near: tuple[int, ...], triples: Iterable[Triple] = ()) -> Marks:
    """`near` is the text's own MinHash over runs of three words (`Page.near`).

    Numbers and what looks like a code say nothing: a page that differs from another only by a date, a counter or an
    echoed session id is the same page.
    """
    words = words_of(text)
    return Marks(len(words), _sampled(words), near[:SAMPLES], *fact_marks(triples))


def words_of(text: str) -> list[str]:
    """The distinct words of a text's ends, without case, punctuation and whatever holds a digit."""
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD].rpartition(' ')[0]} {text[-_TAIL:].partition(' ')[2]}"
    rough = set(text.lower().split())
    if len(text) > _SPACELESS * len(rough):
        joined = "".join([word for word in rough if not word.isdecimal()])
        return list(set(map(add, joined, joined[1:])))
    words = {word for word in rough if word.isalpha()}
    words |= {bare for word in rough - words if (bare := word.strip(_PUNCTUATION)).isalpha()}
    return [word for word in words if len(word) <= _LONGEST_WORD]


def _sampled(words: list[str]) -> tuple[int, ...]:
    """One word in four, by its hash: a word that is chosen on one page is chosen on all that have it."""
    hashed = [crc32(word.encode("utf-8", "replace")) for word in words]
    return tuple(sorted([number for number in hashed if not number & 3])[:MOST_WORDS])


def fact_marks(triples: Iterable[Triple]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The values stated, whatever they are stated of: every page of a trap can name itself. Addresses do not count."""
    facts: set[int] = set()
    values: set[int] = set()
    for looked_at, (_, _, value) in enumerate(triples):
        if looked_at == _LOOKED_AT:
            break
        if value[0] == '"' and not value.startswith('"http'):
            whole = crc32(value.encode("utf-8", "replace"))
            values.add(whole)
            folded = _DIGITS.sub("", value)
            if folded == value:
                facts.add(whole)
            elif _LETTER.search(folded):
                facts.add(crc32(folded.encode("utf-8", "replace")))
    return tuple(sorted(facts)[:MOST_FACTS]), tuple(sorted(values)[:MOST_FACTS])
