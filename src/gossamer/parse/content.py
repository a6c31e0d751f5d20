"""The main text of a page and the rest.

Also text out of plain text and unknown XML, and fingerprints of texts.

`content_of` takes the tree apart (it removes what is not read, and dissolves inline elements so that words stay whole),
because cutting and reading are then single calls to the parser, many times faster than walking the tree. Call it last.
"""

import hashlib
import html
import re
from collections.abc import Iterable, Mapping
from itertools import compress, count
from typing import NamedTuple

from rensa import RMinHash
from selectolax.lexbor import LexborNode

from gossamer.parse.blocks.choice import CONTENT, choice_of, is_quiet, sides_of
from gossamer.parse.blocks.scan import Outline, outline_of
from gossamer.parse.html.tree import INLINE, ParsedHtml, folded, index_of, indices_of, tag_number

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
_AROUND = ("nav", "footer", "button", "xmp", "plaintext", "noembed", "noframes")
"""Never content; the last four would not be escaped when the tree is serialized."""
_SIDE = ("header", "aside")
"""Content only if they are large."""
_SMALL_SIDE = 300
_LONG_HIDDEN = 2_000
_MOST_LONG_HIDDEN = 8
"""Characters that a hidden element has at most: some pages show all their text only once a script has run. After a few
longer ones no more are looked for."""
MOST_SCORED_BYTES = 4 << 20
"""Of a page whose blocks are scored."""
_HEADINGS = ("h1", "h2", "h3")
_BOLD = ("b", "strong")
_KIND = {
    **dict.fromkeys(INLINE, "inline"),
    **dict.fromkeys(_UNREAD, "unread"),
    **dict.fromkeys(_AROUND, "around"),
    **dict.fromkeys(_SIDE, "side"),
    **dict.fromkeys(_BOLD, "bold"),
    **dict.fromkeys(_HEADINGS, "heading"),
    "a": "link",
}
_KIND_OF = {tag_number(tag): kind for tag, kind in _KIND.items()}
_RAW = frozenset((tag_number("script"), tag_number("style")))  # most of what is not read; these have no child elements
_OWNING = frozenset((tag_number("main"), tag_number("article")))
_INLINE_TAGS = frozenset(map(tag_number, INLINE))
_NOISY = frozenset(map(tag_number, ("form", "nav", "iframe", "button", "footer", "header")))
_BODY, _TITLE, _MAIN, _TOP_HEADING = map(tag_number, ("body", "title", "main", "h1"))
_HIDDEN = '[hidden],[aria-hidden="true"]'
_UNSHOWN = '[style*="display:none" i],[style*="display: none" i]'
_HIDDEN_ATTRIBUTE = re.compile(rb"hidden(?:[=>]|\s+[a-z-]+=)")
"""The word is common; it costs less to look for the attribute than to search the tree."""
_UNQUOTED = "span[data-nosnippet], div[data-nosnippet], section[data-nosnippet]"
_NOSNIPPET = (b"data-nosnippet", b"DATA-NOSNIPPET")


class PageHead(NamedTuple):
    title: str
    description: str
    language: str | None
    """The page's lang attribute."""
    metas: tuple[tuple[str, str], ...]
    """(name, content), names in lower case."""


class PageBlock(NamedTuple):
    """A part of the text of a page, between two tags that end a line."""

    text: str
    importance: float
    """From 0 to 1; from `choice.CONTENT` on it belongs to the content."""
    level: int
    """Of a heading, from 1 to 6; else 0."""
    tag: str
    """The element that it is in."""


class Blocks(NamedTuple):
    """The body of a page in blocks."""

    blocks: tuple[PageBlock, ...]
    is_article: bool
    """Whether the page has an article; else all of its text is content, but for what the markup declares otherwise."""
    rest: str
    """Text that cannot be content: menus, footers, what is hidden or must not be quoted."""


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
    root = seen.tree.root
    declared = root.attributes if root is not None else {}
    first = dict(reversed(named))
    description = (first.get("description") or first.get("og:description") or "")[: LONGEST_DESCRIPTION * 4]
    return PageHead(
        title=title_of(seen),
        description=folded(description)[:LONGEST_DESCRIPTION],
        language=declared.get("lang") or declared.get("xml:lang"),
        metas=tuple(named),
    )


