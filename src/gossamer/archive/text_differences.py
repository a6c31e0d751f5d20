"""How two texts differ, line by line and word by word. Pure; its time grows with the square of what differs, so it is
called in a worker."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

import msgspec

AROUND = 2
"""Lines shown before and after a change."""
MOST_LINES = 4_000
MOST_WORDS = 1_500
LONGEST = 60
"""Words of a line."""
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[\u3002\uff01\uff1f])|\n")
_WORD = re.compile(r"\s+|\w+|[^\w\s]")
How = Literal["same", "added", "removed", "gap"]


class Piece(msgspec.Struct, frozen=True, array_like=True):
    text: str
    is_changed: bool = False


class TextLine(msgspec.Struct, frozen=True):
    how: How
    """A gap stands for lines that are the same and are not shown."""
    pieces: list[Piece] = []


def text_changes(before: str, after: str) -> tuple[list[TextLine], bool]:
    """As in a unified diff, and whether the texts were longer than is looked at."""
    old, new = lines_of(before), lines_of(after)
    is_cut = max(len(old), len(new)) > MOST_LINES
    if old == new:
        return [], is_cut
    return list(_lines(old[:MOST_LINES], new[:MOST_LINES])), is_cut


def lines_of(text: str) -> list[str]:
    """A sentence a line, for a page's text has no lines of its own; what never ends a sentence is cut after so many
    words."""
    found = []
    for sentence in _SENTENCE_END.split(text):
        words = sentence.split()
        found += [" ".join(words[start : start + LONGEST]) for start in range(0, len(words), LONGEST)]
    return found


def _lines(old: Sequence[str], new: Sequence[str]) -> Iterator[TextLine]:
    shown_to = 0
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for group in matcher.get_grouped_opcodes(AROUND):
        if group[0][1] > shown_to:
            yield TextLine("gap")
        for what, old_start, old_end, new_start, new_end in group:
            if what == "equal":
                yield from [TextLine("same", [Piece(line)]) for line in old[old_start:old_end]]
            else:
                yield from _replaced(old[old_start:old_end], new[new_start:new_end])
            shown_to = old_end
    if shown_to and shown_to < len(old):
        yield TextLine("gap")


def _replaced(old: Sequence[str], new: Sequence[str]) -> Iterator[TextLine]:
    """Lines that stand in the same place are compared word by word."""
    both = [_words(one, other) for one, other in zip(old, new, strict=False)]
    removed = [pieces for pieces, _ in both] + [[Piece(line, True)] for line in old[len(both) :]]
    added = [pieces for _, pieces in both] + [[Piece(line, True)] for line in new[len(both) :]]
    yield from [TextLine("removed", pieces) for pieces in removed]
    yield from [TextLine("added", pieces) for pieces in added]


def _words(old: str, new: str) -> tuple[list[Piece], list[Piece]]:
    old_words, new_words = _WORD.findall(old), _WORD.findall(new)
    if max(len(old_words), len(new_words)) > MOST_WORDS:
        return [Piece(old, True)], [Piece(new, True)]
    matcher = SequenceMatcher(None, old_words, new_words, autojunk=False)
    shared = sum(
        not word.isspace()
        for block in matcher.get_matching_blocks()
        for word in old_words[block.a : block.a + block.size]
    )
    if shared * 6 < len(old_words) + len(new_words):  # hardly any: a chance word left plain would only confuse
        return [Piece(old, True)], [Piece(new, True)]
    removed, added = [], []
    for what, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        is_changed = what != "equal"
        if old_end > old_start:
            removed.append(Piece("".join(old_words[old_start:old_end]), is_changed))
        if new_end > new_start:
            added.append(Piece("".join(new_words[new_start:new_end]), is_changed))
    return removed, added
