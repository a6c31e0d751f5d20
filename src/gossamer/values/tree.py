"""The tree interface between HTML and XML parsers and everything that walks a page."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

Attributes = Mapping[str, str | None]
"""Lower-case names in the order written; None for an attribute without a value."""


class Element(Protocol):
    """An element of a parsed page; the names follow selectolax, whose nodes implement it directly."""

    @property
    def tag(self) -> str | None:
        """Lower-case local name. None, and names beginning with `-` or `_`, are not elements."""

    @property
    def attributes(self) -> Attributes: ...

    @property
    def parent(self) -> "Element | None": ...

    @property
    def mem_id(self) -> int:
        """Identifies an element within its tree."""

    def text(self, deep: bool = True, separator: str = "", strip: bool = False) -> str: ...

    def traverse(self, include_text: bool = False) -> "Iterator[Element]":
        """This element and its descendants, in document order."""

    def iter(self, include_text: bool = False) -> "Iterator[Element]":
        """Its child elements, in document order."""

    def css(self, query: str) -> "Sequence[Element]": ...


@runtime_checkable
class Qualified(Protocol):
    """What an element of an XML tree knows in addition: its name as written, with the prefix."""

    @property
    def written_name(self) -> str: ...


ElementParts = tuple[Element, str, Attributes]
"""An element, its tag and its attributes, each read once."""
RELEVANT_ATTRIBUTES = ("href", "property", "typeof", "vocab", "rel", "rev", "itemscope")
RELEVANT_TAGS = ("meta", "script", "iframe", "frame")
"""Attributes and tags of elements that may link somewhere or state something."""


class Survey(NamedTuple):
    """The result of the single walk over a page; every reader of links and facts works from it."""

    root: Element | None
    elements: Sequence[ElementParts]
    """Those that may link or state something (RELEVANT_ATTRIBUTES, RELEVANT_TAGS), in document order."""
    every: Callable[[], Sequence[ElementParts]]
    """All elements, in document order, root first; built on demand, because few pages need it."""
