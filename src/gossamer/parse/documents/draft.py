"""A document's text while it is being read: blocks and their parts, within limits.

Converters add runs of text to a `Draft` and end each block. A limit that is reached raises `DraftFull`, which ends the
conversion: what was added until then is the text, marked as cut. All limits are on work and size, never on time, so
the same bytes always give the same text.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import msgspec

from gossamer.parse.html.tree import folded
from gossamer.values.document import CUT, Block, BlockKind, DocumentText, LinkText, Metadata, TextSpan

MOST_CHARACTERS = 2_000_000
MOST_BLOCKS = 60_000
MOST_LINKS = 5_000
MOST_WORK = 1_000_000
"""Elements of XML, cells, lines of pages: about two CPU seconds."""
MOST_INFLATED = 64 * 1024 * 1024
"""Bytes that all compressed parts of a document may have together."""
MOST_DEPTH = 3
"""Documents inside documents."""
LONGEST_HEADING = 200
"""Characters; a longer paragraph in large letters is no heading."""
LONGEST_VALUE = 2_000
"""Characters of one value of the metadata."""
LARGE = 1.15
"""How many times the size of most of the text a heading is at least."""
MOST_LEVELS = 6
MOST_VALUES = 50
MOST_SPANS = 200
"""Of one block; the rest of a longer list is not marked."""


_NO_CHARACTER = re.compile(r"[\ud800-\udfff\x00]")


def characters(text: str) -> str:
    """The text without what is no character: pairs of surrogates joined, single ones replaced."""
    if text.isascii() and "\x00" not in text:
        return text
    if _NO_CHARACTER.search(text) is None:
        return text
    return text.replace("\x00", "").encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class DraftFull(Exception):
    """A limit was reached: the conversion ends with the text so far."""


class NoText(Exception):
    """The document cannot be read. Raised with the reason and a sentence for people."""

    def __init__(self, reason: Literal["encrypted", "damaged", "empty", "needs-extra", "too-large"], says: str) -> None:
        super().__init__(says)
        self.reason = reason
        self.says = says


class _Open:
    """The block that is being written."""

    __slots__ = ("length", "parts", "smallest", "spans")

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.length = 0
        self.spans: list[tuple[int, int, str, str]] = []
        self.smallest: float | None = None


class Draft:
    """Collects what a document says. REQUIRES: each block is ended with `end`, `end_cell` or `end_row`."""

    def __init__(self) -> None:
        self.metadata = Metadata()
        self.flags: list[str] = []
        self.depth = 0
        """How many documents this one is inside of."""
        self.reads_archives = False
        """Whether archives inside are opened."""
        self._blocks: list[tuple[BlockKind, str, int, list[tuple[int, int, str, str]], float | None]] = []
        self._open = _Open()
        self._links: list[LinkText] = []
        self._sizes: Counter[float] = Counter()
        self._characters = self._work = self._inflated = 0

    @property
    def is_empty(self) -> bool:
        return not self._blocks and not self._open.parts

    def flag(self, flag: str) -> None:
        if flag not in self.flags:
            self.flags.append(flag)

    def spend(self, work: int = 1) -> None:
        """Counts work. Raises DraftFull once it is too much."""
        self._work += work
        if self._work > MOST_WORK:
            self._full()

    def inflate(self, size: int) -> None:
        """Counts bytes of a compressed part. Raises DraftFull once they are too many."""
        self._inflated += size
        if self._inflated > MOST_INFLATED:
            self._full()

    @property
    def may_inflate(self) -> int:
        return max(0, MOST_INFLATED - self._inflated)

    def run(self, text: str, *, is_bold: bool = False, size: float = 0.0, link: str = "") -> None:
        """Adds text to the open block. `size`: of its letters, in points; 0: unknown."""
        if not text:
            return
        opened = self._open
        clean = characters(folded(text)) if not text.isspace() else ""
        if text[0].isspace() and opened.parts and not opened.parts[-1].endswith((" ", "\t")):
            opened.parts.append(" ")
            opened.length += 1
        if not clean:
            return
        room = MOST_CHARACTERS - self._characters
        clean = clean[: max(room, 0)]
        start = opened.length
        opened.parts.append(clean)
        opened.length += len(clean)
        self._characters += len(clean)
        if len(opened.spans) > MOST_SPANS * 4:
            is_bold, link = False, ""
        if size > 0:
            opened.smallest = size if opened.smallest is None else min(opened.smallest, size)
            self._sizes[size] += len(clean)
            if len(opened.spans) <= MOST_SPANS * 4:
                opened.spans.append((start, opened.length, "size", str(size)))
        if is_bold:
            opened.spans.append((start, opened.length, "bold", ""))
        if link:
            opened.spans.append((start, opened.length, "link", characters(link)))
        if text[-1].isspace():
            opened.parts.append(" ")
            opened.length += 1
        if len(clean) >= room:
            self._full()

    def end(self, kind: BlockKind = "paragraph", level: int = 0) -> None:
        """Ends the open block. One without text is dropped."""
        opened = self._open
        if not opened.parts:
            return
        text = "".join(opened.parts).rstrip()
        self._open = _Open()
        if text:
            self._add(kind, text, level, opened)

    def end_cell(self) -> None:
        """The next text of this row is in another cell."""
        opened = self._open
        while opened.parts and opened.parts[-1] == " ":
            opened.parts.pop()
            opened.length -= 1
        opened.parts.append("\t")
        opened.length += 1
        self.spend()

    def break_line(self) -> None:
        """Separates words, within a block."""
        self.run(" ")

    def end_row(self) -> None:
        opened = self._open
        if opened.parts and opened.parts[-1] == "\t":
            opened.parts.pop()
            opened.length -= 1
        text = "".join(opened.parts)
        self._open = _Open()
        if text.strip():
            self._add("row", text, 0, opened)

    def code(self, text: str) -> None:
        """A block whose white space is kept."""
        self.end()
        room = MOST_CHARACTERS - self._characters
        kept = characters(text[: max(room, 0)]).strip("\n\r").replace("\r\n", "\n").replace("\x00", "")
        if kept.strip():
            self._characters += len(kept)
            self._add("code", kept, 0, _Open())
        if len(text) >= room:
            self._full()

    def line(self, text: str, kind: BlockKind = "paragraph", level: int = 0) -> None:
        """A block of its own."""
        self.end()
        self.run(text)
        self.end(kind, level)

    def link(self, target: str, text: str = "") -> None:
        """A link whose place in the text is unknown."""
        if len(self._links) < MOST_LINKS:
            self._links.append(LinkText(characters(target), characters(text)))
        else:
            self.flag(CUT)

    def state(self, **values: object) -> None:
        """Sets values of the metadata that are not set yet."""
        new: dict[str, object] = {}
        for name, value in values.items():
            if getattr(self.metadata, name):
                continue
            if isinstance(value, str):
                new[name] = characters(folded(value[: LONGEST_VALUE * 2])[:LONGEST_VALUE])
            elif isinstance(value, Sequence) and not isinstance(value, bytes):
                words = [characters(folded(str(one)[:LONGEST_VALUE])) for one in value[:MOST_VALUES]]
                new[name] = tuple(dict.fromkeys([one for one in words if one]))
            else:
                new[name] = value
        self.metadata = msgspec.structs.replace(self.metadata, **new)

    def finish(self) -> DocumentText:
        """What was added. Paragraphs in letters larger than most of the text become headings."""
        self.end()
        body = self._sizes.most_common(1)[0][0] if self._sizes else 0.0
        levels = self._levels(body)
        blocks, links = [], []
        for kind, text, level, spans, size in self._blocks:
            if kind == "paragraph" and size is not None and size in levels and len(text) <= LONGEST_HEADING:
                kind, level = "heading", levels[size]
            found = _spans(spans, body if kind != "heading" else float("inf"), len(text))
            blocks.append(Block(kind, text, level, found))
            links += [LinkText(one.target, text[one.start : one.end]) for one in found if one.kind == "link"]
        return DocumentText(tuple(blocks), self.metadata, tuple((links + self._links)[:MOST_LINKS]), tuple(self.flags))

    def _levels(self, body: float) -> dict[float, int]:
        """Heading levels by size, largest first."""
        if not body:
            return {}
        sizes = {size for kind, text, _, _, size in self._blocks if kind == "paragraph" and size is not None}
        large = sorted([size for size in sizes if size >= body * LARGE], reverse=True)
        return {size: min(number, MOST_LEVELS) for number, size in enumerate(large, 1)}

    def _add(self, kind: BlockKind, text: str, level: int, opened: _Open) -> None:
        self._blocks.append((kind, text, level, opened.spans, opened.smallest))
        if len(self._blocks) >= MOST_BLOCKS:
            self._full()

    def _full(self) -> None:
        self.flag(CUT)
        raise DraftFull


def _spans(spans: list[tuple[int, int, str, str]], body: float, length: int) -> tuple[TextSpan, ...]:
    """Neighbours of the same kind merged, white space between them included."""
    found: list[TextSpan] = []
    for start, end, kind, value in spans:
        end = min(end, length)
        if kind == "size":
            if float(value) < body * LARGE:
                continue
            kind, value = "large", ""
        if start >= end:
            continue
        last = next((at for at in range(len(found) - 1, max(-1, len(found) - 4), -1) if found[at].kind == kind), None)
        if last is not None and found[last].target == value and start - found[last].end <= 1:
            found[last] = found[last]._replace(end=end)
        elif kind == "bold" or kind == "large" or kind == "link":
            found.append(TextSpan(start, end, kind, value))  # type: ignore[arg-type]
    return tuple(sorted(found[:MOST_SPANS]))
