"""Crawler traps, and URL templates: the pattern that a URL shares with similar ones.

Endless series of URLs are recognised by their shape when offered, or by what the pages of their template brought.
"""

import re
from functools import lru_cache

import msgspec

from gossamer.values.outcome import ALLOWED, Allowed, Denied
from gossamer.values.url import Url

MOST_SEGMENTS = 32
MOST_REPEATS = 3
MOST_PARAMETERS = 16
MOST_OF_ONE = 3
LONGEST = 2_000
"""Characters. Longer URLs come from broken programs, or contain what belongs in a form."""
_NESTED = "%2525"
"""A percent sign escaped twice: a URL in a URL in a URL."""

STANDING = 3
LEAST_SHARE = 10
BARREN = 1
FRUITFUL = 9
TRAP = 64
"""A template is a trap once its debt reaches this: after 64 pages in a row without anything new, or more if fewer than
one in ten brought something. Where one page in five is new it hardly ever gets there."""


def judge_shape(url: Url) -> Allowed | Denied:
    """Whether a URL of this shape may enter. Runs for every new link, and most return at the first line."""
    text = url.text
    if text.count("/") < 5 and "?" not in text and len(text) <= LONGEST:
        return ALLOWED
    if len(text) > LONGEST:
        return Denied(f"a URL of {len(text)} characters; the limit is {LONGEST}")
    if _NESTED in text:
        return Denied("a URL nested twice in a URL")
    path, _, query = text.split("/", 3)[3].partition("?")
    return _judge_path(path.split("/")) or _judge_query(query) or ALLOWED


def _judge_path(segments: list[str]) -> Denied | None:
    if len(segments) < MOST_REPEATS:
        return None
    if len(segments) > MOST_SEGMENTS:
        return Denied(f"a path of {len(segments)} segments; the limit is {MOST_SEGMENTS}")
    named = segments[:-1] if not segments[-1] else segments
    if len(set(named)) == len(named):
        return None
    repeated = repeated_in(named)
    return Denied(f"/{'/'.join(repeated)} occurs {MOST_REPEATS} times in the path") if repeated else None


def repeated_in(segments: list[str]) -> list[str] | None:
    """The sequence that occurs three times in a row in a path, or the segment that occurs four times anywhere in it.

    Numbers alone do not count: 12/12/12 is a date, 0/0/0 a map tile.
    """
    for length in range(1, len(segments) // MOST_REPEATS + 1):
        for start in range(len(segments) - MOST_REPEATS * length + 1):
            part = segments[start : start + length]
            if part * MOST_REPEATS == segments[start : start + MOST_REPEATS * length] and _is_named(part):
                return part
    often = next((each for each in segments if segments.count(each) > MOST_REPEATS and _is_named([each])), None)
    return None if often is None else [often]


def _is_named(part: list[str]) -> bool:
    return any(each and not each.isdecimal() for each in part)


def _judge_query(query: str) -> Denied | None:
    if "&" not in query:
        return None
    names = [pair.partition("=")[0] for pair in query.split("&")]
    if len(names) > MOST_PARAMETERS:
        return Denied(f"{len(names)} parameters; the limit is {MOST_PARAMETERS}")
    if len(names) <= MOST_OF_ONE:
        return None
    for name in set(names):
        # a form may well send a list: `colour[]=red&colour[]=blue`
        limit = MOST_PARAMETERS if name.endswith(("[]", "%5B%5D")) else MOST_OF_ONE
        if names.count(name) > limit:
            return Denied(f"the parameter {name!r} {names.count(name)} times; the limit is {limit}")
    return None


class TemplateRun(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What the latest pages of one template on one host have brought.

    The debt is a cumulative sum: plus one for each barren page, minus nine for each fruitful one, never below zero. It
    forgets the distant past, so a catalogue that continues as an endless series is cut soon after its end.
    """

    fetched: int = 0
    new: int = 0
    """Pages with new text or facts."""
    debt: int = 0
    own_debt: int = 0
    """The debt if pages that only link to new ones count as barren: two templates that link to each other do not vouch
    for each other."""

    @property
    def is_productive(self) -> bool:
        """Whether links to more of it are worth following."""
        return self.new >= STANDING and self.own_debt < TRAP // 4


def after(run: TemplateRun, is_new: bool, is_list: bool = False) -> TemplateRun:
    """The run after one more page: whether it was new itself, or linked to something new."""
    return TemplateRun(
        run.fetched + 1, run.new + is_new, _debt(run.debt, is_new or is_list), _debt(run.own_debt, is_new)
    )


def _debt(debt: int, is_fruitful: bool) -> int:
    return max(0, debt - FRUITFUL) if is_fruitful else debt + BARREN


def is_trap(run: TemplateRun) -> bool:
    """Whether the rest of the template is to be quarantined."""
    return run.debt >= TRAP


def is_barren(fetched: int, fruitful: int) -> bool:
    """The same from totals alone, which survive a restart; slower to notice the end of a good series."""
    return fetched >= TRAP and fruitful * LEAST_SHARE < fetched


# URL templates: `/2024/05/12/` is `/{year}/{month}/{day}/`, `/p/blue-lamp?id=7` is `/p/{slug}?id={n}`. What is learned
# from a few URLs of a template is assumed of the rest, so a template must cover neither a single URL nor a whole site:
# - the first path segment is kept if it is a plain word (it names a part of the site); further ones are named by their
#   kind, and an extension is kept;
# - a single parameter is kept by name, with the kind of its value; two or more are one pattern with any names,
#   because every subset of a shop's filters would otherwise be a pattern. Parameters that choose a part of a program
#   (`action=show`) are kept.

LONGEST_TEMPLATE = 200
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
    return (pattern + "?" + _query(query) if mark else pattern)[:LONGEST_TEMPLATE]


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
        named, kind = kind_of(name), kind_of(value)
        if not equals:
            return named
        if name in ROUTING and kind == "{word}":
            return f"{name}={value}"
        return f"{name if named in ('{word}', '{slug}') else named}={kind}"
    chosen = [f"{name}={value}" for name, _, value in pairs if name in ROUTING and kind_of(value) == "{word}"]
    return "&".join([*chosen, _DEEP])
