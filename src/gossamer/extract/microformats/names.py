"""What the class names of an element say to microformats: properties, roots, parts of a value."""

import re
from functools import lru_cache
from typing import NamedTuple

# The class names of the first microformats, and what they are called now.
# Each old root class has properties of its own, which mean something only below it (microformats.org/wiki: hcard,
# hcalendar, hatom, hreview, hreview-aggregate, hproduct, hrecipe, hresume, hnews, adr, geo; and "backward compatible
# parsing" in the pages of the formats that replaced them).


class Was(NamedTuple):
    """What an old class name is now."""

    prefix: str
    name: str
    makes: str = ""
    """The old root that an element becomes when it is none yet: an author is an hcard though nobody says so."""


TYPE_OF = {
    "adr": "h-adr",
    "geo": "h-geo",
    "hentry": "h-entry",
    "hfeed": "h-feed",
    "hnews": "h-news",
    "hproduct": "h-product",
    "hrecipe": "h-recipe",
    "hresume": "h-resume",
    "hreview": "h-review",
    "hreview-aggregate": "h-review-aggregate",
    "vcard": "h-card",
    "vevent": "h-event",
    "item": "h-item",
}
ROOTS = TYPE_OF.keys() - {"item"}
"""`item` is a root only where a review makes it one."""


def _texts(names: str) -> dict[str, Was]:
    """Properties that are text and kept their names."""
    return {name: Was("p", name) for name in names.split()}


_ADR = _texts("post-office-box extended-address street-address locality region postal-code country-name")
_NESTED = {"adr": Was("p", "adr"), "geo": Was("p", "geo")}
PROPERTIES: dict[str, dict[str, Was]] = {
    "adr": _ADR | {"name": Was("p", "name")},
    "geo": _texts("latitude longitude"),
    "vcard": _NESTED
    | _texts(
        "honorific-prefix given-name additional-name family-name honorific-suffix nickname sort-string category class "
        "label mailer note org organization-name organization-unit role tel tz agent key"
    )
    | {
        "fn": Was("p", "name"),
        "title": Was("p", "job-title"),
        "bday": Was("dt", "bday"),
        "rev": Was("dt", "rev"),
        "email": Was("u", "email"),
        "logo": Was("u", "logo"),
        "photo": Was("u", "photo"),
        "sound": Was("u", "sound"),
        "uid": Was("u", "uid"),
        "url": Was("u", "url"),
    },
    "vevent": {"geo": Was("p", "geo")}
    | _texts("attendee category class contact description location organizer status")
    | {
        "summary": Was("p", "name"),
        "dtstart": Was("dt", "start"),
        "dtend": Was("dt", "end"),
        "duration": Was("dt", "duration"),
        "last-modified": Was("dt", "last-modified"),
        "uid": Was("u", "uid"),
        "url": Was("u", "url"),
    },
    "hfeed": {
        "author": Was("p", "author", "vcard"),
        "category": Was("p", "category"),
        "photo": Was("u", "photo"),
        "url": Was("u", "url"),
    },
    "hentry": {
        "entry-title": Was("p", "name"),
        "entry-summary": Was("p", "summary"),
        "entry-content": Was("e", "content"),
        "published": Was("dt", "published"),
        "updated": Was("dt", "updated"),
        "author": Was("p", "author", "vcard"),
        "category": Was("p", "category"),
    },
    "hnews": _NESTED
    | {
        "entry": Was("p", "entry"),
        "dateline": Was("p", "dateline"),
        "source-org": Was("p", "source-org"),
    },
    "hproduct": _texts("brand category description identifier listing price review")
    | {"fn": Was("p", "name"), "photo": Was("u", "photo"), "url": Was("u", "url")},
    "hrecipe": _texts("category ingredient nutrition summary yield")
    | {
        "fn": Was("p", "name"),
        "instructions": Was("e", "instructions"),
        "duration": Was("dt", "duration"),
        "published": Was("dt", "published"),
        "photo": Was("u", "photo"),
        "author": Was("p", "author", "vcard"),
    },
    "hresume": _texts("summary skill publications")
    | {
        "contact": Was("p", "contact", "vcard"),
        "affiliation": Was("p", "affiliation", "vcard"),
        "education": Was("p", "education", "vevent"),
        "experience": Was("p", "experience", "vevent"),
    },
    "hreview": _texts("rating best worst")
    | {
        "summary": Was("p", "name"),
        "description": Was("e", "content"),
        "dtreviewed": Was("dt", "published"),
        "item": Was("p", "item", "item"),
        "reviewer": Was("p", "author", "vcard"),
    },
    "hreview-aggregate": _texts("rating average best worst count votes")
    | {"summary": Was("p", "name"), "item": Was("p", "item", "item")},
    "item": {"fn": Was("p", "name"), "photo": Was("u", "photo"), "url": Was("u", "url")},
}
_TAG = Was("tag", "category")
_URL = Was("u", "url")
RELATIONS: dict[str, dict[str, Was]] = {
    "hfeed": {"tag": _TAG},
    "hentry": {"tag": _TAG, "bookmark": _URL},
    "hnews": {"principles": Was("u", "principles")},
    "hrecipe": {"tag": _TAG},
    "hreview": {"tag": _TAG, "bookmark": _URL, "self": _URL},
}
"""What @rel says below an old root. The prefix "tag": the last part of the address is the word (rel-tag)."""
MOST_NAMES = 1000
"""Class names of one element; of one that has more, none is read."""

