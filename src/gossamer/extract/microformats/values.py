"""The value of a property: by its prefix, by the value class pattern, dates, implied values.

After microformats.org/wiki/microformats2-parsing and /value-class-pattern.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from gossamer.extract.microformats.tree import WHITE, Region, resolved


class Html(NamedTuple):
    """An e-* property."""

    html: str
    value: str


class Image(NamedTuple):
    """The URL of an image that has an alternative text."""

    value: str
    alt: str


OldRoots = tuple[str, ...]
"""The old root class names of an item; none for one of microformats2."""
Value = str | Html | Image

_ATTRIBUTE = {"abbr": "title", "link": "title", "data": "value", "input": "value", "img": "alt", "area": "alt"}
"""The attribute that p-* prefers to the text."""
_LINKING = {
    **dict.fromkeys(("a", "area", "link"), ("href",)),
    **dict.fromkeys(("img", "audio", "source", "iframe"), ("src",)),
    "video": ("src", "poster"),
    "object": ("data",),
}
"""The attributes that u-* tries first."""
_VALUED = {"abbr": "title", "data": "value", "input": "value"}
_DATED = _VALUED | {"time": "datetime", "ins": "datetime", "del": "datetime"}
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


def text_value(region: Region, number: int, old: OldRoots) -> str:
    """p-*. Here and below, `old` are the old roots of the innermost item around the content of the element."""
    parts = _parts(region, number, old, _PART)
    if parts:
        return "".join(parts)
    given = _given(region, number, _ATTRIBUTE)
    return region.text(number).strip(WHITE) if given is None else given


def url_value(region: Region, number: int, old: OldRoots) -> str | Image:
    """u-*. The old formats have no alternative texts."""
    tag, attributes = region.tags[number], region.attributes[number]
    for name in _LINKING.get(tag, ()):
        if name in attributes:
            url = resolved(attributes[name] or "", region.base)
            has_alt = tag == "img" and not old and "alt" in attributes
            return Image(url, attributes["alt"] or "") if has_alt else url
    parts = _parts(region, number, old, _PART)
    if parts:
        return resolved("".join(parts), region.base)
    given = _given(region, number, _VALUED)
    return resolved(region.imageless_text(number) if given is None else given, region.base)


def time_value(region: Region, number: int, old: OldRoots, last_date: str) -> str:
    """dt-*. `last_date`: the date of a time that is given without one."""
    parts = _parts(region, number, old, _DATED_PART)
    if parts and (moment := time_from_parts(parts, last_date)):
        return moment
    given = _given(region, number, _DATED)
    return region.imageless_text(number).strip(WHITE) if given is None else given


def html_value(region: Region, number: int) -> Html:
    """e-*."""
    return Html(region.html(number).strip(WHITE), region.text(number).strip(WHITE))


def tag_value(region: Region, number: int) -> str:
    """rel-tag: the last part of the URL path is the word."""
    url = resolved(region.attributes[number].get("href") or "", region.base)
    word = re.split(r"[?#]", url, maxsplit=1)[0].rstrip("/").rpartition("/")[2]
    return _ESCAPED.sub(lambda found: bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "replace"), word)


def date_in(moment: str) -> str:
    found = _DATE_FIRST.match(moment)
    return found[1] if found else ""


def _given(region: Region, number: int, where: dict[str, str]) -> str | None:
    name = where.get(region.tags[number])
    attributes = region.attributes[number]
    return (attributes[name] or "") if name and name in attributes else None


def _parts(region: Region, number: int, old: OldRoots, where: dict[str, str]) -> list[str]:
    """The value class pattern: the values of elements with class `value`, in order. Those inside other properties or
    microformats belong to these, so each element is read for one property only, however they nest."""
    found: list[str] = []
    at, end = number + 1, region.ends[number]
    while at <= end:
        names = names_of(region.attributes[at].get("class"), old)
        is_template = region.tags[at] == "template"
        if "value" in names.others and not is_template:
            given = _given(region, at, where)
            found.append(region.text(at) if given is None else given)
        elif "value-title" in names.others and not is_template:
            found.append(region.attributes[at].get("title") or "")
        elif not (names.properties or names.types or is_template):
            at += 1
            continue
        at = region.ends[at] + 1
    return found


def time_from_parts(parts: list[str], last_date: str) -> str:
    """A date and time from parts; the first of each kind counts. Empty if no part is one."""
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
    for at, may_be_empty in [(number, True), *[(at, False) for at in _only_descendants(region, number)]]:
        if region.tags[at] in ("img", "area", "abbr"):
            given = _given(region, at, _PART)
            if given or (given is not None and may_be_empty):
                return given.strip(WHITE)
    return region.imageless_text(number, keeps_alts=True).strip(WHITE)


def _only_descendants(region: Region, number: int) -> Iterator[int]:
    """The only child, and its only child."""
    for _ in range(2):
        children = list(islice(region.children(number), 2))
        if len(children) != 1:
            return
        number = children[0]
        yield number


IMPLIED_BY = {"photo": (("img", "src"), ("object", "data")), "url": (("a", "href"), ("area", "href"))}
"""Tags and attributes."""


def implied_link(region: Region, number: int, name: str) -> str | Image | None:
    """The photo or the URL: from the root itself, the only one of its kind below it, or the only one of its kind below
    its only child."""
    where = IMPLIED_BY[name]
    if (region.tags[number], True) in [(tag, name in region.attributes[number]) for tag, name in where]:
        return url_value(region, number, ())
    inside = [number, *list(_only_descendants(region, number))[:1]]
    for parent in inside:
        for tag, name in where:
            alike = [child for child in region.children(parent) if region.tags[child] == tag]
            if len(alike) == 1 and name in region.attributes[alike[0]]:
                return url_value(region, alike[0], ())
    return None


# The class names of the first microformats and their current names. Each old root class has properties of its own,
# which only count below it (microformats.org/wiki: hcard, hcalendar, hatom, hreview, hreview-aggregate, hproduct,
# hrecipe, hresume, hnews, adr, geo; and "backward compatible parsing" in the pages of the formats that replaced them).


class CurrentName(NamedTuple):
    """The current form of an old class name."""

    prefix: str
    name: str
    implies: str = ""
    """The old root that an element without a root class becomes: an author is an hcard even if not marked as one."""


_SAME_ROOTS = "adr geo hentry hfeed hnews hproduct hrecipe hresume hreview hreview-aggregate"
TYPE_OF = {
    **{root: f"h-{root.removeprefix('h')}" for root in _SAME_ROOTS.split()},
    "vcard": "h-card",
    "vevent": "h-event",
    "item": "h-item",
}
ROOTS = TYPE_OF.keys() - {"item"}
"""`item` is a root only if a review makes it one."""


def _current(names: str) -> dict[str, CurrentName]:
    """By old name: `p-org` kept its name, `title=p-job-title` has another, `author=p-author/vcard` implies a root."""
    found = {}
    for word in names.split():
        old, _, current = word.rpartition("=")
        current, _, implies = current.partition("/")
        prefix, _, name = current.partition("-")
        found[old or name] = CurrentName(prefix, name, implies)
    return found


_PROPERTIES = {
    "adr": """
        p-post-office-box p-extended-address p-street-address p-locality p-region p-postal-code p-country-name p-name
    """,
    "geo": "p-latitude p-longitude",
    "vcard": """
        p-adr p-geo p-honorific-prefix p-given-name p-additional-name p-family-name p-honorific-suffix p-nickname
        p-sort-string p-category p-class p-label p-mailer p-note p-org p-organization-name p-organization-unit p-role
        p-tel p-tz p-agent p-key dt-bday dt-rev u-email u-logo u-photo u-sound u-uid u-url fn=p-name title=p-job-title
    """,
    "vevent": """
        p-geo p-attendee p-category p-class p-contact p-description p-location p-organizer p-status dt-duration
        dt-last-modified u-uid u-url summary=p-name dtstart=dt-start dtend=dt-end
    """,
    "hfeed": "author=p-author/vcard p-category u-photo u-url",
    "hentry": """
        author=p-author/vcard p-category dt-published dt-updated entry-title=p-name entry-summary=p-summary
        entry-content=e-content
    """,
    "hnews": "p-adr p-geo p-entry p-dateline p-source-org",
    "hproduct": "fn=p-name p-brand p-category p-description p-identifier p-listing p-price p-review u-photo u-url",
    "hrecipe": """
        fn=p-name author=p-author/vcard p-category p-ingredient p-nutrition p-summary p-yield e-instructions dt-duration
        dt-published u-photo
    """,
    "hresume": """
        p-summary p-skill p-publications contact=p-contact/vcard affiliation=p-affiliation/vcard
        education=p-education/vevent experience=p-experience/vevent
    """,
    "hreview": """
        p-rating p-best p-worst summary=p-name description=e-content dtreviewed=dt-published item=p-item/item
        reviewer=p-author/vcard
    """,
    "hreview-aggregate": "p-rating p-average p-best p-worst p-count p-votes summary=p-name item=p-item/item",
    "item": "fn=p-name u-photo u-url",
}
PROPERTIES = {root: _current(names) for root, names in _PROPERTIES.items()}
_BY_REL = {
    "hfeed": "tag=tag-category",
    "hentry": "tag=tag-category bookmark=u-url",
    "hnews": "u-principles",
    "hrecipe": "tag=tag-category",
    "hreview": "tag=tag-category bookmark=u-url self=u-url",
}
RELATIONS = {root: _current(names) for root, names in _BY_REL.items()}
"""Properties by @rel below an old root. The prefix "tag": the last part of the URL is the word (rel-tag)."""
MOST_NAMES = 1000
"""Class names per element; with more, none is read."""

PropertyName = tuple[str, str]
"""A property: prefix and name."""

HEIGHTS = frozenset(["h-auto", "h-dvh", "h-fit", "h-full", "h-lvh", "h-max", "h-min", "h-px", "h-screen", "h-svh"])
"""Names that look like roots, but set the height of a box in a widespread style sheet."""

_SHORT = 512
_WORD = re.compile(r"[^ \t\n\f\r]+")
_NAME = re.compile(r"(h|p|u|dt|e)-((?:[a-z0-9]+-)?[a-z]+(?:-[a-z]+)*)")


class Names(NamedTuple):
    properties: tuple[PropertyName, ...] = ()
    types: tuple[str, ...] = ()
    """In alphabetical order, each once; empty if it is no root."""
    old: OldRoots = ()
    is_implied: bool = False
    """Whether it is a root only because of the property that it is."""
    others: frozenset[str] = frozenset()
    """Class names with another function: `value`, `value-title`, `include`."""
    is_cut: bool = False
    """There are too many: what the element is, is unknown."""


_NO_NAMES = Names()
_PARTS = frozenset(("value", "value-title", "include"))


def names_of(text: str | None, within: OldRoots | None) -> Names:
    """`within`: the old roots of the item around it; None if there is no item, so that nothing is a property."""
    if not text:
        return _NO_NAMES
    return _remembered(text, within) if len(text) <= _SHORT else _names(text, within)


def _names(text: str, within: OldRoots | None) -> Names:
    words = _WORD.findall(text)
    if len(words) > MOST_NAMES:
        return Names(is_cut=True)
    parts = _PARTS.intersection(words)
    forms = [form for word in words if (form := _NAME.fullmatch(word)) and word not in HEIGHTS]
    types = tuple(sorted({form[0] for form in forms if form[1] == "h"}))
    old: OldRoots = () if types else tuple(dict.fromkeys([word for word in words if word in ROOTS]))
    if within is None:
        properties: tuple[PropertyName, ...] = ()
    elif not within:
        properties = tuple([(form[1], form[2]) for form in forms if form[1] != "h"])
    else:
        found = [now for word in words for root in within if (now := PROPERTIES[root].get(word))]
        properties = tuple(dict.fromkeys([(now.prefix, now.name) for now in found]))
        implied = next((now.implies for now in found if now.implies), "")
        if implied and not types and not old:
            return Names(properties, (TYPE_OF[implied],), (implied,), True, parts)
    return Names(properties, types or tuple(sorted({TYPE_OF[root] for root in old})), old, False, parts)


_remembered = lru_cache(maxsize=4096)(_names)


def rel_properties(rel: str | None, within: OldRoots, known: tuple[PropertyName, ...]) -> tuple[PropertyName, ...]:
    """Properties stated by @rel, besides those stated by class names."""
    if not rel or not within or not RELATIONS.keys() & within:
        return ()
    names = {name for _, name in known}
    found = [now for root in within for word in rel.lower().split() if (now := RELATIONS.get(root, {}).get(word))]
    return tuple(dict.fromkeys([(now.prefix, now.name) for now in found if now.name not in names]))
