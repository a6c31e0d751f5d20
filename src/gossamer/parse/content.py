"""The text a person came for, and the rest.

This takes the tree apart (dropping what nobody reads, dissolving inline elements so that words stay whole), because
cutting and reading are then single steps of the parser's own, many times faster than a walk of ours. Call it last.
"""

from collections.abc import Iterable
from typing import NamedTuple

from selectolax.lexbor import LexborNode

from gossamer.parse.html import Seen
from gossamer.parse.text import INLINE, folded

LONGEST_TITLE = 512
LONGEST_DESCRIPTION = 1024
MOST_HEADINGS = 64
LONGEST_HEADING = 256

_UNREAD = (
    "audio",
    "canvas",
    "datalist",
    "embed",
    "frameset",
    "iframe",
    "noscript",
    "object",
    "script",
    "select",
    "style",
    "svg",
    "template",
    "video",
)
_AROUND = ("nav", "header", "footer", "aside")
_HEADINGS = ("h1", "h2", "h3")
_KIND = {
    **dict.fromkeys(INLINE, "inline"),
    **dict.fromkeys(_UNREAD, "unread"),
    **dict.fromkeys(_AROUND, "around"),
    **dict.fromkeys(_HEADINGS, "heading"),
    "main": "main",
    "article": "article",
}
_KINDS = frozenset(_KIND.values())


class Head(NamedTuple):
    title: str
    description: str
    language: str | None
    """The lang attribute of the page, as written."""
    metas: tuple[tuple[str, str], ...]
    """(name, content), names in lower case."""


class Content(NamedTuple):
    content: str
    rest: str
    headings: tuple[str, ...]


def head_of(seen: Seen) -> Head:
    named: list[tuple[str, str]] = []
    for _, tag, attributes in seen.elements:
        if tag == "meta" and "content" in attributes:
            name = attributes.get("name") or attributes.get("property")
            if name:
                named.append((name.strip().lower(), attributes["content"] or ""))
    title = seen.tree.css_first("title")
    root = seen.tree.root
    declared = root.attributes if root is not None else {}
    said = dict(reversed(named))
    return Head(
        title=folded(title.text()[: LONGEST_TITLE * 8])[:LONGEST_TITLE] if title is not None else "",
        description=folded((said.get("description") or said.get("og:description") or "")[: LONGEST_DESCRIPTION * 4])[
            :LONGEST_DESCRIPTION
        ],
        language=declared.get("lang") or declared.get("xml:lang"),
        metas=tuple(named),
    )


def blocks_of(seen: Seen) -> Content:
    """The content block, the rest, and the headings. The tree is of no use afterwards."""
    body = seen.tree.body
    if body is None:
        return Content("", "", ())
    found: dict[str, list[LexborNode]] = {kind: [] for kind in _KINDS}
    for element in body.css("*"):
        kind = _KIND.get(element.tag or "")
        if kind is not None:
            found[kind].append(element)
    for element in found["unread"]:
        element.decompose()
    for element in found["inline"]:
        element.unwrap(delete_empty=True)
    body.merge_text_nodes()
    own = _own_headers(body) if found["main"] or found["article"] else frozenset()
    rest = [_cut(element) for element in found["around"] if element.mem_id not in own]
    main = _main(found["main"], found["article"])
    headings = _headings(found["heading"])
    content = folded(_text(main if main is not None else body))
    if main is not None:
        main.decompose()
        beside = folded(_text(body))
        if len(beside) > len(content):
            content = f"{content} {beside}".strip(" ")
        else:
            rest.append(beside)
    return Content(content, folded(" ".join(rest)), headings)


def _text(element: LexborNode) -> str:
    return element.text(separator=" ", strip=True, skip_empty=True)


def _cut(element: LexborNode) -> str:
    text = _text(element)
    element.decompose()
    return text


def _own_headers(body: LexborNode) -> frozenset[int]:
    """Headers and footers that belong to an article, not to the page around it."""
    within = body.css("main header,main footer,article header,article footer")
    return frozenset([element.mem_id for element in within])


def _main(mains: list[LexborNode], articles: list[LexborNode]) -> LexborNode | None:
    """The one element that says it is the content, if there is one. A list of many articles has none."""
    for candidates in (mains, articles):
        if len(candidates) == 1:
            return candidates[0]
    return None


def _headings(elements: Iterable[LexborNode]) -> tuple[str, ...]:
    """Those that are still in the tree: what was cut away has lost its text."""
    said: dict[str, None] = {}
    for element in elements:
        if heading := folded(_text(element)[: LONGEST_HEADING * 4])[:LONGEST_HEADING]:
            said[heading] = None
            if len(said) == MOST_HEADINGS:
                break
    return tuple(said)
