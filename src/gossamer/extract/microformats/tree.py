"""The part of a page that one microformat covers, as flat lists in which every subtree is a slice.

Elements are numbered in document order, so the descendants of one are a range of numbers; all texts are in one list, so
the text of an element is a join of a slice. However deep properties nest, reading one costs only its own length.
"""

from bisect import bisect_left
from collections.abc import Iterator

from gossamer.extract.markup import RAW, TEXT, VOID, events, plain_text, start_tag
from gossamer.extract.source import LengthAllowance
from gossamer.extract.terms import absolute
from gossamer.values.tree import Attributes, Element

MOST_CHARACTERS = 8 << 20
"""Of all texts of a page together: nested properties would otherwise repeat a long text as often as they nest."""

WHITE = " \t\n\r\f"

_SILENT = frozenset(("script", "style", "template"))
_URLS = frozenset(("href", "src", "poster", "cite"))


class TooLong(Exception):
    """The limit for a page is exceeded: the rest stays unread. Caught within this folder."""


def resolved(text: str, base: str) -> str:
    """A URL as u-* properties need it: absolute, or unchanged if it cannot be resolved."""
    text = text.strip(WHITE)
    return (absolute(text, base) or text) if text else base


class Region:
    """An element and its descendants, numbered from 0 for the outermost."""

    __slots__ = (
        "_allowance", "_alts", "_images", "_markup", "_markup_spans", "_pieces", "_starts", "_stops",
        "attributes", "base", "elements", "ends", "tag_number", "tags",
    )  # fmt: skip

    def __init__(self, outermost: Element, base: str, allowance: LengthAllowance) -> None:
        self.base = base
        self._allowance = allowance
        self.elements: list[Element] = []
        self.tags: list[str] = []
        self.attributes: list[Attributes] = []
        self.ends: list[int] = []
        """The last number inside each element."""
        self.tag_number: dict[int, int] = {}
        """By `mem_id`."""
        self._pieces: list[str] = []
        self._starts: list[int] = []
        self._stops: list[int] = []
        self._images: list[int] = []
        """Which pieces replace images."""
        self._alts: dict[int, str] = {}
        self._markup: list[str] = []
        self._markup_spans: list[tuple[int, int]] = []
        """Which part of the markup is inside each element; filled on first use."""
        self._lay_out(outermost)

    def _lay_out(self, outermost: Element) -> None:
        opened: list[int] = []
        for node, tag in events(outermost):
            if node is None:
                number = opened.pop()
                self.ends[number] = len(self.tags) - 1
                self._stops[number] = len(self._pieces)
            elif tag == TEXT:
                if not opened or self.tags[opened[-1]] not in _SILENT:
                    self._pieces.append(node.text(deep=False))
            elif tag:
                opened.append(self._open(node, tag))

    def _open(self, element: Element, tag: str) -> int:
        number = len(self.tags)
        attributes = element.attributes
        if tag == "img":
            self._add_image(attributes)
        self.elements.append(element)
        self.tags.append(tag)
        self.attributes.append(attributes)
        self.ends.append(number)
        self.tag_number[element.mem_id] = number
        self._starts.append(len(self._pieces))
        self._stops.append(0)
        return number

    def _add_image(self, attributes: Attributes) -> None:
        self._images.append(len(self._pieces))
        if "alt" in attributes:
            self._alts[len(self._pieces)] = text = attributes["alt"] or ""
        else:
            text = f" {self._resolved(attributes['src'])} " if attributes.get("src") else ""
        self._pieces.append(text)

    def children(self, number: int) -> Iterator[int]:
        child, end = number + 1, self.ends[number]
        while child <= end:
            if self.tags[child] != "template":
                yield child
            child = self.ends[child] + 1

    def text(self, number: int) -> str:
        """The text, with images replaced by their alternative text or else their URL."""
        start, stop = self._starts[number], self._stops[number]
        self._spend(stop - start + 1)
        return self.counted("".join(self._pieces[start:stop]))

    def imageless_text(self, number: int, keeps_alts: bool = False) -> str:
        """The text without images, or with their alternative texts."""
        start, stop = self._starts[number], self._stops[number]
        images = self._images[bisect_left(self._images, start) : bisect_left(self._images, stop)]
        if not images:
            return self.text(number)
        self._spend(stop - start + len(images))
        pieces = self._pieces[start:stop]
        for image in images:
            pieces[image - start] = self._alts.get(image, "") if keeps_alts else ""
        return self.counted("".join(pieces))

    def counted(self, text: str) -> str:
        """The text, counted against the limit: when it is read, and whenever it is repeated."""
        self._spend(len(text))
        return text

    def _spend(self, length: int) -> None:
        if not self._allowance.spend(length):
            raise TooLong

    def html(self, number: int) -> str:
        """The markup inside, without comments and with absolute URLs, as it is used outside its page."""
        if not self._markup_spans:
            self._lay_out_markup()
        start, stop = self._markup_spans[number]
        self._spend(stop - start + 1)
        return self.counted("".join(self._markup[start:stop]))

    def _lay_out_markup(self) -> None:
        written = self._markup
        starts: list[int] = []
        stops = [0] * len(self.tags)
        opened: list[int] = []
        for node, tag in events(self.elements[0]):
            if node is None:
                number = opened.pop()
                stops[number] = len(written)
                if self.tags[number] not in VOID:
                    written.append(f"</{self.tags[number]}>")
            elif tag == TEXT:
                text = node.text(deep=False)
                is_raw = bool(opened) and self.tags[opened[-1]] in RAW
                written.append(text if is_raw else plain_text(text))
            elif tag:
                opened.append(len(starts))
                attributes = self.attributes[len(starts)].items()
                whole = {name: self._resolved(value) if name in _URLS else value for name, value in attributes}
                written.append(f"{start_tag(tag, whole)}>")
                starts.append(len(written))
        self._markup_spans = list(zip(starts, stops, strict=True))

    def _resolved(self, value: str | None) -> str:
        return resolved(value or "", self.base)
