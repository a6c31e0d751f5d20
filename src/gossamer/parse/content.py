"""The main text of a page and the rest.

Also text out of plain text and unknown XML, and fingerprints of texts.

`content_of` takes the tree apart (it removes what is not read, and dissolves inline elements so that words stay whole),
because cutting and reading are then single calls to the parser, many times faster than walking the tree. Call it last.
"""

import hashlib
import html
import re
from collections.abc import Iterable
from itertools import compress, count
from typing import NamedTuple

from rensa import RMinHash
from selectolax.lexbor import LexborNode

from gossamer.parse.html.tree import INLINE, ParsedHtml, folded, index_of, tag_number

LONGEST_TITLE = 512
LONGEST_DESCRIPTION = 1024
MOST_HEADINGS = 64
LONGEST_HEADING = 256
MOST_BOLD = 64
LONGEST_BOLD = 256
"""Characters; a whole paragraph in bold emphasises nothing."""

_UNREAD = (
    "audio", "canvas", "datalist", "embed", "frameset", "iframe", "noscript", "object", "script", "select", "style",
    "svg", "template", "video",
)  # fmt: skip
_AROUND = ("nav", "header", "footer", "aside")
_HEADINGS = ("h1", "h2", "h3")
_BOLD = ("b", "strong")
_KIND = {
    **dict.fromkeys(INLINE, "inline"),
    **dict.fromkeys(_UNREAD, "unread"),
    **dict.fromkeys(_AROUND, "around"),
    **dict.fromkeys(_HEADINGS, "heading"),
    **dict.fromkeys(_BOLD, "bold"),
    "main": "main",
    "article": "article",
}
_KINDS = frozenset(_KIND.values())
_KIND_OF = {tag_number(tag): kind for tag, kind in _KIND.items()}
_RAW = frozenset((tag_number("script"), tag_number("style")))  # most of what is not read; these have no child elements
_OWNING = frozenset((tag_number("main"), tag_number("article")))
_BODY, _TITLE = tag_number("body"), tag_number("title")
_UNQUOTED = "span[data-nosnippet], div[data-nosnippet], section[data-nosnippet]"
_NOSNIPPET = (b"data-nosnippet", b"DATA-NOSNIPPET")


class PageHead(NamedTuple):
    title: str
    description: str
    language: str | None
    """The page's lang attribute."""
    metas: tuple[tuple[str, str], ...]
    """(name, content), names in lower case."""


class Content(NamedTuple):
    content: str
    rest: str
    headings: tuple[str, ...]
    bold: tuple[str, ...] = ()
    """Text set in bold outside menus, headers and footers; distinct, in document order."""


def head_of(seen: ParsedHtml) -> PageHead:
    named: list[tuple[str, str]] = []
    for _, tag, attributes in seen.elements:
        if tag == "meta" and "content" in attributes:
            name = attributes.get("name") or attributes.get("property")
            if name:
                named.append((name.strip().lower(), attributes["content"] or ""))
    title = seen.nodes[seen.tags.index(_TITLE)] if _TITLE in seen.tags else None
    root = seen.tree.root
    declared = root.attributes if root is not None else {}
    first = dict(reversed(named))
    description = (first.get("description") or first.get("og:description") or "")[: LONGEST_DESCRIPTION * 4]
    return PageHead(
        title=folded(title.text()[: LONGEST_TITLE * 8])[:LONGEST_TITLE] if title is not None else "",
        description=folded(description)[:LONGEST_DESCRIPTION],
        language=declared.get("lang") or declared.get("xml:lang"),
        metas=tuple(named),
    )


def may_have_nosnippet(markup: bytes) -> bool:
    """Whether to look for text that may not be quoted: few pages have any."""
    return any(name in markup for name in _NOSNIPPET)


def content_of(seen: ParsedHtml, has_unquoted: bool) -> Content:
    """The main text, the rest, and the headings. The tree is unusable afterwards. `has_unquoted`: text that must not be
    quoted (`data-nosnippet`) is searched for, and becomes part of the rest, which can be found but is never quoted."""
    body = seen.tree.body
    if body is None:
        return Content("", "", ())
    unquoted = frozenset([one.mem_id for one in body.css(_UNQUOTED)]) if has_unquoted else frozenset()
    found = _by_kind(*_within(seen, body), unquoted)
    for element in found["unread"]:
        element.decompose()
    bold = _bold(found["bold"]) if found["bold"] else ()
    for element in found["inline"]:
        element.unwrap(delete_empty=True)
    body.merge_text_nodes()
    rest = []
    for element in found["around"]:
        rest.append(_text(element))
        element.decompose()
    # the one element declared as the main content, if there is one: a list of many articles has none
    main = next((one[0] for one in (found["main"], found["article"]) if len(one) == 1), None)
    headings = _headings(found["heading"])
    content = folded(_text(main if main is not None else body))
    if main is not None:
        main.decompose()
        remainder = folded(_text(body))
        if len(remainder) > len(content):
            content = f"{content} {remainder}".strip(" ")
        else:
            rest.append(remainder)
    return Content(content, folded(" ".join(rest)), headings, bold)


