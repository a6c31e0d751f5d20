"""The items of a page and the elements that are their properties (HTML, 5.2: Encoding microdata).

One selector finds what carries Microdata, in document order; climbing from each to the nearest element already known
tells which item it is in. What `itemref` adds to an item is a stretch of the properties of another: those between the
first and the last inside the element referred to, so that no page can make us go through an element twice.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from gossamer.extract.source import HostLanguage, Source
from gossamer.extract.terms import language_suffix
from gossamer.values.tree import Attributes, Element

NOWHERE = -1
"""No item, or no element that `itemref` names, is around."""

_CARRYING = ("itemscope", "itemprop", "itemprop-reverse")


class MicrodataItem(NamedTuple):
    element: Element
    attributes: Attributes
    is_value: bool
    """Whether it is a property of another item, and not there for itself."""


class ItemProperty(NamedTuple):
    element: Element
    tag: str
    attributes: Attributes
    names: tuple[str, ...]
    reverse_names: tuple[str, ...]
    """Of properties that the value has, and the item is the value of."""
    item: int
    """The item that is the value, or NOWHERE."""
    language: str
    """As `language_suffix` gives it."""
    depth: int
    """How many properties around it have it as part of their text."""


@dataclass(slots=True)
class _Block:
    """An element that `itemref` names: the properties inside it, by their numbers, and the item they are written in."""

    owner: int
    start: int
    end: int = 0


class _Scope(NamedTuple):
    """What holds inside an element."""

    owner: int = NOWHERE
    block: int = NOWHERE
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
        self._inside: dict[int, _Scope] = {}
        self._open: list[tuple[int, _Block]] = []

    def find(self, source: Source) -> None:
        """Goes over the page, once."""
        root = source.survey.root
        if root is None:
            return
        if root.parent is not None:
            self._inside[root.parent.mem_id] = _OUTSIDE
        last_id = 0
        for element in self._carrying(root, source):
            element_id = element.mem_id
            if element_id != last_id:  # a selector finds an element once for each of its parts that match
                last_id = element_id
                self._meet(element, element_id)
        self._close(NOWHERE)

    def _carrying(self, root: Element, source: Source) -> Iterable[Element]:
        """The elements that matter. A selector finds them at a tenth of the cost of going through all."""
        names = (*_CARRYING, "id") if self._wanted else _CARRYING
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
        owner, reached = NOWHERE - 1, 0
        for of, start, end in sorted(spans):
            if of != owner:
                owner, reached = of, 0
            numbers += self._written_in.get(of, [])[max(start, reached) : end]
            reached = max(reached, end)
            if len(numbers) >= at_most:
                break
        return sorted(numbers)

    def _meet(self, element: Element, element_id: int) -> None:
        attributes = element.attributes
        around = self._around(element.parent)
        self._close(around.block)
        owner, block, depth = around.owner, around.block, around.depth
        if self._wanted and (name := attributes.get("id") or "") in self._wanted and name not in self.blocks:
            block = len(self.blocks)
            self.blocks[name] = _Block(around.owner, len(self.properties))
            self._open.append((block, self.blocks[name]))
        names = tuple((attributes["itemprop"] or "").split()) if "itemprop" in attributes else ()
        reverse_names = (
            tuple((attributes["itemprop-reverse"] or "").split()) if "itemprop-reverse" in attributes else ()
        )
        language = _language(attributes, around.language)
        item = NOWHERE
        if "itemscope" in attributes:
            item = owner = len(self.items)
            self.items.append(MicrodataItem(element, attributes, bool(names or reverse_names)))
        if names or reverse_names:
            self._written_in.setdefault(around.owner, []).append(len(self.properties))
            self.properties.append(
                ItemProperty(element, element.tag or "", attributes, names, reverse_names, item, language, depth)
            )
            depth += item == NOWHERE
        self._inside[element_id] = _Scope(owner, block, language, depth)

    def _around(self, element: Element | None) -> _Scope:
        """What holds inside `element`."""
        chain: list[tuple[Element, int]] = []
        scope = _OUTSIDE
        while element is not None:
            element_id = element.mem_id
            known = self._inside.get(element_id)
            if known is not None:
                scope = known
                break
            chain.append((element, element_id))
            element = element.parent
        for up, up_id in reversed(chain):
            language = _language(up.attributes, scope.language)
            if language != scope.language:
                scope = scope._replace(language=language)
            self._inside[up_id] = scope
        return scope

    def _close(self, block: int) -> None:
        """Ends the stretches of elements that a new one, inside `block`, is not inside of."""
        while self._open and self._open[-1][0] != block:
            self._open.pop()[1].end = len(self.properties)


def _language(attributes: Attributes, around: str) -> str:
    if "lang" in attributes or "xml:lang" in attributes:
        return language_suffix(attributes.get("lang", attributes.get("xml:lang")) or "")
    return around
