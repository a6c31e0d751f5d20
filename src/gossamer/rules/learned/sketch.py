"""What a host has said so far: the numbers that name its words, phrases and values.

They are sets while there is memory for that, which is several times as quick, and else tables of a few kilobytes. A
number that was forgotten looks new again; that two share a number happens once in a hundred thousand. So what a sketch
forgets costs visits to a trap, and hardly ever a real page.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import add
from typing import NamedTuple, TypeVar

import msgspec
from xxhash import xxh32_intdigest

from gossamer.rules.learned.traps import TemplateRun
from gossamer.values.messages import Marks
from gossamer.values.page import Triple

T = TypeVar("T")
MOST_IN_A_PART = 128


class SketchKept(msgspec.Struct, frozen=True, array_like=True):
    words: bytes
    phrases: bytes
    words_held: int
    phrases_held: int
    pages: int
    are_words_folded: bool = True
    are_phrases_folded: bool = True


HostRow = tuple[int, int, SketchKept, tuple[tuple[str, TemplateRun], ...]]
"""Host id, when it was last seen, what it said, and how its templates stand."""
DomainRow = tuple[str, SketchKept, tuple[str, ...], tuple[str, ...], TemplateRun]
"""Name, what its hosts said first, hosts seen, hosts that are good, and how they stand."""


class LinksKept(msgspec.Struct, frozen=True, array_like=True, tag=0):
    key: int
    slots: bytes


class YoungKept(msgspec.Struct, frozen=True, array_like=True, tag=1):
    weighed: int
    young: bytes


class HostsKept(msgspec.Struct, frozen=True, array_like=True, tag=2):
    rows: tuple[HostRow, ...]


class ErrorsKept(msgspec.Struct, frozen=True, array_like=True, tag=3):
    rows: tuple[tuple[int, tuple[tuple[int, ...], ...]], ...]


class StartsKept(msgspec.Struct, frozen=True, array_like=True, tag=4):
    rows: tuple[tuple[int, tuple[int, ...]], ...]


class TextsKept(msgspec.Struct, frozen=True, array_like=True, tag=5):
    rows: tuple[tuple[int, tuple[int, frozenset[int]]], ...]


class VoidPagesKept(msgspec.Struct, frozen=True, array_like=True, tag=6):
    rows: tuple[tuple[int, tuple[str, tuple[int, ...]]], ...]


class EvidenceKept(msgspec.Struct, frozen=True, array_like=True, tag=7):
    rows: tuple[tuple[tuple[int, str], tuple[int, int]], ...]


class DomainsKept(msgspec.Struct, frozen=True, array_like=True, tag=8):
    rows: tuple[DomainRow, ...]


Part = (
    LinksKept | YoungKept | HostsKept | ErrorsKept | StartsKept | TextsKept | VoidPagesKept | EvidenceKept | DomainsKept
)


def batches(rows: Iterable[T], most: int = MOST_IN_A_PART) -> Iterator[tuple[T, ...]]:
    """REQUIRES: nobody changes what `rows` goes through meanwhile: give it a list."""
    going = iter(rows)
    while batch := tuple(islice(going, most)):
        yield batch


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
    """The values stated, whatever they are stated of: every page of a trap can name itself. URLs do not count."""
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


LEAST_NEW = 0.125
"""The share of its runs of three words that a new text has at least for itself."""
SHORT = 64
"""Words. A long text is new with one word (of those looked at) that is new to the host; a short one with two, for one
may be an echo of its URL."""
STRANGE = 0.8
AT_HOME = 50
LEAST_WORDS = 12
"""After so many pages a host's common words are known. A text of which four words in five are new then is no
language: letters thrown together by a program."""
NEW_FACTS = 2
NEW_VALUES = 4
"""Facts are new with two values in words that are new to the host, or with four that may be numbers: the pages of a
trap say their own name and number, and rarely more."""
SMALLEST, LARGEST = 64, 8192
"""Slots of a table, four bytes each, a power of two of them: it grows with what occurs, and beyond the largest
newcomers take the places."""
MOST_SPREAD = LARGEST // 2
"""Numbers in a set: more are always a table."""
_NUMBER_BYTES = 32
_STEP = 4
"""By how much a table grows that holds something: to lay it out anew costs as much as some pages."""
_FURTHER = 16
"""Slots that a number may stand in, from its first place on: with fewer, the words of a small host would push each
other out again and again, and look new each time."""


class New(NamedTuple):
    text: bool
    facts: bool


class Sketch:
    """Words are apart: the phrases of a large site would push them out of a common table."""

    __slots__ = ("_pages", "_phrases", "_words")

    def __init__(self, is_folded: bool = False) -> None:
        """`is_folded`: small from the start."""
        self._words, self._phrases = Numbers(is_folded), Numbers(is_folded)
        self._pages = 0

    @property
    def size(self) -> int:
        """Bytes of both, about."""
        return self._words.size + self._phrases.size

    def fold(self) -> None:
        """Make it small, at the price of speed."""
        self._words.fold()
        self._phrases.fold()

    def met(self, marks: Marks) -> New:
        """Whether the text and the facts of this page are new; from now on they are not."""
        new_words = self._words.unmet(marks.vocabulary)
        new_shingles = self._phrases.unmet(marks.shingles)
        new_facts = self._phrases.unmet(marks.facts)
        new_values = self._phrases.unmet(marks.values)
        self._pages += 1
        looked_at = len(marks.vocabulary)
        is_strange = self._pages > AT_HOME and looked_at > LEAST_WORDS and new_words > STRANGE * looked_at
        has_phrases = new_shingles > 0 and new_shingles >= LEAST_NEW * len(marks.shingles)
        is_new = has_phrases and new_words >= (1 if marks.words > SHORT else 2)
        return New(is_new and not is_strange, new_facts >= NEW_FACTS or new_values >= NEW_VALUES)

    def kept(self) -> SketchKept:
        words, phrases = self._words.kept(), self._phrases.kept()
        return SketchKept(words[0], phrases[0], words[1], phrases[1], self._pages, words[2], phrases[2])

    @classmethod
    def of(cls, kept: SketchKept) -> "Sketch":
        """Raises ValueError when these are no numbers of ours."""
        sketch = cls()
        sketch._words = Numbers.of(kept.words, kept.words_held, kept.are_words_folded)
        sketch._phrases = Numbers.of(kept.phrases, kept.phrases_held, kept.are_phrases_folded)
        sketch._pages = kept.pages
        return sketch


class Numbers:
    """Numbers of thirty bits that were met; zero is none of them in a table."""

    __slots__ = ("_held", "_set", "_table")

    def __init__(self, is_folded: bool = False) -> None:
        self._set: set[int] | None = None if is_folded else set()
        self._table = array("I", bytes(4 * SMALLEST) if is_folded else b"")
        self._held = 0
        """In the table."""

    @property
    def size(self) -> int:
        spread = self._set
        return 4 * len(self._table) if spread is None else spread.__sizeof__() + _NUMBER_BYTES * len(spread)

    def unmet(self, numbers: Sequence[int]) -> int:
        """How many of these were not seen before; from now on they are."""
        spread = self._set
        if spread is not None:
            before = len(spread)
            spread.update(numbers)
            new = len(spread) - before
            if before + new > MOST_SPREAD:
                self.fold()
            return new
        most = self._held + len(numbers)
        if 2 * most > len(self._table) < LARGEST:
            self._table = grown(self._table, self._held, most)
        new = unmet(self._table, numbers)
        self._held += new
        return new

    def fold(self) -> None:
        if self._set is not None:
            self._held = len(self._set)
            self._table = grown(array("I", bytes(4 * SMALLEST)), 0, self._held)
            put(self._table, self._set)
            self._set = None

    def kept(self) -> tuple[bytes, int, bool]:
        """The bytes, how many are held, whether the bytes are a table. Another thread may ask."""
        spread = self._set
        if spread is None:
            return self._table.tobytes(), self._held, True
        return array("I", sorted(spread)).tobytes(), len(spread), False

    @classmethod
    def of(cls, content: bytes, held: int, is_folded: bool) -> "Numbers":
        numbers = cls()
        if is_folded:
            numbers._set, numbers._table, numbers._held = None, table_of(content), held
        elif len(content) % 4 or len(content) > 4 * MOST_SPREAD:
            raise ValueError(f"numbers in {len(content)} bytes")
        else:
            numbers._set = set(array("I", content))
        return numbers


def table_of(content: bytes) -> "array[int]":
    slots = len(content) // 4
    if len(content) % 4 or not SMALLEST <= slots <= LARGEST or slots & (slots - 1):
        raise ValueError(f"a table of {len(content)} bytes")
    return array("I", content)


def unmet(table: "array[int]", numbers: Sequence[int]) -> int:
    """How many of these numbers were not seen before; from now on they are. Nearly all stand in their first place."""
    mask = len(table) - 1
    return put(table, [number for number in numbers if table[number & mask] != number])


def put(table: "array[int]", numbers: Iterable[int]) -> int:
    """Put numbers where they belong; says how many were not there yet."""
    mask, new = len(table) - 1, 0
    for number in numbers:
        place = number & mask
        if table[place]:
            new += _put_further(table, number, place, mask)
        else:
            table[place] = number
            new += 1
    return new


def _put_further(table: "array[int]", number: int, place: int, mask: int) -> bool:
    """The same for a number whose first place is taken."""
    for further in range(place, place + _FURTHER):
        held = table[further & mask]
        if held == number:
            return False
        if not held:
            table[further & mask] = number
            return True
    table[place] = number
    return True


def grown(table: "array[int]", held: int, most: int) -> "array[int]":
    """A larger one, with what this one holds and room for `most`."""
    slots = len(table) * (_STEP if held else 1)
    while slots < 2 * most:
        slots *= 2
    larger = array("I", bytes(4 * min(LARGEST, slots)))
    if held:
        put(larger, filter(None, table))
    return larger
