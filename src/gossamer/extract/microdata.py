"""Microdata (HTML, 5.2) and its facts ("Microdata to RDF", second edition).

One selector finds the elements with Microdata, in document order; climbing from each to the nearest known element shows
which item it is in. `itemref` adds to an item a range of the properties of another: those between the first and the
last inside the referenced element, so that no page can make us read an element twice.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from gossamer.extract.source import NAME_TOO_LONG, FoundFacts, HostLanguage, Inherited, Notice, Source
from gossamer.extract.terms import (
    LONGEST_IRI,
    LONGEST_LITERAL,
    RDF_TYPE,
    UNKNOWN_TERM,
    XSD,
    absolute,
    iri_term,
    language_suffix,
    quoted,
    time_datatype,
    typed_literal,
)
from gossamer.values.page import MOST_TRIPLES
from gossamer.values.tree import Attributes, Element

NONE = -1
"""No item, or no element that `itemref` names."""

_MICRODATA = ("itemscope", "itemprop", "itemprop-reverse")


class MicrodataItem(NamedTuple):
    element: Element
    attributes: Attributes
    is_value: bool
    """Whether it is a property of another item rather than on its own."""


class ItemProperty(NamedTuple):
    element: Element
    tag: str
    attributes: Attributes
    names: tuple[str, ...]
    reverse_names: tuple[str, ...]
    """Properties of the value, whose value is the item."""
    item: int
    """The number of the item that is the value, or NONE."""
    language: str
    """As `language_suffix` gives it."""
    depth: int
    """How many enclosing properties contain it in their text."""


@dataclass(slots=True)
class _Block:
    """An element that `itemref` names: the range of properties inside it, and the item they are written in."""

    owner: int
    start: int
    end: int = 0


class _Scope(NamedTuple):
    """What applies inside an element."""

    owner: int = NONE
    block: int = NONE
    language: str = ""
    depth: int = 0


_OUTSIDE = _Scope()


class Items:
    """REQUIRES: `wanted` are all the ids that `itemref` names on the page."""

    def __init__(self, wanted: Collection[str]) -> None:
        self.items: list[MicrodataItem] = []
        self.properties: list[ItemProperty] = []
        self.blocks: dict[str, _Block] = {}
        self._wanted = wanted
        self._written_in: dict[int, list[int]] = {}
        self._scopes = Inherited(_OUTSIDE, _with_language)
        self._open: list[tuple[int, _Block]] = []

    def find(self, source: Source) -> None:
        """Read the page, once."""
        root = source.survey.root
        if root is None:
            return
        last_id = 0
        for element in self._with_microdata(root, source):
            element_id = element.mem_id
            if element_id != last_id:  # a selector finds an element once for each of its parts that match
                last_id = element_id
                self._add(element, element_id)
        self._close(NONE)

    def _with_microdata(self, root: Element, source: Source) -> Iterable[Element]:
        """The elements with Microdata. A selector finds them at a tenth of the cost of looking at all."""
        names = (*_MICRODATA, "id") if self._wanted else _MICRODATA
        if source.host is HostLanguage.HTML:
            return root.css(",".join([f"[{name}]" for name in names]))
        return [element for element, _, attributes in source.survey.every() if not attributes.keys().isdisjoint(names)]

    def properties_of(self, number: int, at_most: int) -> list[int]:
        """The numbers of an item's properties in document order, with those that `itemref` adds."""
        own = self._written_in.get(number, [])
        references = self.items[number].attributes.get("itemref")
        if not references:
            return own
        spans = {(number, 0, len(own))}
        for name in references.split():
            block = self.blocks.get(name)
            if block is not None:
                found = self._written_in.get(block.owner, [])
                spans.add((block.owner, bisect_left(found, block.start), bisect_left(found, block.end)))
        numbers: list[int] = []
        last, reached = None, 0
        for owner, start, end in sorted(spans):
            reached = reached if owner == last else 0
            numbers += self._written_in.get(owner, [])[max(start, reached) : end]
            last, reached = owner, max(reached, end)
            if len(numbers) >= at_most:
                break
        return sorted(numbers)

    def _add(self, element: Element, element_id: int) -> None:
        attributes = element.attributes
        around = self._scopes.within(element.parent)
        self._close(around.block)
        owner, block, depth = around.owner, around.block, around.depth
        if self._wanted and (name := attributes.get("id") or "") in self._wanted and name not in self.blocks:
            block = len(self.blocks)
            self.blocks[name] = _Block(around.owner, len(self.properties))
            self._open.append((block, self.blocks[name]))
        names = tuple((attributes.get("itemprop") or "").split())
        reverse_names = tuple((attributes.get("itemprop-reverse") or "").split())
        language = _language(attributes, around.language)
        item = NONE
        if "itemscope" in attributes:
            item = owner = len(self.items)
            self.items.append(MicrodataItem(element, attributes, bool(names or reverse_names)))
        if names or reverse_names:
            self._written_in.setdefault(around.owner, []).append(len(self.properties))
            self.properties.append(
                ItemProperty(element, element.tag or "", attributes, names, reverse_names, item, language, depth)
            )
            depth += item == NONE
        self._scopes.known[element_id] = _Scope(owner, block, language, depth)

    def _close(self, block: int) -> None:
        """End the ranges of elements that a new one, inside `block`, is outside of."""
        while self._open and self._open[-1][0] != block:
            self._open.pop()[1].end = len(self.properties)


