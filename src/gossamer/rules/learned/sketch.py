"""Sketches: hashes of the words, phrases and values of a page (`marks_of`) and of a host so far (`Sketch`).

The share of a page's hashes that its host has not shown before estimates the share of its words that are new. Hosts
keep sets while there is memory, which is several times as fast, and else tables of a few kilobytes. A forgotten hash
looks new again; two texts share one once in a hundred thousand. So what a sketch forgets costs visits to a trap, and
hardly ever a real page. The stored form comes in small parts, so that writing never takes long.
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
"""Host id, when it was last seen, its sketch, and the state of its templates."""
DomainRow = tuple[str, SketchKept, tuple[str, ...], tuple[str, ...], TemplateRun]
"""Name, the sketch of its hosts' first pages, hosts seen, hosts with new content, and their state."""


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
    """REQUIRES: `rows` does not change meanwhile: pass a list."""
    going = iter(rows)
    while batch := tuple(islice(going, most)):
        yield batch


SAMPLES = 16
MOST_WORDS = 64
MOST_FACTS = 8
_HEAD = 500
_TAIL = 200
"""Characters that are used, at the start and at the end of a text."""
_SPACELESS = 30
"""Average characters per word above which a text counts as written without spaces."""
_LOOKED_AT = 100
_PUNCTUATION = b"\"'`.,;:!?()[]{}<>|/\\*#-_"
_QUOTES = tuple(mark.encode() for mark in "\u201c\u201d\u2018\u2019")
_NUMBERLESS = bytes(range(48)) + bytes(10) + bytes(range(58, 256))
_SYMBOLS = (0xC2, 0xE2, *range(0xF0, 0x100))
"""First bytes in UTF-8 of non-letters; most others begin letters."""


def _folding() -> bytes:
    """Upper to lower case. Bytes of non-ASCII letters become letters too: the first byte always the same, the others by
    their last five bits, because in Latin, Greek and Cyrillic upper case differs in the other bits."""
    folded = bytearray(bytes(range(256)).lower())
    folded[0x80:0xC0] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZzyxwvu" * 2
    folded[0xC0:] = bytes(0 if code in _SYMBOLS else ord("q") for code in range(0xC0, 0x100))
    return bytes(folded)


_FOLDING = _folding()


def marks_of(text: str, near: tuple[int, ...], triples: Iterable[Triple] = ()) -> Marks:
    """The marks of a page, made by the reader. `near` is its MinHash over runs of three words (`Page.near`).

    Numbers and codes do not count: a page that differs from another only by a date, a counter or an echoed session id
    is the same page.
    """
    looked_at = text
    if len(text) > _HEAD + _TAIL:
        looked_at = f"{text[:_HEAD].rpartition(' ')[0]} {text[-_TAIL:].partition(' ')[2]}"
    names = names_of(looked_at)
    words = len(names) * len(text) // (len(looked_at) or 1)
    # half of the words, chosen by their hashes: a word chosen on one page is chosen on all
    chosen = sorted([name >> 2 for name in names if name & 1])
    shingles = [number >> 2 for number in near[:SAMPLES]]
    return Marks(words, tuple(chosen[:MOST_WORDS]), tuple(shingles), *fact_marks(triples))


def names_of(text: str) -> set[int]:
    """A hash for each word of a text, without case, punctuation, and words with digits.

    All of it is one chain of C functions, because it runs for every word of every page.
    """
    if len(text) > _SPACELESS * (text.count(" ") + 1):
        return {xxh32_intdigest(pair.encode("utf-8", "replace")) for pair in words_of(text)}
    coded = text.encode("utf-8", "replace")
    if len(coded) > len(text):
        for mark in _QUOTES:
            coded = coded.replace(mark, b'"')
    return set(map(xxh32_intdigest, filter(bytes.isalpha, coded.translate(_FOLDING, _PUNCTUATION).split())))


def words_of(text: str) -> set[str]:
    """For a text written without spaces: each pair of neighbouring characters."""
    joined = "".join([word for word in text.split() if not word.isdecimal()])
    return set(map(add, joined, joined[1:]))


