"""Crawler traps: endless series of URLs, recognised by their shape when offered, or by what their pages brought."""

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
        return Denied(f"an address of {len(text)} characters, and the limit is {LONGEST}")
    if _NESTED in text:
        return Denied("an address in an address in an address")
    path, _, query = text.split("/", 3)[3].partition("?")
    return _judge_path(path.split("/")) or _judge_query(query) or ALLOWED


def _judge_path(segments: list[str]) -> Denied | None:
    if len(segments) < MOST_REPEATS:
        return None
    if len(segments) > MOST_SEGMENTS:
        return Denied(f"a path of {len(segments)} segments, and the limit is {MOST_SEGMENTS}")
    named = segments[:-1] if not segments[-1] else segments
    if len(set(named)) == len(named):
        return None
    repeated = repeated_in(named)
    return Denied(f"/{'/'.join(repeated)} comes {MOST_REPEATS} times in the path") if repeated else None


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
        return Denied(f"{len(names)} parameters, and the limit is {MOST_PARAMETERS}")
    if len(names) <= MOST_OF_ONE:
        return None
    for name in set(names):
        # a form may well send a list: `colour[]=red&colour[]=blue`
        limit = MOST_PARAMETERS if name.endswith(("[]", "%5B%5D")) else MOST_OF_ONE
        if names.count(name) > limit:
            return Denied(f"the parameter {name!r} {names.count(name)} times, and the limit is {limit}")
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
    def stands_well(self) -> bool:
        """Whether links to more of it are worth following."""
        return self.new >= STANDING and self.own_debt < TRAP // 4


def after(run: TemplateRun, is_new: bool, leads_on: bool = False) -> TemplateRun:
    """The run after one more page: whether it was new itself, or linked to something new."""
    return TemplateRun(
        run.fetched + 1, run.new + is_new, _debt(run.debt, is_new or leads_on), _debt(run.own_debt, is_new)
    )


def _debt(debt: int, is_fruitful: bool) -> int:
    return max(0, debt - FRUITFUL) if is_fruitful else debt + BARREN


def is_trap(run: TemplateRun) -> bool:
    """Whether the rest of the template is to be quarantined."""
    return run.debt >= TRAP


def is_barren(fetched: int, fruitful: int) -> bool:
    """The same from totals alone, which survive a restart; slower to notice the end of a good series."""
    return fetched >= TRAP and fruitful * LEAST_SHARE < fetched
