"""HTML to a tree, over lexbor, after cutting down inputs that would take too much time or memory.

lexbor's tree builder takes quadratic time in the depth, in the attributes of a tag and in the open formatting elements.
Counting, which costs next to nothing, recognises ordinary pages; only a page that may exceed a limit is processed tag
by tag (`flattened`). The reader's own limits stop any page that still takes too much.
"""

import re
from collections.abc import Iterable
from itertools import compress, count
from operator import attrgetter
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from gossamer.values.tree import RELEVANT_ATTRIBUTES, RELEVANT_TAGS, Survey

DEEPEST = 512
MOST_ATTRIBUTES = 1000
LONGEST_TAG = 2 * MOST_ATTRIBUTES
"""A tag with more attributes than that is longer than this many bytes."""
MOST_TAGS = 200_000
_MOST_FORMATTING = 24
_REOPENED_AT_MOST = 400_000
_MOST_NAMES = 1000
_FEW_ATTRIBUTES = 50
_MOST_LONG_TAGS = 100
_NEARBY = 64

_FORMATTING = frozenset(b"b big code em font i nobr s small strike strong tt u".split())
_VOID_TAGS = frozenset(b"a area base br col embed hr img input link meta param source track wbr".split())
"""Not counted as open; `a` is among them because each one ends the previous one."""
_ONCE = frozenset((b"html", b"body"))
_RAW = frozenset(b"script style textarea xmp iframe noembed noframes".split())
_RAW_END = {name: re.compile(rb"</" + name + rb"(?=[\s/>])", re.IGNORECASE) for name in _RAW}
_FOREIGN = (b"svg", b"math")

_CELLS = frozenset((b"td", b"th"))
_ROWS = _CELLS | {b"tr"}
_SECTIONS = _ROWS | {b"tbody", b"thead", b"tfoot"}
_P = frozenset((b"p",))
_ENDS: dict[bytes, frozenset[bytes]] = {
    **dict.fromkeys(b"p div ul ol dl table h1 h2 h3 h4 h5 h6 pre blockquote section article form hr".split(), _P),
    **dict.fromkeys(_CELLS, _CELLS),
    b"tr": _ROWS,
    **dict.fromkeys((b"tbody", b"thead", b"tfoot"), _SECTIONS),
    b"li": frozenset((b"li", b"p")),
    **dict.fromkeys((b"dt", b"dd"), frozenset((b"dt", b"dd", b"p"))),
    b"option": frozenset((b"option",)),
    b"optgroup": frozenset((b"option", b"optgroup")),
}
"""Which elements a start tag ends: those whose end tags authors omit."""