Old = tuple[str, ...]
"""The old root class names that an item goes by; none for one of microformats2."""
Stated = tuple[str, str]
"""A property: prefix and name."""

HEIGHTS = frozenset(["h-auto", "h-dvh", "h-fit", "h-full", "h-lvh", "h-max", "h-min", "h-px", "h-screen", "h-svh"])
"""Names that look like roots and are how a widespread style sheet sets the height of a box."""

_SHORT = 512
_WORD = re.compile(r"[^ \t\n\f\r]+")
_NAME = re.compile(r"(h|p|u|dt|e)-((?:[a-z0-9]+-)?[a-z]+(?:-[a-z]+)*)")


class Names(NamedTuple):
    properties: tuple[Stated, ...] = ()
    types: tuple[str, ...] = ()
    """In the order of the alphabet, each once; none for what is no root."""
    old: Old = ()
    is_made: bool = False
    """Whether it is a root only because of the property it is."""
    words: frozenset[str] = frozenset()
    """Those that are neither, but may have a part: `value`, `value-title`, `include`."""
    is_cut: bool = False
    """There are too many to be read: what the element is, is not known."""


_NOTHING = Names()
_PARTS = frozenset(("value", "value-title", "include"))


def names_of(text: str | None, within: Old | None) -> Names:
    """`within`: the old roots of the item around it; None where there is no item, so that nothing is a property."""
    if not text:
        return _NOTHING
    return _remembered(text, within) if len(text) <= _SHORT else _named(text, within)


def _named(text: str, within: Old | None) -> Names:
    words = _WORD.findall(text)
    if len(words) > MOST_NAMES:
        return Names(is_cut=True)
    parts = _PARTS.intersection(words)
    forms = [found for word in words if (found := _NAME.fullmatch(word)) and word not in HEIGHTS]
    types = tuple(sorted({form[0] for form in forms if form[1] == "h"}))
    old: Old = () if types else tuple(dict.fromkeys([word for word in words if word in ROOTS]))
    if within is None:
        properties: tuple[Stated, ...] = ()
    elif not within:
        properties = tuple([(form[1], form[2]) for form in forms if form[1] != "h"])
    else:
        meant = [was for word in words for root in within if (was := PROPERTIES[root].get(word))]
        properties = tuple(dict.fromkeys([(was.prefix, was.name) for was in meant]))
        made = next((was.makes for was in meant if was.makes), "")
        if made and not types and not old:
            return Names(properties, (TYPE_OF[made],), (made,), True, parts)
    return Names(properties, types or tuple(sorted({TYPE_OF[root] for root in old})), old, False, parts)


_remembered = lru_cache(maxsize=4096)(_named)


def related(rel: str | None, within: Old, known: tuple[Stated, ...]) -> tuple[Stated, ...]:
    """What @rel says, beside the properties that the class names say already."""
    if not rel or not within or not RELATIONS.keys() & within:
        return ()
    said = {name for _, name in known}
    words = rel.lower().split()
    meant = [was for root in within for word in words if (was := RELATIONS.get(root, {}).get(word))]
    return tuple(dict.fromkeys([(was.prefix, was.name) for was in meant if was.name not in said]))
