"""The query language: from text to a `Query` and back.

No text is an error, unless it is far too long.

tropical fish            pages with both words, in any of their forms (`fishes`)
"tropical fish"          the exact phrase; "fish" is exactly that word, in no other form
-recipe  -"fish soup"    not with this word, or phrase
harb*   harbor~          words that begin like this; words with a similar spelling
title:fish               in the title; also heading:, text:, anchor: (link texts of other sites), url:
site:example.org         on this host or one below it
type:schema:Person       with an entity of this class: an IRI, a prefixed name, or the last part (Person)
ontology:schema          that use this vocabulary: a prefix or a namespace       (or vocab:)
property:schema:author   with this property                                     (or has:)
lang:de  syntax:rdfa     in this language; with facts in this syntax
since:2026-01-01  until:2026-02-01     fetched from that day on; fetched before that day
sort:newest              or oldest, or best

A minus before a filter inverts it: `-type:Recipe`. Exclusions alone find everything else. Without words to rank by, the
newest pages come first.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal

import msgspec

from gossamer.base.clock import Instant, from_words, in_words
from gossamer.base.errors import QueryRefused
from gossamer.values.query import DEEPEST_HIT, MOST_HITS, Field, Query, Sort, Word

LONGEST_QUERY = 4_000
"""A paragraph: the query may be an abstract."""
SHORTEST_PREFIX = 2
"""Letters before the star; a shorter prefix, which would match half the dictionary, is taken as a word."""

Group = Literal["type", "ontology", "property", "site", "lang", "syntax"]
GROUPS: dict[Group, str] = {
    "type": "types",
    "ontology": "ontologies",
    "property": "properties",
    "site": "sites",
    "lang": "languages",
    "syntax": "syntaxes",
}
"""The filters that take several values: as users write them, and their field in a `Query` (with the prefix `without_`
for an exclusion)."""

_PART = re.compile(r'(-?)(?:([A-Za-z]+):)?(?:"([^"]*)"|(\S+))')
_QUOTES = str.maketrans(dict.fromkeys("“”„«»", '"'))
_FILTERS: dict[str, Group] = {
    **{name: name for name in GROUPS},
    "host": "site",
    "language": "lang",
    "vocab": "ontology",
    "vocabulary": "ontology",
    "has": "property",
}
_FIELDS: dict[str, Field] = {
    "title": "title",
    "heading": "headings",
    "headings": "headings",
    "text": "content",
    "content": "content",
    "anchor": "anchors",
    "anchors": "anchors",
    "url": "address",
    "address": "address",
}
_WRITTEN: dict[Field, str] = {
    "title": "title",
    "headings": "heading",
    "content": "text",
    "anchors": "anchor",
    "address": "url",
}
_SORTS: dict[str, Sort] = {"best": "best", "newest": "newest", "oldest": "oldest", "date": "newest"}


class _Part(msgspec.Struct, frozen=True):
    is_unwanted: bool
    name: str
    """The text before the colon, in lower case."""
    quoted: str | None
    plain: str


@lru_cache(maxsize=200)
def parse(text: str, offset: int = 0, limit: int = 10) -> Query:
    """REQUIRES: offset >= 0 and 0 <= limit. Raises QueryRefused for a text or an offset beyond the limits.

    Cached: a page of results parses its query several times.
    """
    if len(text) > LONGEST_QUERY:
        raise QueryRefused(f"a search may be at most {LONGEST_QUERY:,} characters long; this one has {len(text):,}")
    if limit > MOST_HITS or offset + limit > DEEPEST_HIT:
        raise QueryRefused(f"at most {MOST_HITS} results at a time, and none beyond the {DEEPEST_HIT:,}th")
    plain = text.encode("utf-8", "replace").decode().translate(_QUOTES).replace("\0", " ")
    found: dict[str, list[str]] = {}
    words: dict[bool, list[Word]] = {True: [], False: []}
    moments: dict[str, Instant] = {}
    sort: Sort = "best"
    for match in map(_without_open_quote, _PART.finditer(plain)):
        part = _Part(match[1] == "-", (match[2] or "").lower(), match[3], match[4] or "")
        if (group := _FILTERS.get(part.name)) and (value := _value(part, group)):
            found.setdefault(("without_" if part.is_unwanted else "") + GROUPS[group], []).append(value)
        elif part.name in ("since", "until", "before") and (at := moment_named(part.plain)) is not None:
            moments["since" if part.name == "since" else "until"] = at
        elif part.name == "sort" and part.plain.lower() in _SORTS:
            sort = _SORTS[part.plain.lower()]
        elif (word := _word(part)) is not None:
            words[part.is_unwanted].append(word)
    filters = {name: tuple(dict.fromkeys(values)) for name, values in found.items()}
    return msgspec.structs.replace(
        Query(tuple(words[False]), tuple(words[True]), sort=sort, offset=offset, limit=limit), **filters, **moments
    )


def _without_open_quote(match: re.Match[str]) -> re.Match[str]:
    """An unclosed quote is ignored: what follows is read as if it were not there."""
    is_open = match[4] is not None and match[4].startswith('"')
    return (_PART.match(match[0].replace('"', "")) or match) if is_open else match


def text_of(query: Query) -> str:
    """The query in words that `parse` reads as the same; paging is left out."""
    parts = [_written(word) for word in query.wanted]
    parts += [f"-{_written(word)}" for word in query.without]
    for group, field in GROUPS.items():
        for minus, values in (("", getattr(query, field)), ("-", getattr(query, f"without_{field}"))):
            parts += [f"{minus}{group}:{_quoted(value)}" for value in values]
    for name, at in (("since", query.since), ("until", query.until)):
        if at is not None:
            parts.append(f"{name}:{in_short(at)}")
    return " ".join(parts if query.sort == "best" else [*parts, f"sort:{query.sort}"])


def toggled(query: Query, group: Group, value: str, unwanted: bool = False) -> Query:
    """Adds a value of a filter, or removes it if present; its inverse (`-type:` for `type:`) is removed. The answer
    starts at its first page."""
    field, inverse = GROUPS[group], f"without_{GROUPS[group]}"
    if unwanted:
        field, inverse = inverse, field
    chosen: tuple[str, ...] = getattr(query, field)
    now = tuple(one for one in chosen if one != value) if value in chosen else (*chosen, value)
    others = tuple(one for one in getattr(query, inverse) if one != value)
    return msgspec.structs.replace(query, offset=0, **{field: now, inverse: others})


def with_words(query: Query, better: Callable[[str], str]) -> Query:
    """The same with each plain word replaced by a better one; phrases and exact words stay."""

    def corrected(word: Word) -> Word:
        is_plain = len(word.text) == 1 and not (word.is_exact or word.is_prefix or word.is_fuzzy)
        return msgspec.structs.replace(word, text=(better(word.text[0]),)) if is_plain else word

    return msgspec.structs.replace(query, wanted=tuple(map(corrected, query.wanted)), offset=0)


def _value(part: _Part, group: Group) -> str:
    """Empty if there is none: then the part is an ordinary word."""
    value = " ".join((part.plain.strip('"') if part.quoted is None else part.quoted).split())
    if group == "site":
        value = value.removeprefix("http://").removeprefix("https://").strip("/")
    return value if any(map(str.isalnum, value)) else ""


def _word(part: _Part) -> Word | None:
    """None if nothing is left: a lone `-` or quote. An unknown field name is an ordinary word."""
    field = _FIELDS.get(part.name)
    before = (part.name,) if part.name and field is None else ()
    if part.quoted is not None:
        text = (*before, *part.quoted.split())
        return Word(text, field, is_exact=len(text) == 1) if _has_letters(text) else None
    plain = part.plain.strip('"')
    bare = plain.rstrip("*")
    if not before and bare != plain and len(bare) >= SHORTEST_PREFIX and _has_letters([bare[-1]]):
        return Word((bare,), field, is_prefix=True)
    near = re.fullmatch(r"(.*\w)~[12]?", plain)
    if not before and near:
        return Word((near[1],), field, is_fuzzy=True)
    if field and not _has_letters([plain]):
        return Word((f"{part.name}:{plain}",))
    text = (*before, plain)
    return Word(text, field) if _has_letters(text) else None


def _has_letters(words: Sequence[str]) -> bool:
    return any(any(map(str.isalnum, word)) for word in words)


def moment_named(text: str) -> Instant | None:
    """The first instant of the day, month or year named, or the instant itself."""
    whole = {4: text + "-01-01", 7: text + "-01"}.get(len(text), text)
    try:
        return from_words(whole)
    except (ValueError, OverflowError):
        return None


def in_short(at: Instant) -> str:
    """As a date if a day begins at this instant."""
    return in_words(at).removesuffix("T00:00:00.000000Z")


def _written(word: Word) -> str:
    name = f"{_WRITTEN[word.field]}:" if word.field else ""
    if len(word.text) > 1 or word.is_exact:
        return f'{name}"{" ".join(word.text)}"'
    return f"{name}{word.text[0]}{'*' if word.is_prefix else '~' if word.is_fuzzy else ''}"


def _quoted(value: str) -> str:
    return f'"{value}"' if " " in value else value
