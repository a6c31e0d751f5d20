"""URL templates: the pattern that a URL shares with similar ones, with varying parts named by their kind.

`/2024/05/12/` is `/{year}/{month}/{day}/`, `/p/blue-lamp?id=7` is `/p/{slug}?id={n}`. What is learned from a few URLs
of a template is assumed of the rest, so a template must cover neither a single URL nor a whole site:

- the first path segment is kept if it is a plain word (it names a part of the site); further ones are named by their
  kind, and an extension is kept;
- a single parameter is kept by name, with the kind of its value; two or more are one pattern whatever their names,
  because every subset of a shop's filters would otherwise be a pattern. Parameters that choose a part of a program
  (`action=show`) are kept.
"""

import re
from functools import lru_cache

from gossamer.values.url import Url

LONGEST = 200
_MOST_SEGMENTS = 8
_DEEP = "..."
ROUTING = frozenset(("option", "task", "action", "act", "do", "mod", "module", "controller", "route", "op", "cmd"))
"""Parameters whose values choose what kind of page is shown."""

_KIND = re.compile(
    r"(?P<n>[+-]?\d+(?:[.,]\d+)*)"
    r"|(?P<date>\d{4}-\d\d?(?:-\d\d?)?)"
    r"|(?P<uuid>[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12})"
    r"|(?P<hex>(?=[a-fA-F]*\d)[0-9a-fA-F]{6,})"
    r"|(?P<word>[A-Za-z]{1,24})"
    r"|(?P<slug>[A-Za-z0-9]+(?:[-_+.~,!'*:]+[A-Za-z0-9]+)+[-_+.~,!'*:]*)"
    r"|(?P<text>(?:[^%]*%[0-9a-fA-F]{2})+[^%]*)"
)
_NUMBERED = re.compile(r"([A-Za-z]{1,12})\d{1,9}")
_VOWELS = re.compile("[aeiouyAEIOUY]")
_CASES = re.compile("[a-z][A-Z][a-z]+[A-Z]")
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}")


def template_of(url: Url) -> str:
    """The template of a URL, without its host: templates belong to hosts."""
    path, mark, query = url.target.partition("?")
    first, *rest = path[1:].split("/")
    parts = [_first(first) if rest or mark else _leaf(first, is_first=True)]
    if rest:
        if len(rest) > 1:
            parts += _middle(first, rest[:-1])
        parts.append(_leaf(rest[-1], before=parts[-1]))
    pattern = "/" + "/".join(parts)
    return (pattern + "?" + _query(query) if mark else pattern)[:LONGEST]


@lru_cache(maxsize=4096)
def _first(segment: str) -> str:
    kind = kind_of(segment)
    if kind == "{slug}" and segment.count(".") == 1:
        return _leaf(segment, is_first=True)
    return segment if kind == "{word}" else "{year}" if _is_year(segment) else kind


def _middle(first: str, segments: list[str]) -> list[str]:
    if len(segments) > _MOST_SEGMENTS:
        return [*_middle(first, segments[:_MOST_SEGMENTS]), _DEEP]
    kinds: list[str] = []
    before = "{year}" if _is_year(first) else ""
    for segment in segments:
        before = _dated(segment, before) or kind_of(segment)
        kinds.append(before)
    return kinds


def _leaf(segment: str, is_first: bool = False, before: str = "") -> str:
    if not segment:
        return ""
    dot = segment.rfind(".")
    extension = segment[dot:] if dot > 0 and _EXTENSION.fullmatch(segment, dot) else ""
    stem = segment[:dot] if extension else segment
    if extension and is_first:
        kind = kind_of(stem)
        return segment if kind == "{word}" else kind + extension  # `/thread.php` is a program, not one page of many
    return (_dated(stem, before) or kind_of(stem)) + extension


def _dated(segment: str, before: str) -> str:
    """The part of a date that a number after `before` is; empty if none."""
    if not segment.isdecimal() or len(segment) > 4:
        return ""
    if _is_year(segment):
        return "{year}"
    number = int(segment)
    if before == "{year}" and 1 <= number <= 12:
        return "{month}"
    return "{day}" if before == "{month}" and 1 <= number <= 31 else ""


def _is_year(segment: str) -> bool:
    return len(segment) == 4 and segment.isdecimal() and segment[:2] in ("19", "20", "21")


def kind_of(text: str) -> str:
    """The kind of a varying part: a number, a date, a word, ..."""
    if text.isdecimal():
        return "{n}"  # also covered below; this is the most frequent case
    found = _KIND.fullmatch(text)
    kind = found.lastgroup if found else None
    if kind == "word":
        return "{random}" if _is_random(text) else "{word}"
    if kind is not None:
        return f"{{{kind}}}"
    if numbered := _NUMBERED.fullmatch(text):
        return numbered[1] + "{n}"
    return "{random}" if text.isascii() and text.isalnum() else "{other}" if text else ""


def _is_random(word: str) -> bool:
    """Unpronounceable letters: long and almost without vowels, or with scattered capitals."""
    if len(word) < 8:
        return False
    return len(_VOWELS.findall(word)) * 6 < len(word) or bool(_CASES.search(word))


def _query(query: str) -> str:
    pairs = [pair.partition("=") for pair in query.split("&") if pair]
    if len(pairs) == 1:
        name, equals, value = pairs[0]
        return _pair(name, value) if equals else kind_of(name)
    chosen = [f"{name}={value}" for name, _, value in pairs if name in ROUTING and kind_of(value) == "{word}"]
    return "&".join([*chosen, _DEEP])


def _pair(name: str, value: str) -> str:
    kind = kind_of(value)
    if name in ROUTING and kind == "{word}":
        return f"{name}={value}"
    known = name if kind_of(name) in ("{word}", "{slug}") else kind_of(name)
    return f"{known}={kind}"
