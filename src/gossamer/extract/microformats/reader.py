"""Microformats, first and second generation, as items with properties.

See microformats.org/wiki/microformats2-parsing.

Roots are found in one pass over all elements; the elements of each are put in a flat list (`Region`) and visited once.
Items are gathered from the outside in and read from the inside out, because the value of a property may be the name of
the item in it. Neither recurses, however deep a page nests them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gossamer.extract.microformats.tree import MOST_CHARACTERS, WHITE, Region, TooLong
from gossamer.extract.microformats.values import (
    IMPLIED_BY,
    OldRoots,
    Value,
    date_in,
    html_value,
    implied_link,
    implied_name,
    names_of,
    rel_properties,
    tag_value,
    text_value,
    time_value,
    url_value,
)
from gossamer.extract.source import LengthAllowance
from gossamer.values.tree import Element, ElementParts

MOST_ITEMS = 10_000
MOST_INCLUDED = 100_000
"""Elements read again because an item elsewhere on the page includes them."""


@dataclass(slots=True)
class MicroformatProperty:
    prefix: str
    name: str
    region: Region
    number: int
    nested: "Microformat | None" = None
    value: Value = ""

    @property
    def element(self) -> Element:
        return self.region.elements[self.number]


@dataclass(slots=True)
class Microformat:
    types: tuple[str, ...]
    old: OldRoots
    region: Region
    number: int
    is_implied: bool = False
    is_included: bool = False
    """Whether it is read as part of an item that includes it; then it includes nothing itself."""
    properties: list[MicroformatProperty] = field(default_factory=list)
    children: list["Microformat"] = field(default_factory=list)
    included: dict[int, Region] = field(default_factory=dict)
    """Parts of the page that it includes from elsewhere, each once."""
    is_cut: bool = False
    """Whether a limit kept part of it from being read: then its properties are not known."""

    @property
    def element(self) -> Element:
        return self.region.elements[self.number]

    def first(self, prefix: str, name: str) -> Value | None:
        return next((one.value for one in self.properties if one.prefix == prefix and one.name == name), None)


@dataclass(slots=True)
class PageMicroformats:
    """All items of a page."""

    outermost: list[Microformat] = field(default_factory=list)
    every: list[Microformat] = field(default_factory=list)
    """Outer ones before those inside them."""
    flags: list[str] = field(default_factory=list)


def items_of(every: Sequence[ElementParts], base: str) -> PageMicroformats:
    """REQUIRES: all elements of the page, in document order."""
    gatherer = _Gatherer(every, base)
    gatherer.gather()
    gatherer.read()
    return gatherer.found


class _Gatherer:
    def __init__(self, every: Sequence[ElementParts], base: str) -> None:
        self.found = PageMicroformats()
        self._every = every
        self._base = base
        self._allowance = LengthAllowance(MOST_CHARACTERS)
        self._included = MOST_INCLUDED
        self._by_id: dict[str, Element] | None = None
        self._regions: dict[int, Region] = {}

    def gather(self) -> None:
        region: Region | None = None
        for element, tag, attributes in self._every:
            names = names_of(attributes.get("class"), None)
            is_read = tag == "template" or (region is not None and element.mem_id in region.tag_number)
            if is_read or not (names.types or names.is_cut):
                continue
            region = Region(element, self._base, self._allowance)
            if names.is_cut:
                self._flag("too-many-names")
                continue
            item = Microformat(names.types, names.old, region, 0)
            self.found.outermost.append(item)
            self.found.every.append(item)
            if self._fill(len(self.found.every) - 1):
                break

    def _fill(self, first: int) -> bool:
        """Read the items from the given one on, which finds those inside them. True if there are too many."""
        at = first
        while at < len(self.found.every):
            if at >= MOST_ITEMS:
                self._flag("too-many-items")
                for item in self.found.every[at:]:
                    item.is_cut = True
                return True
            item = self.found.every[at]
            attributes = item.region.attributes[item.number]
            if item.old and not item.is_included:
                self._include(item, f"{attributes.get('itemref') or ''} {attributes.get('headers') or ''}".split())
            self._scan(item, item.region, item.number + 1, item.region.ends[item.number], item.is_included)
            for region in item.included.values():
                self._scan(item, region, 0, region.ends[0], True)
            at += 1
        return False

    def _scan(self, item: Microformat, region: Region, at: int, end: int, is_included: bool) -> None:
        """Add the properties that the elements from `at` to `end` state about the item."""
        while at <= end:
            attributes = region.attributes[at]
            if region.tags[at] == "template" or not ("class" in attributes or "rel" in attributes):
                at += 1
                continue
            names = names_of(attributes.get("class"), item.old)
            if names.is_cut:
                self._flag("too-many-names")
                item.is_cut = True
                at = region.ends[at] + 1
                continue
            properties = names.properties
            if item.old:
                properties += rel_properties(attributes.get("rel"), item.old, properties)
                if "include" in names.others and not is_included:
                    target = attributes.get("href") or attributes.get("data") or ""
                    self._include(item, [target[1:]] if target[:1] == "#" else [])
            nested = None
            if names.types:
                nested = Microformat(names.types, names.old, region, at, names.is_implied, is_included)
                self.found.every.append(nested)
            for prefix, name in properties:
                item.properties.append(MicroformatProperty(prefix, name, region, at, nested))
            if nested is not None and not properties:
                item.children.append(nested)
            at = region.ends[at] + 1 if nested is not None else at + 1

    def _include(self, item: Microformat, ids: list[str]) -> None:
        """The include pattern, itemref and table headers of the first microformats."""
        for name in ids:
            if self._included < 0:
                item.is_cut = True
                return
            region = self._region_of(name)
            if region is not None and id(region) not in item.included:
                self._included -= len(region.tags)
                if self._included < 0:
                    self._flag("too-many-includes")
                    item.is_cut = True
                    return
                item.included[id(region)] = region

    def _flag(self, flag: str) -> None:
        if flag not in self.found.flags:
            self.found.flags.append(flag)

    def _region_of(self, name: str) -> Region | None:
        if self._by_id is None:
            self._by_id = {}
            for element, _, attributes in self._every:
                if attributes.get("id"):
                    self._by_id.setdefault(attributes["id"] or "", element)
        target = self._by_id.get(name)
        if target is None:
            return None
        if target.mem_id not in self._regions:
            self._regions[target.mem_id] = Region(target, self._base, self._allowance)
        return self._regions[target.mem_id]

    def read(self) -> None:
        """From the inside out. If one exceeds the limit, it and those not yet read stay unread."""
        for at in range(len(self.found.every) - 1, -1, -1):
            item = self.found.every[at]
            try:
                if not item.is_cut:
                    _read(item)
            except TooLong:
                self._flag("microformats-too-long")
                for unread in self.found.every[: at + 1]:
                    unread.is_cut = True
                break


def _read(item: Microformat) -> None:
    """Raises TooLong. A property with a cut item has no known value, and a later time may lack its date."""
    last_date = ""
    known: dict[tuple[str, int, int], Value] = {}
    for one in item.properties:
        way = (one.prefix, id(one.region), one.number)
        if way in known:  # properties of one element share its value
            value, count = known[way], one.region.counted
            one.value = count(value) if isinstance(value, str) else type(value)(*map(count, value))
            continue
        if one.nested is not None and one.nested.is_cut:
            if one.prefix == "dt":
                item.is_cut = True
                return
            continue
        one.value = known[way] = _value(one, item.old, last_date)
        if one.prefix == "dt" and isinstance(one.value, str):
            last_date = date_in(one.value) or last_date
    if not item.old or item.is_implied:
        _add_implied(item)


def _value(one: MicroformatProperty, old: OldRoots, last_date: str) -> Value:
    nested = one.nested
    old = nested.old if nested else old
    if one.prefix == "p":
        known = nested.first("p", "name") if nested else None
        if nested and known is None and nested.included:
            texts = [one.region.text(one.number), *[region.text(0) for region in nested.included.values()]]
            return "".join(texts).strip(WHITE)
        return text_value(one.region, one.number, old) if known is None else known
    if one.prefix == "u":
        known = nested.first("u", "url") if nested else None
        return url_value(one.region, one.number, old) if known is None else known
    if one.prefix == "dt":
        return time_value(one.region, one.number, old, last_date)
    return html_value(one.region, one.number) if one.prefix == "e" else tag_value(one.region, one.number)


def _add_implied(item: Microformat) -> None:
    """Name, photo and URL of an item that does not state them and contains no other item."""
    if item.children or any(one.nested for one in item.properties):
        return
    names = {one.name for one in item.properties}
    prefixes = {one.prefix for one in item.properties}
    region, number = item.region, item.number
    implied: list[tuple[str, str, Value | None]] = []
    if "name" not in names and prefixes.isdisjoint(("p", "e")):
        implied.append(("p", "name", implied_name(region, number)))
    if "u" not in prefixes:
        implied += [("u", name, implied_link(region, number, name)) for name in IMPLIED_BY if name not in names]
    for prefix, name, value in implied:
        if value is not None:
            item.properties.append(MicroformatProperty(prefix, name, region, number, None, value))
