"""A person's words as a `Query`. Nothing they type is an error, unless it is far too long.

tropical fish            pages with both words
"tropical fish"          the words side by side
-recipe  -"fish soup"    not with this word, or phrase
site:example.org         on this host or one below it       -site:...   anywhere else
type:Person              that state something of this class  -type:...   of no such class
lang:de                  in this language
"""

import re

import msgspec

from gossamer.errors import QueryRefused
from gossamer.values.query import DEEPEST_HIT, MOST_HITS, Query

LONGEST_QUERY = 1_000

_PART = re.compile(r'(-?)(?:([A-Za-z]+):)?(?:"([^"]*)"|(\S+))')
_QUOTES = str.maketrans(dict.fromkeys("“”„«»", '"'))
_NAMES = {"site": "site", "host": "site", "type": "type", "lang": "language", "language": "language"}


class _Part(msgspec.Struct, frozen=True):
    is_unwanted: bool
    name: str
    """One of the values of _NAMES, or empty for plain words."""
    words: tuple[str, ...]


def parse(text: str, offset: int = 0, limit: int = 10) -> Query:
    """REQUIRES: offset >= 0 and 0 <= limit. Raises QueryRefused for a text or an offset beyond the limits."""
    if len(text) > LONGEST_QUERY:
        raise QueryRefused(f"a search may be at most {LONGEST_QUERY:,} characters long; this one has {len(text):,}")
    if limit > MOST_HITS or offset + limit > DEEPEST_HIT:
        raise QueryRefused(f"at most {MOST_HITS} results at a time, and none beyond the {DEEPEST_HIT:,}th")
    plain = text.encode("utf-8", "replace").decode().translate(_QUOTES).replace("\0", " ")
    parts = [part for found in _PART.finditer(plain) if (part := _part(found)) is not None]
    wanted = [part for part in parts if not part.is_unwanted]
    unwanted = [part for part in parts if part.is_unwanted]
    return Query(
        words=tuple(part.words[0] for part in wanted if not part.name and len(part.words) == 1),
        phrases=tuple(part.words for part in wanted if not part.name and len(part.words) > 1),
        without=tuple(part.words for part in unwanted if not part.name),
        site=_last(wanted, "site"),
        type=_last(wanted, "type"),
        language=_last(wanted, "language"),
        without_sites=tuple(part.words[0] for part in unwanted if part.name == "site"),
        without_types=tuple(part.words[0] for part in unwanted if part.name == "type"),
        offset=offset,
        limit=limit,
    )


def _part(found: re.Match[str]) -> _Part | None:
    """None when nothing is left: a lone `-` or quote. A name we do not know is a word like any other."""
    minus, name, phrase, word = found.groups()
    known = _NAMES.get((name or "").lower(), "")
    words = phrase.split() if phrase is not None else [word.strip('"')]
    if name and not known:
        words = [name, *words]
    if not any(any(map(str.isalnum, one)) for one in words):
        return None
    if known == "site":
        words = [words[0].removeprefix("http://").removeprefix("https://").strip("/")]
    return _Part(minus == "-", known, tuple(words))


def _last(parts: list[_Part], name: str) -> str:
    return next((part.words[0] for part in reversed(parts) if part.name == name), "")
