"""What a host has said so far, as a few kilobytes: tables of the numbers that name its words, phrases and values.

A number that was forgotten looks new again; that two share a number happens once in a hundred thousand. So what a
sketch forgets costs visits to a trap, and hardly ever a real page.
"""

from array import array
from collections.abc import Iterable
from typing import NamedTuple

from gossamer.rules.marks import Marks

LEAST_NEW = 0.125
"""The share of its runs of three words that a new text has at least for itself."""
SHORT = 64
"""Words. A long text is new with one word (of those looked at) that is new to the host; a short one with two, for one
may be an echo of its address."""
STRANGE = 0.8
AT_HOME = 50
LEAST_WORDS = 12
"""After so many pages a host's common words are known. A text of which four words in five are new then is no
language: letters thrown together by a program."""
NEW_FACTS = 2
NEW_VALUES = 4
"""Facts are new with two values in words that are new to the host, or with four that may be numbers: the pages of a
trap say their own name and number, and seldom more."""
SMALLEST, LARGEST = 63, 8191
"""Slots of a table, four bytes each, an odd number of them: it grows with what is met, and beyond the largest newcomers
take the places."""


class New(NamedTuple):
    text: bool
    facts: bool


class Sketch:
    """Words have a table of their own: the phrases of a large site would push them out of a common one."""

    __slots__ = ("_pages", "_phrases", "_phrases_held", "_words", "_words_held")

    def __init__(self) -> None:
        self._words = array("I", bytes(4 * SMALLEST))
        self._phrases = array("I", bytes(4 * SMALLEST))
        self._words_held = self._phrases_held = self._pages = 0

    @property
    def size(self) -> int:
        """Bytes of both tables."""
        return 4 * (len(self._words) + len(self._phrases))

    def met(self, marks: Marks) -> New:
        """Whether the text and the facts of this page are new; from now on they are not."""
        new_words = unmet(self._words, marks.vocabulary)
        new_shingles = unmet(self._phrases, marks.shingles)
        new_facts = unmet(self._phrases, marks.facts)
        new_values = unmet(self._phrases, marks.values)
        self._grow(new_words, new_shingles + new_facts + new_values)
        self._pages += 1
        looked_at = len(marks.vocabulary)
        is_strange = self._pages > AT_HOME and looked_at > LEAST_WORDS and new_words > STRANGE * looked_at
        has_phrases = new_shingles > 0 and new_shingles >= LEAST_NEW * len(marks.shingles)
        is_new = has_phrases and new_words >= (1 if marks.words > SHORT else 2)
        return New(is_new and not is_strange, new_facts >= NEW_FACTS or new_values >= NEW_VALUES)

    def _grow(self, words: int, phrases: int) -> None:
        """Keep both tables at most half full, while they may grow."""
        self._words_held += words
        self._phrases_held += phrases
        while 2 * self._words_held > len(self._words) and len(self._words) < LARGEST:
            self._words = grown(self._words)
        while 2 * self._phrases_held > len(self._phrases) and len(self._phrases) < LARGEST:
            self._phrases = grown(self._phrases)


def unmet(table: "array[int]", numbers: Iterable[int]) -> int:
    """How many of these numbers were not met before; from now on they are. Two places each, newcomers win."""
    size, new = len(table), 0
    for number in numbers:
        place = number % size
        if table[place] != number and table[place - 1] != number:
            new += 1
            table[place if not table[place] else place - 1] = number
    return new


def grown(table: "array[int]") -> "array[int]":
    """One twice as large, with what this one holds."""
    larger = array("I", bytes(8 * len(table) + 4))
    unmet(larger, filter(None, table))
    return larger
