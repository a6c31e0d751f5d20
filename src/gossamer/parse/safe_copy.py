"""A safe copy of a page: written from its tree, with allowed elements and attributes only.

No scripts, no forms, no frames, nothing that loads; links lead where the caller says. It is safe even without a content
security policy: elements and attributes are allowed by name, and every text is escaped.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.parse.html.positions import elements_at
from gossamer.values.url import Url, url_of

# Styles that load nothing: all that could load something, or hide that it does, is removed.

LONGEST = 512 * 1024
"""Characters of one style sheet; a longer one is left out."""
_COMMENT = re.compile(r"/\*.*?(?:\*/|$)", re.DOTALL)
_FUNCTIONS = "url|url-prefix|src|image|image-set|cross-fade|element|paint|expression"
_LOADING = (
    rf"[\\<\x00]|(?:{_FUNCTIONS})\s*\(|@\s*(?:import|namespace|charset|font-face)|javascript\s*:"
    r"|-moz-binding|behavior\s*:"
)
"""A backslash can spell any of the others (CSS Syntax 3, 4.3.7); `<` could end the style element."""
_FORBIDDEN = re.compile(_LOADING, re.IGNORECASE)
_PIECE = re.compile(r"[^{};]*")


def safe_style(css: str) -> str:
    """The style without declarations, selectors and at-rules that contain something forbidden; empty if that fails. The
    rest may be invalid in places, which browsers skip (CSS Syntax 3, 2.2)."""
    if len(css) > LONGEST:
        return ""
    plain = _COMMENT.sub(" ", css)
    if _FORBIDDEN.search(plain) is None:
        return plain
    kept = _PIECE.sub(lambda piece: "" if _FORBIDDEN.search(piece[0]) else piece[0], plain)
    return "" if _FORBIDDEN.search(kept) else kept


_PLAIN_WORDS = """
    a abbr address article aside b bdi bdo big blockquote br caption center cite code col colgroup dd del details dfn
    div dl dt em fieldset figcaption figure font footer h1 h2 h3 h4 h5 h6 header hgroup hr i ins kbd legend li main
    mark nav ol p pre q rp rt ruby s samp section small span strike strong sub summary sup table tbody td tfoot th
    thead time tr tt u ul var wbr
"""
PLAIN = frozenset(_PLAIN_WORDS.split())
BECOMES = {
    "body": "div", "form": "div", "noscript": "div", "dialog": "div", "search": "div", "menu": "ul", "dir": "ul",
    "xmp": "pre", "listing": "pre", "plaintext": "pre", "option": "div", "optgroup": "div", "button": "span",
    "label": "span", "output": "span",
}  # fmt: skip
"""Elements shown as others; unknown ones become a span."""
_DROPPED_WORDS = """
    head script style template svg math link meta base title param source track area map datalist frameset
"""
DROPPED = frozenset(_DROPPED_WORDS.split())
"""Left out with their content."""
STAND_INS = {
    "img": "image", "picture": "image", "image": "image", "iframe": "frame", "frame": "frame", "object": "object",
    "embed": "object", "applet": "object", "video": "video", "audio": "sound", "canvas": "drawing", "portal": "frame",
    "input": "field", "select": "field", "textarea": "field", "progress": "field", "meter": "field", "keygen": "field",
}  # fmt: skip
"""Replaced by a word and their name."""
VOID = frozenset(("br", "hr", "wbr", "col"))
NO_TEXT_WITHIN = frozenset(("table", "thead", "tbody", "tfoot", "tr", "colgroup", *VOID))
"""A mark cannot be inside these (HTML, 13.2.6.4.9): the element itself is marked."""
_KEPT_WORDS = """
    align bgcolor border cellpadding cellspacing class color colspan datetime dir face height hidden id lang nowrap
    open reversed rowspan scope size span start style title type valign value width