def fact_marks(triples: Iterable[Triple]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Hashes of stated values, whatever the property: every page of a trap can name itself. URLs do not count."""
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
            elif numberless.swapcase() != numberless or not numberless.isascii():  # it has letters
                facts.add(xxh32_intdigest(numberless) >> 2)
    return tuple(sorted(facts)[:MOST_FACTS]), tuple(sorted(values)[:MOST_FACTS])


LEAST_NEW = 0.125
"""The minimum share of a new text's runs of three words that must be new."""
SHORT = 64
"""Words. A long text is new with one new word (of the sample); a short one with two, because one may echo its URL."""
STRANGE = 0.8
AT_HOME = 50
LEAST_WORDS = 12
"""After so many pages a host's common words are known. A text with four new words in five is not a language then, but
random letters."""
NEW_FACTS = 2
NEW_VALUES = 4
"""Facts are new with two new values in words, or with four that may be numbers: a trap's pages state their own name and
number, and rarely more."""
SMALLEST, LARGEST = 64, 8192
"""Slots of a table, four bytes each, a power of two: it grows as needed; in the largest, new numbers replace old
ones."""
MOST_SPREAD = LARGEST // 2
"""Numbers in a set; more are always a table."""
_NUMBER_BYTES = 32
_STEP = 4
"""By how much a used table grows: building it anew costs as much as some pages."""
_FURTHER = 16
"""Slots that a number may use, beginning with its first: with fewer, the words of a small host would keep replacing
each other and look new each time."""


class New(NamedTuple):
    text: bool
    facts: bool


class Sketch:
    """Words have a table of their own: the phrases of a large site would push them out of a common one."""

    __slots__ = ("_pages", "_phrases", "_words")

    def __init__(self, is_folded: bool = False) -> None:
        """`is_folded`: use the small form from the start."""
        self._words, self._phrases = Numbers(is_folded), Numbers(is_folded)
        self._pages = 0

    @property
    def size(self) -> int:
        """Bytes of both, roughly."""
        return self._words.size + self._phrases.size

    def fold(self) -> None:
        """Switch to the small, slower form."""
        self._words.fold()
        self._phrases.fold()

    def met(self, marks: Marks) -> New:
        """Whether the text and the facts of this page are new; from now on they are known."""
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
        """Raises ValueError for invalid numbers."""
        sketch = cls()
        sketch._words = Numbers.of(kept.words, kept.words_held, kept.are_words_folded)
        sketch._phrases = Numbers.of(kept.phrases, kept.phrases_held, kept.are_phrases_folded)
        sketch._pages = kept.pages
        return sketch


class Numbers:
    """A set of thirty-bit numbers; in a table zero stands for an empty slot."""

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
        """How many of these are new; from now on they are known."""
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
        """The bytes, how many numbers they hold, and whether they are a table. Another thread may call it."""
        spread = self._set
        if spread is None:
            return self._table.tobytes(), self._held, True
        return array("I", sorted(spread)).tobytes(), len(spread), False

    @classmethod
    def of(cls, content: bytes, held: int, is_folded: bool) -> "Numbers":
        numbers = cls()
        if is_folded:
            slots = len(content) // 4
            if len(content) % 4 or not SMALLEST <= slots <= LARGEST or slots & (slots - 1):
                raise ValueError(f"a table of {len(content)} bytes")
            numbers._set, numbers._table, numbers._held = None, array("I", content), held
        elif len(content) % 4 or len(content) > 4 * MOST_SPREAD:
            raise ValueError(f"numbers in {len(content)} bytes")
        else:
            numbers._set = set(array("I", content))
        return numbers


def unmet(table: "array[int]", numbers: Sequence[int]) -> int:
    """How many of these numbers are new; from now on they are known. Nearly all are in their first slot."""
    mask = len(table) - 1
    return put(table, [number for number in numbers if table[number & mask] != number])


def put(table: "array[int]", numbers: Iterable[int]) -> int:
    """Insert numbers; returns how many were new."""
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
    """The same for a number whose first slot is taken."""
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
    """A larger table with the same numbers and room for `most`."""
    slots = len(table) * (_STEP if held else 1)
    while slots < 2 * most:
        slots *= 2
    larger = array("I", bytes(4 * min(LARGEST, slots)))
    if held:
        put(larger, filter(None, table))
    return larger
