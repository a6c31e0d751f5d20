"""The thin tree interface between the parser and everything that walks a page."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol


class Element(Protocol):
    """One element of a parsed page; the names follow selectolax, whose nodes satisfy it as they are."""

    @property
    def tag(self) -> str | None:
        """Lower-case local name; names beginning with `-` or `_`, or None, are no elements."""
        ...

    @property
    def attributes(self) -> Mapping[str, str | None]:
        """Lower-case names; None for an attribute without a value."""
        ...

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

    def css(self, query: str) -> "Sequence[Element]": ...


class Tree(Protocol):
    """A parsed page. Real ones: `parse.html` over lexbor; `parse.xml` over lxml comes with structured data."""

    @property
    def root(self) -> Element | None: ...

    def css(self, query: str) -> Sequence[Element]: ...
