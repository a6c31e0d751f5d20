"""The classic ways to find the text of a page: by the slope of its curve of tags.

A page is a row of tokens, each a word (0) or a tag (1); tags that only format count as words. The document slope curve
is the number of tags up to each token: steep in menus, flat in text. The classic block is where tags outside plus words
inside are most; the windowed blocks are all flat stretches, for pages whose text is in several parts. What Gossamer
uses is `blocks/`; these are for comparison (`gossamer inspect --slope`).
"""

import html
import re
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from gossamer.parse.html.tree import INLINE

WINDOW = 50
"""Tokens over which the slope is measured."""
FLAT = 0.5
"""A window is flat if its slope is less than this share of the page's."""
_TOKENS = re.compile(r"<!--.*?-->|</?([^\s>]++)[^>]*+>|([^<\s]++)", re.DOTALL)
_FORMATTING = INLINE - {"a"}


class TokenSpan(NamedTuple):
    """Tokens from `start` to before `end`."""

    start: int
    end: int


class TagsAndWords(NamedTuple):
    bits: bytes
    """1 for a tag, 0 for a word or a formatting tag."""
    words: dict[int, str]
    """By token."""

    def text(self, span: TokenSpan) -> str:
        return " ".join([word for at in range(*span) if (word := self.words.get(at)) is not None])


def tags_and_words(markup: str) -> TagsAndWords:
    """REQUIRES: serialized HTML, without scripts and other elements that are not read."""
    bits = bytearray()
    words: dict[int, str] = {}
    for found in _TOKENS.finditer(markup):
        tag, word = found.groups()
        if word is not None:
            words[len(bits)] = html.unescape(word)
            bits.append(0)
        elif tag is not None:
            bits.append(tag not in _FORMATTING)
    return TagsAndWords(bytes(bits), words)


def slope_curve(bits: bytes) -> list[int]:
    """The number of tags up to and including each token."""
    return list(accumulate(bits))


def classic_block(bits: bytes) -> TokenSpan:
    """Where tags outside plus words inside are most: the segment with the largest sum of 1 - 2b. Takes linear time.

    Of several, the first and shortest; an empty one if there are no words."""
    best, best_sum = TokenSpan(0, 0), 0
    start = run = 0
    for at, bit in enumerate(bits):
        run += 1 - 2 * bit
        if run > best_sum:
            best, best_sum = TokenSpan(start, at + 1), run
        if run <= 0:
            start, run = at + 1, 0
    return best


def windowed_blocks(bits: bytes, window: int = WINDOW, flat: float = FLAT) -> list[TokenSpan]:
    """All stretches that are flat compared with the page, at least half a window long, without tags at their ends."""
    count = len(bits)
    upto = [0, *accumulate(bits)]
    if count == 0 or upto[-1] == 0:
        return [TokenSpan(0, count)] if count else []
    limit = flat * upto[-1] / count
    half = max(1, window // 2)
    spans: list[TokenSpan] = []
    start = -1
    for at in range(count + 1):
        low, high = max(0, at - half), min(count, at + half)
        is_flat = at < count and (upto[high] - upto[low]) < limit * (high - low)
        if is_flat and start < 0:
            start = at
        elif not is_flat and start >= 0:
            spans.append(_trimmed(bits, start, at))
            start = -1
    return [span for span in spans if span.end - span.start >= half]


def _trimmed(bits: bytes, start: int, end: int) -> TokenSpan:
    first, last = bits.find(0, start, end), bits.rfind(0, start, end)
    return TokenSpan(first, last + 1) if first >= 0 else TokenSpan(start, start)


def spans_of(found: TagsAndWords, texts: Sequence[tuple[str, bool]]) -> list[TokenSpan]:
    """Where the wanted texts are, neighbours joined. `texts`: in document order, each with whether it is wanted."""
    letters = "".join(found.words.values())
    starts = list(accumulate([len(word) for word in found.words.values()], initial=0))
    places = list(found.words)
    spans: list[TokenSpan] = []
    at = word = 0
    is_next = False
    for text, is_wanted in texts:
        squeezed = "".join(text.split())
        begin = letters.find(squeezed, at)
        if begin < 0:
            continue
        at = begin + len(squeezed)
        while starts[word + 1] <= begin:
            word += 1
        first = word
        while word + 1 < len(places) and starts[word + 1] < at:
            word += 1
        if is_wanted:
            span = TokenSpan(places[first], places[word] + 1)
            if is_next:
                span = TokenSpan(spans.pop().start, span.end)
            spans.append(span)
        is_next = is_wanted
    return spans