def title_of(seen: ParsedHtml) -> str:
    if _TITLE not in seen.tags:
        return ""
    return folded(seen.nodes[seen.tags.index(_TITLE)].text()[: LONGEST_TITLE * 8])[:LONGEST_TITLE]


def may_have_nosnippet(markup: bytes) -> bool:
    """Whether to look for text that may not be quoted: few pages have any."""
    return any(name in markup for name in _NOSNIPPET)


def content_of(seen: ParsedHtml, has_unquoted: bool) -> Content:
    """The main text, the rest, and the headings. The tree is unusable afterwards. `has_unquoted`: text that must not be
    quoted (`data-nosnippet`) is searched for, and becomes part of the rest, which can be found but is never quoted."""
    if _declares_content(seen):
        return _declared(seen, has_unquoted)
    page, rest, bold = outlined(seen, has_unquoted)
    choice = choice_of(page, title_of(seen))
    content: list[str] = []
    left = list(rest)
    for block, importance in zip(page.blocks, choice.importances, strict=True):
        (content if importance >= CONTENT else left).append(block.text)
    return Content(" ".join(content), folded(" ".join(left)), _headings(page), bold)


def blocks_of(seen: ParsedHtml, has_unquoted: bool) -> Blocks:
    """The same in blocks. The tree is unusable afterwards."""
    is_declared = _declares_content(seen)
    page, rest, _ = outlined(seen, has_unquoted)
    choice = choice_of(page, title_of(seen), is_declared)
    headings = page.headings()
    blocks = []
    for (text, _, element), importance in zip(page.blocks, choice.importances, strict=True):
        level = int(page.tags[headings[element]][1]) if element in headings else 0
        blocks.append(PageBlock(text, importance, level, page.tags[element]))
    return Blocks(tuple(blocks), choice.is_article, folded(" ".join(rest)))


def _declares_content(seen: ParsedHtml) -> bool:
    """Whether the page says what its content is and can be believed: it has one main element, and in it nothing whose
    tag, class or id is a sign of anything else. Few pages are like that, most of them small; for these the parser finds
    the content alone, in a fraction of the time. Very long pages are left to it too: scoring them takes memory."""
    if seen.size > MOST_SCORED_BYTES:
        return True
    if seen.tags.count(_MAIN) != 1:
        return False
    at = seen.tags.index(_MAIN)
    inside = seen.tags[at : _end(seen.nodes[at], at, seen.nodes, seen.tags)]
    return _NOISY.isdisjoint(inside) and is_quiet(seen.tree.raw_html)


def _declared(seen: ParsedHtml, has_unquoted: bool) -> Content:
    """The main element, unless the text outside of it is longer. The parser does all of it: nothing is scored."""
    body = seen.tree.body
    if body is None:
        return Content("", "", ())
    main = seen.nodes[seen.tags.index(_MAIN)] if _MAIN in seen.tags else body
    found, rest, bold = _reduced(seen, body, has_unquoted, is_declared=True)
    headings = _distinct([folded(_text(one)[: LONGEST_HEADING * 4]) for one in found["heading"]])
    content = folded(_text(main))
    if main.mem_id != body.mem_id:
        main.decompose()
        remainder = folded(_text(body))
        if len(remainder) > len(content):
            content = f"{content} {remainder}".strip(" ")
        else:
            rest.append(remainder)
    return Content(content, folded(" ".join(rest)), headings, bold)


def readable_markup(seen: ParsedHtml) -> str:
    """The body, serialized without what is not read. The tree is unusable afterwards."""
    body = seen.tree.body
    if body is None:
        return ""
    for element in _by_kind(*_within(seen, body), {}, is_declared=False)["unread"]:
        element.decompose()
    return body.html or ""


class Outlined(NamedTuple):
    page: Outline
    rest: list[str]
    """Text that cannot be content: menus, footers, what is hidden or must not be quoted."""
    bold: tuple[str, ...]


def outlined(seen: ParsedHtml, has_unquoted: bool) -> Outlined:
    """The blocks that may be content. The tree is unusable afterwards."""
    body = seen.tree.body
    if body is None:
        return Outlined(outline_of(""), [], ())
    _, rest, bold = _reduced(seen, body, has_unquoted, is_declared=False)
    return Outlined(outline_of(body.html or ""), rest, bold)


