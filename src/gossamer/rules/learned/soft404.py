"""Soft 404s: pages that say "there is no such page" with status 200.

Recognised without requesting made-up URLs: by what the page says, by being the host's start page at another URL, and by
being the same text at many URLs of different kinds.
"""

import re
from array import array
from collections.abc import Iterator
from typing import TypeVar
from zlib import crc32

from xxhash import xxh3_64_intdigest

from gossamer.rules.learned.sketch import ErrorsKept, StartsKept, TextsKept, batches
from gossamer.values.messages import Marks, NotFoundClaim
from gossamer.values.url import Url

SHORT = 120
"""Words. A longer page has content of its own, even if it is about errors."""
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
_HEAD = 400

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
    if words > SHORT:
        return NotFoundClaim.NOTHING
    shown = [each[:_HEAD] for each in (title, *headings[:1])]
    if any(_SAYS_SO.search(each) or _WHOLE.fullmatch(each) for each in shown):
        return NotFoundClaim.PLAINLY
    if any(_NUMBER.search(each) for each in shown) or _SAYS_SO.search(text[:_HEAD]):
        return NotFoundClaim.PERHAPS
    return NotFoundClaim.NOTHING


class ErrorPages:
    """The error pages and start pages of hosts."""

    def __init__(self) -> None:
        self._errors: dict[int, tuple[tuple[int, ...], ...]] = {}
        self._starts: dict[int, tuple[int, ...]] = {}
        self._texts: dict[int, tuple[int, frozenset[int]]] = {}

    def judge(self, url: Url, marks: Marks, says: NotFoundClaim) -> str | None:
        """Why this page is an error page, in words; None if it may be a real one."""
        host_id = url.host.id
        if url.path == "/":
            _put(self._starts, host_id, marks.shingles[:_SIGNS], _MOST_HOSTS)
            return None
        if says is NotFoundClaim.PLAINLY:
            self._remember(host_id, marks.shingles)
            return "the page says that there is no such page"
        known = self._errors.get(host_id, ())
        least = ALIKE if says is NotFoundClaim.PERHAPS else COPY
        if known and any(_alike(marks.shingles, each) >= least for each in known):
            return "the same as this host's page for addresses that do not exist"
        start = self._starts.get(host_id, ())
        if len(start) == _SIGNS and marks.shingles[:_SIGNS] == start and "?" not in url.text:  # COPY of eight means all
            return "the start page, at an address that is not its own"
        return None

    def judge_again(self, url: Url, template: str, marks: Marks, says: NotFoundClaim) -> str | None:
        """The same for a page with little or nothing new: was its text seen at many URLs of several kinds?"""
        if len(marks.shingles) < _BANDS * 4 or url.path == "/":
            return None
        verdict, host_id, kind = None, url.host.id, crc32(template.encode())
        for band in range(_BANDS):
            key = _key(host_id, band, marks.shingles[4 * band : 4 * band + 4])
            count, kinds = self._texts.pop(key, (0, frozenset()))
            kinds |= {kind} if len(kinds) < KINDS else frozenset()
            _put(self._texts, key, (count + 1, kinds), _MOST_TEXTS)
            is_often = count + 1 >= OFTEN and len(kinds) >= KINDS
            if is_often or (says is NotFoundClaim.PERHAPS and count + 1 >= KINDS):
                verdict = "the same text at many addresses that have nothing else in common"
        if verdict:
            self._remember(host_id, marks.shingles)
        return verdict

    def kept(self) -> Iterator[ErrorsKept | StartsKept | TextsKept]:
        """Everything, to be stored. Read-only, so another thread may call it."""
        for errors in batches(list(self._errors.items())):
            yield ErrorsKept(errors)
        for starts in batches(list(self._starts.items())):
            yield StartsKept(starts)
        for texts in batches(list(self._texts.items())):
            yield TextsKept(texts)

    def recall(self, part: ErrorsKept | StartsKept | TextsKept) -> None:
        match part:
            case ErrorsKept(rows=errors):
                self._errors.update(errors)
            case StartsKept(rows=starts):
                self._starts.update(starts)
            case TextsKept(rows=texts):
                self._texts.update(texts)

    def _remember(self, host_id: int, shingles: tuple[int, ...]) -> None:
        known = self._errors.pop(host_id, ())
        if all(_alike(shingles, each) < COPY for each in known):
            known = (*known, shingles)[-_ERRORS_KEPT:]
        _put(self._errors, host_id, known, _MOST_HOSTS)


def _key(host_id: int, band: int, shingles: tuple[int, ...]) -> int:
    """The same in every process, which Python's own hashes need not be."""
    return xxh3_64_intdigest(array("q", (host_id, band, *shingles)).tobytes())


def _alike(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    return sum(map(int.__eq__, one, other)) / len(one) if one and len(one) == len(other) else 0.0


K = TypeVar("K")
V = TypeVar("V")


def _put(table: dict[K, V], key: K, value: V, most: int) -> None:
    table.pop(key, None)
    table[key] = value
    if len(table) > most:
        del table[next(iter(table))]
