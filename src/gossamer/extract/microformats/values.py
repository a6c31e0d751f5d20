"""The value of a property: its own element read by its prefix, the value class pattern, dates, and implied values.

After microformats.org/wiki/microformats2-parsing and /value-class-pattern.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from gossamer.extract.microformats.names import Old, names_of
from gossamer.extract.microformats.tree import WHITE, Region, resolved


class Html(NamedTuple):
    """An e-* property."""

    html: str
    value: str


class Image(NamedTuple):
    """The address of an image that has an alternative text."""

    value: str
    alt: str


Value = str | Html | Image

_ATTRIBUTE = {"abbr": "title", "link": "title", "data": "value", "input": "value", "img": "alt", "area": "alt"}
"""Where p-* looks before it takes the words."""
_LINKING = {
    "a": ("href",),
    "area": ("href",),
    "link": ("href",),
    "img": ("src",),
    "audio": ("src",),
    "source": ("src",),
    "iframe": ("src",),
    "video": ("src", "poster"),
    "object": ("data",),
}
"""Where u-* looks first."""
_WORDED = {"abbr": "title", "data": "value", "input": "value"}
_DATED = _WORDED | {"time": "datetime", "ins": "datetime", "del": "datetime"}
_PART = {"img": "alt", "area": "alt", "data": "value", "abbr": "title"}
_DATED_PART = _PART | {"time": "datetime", "ins": "datetime", "del": "datetime"}

_DATE = r"\d{4}-(?:\d{3}|\d\d-\d\d)"
_ZONE = r"[Zz]|[+-]\d{1,2}:?(?:\d\d)?"
_CLOCK = rf"(\d{{1,2}})(?::(\d\d)(?::(\d\d(?:\.\d+)?))?)?\s*([ap]\.?m\.?)?\s*({_ZONE})?"
_IS_DATE = re.compile(_DATE, re.ASCII)
_IS_TIME = re.compile(_CLOCK, re.ASCII | re.IGNORECASE)
_IS_ZONE = re.compile(_ZONE, re.ASCII)
_IS_BOTH = re.compile(rf"({_DATE})[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?\s*(?:{_ZONE})?", re.ASCII)
_ESCAPED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_DATE_FIRST = re.compile(rf"({_DATE})(?=[Tt ]|\Z)", re.ASCII)


def text_of(region: Region, number: int, old: Old) -> str:
    """p-*. `old`, here and below: the old roots of the innermost item around what is inside the element."""
    parts = _parts(region, number, old, _PART)
    if parts:
        return "".join(parts)
    given = _given(region, number, _ATTRIBUTE)
    return region.text(number).strip(WHITE) if given is None else given


def address_of(region: Region, number: int, old: Old) -> str | Image:
    """u-*. The old formats know nothing of alternative texts."""
    tag, attributes = region.tags[number], region.attributes[number]
    for name in _LINKING.get(tag, ()):
        if name in attributes:
            address = resolved(attributes[name] or "", region.base)
            has_alt = tag == "img" and not old and "alt" in attributes
            return Image(address, attributes["alt"] or "") if has_alt else address
    parts = _parts(region, number, old, _PART)
    if parts:
        return resolved("".join(parts), region.base)
    given = _given(region, number, _WORDED)
    return resolved(region.words(number) if given is None else given, region.base)


def moment_of(region: Region, number: int, old: Old, last_date: str) -> str:
    """dt-*. `last_date`: the one a time without a date belongs to."""
    parts = _parts(region, number, old, _DATED_PART)
    if parts and (moment := assembled(parts, last_date)):
        return moment
    given = _given(region, number, _DATED)
    return region.words(number).strip(WHITE) if given is None else given


def markup_of(region: Region, number: int) -> Html:
    """e-*."""
    return Html(region.html(number).strip(WHITE), region.text(number).strip(WHITE))


def tag_of(region: Region, number: int) -> str:
    """rel-tag: the last part of the address is the word."""
    address = resolved(region.attributes[number].get("href") or "", region.base)
    word = re.split(r"[?#]", address, maxsplit=1)[0].rstrip("/").rpartition("/")[2]
    return _ESCAPED.sub(lambda found: bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "replace"), word)


def date_in(moment: str) -> str:
    found = _DATE_FIRST.match(moment)
    return found[1] if found else ""


def _given(region: Region, number: int, where: dict[str, str]) -> str | None:
    name = where.get(region.tags[number])
    attributes = region.attributes[number]
    return (attributes[name] or "") if name and name in attributes else None


def _parts(region: Region, number: int, old: Old, where: dict[str, str]) -> list[str]:
    """The value class pattern: what the elements with class `value` say, in order. Those inside other properties or
    microformats belong to these; so each element is looked at for one property only, however they nest."""
    found: list[str] = []
    at, end = number + 1, region.ends[number]
    while at <= end:
        names = names_of(region.attributes[at].get("class"), old)
        is_template = region.tags[at] == "template"
        if "value" in names.words and not is_template:
            given = _given(region, at, where)
            found.append(region.text(at) if given is None else given)
        elif "value-title" in names.words and not is_template:
            found.append(region.attributes[at].get("title") or "")
        elif not (names.properties or names.types or is_template):
            at += 1
            continue
        at = region.ends[at] + 1
    return found


def assembled(parts: list[str], last_date: str) -> str:
    """A moment from parts; of each kind the first counts. Empty when no part is one."""
    date = time = zone = ""
    for part in [part.strip(WHITE) for part in parts]:
        if _IS_DATE.fullmatch(part):
            date = date or part
        elif _IS_BOTH.fullmatch(part):
            if not date and not time:
                return part
        elif found := _IS_TIME.fullmatch(part):
            if not time and (found[2] or found[4]):
                time, zone = _clock(found), found[5] or zone
        elif _IS_ZONE.fullmatch(part):
            zone = zone or part
    if time:
        zone = zone.replace(":", "").upper()
        return f"{date or last_date} {time}{zone}".strip()
    return date


def _clock(found: re.Match[str]) -> str:
    hour = int(found[1])
    if found[4]:
        hour = hour % 12 + (12 if found[4][0] in "pP" else 0)
    return ":".join([f"{hour:02}", found[2] or "00", *([found[3]] if found[3] else [])])


def implied_name(region: Region, number: int) -> str:
    for at, may_be_empty in [(number, True), *[(at, False) for at in _only_ones(region, number)]]:
        if region.tags[at] in ("img", "area", "abbr"):
            given = _given(region, at, _PART)
            if given or (given is not None and may_be_empty):
                return given.strip(WHITE)
    return region.words(number, speaks_alt=True).strip(WHITE)


def _only_ones(region: Region, number: int) -> Iterator[int]:
    """The only child, and its only child."""
    for _ in range(2):
        children = _first_two(region, number)
        if len(children) != 1:
            return
        number = children[0]
        yield number


def _first_two(region: Region, number: int) -> list[int]:
    found: list[int] = []
    for child in region.children(number):
        found.append(child)
        if len(found) > 1:
            break
    return found


def implied_photo(region: Region, number: int) -> str | Image | None:
    return _implied(region, number, (("img", "src"), ("object", "data")))


def implied_url(region: Region, number: int) -> str | Image | None:
    return _implied(region, number, (("a", "href"), ("area", "href")))


def _implied(region: Region, number: int, where: tuple[tuple[str, str], ...]) -> str | Image | None:
    """From the root itself, the only one of its kind below it, or the only one of its kind below its only child."""
    if (region.tags[number], True) in [(tag, name in region.attributes[number]) for tag, name in where]:
        return address_of(region, number, ())
    inside = [number, *list(_only_ones(region, number))[:1]]
    for parent in inside:
        for tag, name in where:
            alike = [child for child in region.children(parent) if region.tags[child] == tag]
            if len(alike) == 1 and name in region.attributes[alike[0]]:
                return address_of(region, alike[0], ())
    return None