def _within(seen: ParsedHtml, body: LexborNode) -> tuple[list[LexborNode], list[int]]:
    """The elements of the body, beginning with itself, and the numbers of their tags."""
    start = seen.tags.index(_BODY) if _BODY in seen.tags else -1
    if start >= 0 and seen.nodes[start].mem_id == body.mem_id:  # nothing comes after the body
        return seen.nodes[start:], seen.tags[start:]
    elements = body.css("*")
    return elements, [element.tag_id for element in elements]


def _by_kind(elements: list[LexborNode], tags: list[int], unquoted: frozenset[int]) -> dict[str, list[LexborNode]]:
    """The elements of each kind, in document order. Of those inside an element that will be removed, only what must be
    read before: a node must not be used once an ancestor is gone."""
    found: dict[str, list[LexborNode]] = {kind: [] for kind in _KINDS}
    unread_to = cut_to = 0
    kinds = list(map(_KIND_OF.get, tags))
    if unquoted:
        kinds = ["unquoted" if one.mem_id in unquoted else kind for one, kind in zip(elements, kinds, strict=True)]
    for at, element, kind in compress(zip(count(), elements, kinds, strict=False), kinds):  # most have none
        assert kind is not None
        if at < unread_to:
            continue
        if kind == "unread":
            unread_to = at + 1 if tags[at] in _RAW else _end(element, at, elements, tags)
        elif kind == "bold":
            if at >= cut_to and len(found["bold"]) < MOST_BOLD:
                found["bold"].append(element)
            kind = "inline"
        elif kind != "inline":
            if at < cut_to or (kind == "around" and _is_of_article(element)):
                continue
            if kind in ("around", "unquoted"):
                kind, cut_to = "around", _end(element, at, elements, tags)
        found[kind].append(element)
    return found


def _end(element: LexborNode, at: int, elements: list[LexborNode], tags: list[int]) -> int:
    """The index after the element's last descendant. REQUIRES: the element is at `at`.

    All searches of a page together pass each node only once, because no search begins inside another's range."""
    around, following = element.parent, element.next
    while following is None or not following.is_element_node:
        if following is not None:
            following = following.next
        elif around is None or around.tag_id == _BODY:
            return len(elements)
        else:
            following = around.next
            around = around.parent
    return index_of(following, elements, tags, at + 1)


def _text(element: LexborNode) -> str:
    return element.text(separator=" ", strip=True, skip_empty=True)


def _is_of_article(element: LexborNode) -> bool:
    """Whether this header or footer belongs to an article rather than to the page."""
    if element.tag not in ("header", "footer"):
        return False
    up = element.parent
    while up is not None and up.tag_id not in _OWNING:
        up = up.parent
    return up is not None


def _bold(elements: Iterable[LexborNode]) -> tuple[str, ...]:
    """REQUIRES: the elements still exist. `<b>J</b>ohn` emphasises a letter, not a word."""
    texts = [folded(element.text()[: LONGEST_BOLD * 2]) for element in elements]
    return tuple(dict.fromkeys([one for one in texts if 1 < len(one) <= LONGEST_BOLD]))


def _headings(elements: Iterable[LexborNode]) -> tuple[str, ...]:
    """Those still in the tree: removed ones have no text."""
    texts: dict[str, None] = {}
    for element in elements:
        if heading := folded(_text(element)[: LONGEST_HEADING * 4])[:LONGEST_HEADING]:
            texts[heading] = None
            if len(texts) == MOST_HEADINGS:
                break
    return tuple(texts)


_MARKUP = re.compile(
    r"<!--.*?(?:-->|\Z)|<!\[CDATA\[(.*?)(?:\]\]>|\Z)|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>|<[^>]*(?:>|\Z)", re.DOTALL
)
_XML_TITLE = re.compile(r"<(?:\w+:)?title\b[^>]*>(.*?)</", re.DOTALL | re.IGNORECASE)


def first_line(text: str) -> str:
    """A plain text's title."""
    start = text.lstrip()[: LONGEST_TITLE * 2]
    return folded(start.partition("\n")[0])[:LONGEST_TITLE]


def xml_text(text: str) -> str:
    """The character data, without a parser: only predefined and numeric entities are expanded."""
    return folded(html.unescape(_MARKUP.sub(lambda m: f" {html.escape(m[1])} " if m[1] else " ", text)))


def xml_title(text: str) -> str:
    found = _XML_TITLE.search(text)
    return xml_text(found[1])[:LONGEST_TITLE] if found else ""


PERMUTATIONS = 64
_SEED = 20
_WORDS = 100
"""Words used at each end of the text: pages that agree on both ends are worth a closer comparison."""
_LONGEST_WORD = 30


def exact(text: str) -> bytes:
    """SHA-256 of the text. REQUIRES: white space folded."""
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def near(text: str) -> tuple[int, ...]:
    """MinHash over shingles of three words; the share of equal numbers estimates the texts' resemblance.

    Empty for an empty text. Texts written without spaces are cut into characters instead.
    """
    words = text.split(None, _WORDS)
    if not words:
        return ()
    if len(words) > _WORDS:
        words[_WORDS:] = words[_WORDS].rsplit(None, _WORDS)[-_WORDS:]
    elif len(text) > _LONGEST_WORD * len(words):
        words = list(text[: _WORDS * 2])
    shingles = list(map("".join, zip(words, words[1:], words[2:], strict=False))) if len(words) > 2 else words
    sketch = RMinHash(PERMUTATIONS, _SEED)  # its class methods would start a thread pool
    sketch.update(shingles)
    return tuple(sketch.digest())