# A comment, or a tag. Quotes delimit only after "=", as in the standard's tokenizer.
_TAG = re.compile(
    rb"<!--(?:-?>|.*?(?:--!?>|\Z))"
    rb"|<(/?)([a-zA-Z][^\s/>]*+)((?:[^>\"'=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+')?+|[\"'])*+)>?+",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(rb"[^\s/>=][^\s/>=]*+(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>]++))?+")

LARGEST = 16 * 1024 * 1024
_SMALL = 64 * 1024
"""Up to this size not even the worst tag takes long."""
_CHUNK = 4096
_FEW_TAGS = 2 * DEEPEST
"""Start and end tags together; so few are harmless however they nest."""
_MANY_TAGS = 50_000
_MANY_NAMES = 400
_BEFORE_NAMES = (b" ", b"\n", b"\t", b"\r", b"\f", b"/", b'"', b"'")
_MOST_REOPENED = 1_000_000
_WITHOUT_EVENTS = 1
_VOID = re.compile(rb"<(?:(?:br|hr|img|input|link|meta|source|wbr)(?=[\s/>])|!)", re.IGNORECASE)
_TAG_START = re.compile(rb"<[a-zA-Z]")
LexborParts = tuple[LexborNode, str, dict[str, str | None]]
_tag_id = attrgetter("tag_id")


def tag_number(tag: str) -> int:
    """lexbor's number of a tag, which costs a tenth of an element's tag name."""
    return int(LexborHTMLParser(b"").create_node(tag).tag_id)


_LEADING = {tag_number(tag): tag for tag in ("a", "area", "base", "link", *RELEVANT_TAGS)}
"""Tags of nearly all relevant elements; the others are found by their attributes."""
_STATING = ",".join([f"[{name}]" for name in RELEVANT_ATTRIBUTES if name != "href"])
"""One selector for all costs half of reading every element's attributes."""


class ParsedHtml(NamedTuple):
    """A page after the single walk over it."""

    tree: LexborHTMLParser
    nodes: list[LexborNode]
    """All elements, in document order."""
    tags: list[int]
    """The tag numbers of the elements."""
    elements: list[LexborParts]
    """Those that may link or state something, in document order."""
    size: int
    """Bytes of the page."""

    def survey(self) -> Survey:
        return Survey(self.tree.root, self.elements, self.every)

    def every(self) -> list[LexborParts]:
        return [(node, node.tag or "", node.attributes) for node in self.nodes]


class Parsed(NamedTuple):
    tree: LexborHTMLParser
    flags: tuple[str, ...]
    """"truncated" if something was left out, "too-deep" if nesting was flattened."""


def parse_html(body: bytes) -> Parsed:
    """REQUIRES: UTF-8 (invalid bytes read as U+FFFD). Never fails."""
    flags: tuple[str, ...] = ()
    if len(body) > LARGEST:
        body, flags = body[:LARGEST], ("truncated",)
    if not is_within_limits(body):
        body, more = flattened(body)
        flags = tuple(dict.fromkeys(flags + more))
    try:
        return Parsed(LexborHTMLParser(body, options=_WITHOUT_EVENTS), flags)
    except SelectolaxError:
        return Parsed(LexborHTMLParser(b""), (*flags, "unparsable"))


def scan_html(tree: LexborHTMLParser) -> ParsedHtml:
    """The single walk over a page. REQUIRES: the tree is whole (`content.content_of` takes it apart)."""
    nodes = tree.css("*")
    tags = list(map(_tag_id, nodes))
    stating = indices_of(tree.css(_STATING), nodes, tags)
    places = list(compress(count(), map(_LEADING.get, tags)))
    if not stating.issubset(places):
        places = sorted(stating.union(places))
    relevant: list[LexborParts] = []
    for at in places:
        node, tag = nodes[at], _LEADING.get(tags[at])
        attributes = node.attributes
        if "href" in attributes or tag in RELEVANT_TAGS or at in stating:
            relevant.append((node, tag or node.tag or "", attributes))
    return ParsedHtml(tree, nodes, tags, relevant, len(tree.raw_html))


def indices_of(found: Iterable[LexborNode], nodes: list[LexborNode], tags: list[int]) -> set[int]:
    """Indices of the elements found. REQUIRES: both in document order.

    A selector finds an element once for each of its parts that match, in a row."""
    places: set[int] = set()
    at = -1
    last_id = 0
    for node in found:
        node_id = node.mem_id
        if node_id == last_id:
            continue
        last_id = node_id
        at = index_of(node, nodes, tags, at + 1)
        places.add(at)
    return places


def index_of(element: LexborNode, nodes: list[LexborNode], tags: list[int], start: int) -> int:
    """The index of an element. REQUIRES: it is one of them, not before `start`."""
    tag, element_id = element.tag_id, element.mem_id
    at = tags.index(tag, start)
    while nodes[at].mem_id != element_id:
        at = tags.index(tag, at + 1)
    return at


def is_within_limits(body: bytes) -> bool:
    """Whether counting alone proves that no limit is reached."""
    angles = body.count(b"<")
    if angles < _FEW_TAGS and len(body) <= _SMALL:
        return True
    if angles > _MANY_TAGS:
        return False
    is_shallow = _is_shallow(body, angles, counts_void=True) or _is_shallow(body, angles, counts_void=False)
    return is_shallow and not _has_long_tag(body)


def _is_shallow(body: bytes, angles: int, counts_void: bool) -> bool:
    """In chunks: no more elements can be open at once than before the chunk plus all that it opens.

    Void elements look like ever deeper nesting until they are subtracted, which costs more.
    """
    still_open = 0
    for at in range(0, len(body), _CHUNK):
        ends = body.count(b"</", at, at + _CHUNK)
        starts = body.count(b"<", at, at + _CHUNK) - ends
        if not counts_void:
            starts -= len(_VOID.findall(body, at, at + _CHUNK))
        if still_open + starts >= DEEPEST:
            return False
        still_open = max(0, still_open + starts - ends)
    return still_open * angles < _MOST_REOPENED


def _has_many_names(body: bytes, start: int, end: int) -> bool:
    """Whether something that may be a tag may have many attributes: each begins after one of these marks. A long URL,
    or a script without line breaks, has few; and a tag of LONGEST_TAG bytes may have more than so many."""
    return sum([body.count(mark, start, end) for mark in _BEFORE_NAMES]) >= _MANY_NAMES


def _has_long_tag(body: bytes) -> bool:
    """Whether a tag may be longer than LONGEST_TAG: somewhere no ">" follows a "<" for that long."""
    step = LONGEST_TAG // 2
    at = 0
    while at < len(body):
        if body.find(b">", at, at + step) >= 0:
            at += step
            continue
        end = body.find(b">", at)
        end = len(body) if end < 0 else end
        start = _TAG_START.search(body, max(body.rfind(b">", 0, at), 0), end)
        if start is not None and end - start.start() > LONGEST_TAG and _has_many_names(body, start.start(), end):
            return True
        at = end
    return False


def flattened(body: bytes) -> tuple[bytes, tuple[str, ...]]:
    """The page within the limits, and flags for what was done. Takes linear time."""
    return _Flattening(body).result()


class _Flattening:
    """One pass over the tags. It may overestimate the depth of a page, but hardly ever underestimates it."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._out: list[bytes] = []
        self._copied = 0
        self._open: list[bytes] = []
        """Names of the elements that seem to be open, outermost first."""
        self._active: dict[bytes, int] = {}
        """Formatting elements without an end tag: the tree builder reopens them in every block."""
        self._reopened = 0
        self._dropped: dict[bytes, int] = {}
        self._names: set[bytes] = set()
        """Element names so far; each new one costs the tree builder a search."""
        self._long_tags = 0
        self._flags: dict[str, None] = {}

    def result(self) -> tuple[bytes, tuple[str, ...]]:
        body, at, tags = self._body, 0, 0
        while (found := _TAG.search(body, at)) is not None:
            at = found.end()
            if found[2] is None:
                continue
            tags += 1
            if tags > MOST_TAGS:
                self._cut(found.start(), len(body), b"", "truncated")
                break
            name = found[2].lower()
            if found[1]:
                self._end(name, found)
            else:
                self._start(name, found)
                if name in _RAW and not self._is_foreign():
                    closing = _RAW_END[name].search(body, at)
                    at = len(body) if closing is None else closing.start()
        self._out.append(body[self._copied :])
        return b"".join(self._out), tuple(self._flags)

    def _cut(self, start: int, end: int, instead: bytes, flag: str) -> None:
        self._out += (self._body[self._copied : start], instead)
        self._copied = end
        self._flags[flag] = None

    def _is_foreign(self) -> bool:
        return any(name in self._open for name in _FOREIGN)

    def _start(self, name: bytes, found: re.Match[bytes]) -> None:
        if name in _ONCE:
            if name in self._names:
                self._cut(found.start(), found.end(), b"", "truncated")
                return
            self._names.add(name)
        elif name not in self._names:
            if len(self._names) >= _MOST_NAMES:
                self._drop(name, found)
                return
            self._names.add(name)
        if len(found[3]) > LONGEST_TAG:
            self._shorten(found)
        self._count_reopened(found.start())
        if name in _FORMATTING:
            if sum(self._active.values()) >= _MOST_FORMATTING or self._reopened > _REOPENED_AT_MOST:
                self._drop(name, found)
            else:
                self._active[name] = self._active.get(name, 0) + 1
        elif not (name in _VOID_TAGS or name in _RAW or (found[3].endswith(b"/") and self._is_foreign())):
            self._nest(name, found)

    def _nest(self, name: bytes, found: re.Match[bytes]) -> None:
        ends = _ENDS.get(name, frozenset())
        while self._open and self._open[-1] in ends:
            self._open.pop()
        if len(self._open) >= DEEPEST:
            self._drop(name, found)
        else:
            self._open.append(name)

    def _count_reopened(self, at: int) -> None:
        if not self._active or self._reopened > _REOPENED_AT_MOST:
            return
        self._reopened += sum(self._active.values())
        if self._reopened > _REOPENED_AT_MOST:
            ends = b"".join(b"</%b>" % name * count for name, count in self._active.items())
            self._cut(at, at, ends, "too-deep")
            self._active.clear()

    def _drop(self, name: bytes, found: re.Match[bytes]) -> None:
        self._dropped[name] = self._dropped.get(name, 0) + 1
        self._cut(found.start(), found.end(), b"", "too-deep")

    def _end(self, name: bytes, found: re.Match[bytes]) -> None:
        if self._dropped.get(name):
            self._dropped[name] -= 1
            self._cut(found.start(), found.end(), b"", "too-deep")
        elif name in _FORMATTING:
            if self._active.get(name, 0) > 1:
                self._active[name] -= 1
            else:
                self._active.pop(name, None)
        elif self._open and self._open[-1] == name:
            self._open.pop()
        elif name in self._open[-_NEARBY:]:
            while self._open.pop() != name:
                pass

    def _shorten(self, found: re.Match[bytes]) -> None:
        """Keep the first attributes, and fewer after many such tags: their cost is quadratic in their number."""
        self._long_tags += 1
        most = MOST_ATTRIBUTES if self._long_tags <= _MOST_LONG_TAGS else _FEW_ATTRIBUTES
        kept: list[bytes] = []
        for attribute in _ATTRIBUTE.finditer(found[3]):
            if len(kept) == most:
                self._cut(found.start(3), found.end(3), b" " + b" ".join(kept), "truncated")
                return
            kept.append(attribute[0])


# Text of elements, with white space folded as a reader sees it.

_NAMES = (
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q s samp small span strike "
    "strong sub sup time tt u var wbr"
)
INLINE = frozenset(_NAMES.split())
"""Elements that do not end a word."""
SEAM = "\x1f"
_BLANKS = "\n\t\r\f\v\x1c\x1d\x1e\x1f"
_WIDE = "\xa0\u2003\u3000\u2009\u202f\u2002\u2028\u1680\u2000\u2001\u2004\u2005\u2006\u2007\u2008\u200a\u205f\u2029\x85"
_MOST_PIECES = 400
_SHORT = 256


def folded(text: str) -> str:
    """Every run of white space as one space, none at the ends.

    Long texts by replacing instead of splitting: most runs are one space already, so no word is copied by itself.
    """
    if len(text) < _SHORT:
        return " ".join(text.split())
    for blank in _BLANKS:
        if blank in text:
            text = text.replace(blank, " ")
    if not text.isascii():
        for blank in _WIDE:
            if blank in text:
                text = text.replace(blank, " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return text.strip(" ")


def text_of(element: LexborNode, seamed: str | None = None) -> str:
    """The text of a small element. `<b>J</b>ohn` is one word; two paragraphs are not.

    `seamed` is the element's text with SEAM between its pieces, if the caller already has it.
    """
    if seamed is None:
        seamed = element.text(separator=SEAM)
    return folded(_walked(element) if SEAM in seamed else seamed)


def _walked(element: LexborNode) -> str:
    """Piece by piece, with a space wherever a block boundary or line break is between two pieces."""
    parts: list[str] = []
    home, block, is_apart = element.mem_id, 0, False
    for node in element.traverse(include_text=True):
        if not node.is_text_node:
            is_apart = is_apart or node.tag not in INLINE
            continue
        within = _block_of(node, home)
        if parts and (is_apart or within != block):
            parts.append(" ")
        parts.append(node.text_content or "")
        block, is_apart = within, False
        if len(parts) > _MOST_PIECES:
            break
    return "".join(parts)


def _block_of(node: LexborNode, home: int) -> int:
    at = node.parent
    while at is not None and at.mem_id != home and at.tag in INLINE:
        at = at.parent
    return home if at is None else at.mem_id