def _with_language(around: _Scope, attributes: Attributes) -> _Scope:
    language = _language(attributes, around.language)
    return around if language == around.language else around._replace(language=language)


def _language(attributes: Attributes, around: str) -> str:
    if "lang" in attributes or "xml:lang" in attributes:
        return language_suffix(attributes.get("lang", attributes.get("xml:lang")) or "")
    return around


# Vocabularies in the Microdata registry: how their names begin, and what a property implies.
# Facts from http://www.w3.org/ns/md (W3C, 2021-03), the registry of "Microdata to RDF", second edition. Its first
# edition also knew `propertyURI` and `multipleValues`; the second has one way to make names, and no lists.

Implied = Mapping[str, tuple[str, ...]]
"""By the name of a property: the properties, as IRI terms, that it implies."""
Registry = Mapping[str, Implied]
"""By the prefix of all names of a vocabulary."""
REGISTRY: Registry = {
    "http://schema.org/": {"additionalType": (RDF_TYPE,)},
    "https://schema.org/": {"additionalType": (RDF_TYPE,)},
    "http://microformats.org/profile/hcard": {},
}
is_absolute = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.").match
"""Whether a name or type is already a URL."""


class ItemVocabulary(NamedTuple):
    """How names of properties become IRIs."""

    stem: str
    """The part before the name."""
    implied: Implied


def vocabulary_of(kind: str, registry: Registry) -> ItemVocabulary:
    """The vocabulary of a type. REQUIRES: `kind` is an absolute IRI.

    One that is not in the registry ends at the last "#" or "/" of its path ("Microdata to RDF", 3.1).
    """
    stem = next((prefix for prefix in registry if kind.startswith(prefix)), None)
    implied = {} if stem is None else registry[stem]
    if stem is None and "#" in kind:
        stem = kind[: kind.rindex("#") + 1]
    elif stem is None:
        path = kind.partition("?")[0]
        slash_at = path.rfind("/")
        stem = path[: slash_at + 1] if slash_at > path.find("//") + 1 else path
    return ItemVocabulary(stem if stem.endswith(("/", "#")) else f"{stem}#", implied)


# The value of an element with @itemprop that is no item ("Microdata to RDF", 4.1, property value). @content counts on
# every element, as in HTML Microdata since 2017 and in pages and schema.org examples before. If the attribute that
# should hold the value is missing, the text does.

_URL_IN = {
    **dict.fromkeys(("a", "area", "link"), "href"),
    **dict.fromkeys(("audio", "embed", "iframe", "img", "source", "track", "video"), "src"),
    "object": "data",
}
_NUMBERS = ("data", "meter")
_INTEGER = re.compile(r"-?[0-9]+").fullmatch
_DOUBLE = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?").fullmatch


def value_of(found: ItemProperty, base: str) -> str | None:
    """None if there is no usable value. REQUIRES: the element is no item."""
    attributes = found.attributes
    if "content" in attributes:
        return quoted(attributes["content"] or "") + found.language
    if (name := _URL_IN.get(found.tag)) is not None:
        if name in attributes:
            iri = absolute(attributes[name] or "", base)
            return None if iri is None else iri_term(iri)
        text = found.element.text()
        return quoted(text) + found.language if text.strip() else None
    if found.tag == "meta":
        return None
    if found.tag in _NUMBERS and "value" in attributes:
        return _number(attributes["value"] or "")
    if found.tag == "time":
        text = (attributes["datetime"] or "") if "datetime" in attributes else found.element.text()
        datatype = time_datatype(text)
        return quoted(text) + found.language if datatype is None else typed_literal(text, datatype)
    return quoted(found.element.text()) + found.language


def _number(text: str) -> str:
    if _INTEGER(text):
        return typed_literal(text, f"<{XSD}integer>")
    return typed_literal(text, f"<{XSD}double>") if _DOUBLE(text) else quoted(text)


MOST_CHARACTERS = 32 << 20
"""Characters of all values of a page together: nested properties would otherwise repeat a long text."""
MOST_STEPS = 4 * MOST_TRIPLES
"""Properties, each counted as often as an item has it: with @itemref many items can share many."""
DEEPEST = 16
"""Texts of properties within texts of properties, each of which is read separately."""

