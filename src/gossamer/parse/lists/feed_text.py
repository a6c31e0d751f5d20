"""The words of a feed's titles and summaries: text, escaped markup or markup in place, told apart and made plain."""

import base64
import binascii
import html
import re
from html.entities import html5

from lxml import etree

from gossamer.parse.html.text import folded, text_of
from gossamer.parse.html.tree import parse_html

LONGEST = 4_096
"""Characters of one title or summary that are looked at."""
_TAG = re.compile(r"<\s*(/?)\s*([A-Za-z][A-Za-z0-9]*)[^<>]*>")
_ENTITY = re.compile(r"&(?:#\d+|#[xX][0-9A-Fa-f]+|([A-Za-z][A-Za-z0-9]*));")
_SILENT = ("script", "style", "template", "iframe")
_MARKUP_TYPES = ("html", "text/html", "xhtml", "application/xhtml+xml")
_PLAIN_TYPES = ("text", "text/plain")
_NAMES = (
    "a abbr acronym address area article aside audio b bdi bdo big blockquote br button caption center cite code col "
    "colgroup command datalist dd del details dfn dialog dir div dl dt em fieldset figure figcaption font footer form "
    "frame frameset h1 h2 h3 h4 h5 h6 head header hr html i iframe img input ins kbd keygen label legend li link map "
    "mark menu meta meter multicol nav nobr noscript object ol optgroup option output p param pre progress q rp rt "
    "ruby s samp script section select small source span strike strong style sub sup table tbody td textarea tfoot th "
    "thead time title tr tt u ul var video wbr"
)
_HTML_TAGS = frozenset(_NAMES.split())


def words_of(element: etree._Element, is_atom: bool) -> str:
    """What a text construct says (RFC 4287, 3.1; Atom 0.3; RSS, which never said), white space folded."""
    kind = (element.get("type") or "").strip().lower()
    if len(element):
        return folded("".join(_spoken(element))[:LONGEST])
    text = (element.text or "")[:LONGEST]
    if _is_base64(element, kind):
        text = _unpacked(text)
        is_markup = "<" in text
    elif kind in _MARKUP_TYPES:
        is_markup = True
    else:
        is_markup = not (is_atom or kind in _PLAIN_TYPES) and looks_like_markup(text)
    return plain(text) if is_markup else folded(text)


def plain(markup: str) -> str:
    """HTML as the text a reader sees; what scripts and styles hold is nobody's words."""
    if "<" not in markup:
        return folded(html.unescape(markup))
    body = parse_html(markup.encode("utf-8", "replace")).tree.body
    if body is None:
        return ""
    for silent in body.css(", ".join(_SILENT)):
        silent.decompose()
    return text_of(body)


def looks_like_markup(text: str) -> bool:
    """Whether text without a label was written as HTML: it has an end tag or an entity, and none that HTML lacks."""
    if "<" not in text and "&" not in text:
        return False
    tags = _TAG.findall(text)
    if any(name.lower() not in _HTML_TAGS for _, name in tags):
        return False
    entities = list(_ENTITY.finditer(text))
    if any(found[1] and f"{found[1]};" not in html5 for found in entities):
        return False
    return bool(entities) or any(slash for slash, _ in tags) or "/>" in text


def _spoken(element: etree._Element) -> list[str]:
    """The text of an element and those below it, in order, without what scripts and styles hold."""
    said = [element.text or ""]
    for child in element:
        if isinstance(child.tag, str) and child.tag.rpartition("}")[2].lower() not in _SILENT:
            said += _spoken(child)
        said.append(child.tail or "")
    return said


def _is_base64(element: etree._Element, kind: str) -> bool:
    if element.get("mode") == "base64":
        return True
    return "/" in kind and not kind.startswith("text/") and not kind.endswith(("/xml", "+xml"))


def _unpacked(text: str) -> str:
    try:
        return base64.b64decode(text, validate=False).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return text
