"""What the crawler needs to know of a page to tell whether it brings anything new: a few numbers, made by the reader.

Each number names one word, one run of three words or one stated value of the page, chosen by its hash alone. So the
share of a page's numbers that a site has not shown before estimates the share of its words that are new.
"""

from collections.abc import Iterable
from itertools import islice
from operator import add

from xxhash import xxh32_intdigest

from gossamer.values.messages import Marks
from gossamer.values.page import Triple

SAMPLES = 16
MOST_WORDS = 64
MOST_FACTS = 8
_HEAD = 500
_TAIL = 200
"""Characters looked at, at the start and at the end of a text."""
_SPACELESS = 30
"""Characters a word on average from which a text is taken to be written without spaces."""
_LOOKED_AT = 100
_PUNCTUATION = b"\"'`.,;:!?()[]{}<>|/\\*#-_"
_QUOTES = tuple(mark.encode() for mark in "\u201c\u201d\u2018\u2019")
_NUMBERLESS = bytes(range(48)) + bytes(10) + bytes(range(58, 256))
_SYMBOLS = (0xC2, 0xE2, *range(0xF0, 0x100))
"""First bytes in UTF-8 of what is no letter; those of letters make up most of the others."""


def _folding() -> bytes:
    """Small letters for capitals. The bytes of letters beyond ASCII become letters too: the first byte always the
    same, the others by their last five bits, for in Latin, Greek and Cyrillic capitals differ in the other bits."""
    folded = bytearray(bytes(range(256)).lower())
    folded[0x80:0xC0] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZzyxwvu" * 2
    folded[0xC0:] = bytes(0 if code in _SYMBOLS else ord("q") for code in range(0xC0, 0x100))
    return bytes(folded)


_FOLDING = _folding()


def marks_of(text: str, near: tuple[int, ...], triples: Iterable[Triple] = ()) -> Marks:
    """`near` is the text's own MinHash over runs of three words (`Page.near`).

    Numbers and what looks like a code say nothing: a page that differs from another only by a date, a counter or an
    echoed session id is the same page.
    """
    looked_at = text
    if len(text) > _HEAD + _TAIL:
        looked_at = f"{text[:_HEAD].rpartition(' ')[0]} {text[-_TAIL:].partition(' ')[2]}"
    names = names_of(looked_at)
    words = len(names) * len(text) // (len(looked_at) or 1)
    # half of the words, by their hashes: one that is chosen on one page is chosen on all that have it
    chosen = sorted([name >> 2 for name in names if name & 1])
    shingles = [number >> 2 for number in near[:SAMPLES]]
    return Marks(words, tuple(chosen[:MOST_WORDS]), tuple(shingles), *fact_marks(triples))


def names_of(text: str) -> set[int]:
    """A number for each of the words of a text, without case, punctuation and whatever holds a digit.

    The whole way is one chain of C functions: it is walked for every word of every page.
    """
    if len(text) > _SPACELESS * (text.count(" ") + 1):
        return {xxh32_intdigest(pair.encode("utf-8", "replace")) for pair in words_of(text)}
    coded = text.encode("utf-8", "replace")
    if len(coded) > len(text):
        for mark in _QUOTES:
            coded = coded.replace(mark, b'"')
    return set(map(xxh32_intdigest, filter(bytes.isalpha, coded.translate(_FOLDING, _PUNCTUATION).split())))


def words_of(text: str) -> set[str]:
    """Of a text written without spaces: each two characters that stand together."""
    joined = "".join([word for word in text.split() if not word.isdecimal()])
    return set(map(add, joined, joined[1:]))


def fact_marks(triples: Iterable[Triple]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The values stated, whatever they are stated of: every page of a trap can name itself. Addresses do not count."""
    facts: set[int] = set()
    values: set[int] = set()
    looked_at = {value for _, _, value in islice(triples, _LOOKED_AT)}
    for value in looked_at:
        if value[0] == '"' and not value.startswith('"http'):
            coded = value.encode("utf-8", "replace")
            whole = xxh32_intdigest(coded) >> 2
            values.add(whole)
            numberless = coded.translate(_NUMBERLESS)
            if numberless == coded:
                facts.add(whole)
            elif numberless.swapcase() != numberless or not numberless.isascii():  # it holds letters
                facts.add(xxh32_intdigest(numberless) >> 2)
    return tuple(sorted(facts)[:MOST_FACTS]), tuple(sorted(values)[:MOST_FACTS])
