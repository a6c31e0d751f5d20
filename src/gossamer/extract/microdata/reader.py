"""Microdata as triples: "Microdata to RDF", second edition (W3C Note), with @itemprop-reverse of its appendix A.

Items are gone through depth first with an explicit stack, each from where it is the value of a property, so that an
item without a type takes its names from the one around it. An item that would be its own part is a mistake of the page
(HTML, 5.2.5): it is flagged, and the fact that would close the circle is not stated.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from gossamer.extract.microdata.items import NOWHERE, ItemProperty, Items, MicrodataItem
from gossamer.extract.source import NAME_TOO_LONG, FoundFacts, Notice, Source
from gossamer.extract.terms import (
    LONGEST_IRI,
    LONGEST_LITERAL,
    RDF_TYPE,
    UNNAMED,
    XSD,
    absolute,
    iri_term,
    kind_of_moment,
    quoted,
    typed_literal,
)
from gossamer.values.page import MOST_TRIPLES
from gossamer.values.tree import Element

# What the Microdata registry says of vocabularies: where their names begin, and what a property implies.
# Facts from http://www.w3.org/ns/md (W3C), the registry of "Microdata to RDF", second edition. Its first edition also
# knew `propertyURI` and `multipleValues`; the second has one way to make names, and no lists.

VERSION = "2021-03"
Implied = Mapping[str, tuple[str, ...]]
"""By the name of a property: the properties, as IRI terms, that hold wherever it does."""
Registry = Mapping[str, Implied]
"""By the beginning that all names of a vocabulary share."""
REGISTRY: Registry = {
    "http://schema.org/": {"additionalType": (RDF_TYPE,)},
    "https://schema.org/": {"additionalType": (RDF_TYPE,)},
    "http://microformats.org/profile/hcard": {},
}
is_absolute = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.").match
"""Whether a name or a type is an address already."""


class ItemVocabulary(NamedTuple):
    """What names of properties are completed with."""

    stem: str
    """Put before a name, it makes an IRI."""
    implied: Implied


def vocabulary_of(kind: str, registry: Registry) -> ItemVocabulary:
    """The vocabulary that a type belongs to. REQUIRES: `kind` is an absolute IRI.

    One that the registry does not know ends at the last "#" or "/" of its path ("Microdata to RDF", 3.1).
    """
    for prefix, implied in registry.items():
        if kind.startswith(prefix):
            return ItemVocabulary(_ended(prefix), implied)
    return ItemVocabulary(_ended(_without_last_segment(kind)), {})


def _without_last_segment(kind: str) -> str:
    if "#" in kind:
        return kind[: kind.rindex("#") + 1]
    path = kind.partition("?")[0]
    authority_at = path.find("//")
    slash_at = path.rfind("/")
    return path[: slash_at + 1] if slash_at > authority_at + 1 else path


def _ended(stem: str) -> str:
    return stem if stem.endswith(("/", "#")) else f"{stem}#"


# The term that an element with @itemprop stands for, unless it is an item ("Microdata to RDF", 4.1, property value).
# @content counts on every element, as in HTML Microdata since 2017; pages and the schema.org examples have always used
# it so. Where the attribute that ought to hold the value is not there, the words inside do.

_ADDRESS_IN = {
    **dict.fromkeys(("a", "area", "link"), "href"),
    **dict.fromkeys(("audio", "embed", "iframe", "img", "source", "track", "video"), "src"),
    "object": "data",
}
_NUMBERS = ("data", "meter")
_INTEGER = re.compile(r"-?[0-9]+").fullmatch
_DOUBLE = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?").fullmatch


def value_of(found: ItemProperty, base: str) -> str | None:
    """None when nothing usable is there. REQUIRES: the element is no item."""
    attributes = found.attributes
    if "content" in attributes:
        return quoted(attributes["content"] or "") + found.language
    if (place := _ADDRESS_IN.get(found.tag)) is not None:
        if place in attributes:
            address = absolute(attributes[place] or "", base)
            return None if address is None else iri_term(address)
        words = found.element.text()
        return quoted(words) + found.language if words.strip() else None
    if found.tag == "meta":
        return None
    if found.tag in _NUMBERS and "value" in attributes:
        return _number(attributes["value"] or "")
    if found.tag == "time":
        words = (attributes["datetime"] or "") if "datetime" in attributes else found.element.text()
        kind = kind_of_moment(words)
        return quoted(words) + found.language if kind is None else typed_literal(words, kind)
    return quoted(found.element.text()) + found.language


def _number(said: str) -> str:
    if _INTEGER(said):
        return typed_literal(said, f"<{XSD}integer>")
    if _DOUBLE(said):
        return typed_literal(said, f"<{XSD}double>")
    return quoted(said)


MOST_LETTERS = 32 << 20
"""All values of a page together: nested properties would otherwise repeat a long text as often as they nest."""
MOST_STEPS = 4 * MOST_TRIPLES
"""Properties looked at, each as often as an item has it: with @itemref many items can share many."""
DEEPEST = 16
"""Texts of properties within texts of properties; each is read anew."""

_UNKNOWN = ItemVocabulary(UNNAMED, {})
"""Of a type that is too long: its properties have no names."""


def read_microdata(source: Source, registry: Registry = REGISTRY) -> FoundFacts:
    scopes = [attributes for _, _, attributes in source.survey.elements if "itemscope" in attributes]
    if not scopes and not source.takes_notes:  # with notes, properties that belong to no item are told
        return FoundFacts()
    page = Items({name for attributes in scopes for name in (attributes.get("itemref") or "").split()})
    page.find(source)
    walk = _Walk(source, page, registry)
    walk.over_items()
    if source.takes_notes:
        walk.note_the_unreached()
    return walk.found


class _Frame(NamedTuple):
    """An item being gone through."""

    number: int
    subject: str
    vocabulary: ItemVocabulary
    inherited: ItemVocabulary | None
    """For items inside that have no type; None where no type is in force."""
    properties: Iterator[int]


class _Walk:
    def __init__(self, source: Source, page: Items, registry: Registry) -> None:
        self.found = FoundFacts()
        self._source = source
        self._page = page
        self._registry = registry
        self._untyped = ItemVocabulary(f"{source.base}#", {})
        self._path: list[_Frame] = []
        self._open: set[int] = set()
        self._entered: set[tuple[int, str]] = set()
        self._subjects: dict[int, str] = {}
        self._typed: dict[str, tuple[list[str], ItemVocabulary | None]] = {}
        self._predicates: dict[tuple[str, str], str | None] = {}
        self._values: dict[int, str | None] = {}
        self._seen: set[int] = set()
        self._letters = MOST_LETTERS
        self._steps = MOST_STEPS

    def over_items(self) -> None:
        for number, item in enumerate(self._page.items):
            if not item.is_value:
                self._enter(number, None)
                self._go_on()
        if self._is_full():
            self.found.flag("too-many-facts")
            del self.found.triples[self._source.at_most :], self.found.places[self._source.at_most :]

    def _go_on(self) -> None:
        while self._path and not self._is_full():
            frame = self._path[-1]
            number = next(frame.properties, None)
            if number is None:
                self._open.discard(self._path.pop().number)
            else:
                self._state_property(frame, number)

    def _is_full(self) -> bool:
        return len(self.found.triples) >= self._source.at_most or self._letters <= 0 or self._steps <= 0

    def _enter(self, number: int, inherited: ItemVocabulary | None) -> None:
        """States an item's types, and makes its properties the next to be stated; once for each vocabulary."""
        item = self._page.items[number]
        kinds, own = self._kinds(item.attributes.get("itemtype") or "")
        own = own or inherited
        vocabulary = own or self._untyped
        if (number, vocabulary.stem) in self._entered or self._is_full():
            return
        self._entered.add((number, vocabulary.stem))
        subject = self._subject(number)
        for kind in kinds:
            self.found.state(item.element, subject, RDF_TYPE, kind)
        properties = self._page.properties_of(number, self._steps)
        self._steps -= len(properties)
        self._open.add(number)
        self._path.append(_Frame(number, subject, vocabulary, own, iter(properties)))
        if self._source.takes_notes:
            self._note_of_item(item, bool(kinds), own is not None)

    def _kinds(self, said: str) -> tuple[list[str], ItemVocabulary | None]:
        """The types in @itemtype as IRI terms, and the vocabulary of the first; what is not absolute is no type
        ("Microdata to RDF", 4.3, step 3)."""
        known = self._typed.get(said)
        if known is None:
            named = [kind for kind in said.split() if is_absolute(kind)]
            kinds = [term for kind in named if (term := iri_term(kind)) is not None]
            known = (kinds, vocabulary_of(kinds[0][1:-1], self._registry) if kinds else None)
            if named and len(named[0]) > LONGEST_IRI:
                known = (kinds, _UNKNOWN)
                self.found.flag(NAME_TOO_LONG)
            self._typed[said] = known
        return known

    def _subject(self, number: int) -> str:
        known = self._subjects.get(number)
        if known is None:
            attributes = self._page.items[number].attributes
            address = absolute(attributes["itemid"] or "", self._source.base) if "itemid" in attributes else None
            if address is not None and len(address) > LONGEST_IRI:
                known = UNNAMED
            else:
                known = (None if address is None else iri_term(address)) or self._source.labels.new()
            self._subjects[number] = known
        return known

    def _state_property(self, frame: _Frame, number: int) -> None:
        found = self._page.properties[number]
        if self._source.takes_notes:
            self._seen.add(number)
        if found.item == NOWHERE:
            value = self._value(number, found)
            if value is not None:
                self._state(frame, found, value)
        elif found.item in self._open:
            self.found.flag("microdata-loop")
            self._note("error", "microdata-loop", "An item is part of itself through itemref.", found.element)
        else:
            self._state(frame, found, self._subject(found.item))
            self._enter(found.item, frame.inherited)

    def _value(self, number: int, found: ItemProperty) -> str | None:
        if number in self._values:
            return self._values[number]
        value = None
        if found.depth >= DEEPEST:
            self.found.flag("microdata-too-deep")
        else:
            value = value_of(found, self._source.base)
            if value is None:
                self._note("warning", "value-missing", f"<{found.tag}> has no usable value.", found.element)
            elif len(value) > LONGEST_LITERAL:
                self.found.flag("literal-too-long")
                self._letters -= len(value)
                value = None
        self._values[number] = value
        return value

    def _state(self, frame: _Frame, found: ItemProperty, value: str) -> None:
        """A literal is no subject, and no class."""
        is_literal = value[0] == '"'
        for name in found.names:
            for predicate in (self._predicate(name, frame.vocabulary), *frame.vocabulary.implied.get(name, ())):
                if predicate is not None and not (is_literal and predicate == RDF_TYPE):
                    self._letters -= len(value)
                    self.found.state(found.element, frame.subject, predicate, value)
        for name in found.reverse_names:
            predicate = self._predicate(name, frame.vocabulary)
            if is_literal:
                self._note("warning", "reverse-of-text", f"“{name}” cannot be a property of a text.", found.element)
            elif predicate is not None:
                self.found.state(found.element, value, predicate, frame.subject)

    def _predicate(self, name: str, vocabulary: ItemVocabulary) -> str | None:
        key = (vocabulary.stem, name)
        if key not in self._predicates:
            is_known = vocabulary is not _UNKNOWN or is_absolute(name)
            whole = name if is_absolute(name) else vocabulary.stem + name
            self._predicates[key] = iri_term(whole) if is_known else None
        return self._predicates[key]

    def _note(self, level: Literal["error", "warning", "info"], kind: str, says: str, element: Element) -> None:
        if self._source.takes_notes:
            self.found.notices.append(Notice(level, kind, says, element))

    def _note_of_item(self, item: MicrodataItem, has_kinds: bool, has_vocabulary: bool) -> None:
        if not has_kinds and (item.attributes.get("itemtype") or "").strip():
            says = "itemtype holds no absolute address; the item has no type."
            self._note("warning", "type-not-absolute", says, item.element)
        elif not has_vocabulary:
            self._note(
                "info",
                "item-untyped",
                "An item without itemtype: its properties belong to this page alone.",
                item.element,
            )
        for name in dict.fromkeys((item.attributes.get("itemref") or "").split()):
            if name not in self._page.blocks:
                self._note(
                    "warning", "itemref-unknown", f"itemref names “{name}”, and nothing has that id.", item.element
                )

    def note_the_unreached(self) -> None:
        """Properties of no item: nothing of them, or of the items they hold, is stated."""
        for number, found in enumerate(self._page.properties):
            if number not in self._seen and not self._is_full():
                said = " ".join(found.names + found.reverse_names)
                self._note("warning", "property-of-nothing", f"“{said}” is a property of no item.", found.element)
