"""Snippets as plain segments, matching or not, never markup."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import AnyStr

import msgspec
import tantivy

LONGEST = 220
MOST_PLACES = 50
"""Occurrences of one word in a text that are considered."""
AGAIN = 0.1
ALIKE = 1e-9
"""A difference caused by rounding."""


class Segment(msgspec.Struct, frozen=True, array_like=True, gc=False):
    text: str
    is_match: bool


def snippets(
    searcher: tantivy.Searcher, schema: tantivy.Schema, name: str, weights: Mapping[str, float]
) -> Callable[[tantivy.Document], tuple[Segment, ...]]:
    """A function that makes the snippets of one query, from the field of that name."""

    @cache
    def maker() -> tantivy.SnippetGenerator:
        terms = [(tantivy.Occur.Should, tantivy.Query.term_query(schema, name, word)) for word in weights]
        made = tantivy.SnippetGenerator.create(searcher, tantivy.Query.boolean_query(terms), schema, name)
        made.set_max_num_chars(LONGEST)
        return made

    def snippet(entry: tantivy.Document) -> tuple[Segment, ...]:
        text = entry.get_first(name) or ""
        if not weights:
            return ()
        return fragment(text, weights) if text.isascii() else segments_of(maker().snippet_from_doc(entry))

    return snippet


def segments_of(snippet: tantivy.Snippet) -> tuple[Segment, ...]:
    """tantivy counts its ranges in UTF-8 bytes of the fragment."""
    raw = snippet.fragment().encode()
    pieces = _cut(raw, [(part.start, part.end) for part in snippet.highlighted()])
    return tuple([Segment(piece.decode("utf-8", "replace"), is_match) for piece, is_match in pieces])


def fragment(text: str, weights: Mapping[str, float], folded: str = "") -> tuple[Segment, ...]:
    """The part of the text with the best of these words; empty when it has none.

    REQUIRES: words as the index has them; ASCII text, or `folded`: the same with plain small letters, one for each
    character. Ten times faster than tantivy's own generator, which tokenizes the whole text.
    """
    places = _places(folded or text.lower(), weights)
    if not places:
        return ()
    first, last = _densest(places, weights)
    start = max(0, places[first][0] - (LONGEST - places[last][1] + places[first][0]) // 3)
    if start:  # at the start of a word, if there is one before the first match
        start = max(start, text.find(" ", start, places[first][0]) + 1)
    piece = _shortened(text[start:], LONGEST)
    inside = [(at - start, end - start) for at, end, _ in places if at >= start and end - start <= len(piece)]
    return tuple([Segment(part, is_match) for part, is_match in _cut(piece, inside)])


def _places(plain: str, words: Iterable[str]) -> list[tuple[int, int, str]]:
    """Occurrences of the words, in order: start, end, word."""
    found = []
    for word in words:
        at = plain.find(word)
        seen = 0
        while at >= 0 and seen < MOST_PLACES:
            end = at + len(word)
            if not (at and plain[at - 1].isalnum()) and not plain[end : end + 1].isalnum():
                found.append((at, end, word))
                seen += 1
            at = plain.find(word, end)
    return sorted(found)


def _densest(places: Sequence[tuple[int, int, str]], weights: Mapping[str, float]) -> tuple[int, int]:
    """The first and last of the best places within LONGEST of each other: each word counts fully once, and little when
    repeated."""
    best, chosen, past, rare = -1.0, (0, 0), 0, 0.0
    inside = dict.fromkeys(weights, 0)
    for first, (start, _, word) in enumerate(places):
        while past < len(places) and (past <= first or places[past][1] - start <= LONGEST):
            new = places[past][2]
            rare += 0.0 if inside[new] else weights[new]
            inside[new] += 1
            past += 1
        worth = rare + AGAIN * (past - first)
        if worth > best + ALIKE:
            best, chosen = worth, (first, past - 1)
        inside[word] -= 1
        rare -= 0.0 if inside[word] else weights[word]
    return chosen


def around(text: str, wanted: str, fallback: str = "") -> tuple[Segment, ...]:
    """The text around the first occurrence of `wanted`, else its beginning (or `fallback`).

    For scripts without word spaces, which the analyzer cannot tokenize, and for matches outside the content.
    """
    at = text.find(wanted) if wanted else -1
    if at < 0:
        opening = _shortened(fallback or text, LONGEST)
        return (Segment(opening, False),) if opening else ()
    start = max(0, at - LONGEST // 3)
    before, after = text[start:at], text[at + len(wanted) : start + LONGEST]
    return tuple(part for part in (Segment(before, False), Segment(wanted, True), Segment(after, False)) if part.text)


def limited(snippet: Sequence[Segment], most: int) -> tuple[Segment, ...]:
    """Its first `most` characters, which the page allows; all for -1."""
    kept: list[Segment] = []
    for segment in snippet:
        room = len(segment.text) if most < 0 else most - sum(len(one.text) for one in kept)
        if room > 0:
            kept.append(Segment(segment.text[:room], segment.is_match))
    return tuple(kept)


def _cut(text: AnyStr, matches: list[tuple[int, int]]) -> list[tuple[AnyStr, bool]]:
    parts, done = [], 0
    for start, end in sorted(matches):
        if start < done:  # overlapping ranges: the first wins
            continue
        parts += [(text[done:start], False), (text[start:end], True)]
        done = end
    parts.append((text[done:], False))
    return [part for part in parts if part[0]]


def _shortened(text: str, longest: int) -> str:
    """Cut at the last space before the limit, unless that loses half of the text."""
    if len(text) <= longest:
        return text
    space = text.rfind(" ", longest // 2, longest)
    return text[: space if space > 0 else longest]
