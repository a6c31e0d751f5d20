"""The thin tree interface between the parser and everything that walks a page."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

Attributes = Mapping[str, str | None]
"""Lower-case names in the order written; None for an attribute without a value."""


class Element(Protocol):
    """One element of a parsed page; the names follow selectolax, whose nodes satisfy it as they are."""

    @property
    def tag(self) -> str | None:
        """Lower-case local name; names beginning with `-` or `_`, or None, are no elements."""
        ...

    @property
    def attributes(self) -> Attributes: ...

    @property
    def parent(self) -> "Element | None": ...

    @property
    def mem_id(self) -> int:
        """Tells elements of one tree apart."""
        ...

    def text(self, deep: bool = True, separator: str = "", strip: bool = False) -> str: ...

    def traverse(self, include_text: bool = False) -> "Iterator[Element]":
        """This element and all below it, in document order."""
        ...

    def iter(self, include_text: bool = False) -> "Iterator[Element]":
        """Its children that are elements, in document order."""
        ...

    def css(self, query: str) -> "Sequence[Element]": ...


@runtime_checkable
class Qualified(Protocol):
    """What an element of an XML tree knows beside: the name it was written with, prefix and all."""

    @property
    def written_name(self) -> str: ...


ElementParts = tuple[Element, str, Attributes]
"""An element, its tag and its attributes, each asked for once."""
RELEVANT_ATTRIBUTES = ("href", "property", "typeof", "vocab", "rel", "rev", "itemscope")
RELEVANT_TAGS = ("meta", "script", "iframe", "frame")
"""Attributes and tags that make an element worth a look."""


class Survey(NamedTuple):
    """What the one walk over a page saw; every reader of links and facts works from it."""

    root: Element | None
    elements: Sequence[ElementParts]
    """Those that can lead somewhere or state something (RELEVANT_ATTRIBUTES, RELEVANT_TAGS), in document order."""
    every: Callable[[], Sequence[ElementParts]]
    """All elements, in document order, the root first; made when asked for, because few pages need it."""
