"""Whether a page says anything new, and whether it is an error page: `PageSigns`, made and compared.

`marks_of` hashes the words, phrases and values of a page; a `Sketch` has the hashes that a host has shown. The share of
a page's hashes that are not in the sketch estimates the share of its words that are new. Hosts keep sets while there is
memory, which is several times as fast, and otherwise tables of a few kilobytes. A forgotten hash looks new again; two
texts share one once in a hundred thousand. So what a sketch forgets costs fetches from a trap, and hardly ever a real
page. It is stored in small parts, so that no write takes long.
"""

import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import add
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

import msgspec
from xxhash import xxh3_64_intdigest, xxh32_intdigest

from gossamer.values.messages import Marks, NotFoundClaim
from gossamer.values.page import Triple
from gossamer.values.url import Url

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


K = TypeVar("K")
V = TypeVar("V")
P = TypeVar("P")


def in_parts(tables: Mapping[type[P], Mapping[Any, Any]]) -> Iterator[P]:
    """The tables, to be stored: each as parts of its class, which have `rows`. Another thread may call it."""
    for kind, table in tables.items():
        yield from map(kind, batches(list(table.items())))


def put_last(table: dict[K, V], key: K, value: V, most: int) -> None:
    """Set an entry as the newest one; beyond `most` entries, the oldest is forgotten."""
    table.pop(key, None)
    table[key] = value
    if len(table) > most:
        del table[next(iter(table))]


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
_MOST_TRIPLES = 100
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
    sample = text
    if len(text) > _HEAD + _TAIL:
        sample = f"{text[:_HEAD].rpartition(' ')[0]} {text[-_TAIL:].partition(' ')[2]}"
    names = names_of(sample)
    words = len(names) * len(text) // (len(sample) or 1)
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
    """Hashes of stated values of any property: every page of a trap can name itself. URLs do not count."""
    facts: set[int] = set()
    values: set[int] = set()
    for value in {value for _, _, value in islice(triples, _MOST_TRIPLES)}:
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
"""By how much a used table grows: rebuilding it costs as much as some pages."""
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

    def add(self, marks: Marks) -> New:
        """Add a page; returns whether its text and its facts are new."""
        new_words = self._words.add(marks.vocabulary)
        new_shingles = self._phrases.add(marks.shingles)
        new_facts = self._phrases.add(marks.facts)
        new_values = self._phrases.add(marks.values)
        self._pages += 1
        words = len(marks.vocabulary)
        is_strange = self._pages > AT_HOME and words > LEAST_WORDS and new_words > STRANGE * words
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

    def add(self, numbers: Sequence[int]) -> int:
        """Add numbers; returns how many are new."""
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
        new = add_all(self._table, numbers)
        self._held += new
        return new

    def fold(self) -> None:
        if self._set is not None:
            self._held = len(self._set)
            self._table = grown(array("I", bytes(4 * SMALLEST)), 0, self._held)
            insert(self._table, self._set)
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


def add_all(table: "array[int]", numbers: Sequence[int]) -> int:
    """Add numbers to a table; returns how many are new. Nearly all known ones are in their first slot."""
    mask = len(table) - 1
    return insert(table, [number for number in numbers if table[number & mask] != number])


def insert(table: "array[int]", numbers: Iterable[int]) -> int:
    """Insert numbers; returns how many were new."""
    mask, new = len(table) - 1, 0
    for number in numbers:
        place = number & mask
        if table[place]:
            new += _insert_further(table, number, place, mask)
        else:
            table[place] = number
            new += 1
    return new


def _insert_further(table: "array[int]", number: int, place: int, mask: int) -> bool:
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
        insert(larger, filter(None, table))
    return larger


# Soft 404s: pages that say "there is no such page" with status 200. Recognised without requesting made-up URLs: by what
# the page says, by being the host's start page at another URL, and by being the same text at many URLs of different
# kinds.

MOST_ERROR_WORDS = 120
"""A longer page has content of its own, even if it is about errors."""
ALIKE = 0.55
COPY = 0.9
"""Resemblance from which a page counts as a known error page, or as the start page."""
OFTEN = 4
KINDS = 3
"""The same text at so many URLs, of so many templates, is the host's error page."""
_ERRORS_KEPT = 3
_SIGNS = 8
_MOST_HOSTS = 50_000
_MOST_TEXTS = 100_000
_BANDS = 4
_TITLE_HEAD = 400

_MISSING = (
    r"not\W+found", r"no\W+such\W+page",
    r"(?:can\W?t|cannot|could\W?n?\W?t|could\W+not)\W+(?:be\W+)?(?:find|found|locate)",
    r"(?:page|file|article|entry|item|product|address|link|topic|profile)\W+(?:\w+\W+){0,4}?(?:is\W+missing|not\W+exist"
    r"|\w*n\Wt\W+exist|no\W+longer|not\W+available|unavailable|(?:been|was)\W+(?:removed|deleted|moved))",
    r"nothing\W+(?:was\W+)?found\W+here",
    r"nicht\W+gefunden", r"existiert\W+nicht", r"nicht\W+vorhanden", r"nicht\W+mehr\W+verfügbar",
    r"introuvable", r"n\We?xiste\W+(?:pas|plus)", r"(?:non|pas\W+été)\W+trouvée?",
    r"no\W+(?:se\W+)?(?:ha\W+(?:sido\W+)?)?(?:encontrad[ao]|encuentra|existe)",
    r"não\W+(?:foi\W+)?(?:encontrad[ao]|existe)",
    r"non\W+(?:è\W+stata\W+)?(?:trovat[ao]|esiste)", r"niet\W+gevonden", r"bestaat\W+niet",
    r"nie\W+(?:została\W+)?(?:znalezion[oa]|istnieje)", r"hittades\W+inte", r"ikke\W+fun[dn]et", r"ei\W+löydy",
    r"nebyla\W+nalezena", r"bulunamadı", r"не\W+(?:найден|существует)", "見つかりません", "存在しません",
    "找不到", "不存在", "찾을 수 없",
)  # fmt: skip
"""Error texts in titles, in the most common languages of the web."""
_SAYS_SO = re.compile("|".join(_MISSING), re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\d.])404(?![\d.])")
_WHOLE = re.compile(
    r"\W*(?:(?:http|error|fehler|erreur|errore|fout|erro|fel)\W+)?404\W*(?:[-|:\u2013\u2014(!.]+.{0,80}|\s(?:error|page).{0,80})?",
    re.IGNORECASE,
)
"""A title that is only the number, perhaps with the name of the site: `Error 404 | Example`."""