"""
KEPT = frozenset(_KEPT_WORDS.split())
_IMPORTANT = re.compile(r"!\s*important", re.IGNORECASE)
OWN_PREFIX = "gossamer-"
"""Prefix of names that the page itself may not use."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
RULES = """
html, body { display: block; visibility: visible; opacity: 1; transform: none; filter: none; clip-path: none; zoom: 1;
  content-visibility: visible; }
.gossamer-mark, .gossamer-image, .gossamer-head { all: initial; font: 600 12px/1.35 system-ui, sans-serif;
  color: #4a3200; background: #fff3c4; border: 1px solid #8a6100; border-radius: 3px; padding: 0 3px; margin: 0 2px; }
.gossamer-mark, .gossamer-head { position: relative; z-index: 2147483647; }
.gossamer-mark::before, .gossamer-mark::after, .gossamer-head::before, .gossamer-head::after { content: none; }
.gossamer-mark, .gossamer-place { scroll-margin: 20vh 0; }
html:has(:is(.gossamer-mark, .gossamer-place):target) { padding-bottom: 80vh; }
a.gossamer-mark { cursor: pointer; }
a.gossamer-mark:focus-visible { outline: 3px solid #0b5d4d; }
.gossamer-image { color: #444; background: #f2f2f2; border: 1px dashed #777; font-weight: 400; }
.gossamer-head { display: block; margin: 0 0 12px; padding: 6px 10px; font-weight: 400; }
.gossamer-mark:target, .gossamer-mark:target + *, :has(> .gossamer-mark:target), .gossamer-place:target {
  outline: 3px solid #b35c00; outline-offset: 2px; background: #ffe28a; color: #111; }
"""
STYLE = f"@layer {{{RULES.replace(';', ' !important;')}}}"
"""Beyond the reach of the page's style: for important declarations the first layer wins over all others and over those
without a layer (CSS Cascade 5, 6.4.4), and nothing can be added to an unnamed layer. REQUIRES: it comes first."""
TEXT_STYLE = "body { font: 14px/1.5 monospace; } pre { white-space: pre-wrap; overflow-wrap: anywhere; }"


class CopyMark(NamedTuple):
    """A note on an element."""

    anchor: str
    """Its id in the copy. REQUIRES: it begins with OWN_PREFIX."""
    href: str
    says: str


class Copying(NamedTuple):
    base: Url
    link: Callable[[Url], str]
    """The target of a link to that URL."""
    marks: Mapping[int, CopyMark]
    """By the element's number in the tree."""


def safe_copy(tree: LexborHTMLParser, url: Url, link: Callable[[Url], str], marks: Mapping[str, CopyMark]) -> str:
    """The whole page. `marks`: by the path of an element, as in `extract.origins`."""
    root = tree.root
    if root is None:
        return ""
    found = elements_at(root, marks)
    stated = tree.css_first("base[href]")
    base = url_of((stated.attributes.get("href") or "").strip(), url) if stated is not None else None
    copying = Copying(base or url, link, {node.mem_id: marks[path] for path, node in found.items()})
    within = {node.mem_id for node in tree.css("head *")} | {root.mem_id}
    unseen = [marks[path] for path in marks if path not in found or found[path].mem_id in within]
    body = tree.body
    cleaned = [safe_style(node.text(deep=True) or "").strip() for node in tree.css("style")]
    styles = "".join([f"<style>{kept}</style>" for kept in cleaned if kept])
    head = tree.head
    title = head.css_first("title") if head is not None else None
    return "".join(
        [
            "<!doctype html><html",
            _attributes(root),
            f'><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="referrer" content="no-referrer"><meta name="viewport" content="width=device-width">',
            f"<title>{escape(title.text(deep=True)) if title is not None else ''}</title>",
            f"<style>{STYLE}</style>{styles}</head><body{_attributes(body) if body is not None else ''}>",
            _head_list(unseen),
            "".join(_written(body, copying)) if body is not None else "",
            "</body></html>",
        ]
    )


def safe_text_copy(text: str, title: str) -> str:
    """Something that is not HTML, as text."""
    return (
        f'<!doctype html><html><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
        f'content="{POLICY}"><title>{escape(title)}</title><style>{TEXT_STYLE}</style></head>'
        f"<body><pre>{escape(text)}</pre></body></html>"
    )


