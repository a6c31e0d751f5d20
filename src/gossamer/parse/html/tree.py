"""Bytes to a tree, over lexbor, with the few inputs that would hold or swell it cut down to size first.

lexbor's tree builder takes time that grows with the square of the depth, of the attributes of a tag and of the open
formatting elements. Ordinary pages are told by counting, which costs next to nothing; only a page that might be over
a limit is gone through tag by tag (`flatten`). What hides even from that is ended by the reader's own limits.
"""

import re
from collections.abc import Iterable
from itertools import compress, count
from operator import attrgetter
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from gossamer.parse.html.limits import DEEPEST, LONGEST_TAG, flattened
from gossamer.values.tree import TELLING, TELLING_TAGS, Survey

LARGEST = 16 * 1024 * 1024
_SMALL = 64 * 1024
"""Up to here not even the worst tag can hold the parser for long."""
_CHUNK = 4096
_FEW_TAGS = 2 * DEEPEST
"""Start and end tags together; so few cannot hurt however they nest."""
_MANY_TAGS = 50_000
_MANY_NAMES = 400
_BEFORE_NAMES = (b" ", b"\n", b"\t", b"\r", b"\f", b"/", b'"', b"'")
_MOST_REOPENED = 1_000_000
_WITHOUT_EVENTS = 1
_VOID = re.compile(rb"<(?:(?:br|hr|img|input|link|meta|source|wbr)(?=[\s/>])|!)", re.IGNORECASE)
_TAG_START = re.compile(rb"<[a-zA-Z]")
LexborMet = tuple[LexborNode, str, dict[str, str | None]]
_tag_id = attrgetter("tag_id")


def number_of(tag: str) -> int:
    """lexbor's number of a tag, which an element is asked for at a tenth of the price of its name."""
    return int(LexborHTMLParser(b"").create_node(tag).tag_id)


_LEADING = {number_of(tag): tag for tag in ("a", "area", "base", "link", *TELLING_TAGS)}
"""Tags of nearly all elements that are worth a look; the others are found by what they state."""
_STATING = ",".join([f"[{name}]" for name in TELLING if name != "href"])
"""One selector for all of them costs half of what asking every element for its attributes does."""


class ParsedHtml(NamedTuple):
    """A page as the one walk over it saw it."""

    tree: LexborHTMLParser
    nodes: list[LexborNode]
    """All elements, in document order."""
    tags: list[int]
    """The number of the tag of each."""
    elements: list[LexborMet]
    """Those that can lead somewhere or state something, in document order."""
    size: int
    """Bytes of the page."""

    def survey(self) -> Survey:
        return Survey(self.tree.root, self.elements, self.every)

    def every(self) -> list[LexborMet]:
        return [(node, node.tag or "", node.attributes) for node in self.nodes]


class Parsed(NamedTuple):
    tree: LexborHTMLParser
    flags: tuple[str, ...]
    """"truncated" when something was left out, "too-deep" when nesting was flattened."""


def parse_html(body: bytes) -> Parsed:
    """REQUIRES: UTF-8 (what is not valid reads as U+FFFD). Never fails, whatever the bytes."""
    flags: tuple[str, ...] = ()
    if len(body) > LARGEST:
        body, flags = body[:LARGEST], ("truncated",)
    if not is_tame(body):
        body, more = flattened(body)
        flags = tuple(dict.fromkeys(flags + more))
    try:
        return Parsed(LexborHTMLParser(body, options=_WITHOUT_EVENTS), flags)
    except SelectolaxError:
        return Parsed(LexborHTMLParser(b""), (*flags, "unparsable"))


def seen_in(tree: LexborHTMLParser) -> ParsedHtml:
    """The one walk over a page. REQUIRES: the tree is whole (`content.blocks_of` takes it apart)."""
    nodes = tree.css("*")
    tags = list(map(_tag_id, nodes))
    stating = _places_of(tree.css(_STATING), nodes, tags)
    places = list(compress(count(), map(_LEADING.get, tags)))
    if not stating.issubset(places):
        places = sorted(stating.union(places))
    met: list[LexborMet] = []
    for at in places:
        node, tag = nodes[at], _LEADING.get(tags[at])
        attributes = node.attributes
        if "href" in attributes or tag in TELLING_TAGS or at in stating:
            met.append((node, tag or node.tag or "", attributes))
    return ParsedHtml(tree, nodes, tags, met, len(tree.raw_html))


def _places_of(found: Iterable[LexborNode], nodes: list[LexborNode], tags: list[int]) -> set[int]:
    """Where those found stand among all. REQUIRES: both in document order.

    A selector finds an element once for each of its parts that match, in a row."""
    places: set[int] = set()
    at = -1
    last_id = 0
    for node in found:
        node_id = node.mem_id
        if node_id == last_id:
            continue
        last_id = node_id
        at = place_of(node, nodes, tags, at + 1)
        places.add(at)
    return places


def place_of(element: LexborNode, nodes: list[LexborNode], tags: list[int], start: int) -> int:
    """Where it stands among all. REQUIRES: it is one of them, not before `start`."""
    tag, element_id = element.tag_id, element.mem_id
    at = tags.index(tag, start)
    while nodes[at].mem_id != element_id:
        at = tags.index(tag, at + 1)
    return at


def is_tame(body: bytes) -> bool:
    """Whether counting alone shows that no limit can be reached."""
    angles = body.count(b"<")
    if angles < _FEW_TAGS and len(body) <= _SMALL:
        return True
    if angles > _MANY_TAGS:
        return False
    return (_is_shallow(body, angles, heed_void=False) or _is_shallow(body, angles, heed_void=True)) and (
        not _has_long_tag(body)
    )


def _is_shallow(body: bytes, angles: int, heed_void: bool) -> bool:
    """By chunks: no more can be open at once than were open before the chunk, and all that it opens.

    Elements that never have an end tag look like ever deeper nesting, until they are heeded, which costs more.
    """
    still_open = 0
    for at in range(0, len(body), _CHUNK):
        ends = body.count(b"</", at, at + _CHUNK)
        starts = body.count(b"<", at, at + _CHUNK) - ends
        if heed_void:
            starts -= len(_VOID.findall(body, at, at + _CHUNK))
        if still_open + starts >= DEEPEST:
            return False
        still_open = max(0, still_open + starts - ends)
    return still_open * angles < _MOST_REOPENED


def _has_many_names(body: bytes, start: int, end: int) -> bool:
    """Whether what may be one tag may have many attributes: each begins after one of these marks. A long address or a
    script without line breaks does not; and a tag of LONGEST_TAG bytes may have more than so many."""
    return sum([body.count(mark, start, end) for mark in _BEFORE_NAMES]) >= _MANY_NAMES


def _has_long_tag(body: bytes) -> bool:
    """Whether a tag may be longer than LONGEST_TAG: somewhere no ">" comes for that long after a "<"."""
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