def what_it_says(title: str, headings: tuple[str, ...], text: str, words: int) -> NotFoundClaim:
    """How clearly a page with status 200 says that it does not exist. `words`: see `Marks.words`."""
    if words > MOST_ERROR_WORDS:
        return NotFoundClaim.NOTHING
    shown = [each[:_TITLE_HEAD] for each in (title, *headings[:1])]
    if any(_SAYS_SO.search(each) or _WHOLE.fullmatch(each) for each in shown):
        return NotFoundClaim.PLAINLY
    if any(_NUMBER.search(each) for each in shown) or _SAYS_SO.search(text[:_TITLE_HEAD]):
        return NotFoundClaim.PERHAPS
    return NotFoundClaim.NOTHING


class ErrorsKept(msgspec.Struct, frozen=True, array_like=True, tag=3):
    rows: tuple[tuple[int, tuple[tuple[int, ...], ...]], ...]


class StartsKept(msgspec.Struct, frozen=True, array_like=True, tag=4):
    rows: tuple[tuple[int, tuple[int, ...]], ...]


class TextsKept(msgspec.Struct, frozen=True, array_like=True, tag=5):
    rows: tuple[tuple[int, tuple[int, frozenset[int]]], ...]


class ErrorPages:
    """The error pages and start pages of hosts."""

    def __init__(self) -> None:
        self._errors: dict[int, tuple[tuple[int, ...], ...]] = {}
        self._starts: dict[int, tuple[int, ...]] = {}
        self._texts: dict[int, tuple[int, frozenset[int]]] = {}
        self._tables: dict[type[Any], dict[Any, Any]] = {
            ErrorsKept: self._errors,
            StartsKept: self._starts,
            TextsKept: self._texts,
        }

    def judge(self, url: Url, marks: Marks, says: NotFoundClaim) -> str | None:
        """Why this page is an error page, in words; None if it may be a real one."""
        host_id = url.host.id
        if url.path == "/":
            put_last(self._starts, host_id, marks.shingles[:_SIGNS], _MOST_HOSTS)
            return None
        if says is NotFoundClaim.PLAINLY:
            self._remember(host_id, marks.shingles)
            return "the page says that there is no such page"
        known = self._errors.get(host_id, ())
        least = ALIKE if says is NotFoundClaim.PERHAPS else COPY
        if known and any(_alike(marks.shingles, each) >= least for each in known):
            return "the same as this host's page for URLs that do not exist"
        start = self._starts.get(host_id, ())
        if len(start) == _SIGNS and marks.shingles[:_SIGNS] == start and "?" not in url.text:  # COPY of eight means all
            return "the start page, at another URL"
        return None

    def judge_again(self, url: Url, template: str, marks: Marks, says: NotFoundClaim) -> str | None:
        """The same for a page with little or nothing new: was its text seen at many URLs of several kinds?"""
        if len(marks.shingles) < _BANDS * 4 or url.path == "/":
            return None
        verdict, host_id, kind = None, url.host.id, crc32(template.encode())
        for band in range(_BANDS):
            key = _key(host_id, band, marks.shingles[4 * band : 4 * band + 4])
            count, kinds = self._texts.get(key, (0, frozenset()))
            kinds |= {kind} if len(kinds) < KINDS else frozenset()
            put_last(self._texts, key, (count + 1, kinds), _MOST_TEXTS)
            is_often = count + 1 >= OFTEN and len(kinds) >= KINDS
            if is_often or (says is NotFoundClaim.PERHAPS and count + 1 >= KINDS):
                verdict = "the same text at many different URLs"
        if verdict:
            self._remember(host_id, marks.shingles)
        return verdict

    def kept(self) -> Iterator[ErrorsKept | StartsKept | TextsKept]:
        return in_parts(self._tables)

    def recall(self, part: ErrorsKept | StartsKept | TextsKept) -> None:
        self._tables[type(part)].update(part.rows)

    def _remember(self, host_id: int, shingles: tuple[int, ...]) -> None:
        known = self._errors.get(host_id, ())
        if all(_alike(shingles, each) < COPY for each in known):
            known = (*known, shingles)[-_ERRORS_KEPT:]
        put_last(self._errors, host_id, known, _MOST_HOSTS)


def _key(host_id: int, band: int, shingles: tuple[int, ...]) -> int:
    """The same in every process, which Python's own hashes need not be."""
    return xxh3_64_intdigest(array("q", (host_id, band, *shingles)).tobytes())


def _alike(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    return sum(map(int.__eq__, one, other)) / len(one) if one and len(one) == len(other) else 0.0