def _reduced(
    seen: ParsedHtml, body: LexborNode, has_unquoted: bool, is_declared: bool
) -> tuple[dict[str, list[LexborNode]], list[str], tuple[str, ...]]:
    """Removes what cannot be content. What was found, the text removed, and the text in bold."""
    elements, tags = _within(seen, body)
    markup = seen.tree.raw_html
    apart: dict[int, bool] = {}
    if b"hidden" in markup and _HIDDEN_ATTRIBUTE.search(markup):
        apart = dict.fromkeys(indices_of(body.css(_HIDDEN), elements, tags), True)
    if b"display:" in markup:
        apart |= dict.fromkeys(indices_of(body.css(_UNSHOWN), elements, tags), True)
    if has_unquoted:
        apart |= dict.fromkeys(indices_of(body.css(_UNQUOTED), elements, tags), False)
    found = _by_kind(elements, tags, apart, is_declared)
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
    return found, rest, bold


def _within(seen: ParsedHtml, body: LexborNode) -> tuple[list[LexborNode], list[int]]:
    """The elements of the body, beginning with itself, and the numbers of their tags."""
    start = seen.tags.index(_BODY) if _BODY in seen.tags else -1
    if start >= 0 and seen.nodes[start].mem_id == body.mem_id:  # nothing comes after the body
        return seen.nodes[start:], seen.tags[start:]
    elements = body.css("*")
    return elements, [element.tag_id for element in elements]


def _by_kind(
    elements: list[LexborNode], tags: list[int], apart: Mapping[int, bool], is_declared: bool
) -> dict[str, list[LexborNode]]:
    """The elements of each kind, in document order: "unread", "inline", "bold", "heading", and those "around" the
    content.

    Of those inside an element that will be removed, only what must be read before: a node must not be used once an
    ancestor is gone. `apart`: the elements that are hidden (True) or must not be quoted (False)."""
    found: dict[str, list[LexborNode]] = {"unread": [], "inline": [], "bold": [], "around": [], "heading": []}
    unread_to = cut_to = side_to = long_hidden = 0
    kinds = list(map(_KIND_OF.get, tags))
    for at in apart:
        kinds[at] = "apart"
    for at, element, kind in compress(zip(count(), elements, kinds, strict=False), kinds):  # most have none
        assert kind is not None
        if at < unread_to:
            continue
        if kind == "apart":
            kind = _KIND_OF.get(tags[at], "block")
            if kind != "unread" and at >= cut_to and tags[at] != _BODY:
                is_long = apart[at] and (long_hidden == _MOST_LONG_HIDDEN or len(element.text()) > _LONG_HIDDEN)
                long_hidden += is_long
                kind = kind if is_long else "apart"
            if kind == "block":
                continue
        if kind == "unread":
            unread_to = at + 1 if tags[at] in _RAW else _end(element, at, elements, tags)
        elif kind == "bold":
            if at >= cut_to and len(found["bold"]) < MOST_BOLD:
                found["bold"].append(element)
            kind = "inline"
        elif kind == "link":
            if at >= cut_to and not is_declared:
                continue  # the share of linked text says much about a block
            kind = "inline"
        elif kind == "heading":
            if at < cut_to:
                continue
        elif kind != "inline":
            if at < cut_to or (kind == "side" and at < side_to) or (kind != "apart" and _is_of_article(element)):
                continue
            end = _end(element, at, elements, tags)
            if (
                kind == "side"
                and not is_declared
                and (_TOP_HEADING in tags[at:end] or len(_text(element)) > _SMALL_SIDE)
            ):
                side_to = end  # it may have content, so its blocks are looked at
                continue
            kind, cut_to = "around", end
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


def _headings(page: Outline) -> tuple[str, ...]:
    """Those outside headers and asides; a heading may have several blocks."""
    headings = page.headings()
    found: dict[int, list[str]] = {}
    for text, _, element in page.blocks:
        heading = headings.get(element)
        if heading is not None and page.tags[heading] in _HEADINGS:
            found.setdefault(heading, []).append(text)
    if not found:
        return ()
    side = sides_of(page)
    return _distinct([folded(" ".join(parts)[: LONGEST_HEADING * 4]) for at, parts in found.items() if not side[at]])


def _distinct(headings: Iterable[str]) -> tuple[str, ...]:
    """Those still in the tree: removed ones have no text."""
    texts = dict.fromkeys([heading[:LONGEST_HEADING] for heading in headings if heading])
    return tuple(texts)[:MOST_HEADINGS]


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