_UNKNOWN = ItemVocabulary(UNKNOWN_TERM, {})
"""For a type that is too long: its properties have no names."""


def read_microdata(source: Source, registry: Registry = REGISTRY) -> FoundFacts:
    scopes = [attributes for _, _, attributes in source.survey.elements if "itemscope" in attributes]
    if not scopes and not source.collects_notices:  # notices report properties that belong to no item
        return FoundFacts()
    page = Items({name for attributes in scopes for name in (attributes.get("itemref") or "").split()})
    page.find(source)
    walk = _Walk(source, page, registry)
    walk.over_items()
    if source.collects_notices:
        walk.note_unreached()
    return walk.found


class _Frame(NamedTuple):
    """An item being read."""

    number: int
    subject: str
    vocabulary: ItemVocabulary
    inherited: ItemVocabulary | None
    """For inner items without a type; None if no type applies."""
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
        self._characters = MOST_CHARACTERS
        self._steps = MOST_STEPS

    def over_items(self) -> None:
        for number, item in enumerate(self._page.items):
            if item.is_value:
                continue
            self._enter(number, None)
            while self._path and not self._is_full():
                frame = self._path[-1]
                following = next(frame.properties, None)
                if following is None:
                    self._open.discard(self._path.pop().number)
                else:
                    self._state_property(frame, following)
        if self._is_full():
            self.found.cut(self._source.at_most)

    def _is_full(self) -> bool:
        return len(self.found.triples) >= self._source.at_most or self._characters <= 0 or self._steps <= 0

    def _enter(self, number: int, inherited: ItemVocabulary | None) -> None:
        """State the types of an item and put its properties next in line; once for each vocabulary."""
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
        if self._source.collects_notices:
            self._note_of_item(item, bool(kinds), own is not None)

    def _kinds(self, itemtype: str) -> tuple[list[str], ItemVocabulary | None]:
        """Absolute IRIs in @itemtype as terms, and the vocabulary of the first ("Microdata to RDF", 4.3, step 3)."""
        known = self._typed.get(itemtype)
        if known is None:
            named = [kind for kind in itemtype.split() if is_absolute(kind)]
            kinds = [term for kind in named if (term := iri_term(kind)) is not None]
            known = (kinds, vocabulary_of(kinds[0][1:-1], self._registry) if kinds else None)
            if named and len(named[0]) > LONGEST_IRI:
                known = (kinds, _UNKNOWN)
                self.found.flag(NAME_TOO_LONG)
            self._typed[itemtype] = known
        return known

    def _subject(self, number: int) -> str:
        if number not in self._subjects:
            attributes = self._page.items[number].attributes
            iri = absolute(attributes["itemid"] or "", self._source.base) if "itemid" in attributes else None
            is_too_long = iri is not None and len(iri) > LONGEST_IRI
            named = UNKNOWN_TERM if is_too_long else iri_term(iri) if iri is not None else None
            self._subjects[number] = named or self._source.labels.new()
        return self._subjects[number]

    def _state_property(self, frame: _Frame, number: int) -> None:
        found = self._page.properties[number]
        if self._source.collects_notices:
            self._seen.add(number)
        if found.item == NONE:
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
                self._characters -= len(value)
                value = None
        self._values[number] = value
        return value

    def _state(self, frame: _Frame, found: ItemProperty, value: str) -> None:
        """A literal is neither a subject nor a class."""
        is_literal = value[0] == '"'
        for name in found.names:
            for predicate in (self._predicate(name, frame.vocabulary), *frame.vocabulary.implied.get(name, ())):
                if predicate is not None and not (is_literal and predicate == RDF_TYPE):
                    self._characters -= len(value)
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
        if self._source.collects_notices:
            self.found.notices.append(Notice(level, kind, says, element))

    def _note_of_item(self, item: MicrodataItem, has_kinds: bool, has_vocabulary: bool) -> None:
        if not has_kinds and (item.attributes.get("itemtype") or "").strip():
            says = "itemtype has no absolute URL; the item has no type."
            self._note("warning", "type-not-absolute", says, item.element)
        elif not has_vocabulary:
            says = "An item without itemtype: its properties are specific to this page."
            self._note("info", "item-untyped", says, item.element)
        for name in dict.fromkeys((item.attributes.get("itemref") or "").split()):
            if name not in self._page.blocks:
                says = f"itemref names “{name}”, but no element has that id."
                self._note("warning", "itemref-unknown", says, item.element)

    def note_unreached(self) -> None:
        """Properties of no item: neither they nor the items in them are stated."""
        for number, found in enumerate(self._page.properties):
            if number not in self._seen and not self._is_full():
                names = " ".join(found.names + found.reverse_names)
                self._note("warning", "property-of-nothing", f"“{names}” is not a property of any item.", found.element)
