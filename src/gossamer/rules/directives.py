"""What a page asks of robots: meta robots and X-Robots-Tag.

Directives for all robots and directives for us add up; the stricter one wins.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from gossamer.base.clock import SECOND, Instant
from gossamer.values.page import Directives

_NOINDEX = frozenset(("noindex", "none"))
_NOFOLLOW = frozenset(("nofollow", "none"))
_NOCACHE = frozenset(("noarchive", "nocache"))
_UNTIL = "unavailable_after"
_NO_SNIPPET = "nosnippet"
_MOST_SNIPPET = "max-snippet"
# Directives that carry a value after a colon; any other word before a colon is the name of a robot.
_VALUED = frozenset((_UNTIL, _MOST_SNIPPET, "max-image-preview", "max-video-preview"))
_NAMED = re.compile(r"\s*([A-Za-z0-9_.*-]+)\s*:(.*)", re.DOTALL)
_WEEKDAY = re.compile(r"\s*(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\s*", re.IGNORECASE)
EVERYBODY = "robots"
FREE = Directives()


def directives_of(
    metas: Iterable[tuple[str, str]], fields: Iterable[str], agent: str, now: Instant | None = None
) -> Directives:
    """`metas` are (name, content) of the page's meta elements, `fields` the values of its X-Robots-Tag fields.

    `agent` is our product name: directives for other robots by name are ignored. A page with a past `unavailable_after`
    is not indexed; without `now` no date has passed.
    """
    ours = agent.lower()
    words: set[str] = set()
    for name, content in metas:
        if name.strip().lower() in (EVERYBODY, ours):
            words |= {part.strip().lower() for part in _parts(content)}
    for value in fields:
        words |= _addressed(value, ours)
    if not words:
        return FREE
    return Directives(
        may_index=words.isdisjoint(_NOINDEX) and not _is_over(words, now),
        may_follow=words.isdisjoint(_NOFOLLOW),
        may_cache=words.isdisjoint(_NOCACHE),
        most_snippet=_most_snippet(words),
    )


def _most_snippet(words: set[str]) -> int:
    """The strictest of `max-snippet:N` and `nosnippet`; -1 if neither is given."""
    given = [word.partition(":")[2].strip() for word in words if word.partition(":")[0].strip() == _MOST_SNIPPET]
    limits = [int(text) for text in given if text.isascii() and text.isdigit() and len(text) < 10]
    return min([*limits, *([0] if _NO_SNIPPET in words else [])], default=-1)


def _addressed(field: str, ours: str) -> set[str]:
    """The directives of one field that apply to us. A robot's name applies until the next name."""
    for_us, found = True, set[str]()
    for part in _parts(field):
        named = _NAMED.fullmatch(part)
        if named is not None and named[1].lower() not in _VALUED:
            for_us = named[1].lower() in (ours, EVERYBODY, "*")
            part = named[2]
        if for_us:
            found.add(part.strip().lower())
    return found


def _parts(text: str) -> list[str]:
    """Split at commas, except after a weekday, where the comma belongs to a date."""
    parts: list[str] = []
    for part in text.split(","):
        if parts and _WEEKDAY.fullmatch(parts[-1].rpartition(":")[2]):
            parts[-1] += "," + part
        else:
            parts.append(part)
    return parts


def _is_over(words: set[str], now: Instant | None) -> bool:
    if now is None:
        return False
    dates = [word.partition(":")[2].strip() for word in words if word.partition(":")[0].strip() == _UNTIL]
    return any(until is not None and until <= now for until in map(_date, dates))


def _date(text: str) -> Instant | None:
    """A date of RFC 822, RFC 850 or ISO 8601, UTC by default; None if it is none of these."""
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            found = read(text.upper())
            return round((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * SECOND)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return None
