"""What the class names of an element say to microformats: properties, roots, parts of a value."""

import re
from functools import lru_cache
from typing import NamedTuple

from gossamer.extract.microformats.old_names import PROPERTIES, RELATIONS, ROOTS, TYPE_OF

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
