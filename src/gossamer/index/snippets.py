"""Snippets as plain segments: text and whether it matches, never markup."""

import msgspec
import tantivy

LONGEST = 220


class Segment(msgspec.Struct, frozen=True, array_like=True):
    text: str
    is_match: bool


def segments_of(snippet: tantivy.Snippet) -> tuple[Segment, ...]:
    """tantivy counts its ranges in UTF-8 bytes of the fragment."""
    raw = snippet.fragment().encode()
    return _cut(raw, [(part.start, part.end) for part in snippet.highlighted()])


def around(text: str, wanted: str, fallback: str = "") -> tuple[Segment, ...]:
    """The text round the first place where `wanted` stands; its beginning (or `fallback`) when it does not.

    For scripts without word spaces, which the analyzer cannot cut into words, and for matches outside the content.
    """
    at = text.find(wanted) if wanted else -1
    if at < 0:
        opening = _shortened(fallback or text, LONGEST)
        return (Segment(opening, False),) if opening else ()
    start = max(0, at - LONGEST // 3)
    before, after = text[start:at], text[at + len(wanted) : start + LONGEST]
    return tuple(part for part in (Segment(before, False), Segment(wanted, True), Segment(after, False)) if part.text)


def _cut(raw: bytes, matches: list[tuple[int, int]]) -> tuple[Segment, ...]:
    parts, done = [], 0
    for start, end in sorted(matches):
        if start < done:  # overlapping ranges: the first one stands
            continue
        parts += [(raw[done:start], False), (raw[start:end], True)]
        done = end
    parts.append((raw[done:], False))
    return tuple(Segment(part.decode("utf-8", "replace"), is_match) for part, is_match in parts if part)


def _shortened(text: str, longest: int) -> str:
    """Cut at the last space before the limit, unless that would lose half of it."""
    if len(text) <= longest:
        return text
    space = text.rfind(" ", longest // 2, longest)
    return text[: space if space > 0 else longest]
