"""A page as blocks of text, with the elements that they are in.

A block is the text between two tags that end a line; inline elements and links do not end one.
"""

import re
from itertools import islice
from typing import NamedTuple

from gossamer.parse.blocks.signs import NAMES, names_in

# Of serialized HTML: in attributes "<" and ">" are escaped. Comments are removed first.
_TOKENS = re.compile(r"<(/?[^\s>]++)([^>]*+)>([^<]*+)")
_COMMENTS = re.compile(r"<!--.*?-->", re.DOTALL)
_LONGEST_ATTRIBUTES = 400
_LINK, _LINK_END, _BREAK, _SEPARATOR = 1, 2, 3, 4
_VOID = [
    "area",
    "base",
    "basefont",
    "bgsound",
    "col",
    "embed",
    "frame",
    "hr",
    "img",
    "input",
    "keygen",
    "link",
    "meta",
    "param",
    "source",
    "track",
    "wbr",
]
_KINDS = {**dict.fromkeys(_VOID, _SEPARATOR), "a": _LINK, "/a": _LINK_END, "br": _BREAK}
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))


class TextBlock(NamedTuple):
    text: str
    """White space folded, never empty."""
    linked: int
    """How many characters of it are in links."""
    element: int
    """The index of the innermost element around it that is neither inline nor a link."""


class Outline(NamedTuple):
    """The blocks of a page, and the elements around them in document order; the body is element 0."""

    blocks: list[TextBlock]
    parents: list[int]
    tags: list[str]
    names: list[int]
    """What each element's tag and attributes say (`signs.names_in`)."""
    above: list[int]
    """The same of the element and all around it, without the body."""

    def headings(self) -> dict[int, int]:
        """Of each element that is a heading or inside one, the heading."""
        found: dict[int, int] = {}
        for at, (tag, parent) in enumerate(zip(self.tags, self.parents, strict=True)):
            if parent in found:
                found[at] = found[parent]
            elif tag in _HEADINGS:
                found[at] = at
        return found


def outline_of(markup: str) -> Outline:
    """REQUIRES: `markup` was serialized from a tree without scripts, other unread elements, and inline elements."""
    if "<!--" in markup:
        markup = _COMMENTS.sub("", markup)
    blocks: list[TextBlock] = []
    parents, tags, names, above = [0], ["body"], [0], [0]
    parts: list[str] = []
    at = linked = breaks = 0
    is_link = False
    kind_of, tag_names = _KINDS.get, NAMES.get
    start = markup.find(">") + 1
    for tag, attributes, text in _TOKENS.findall(f"<wbr>{markup[start:]}"):  # instead of the tag of the body
        kind = kind_of(tag)
        if kind is None:
            if parts:
                _close(blocks, parts, linked, at)
                parts, linked = [], 0
            if tag[0] == "/":
                at = parents[at]
            else:
                own = tag_names(tag, 0)
                if attributes:
                    own |= names_in(attributes[:_LONGEST_ATTRIBUTES])
                parents.append(at)
                tags.append(tag)
                names.append(own)
                above.append(above[at] | own)
                at = len(parents) - 1
        elif kind == _LINK:
            is_link = True
        elif kind == _LINK_END:
            is_link = False
        elif parts:
            breaks = breaks + 1 if kind == _BREAK else 0
            if breaks > 1:
                _close(blocks, parts, linked, at)
                parts, linked, breaks = [], 0, 0
            else:
                parts.append(" ")
        if text:
            if not text.isspace():
                parts.append(text)
                breaks = 0
                if is_link:
                    linked += len(text)
            elif parts:
                parts.append(" ")
    if parts:
        _close(blocks, parts, linked, at)
    return Outline(blocks, parents, tags, names, above)


def _close(blocks: list[TextBlock], parts: list[str], linked: int, element: int) -> None:
    text = parts[0] if len(parts) == 1 else "".join(parts)
    if "&" in text:
        # all that a serializer escapes; many times faster than html.unescape
        text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", "\xa0").replace("&amp;", "&")
    text = " ".join(text.split())
    if text:
        length = len(text)
        blocks.append(TextBlock(text, linked if linked < length else length, element))


def within(parents: list[int], top: int) -> list[bool]:
    """Of each element, whether it is `top` or inside it."""
    found = [False] * len(parents)
    found[top] = True
    for at, parent in islice(enumerate(parents), top + 1, None):
        if found[parent]:
            found[at] = True
    return found