def _head_list(marks: list[CopyMark]) -> str:
    if not marks:
        return ""
    chips = " ".join([_chip(mark, is_link=True) for mark in marks])
    return f'<div class="gossamer-head">Stated where nothing is shown, in the head of the page: {chips}</div>'


def _chip(mark: CopyMark, is_link: bool) -> str:
    says = escape(mark.says)
    start = f'class="gossamer-mark" id="{escape(mark.anchor)}"'
    if not is_link:
        return f'<span {start} title="{says}">◆</span>'
    return f'<a {start} href="{escape(mark.href)}" target="_top" title="{says}" aria-label="{says}">◆</a>'


def _written(body: LexborNode, copying: Copying) -> Iterator[str]:
    """Piece by piece, without recursion; the parser limits the depth."""
    stack: list[tuple[Iterator[LexborNode], str, bool]] = [(body.iter(include_text=True), "", False)]
    if (mark := copying.marks.get(body.mem_id)) is not None:
        yield _chip(mark, is_link=True)
    while stack:
        children, end, is_in_link = stack[-1]
        node = next(children, None)
        if node is None:
            stack.pop()
            yield end
            continue
        tag = node.tag or ""
        if tag == "-text":
            yield escape(node.text_content or "", quote=False)
        elif not tag.startswith(("-", "!")):
            start, name = _start(node, tag, copying, is_in_link)
            yield start
            if name:
                stack.append((node.iter(include_text=True), f"</{name}>", is_in_link or tag == "a"))


def _start(node: LexborNode, tag: str, copying: Copying, is_in_link: bool) -> tuple[str, str]:
    """The start of an element, and the name to end it with: none if its content is skipped."""
    mark = copying.marks.get(node.mem_id)
    chip = _chip(mark, not is_in_link) if mark is not None else ""
    if tag in DROPPED:
        return chip, ""
    if tag in STAND_INS:
        return chip + _stand_in(node, STAND_INS[tag]), ""
    name = tag if tag in PLAIN else BECOMES.get(tag, "span")
    attributes = _attributes(node)
    if mark is not None and name in NO_TEXT_WITHIN and name != "table":
        attributes, chip = f'{_attributes(node, is_placed=True)} id="{escape(mark.anchor)}" class="gossamer-place"', ""
    if name == "a":
        return f"{chip}<a{attributes}{_link(node, copying)}>", name
    if name == "table":
        return f"{chip}<table{attributes}>", name
    return f"<{name}{attributes}>{chip}", "" if name in VOID else name


def _link(node: LexborNode, copying: Copying) -> str:
    href = (node.attributes.get("href") or "").strip()
    if href.startswith("#"):
        return f' href="{escape(href)}"' if not href.startswith(f"#{OWN_PREFIX}") else ""
    found = url_of(href, copying.base) if href else None
    return f' href="{escape(copying.link(found))}" target="_top" rel="noreferrer"' if found is not None else ""


def _stand_in(node: LexborNode, kind: str) -> str:
    given = node.attributes
    inner = node.css_first("img[alt]") if node.tag == "picture" else None
    alt = inner.attributes.get("alt") if inner is not None else None
    name = alt or given.get("alt") or given.get("title") or given.get("aria-label") or given.get("placeholder")
    if kind == "field" and given.get("type") == "hidden":
        return ""
    return f'<span class="gossamer-image">{kind}{": " + escape(name[:500]) if name else ""}</span>'


def _attributes(node: LexborNode, is_placed: bool = False) -> str:
    """The allowed ones. `is_placed`: the element is marked itself, so its id, class and style are ours."""
    kept = []
    for name, value in node.attributes.items():
        if name not in KEPT or (is_placed and name in ("id", "class", "style", "hidden")):
            continue
        text = value or ""
        if name in ("id", "class") and OWN_PREFIX in text:
            continue
        if name == "style":
            text = _IMPORTANT.sub("", safe_style(text))  # important declarations here would win over any layer
        kept.append(f' {name}="{escape(text)}"')
    return "".join(kept)
